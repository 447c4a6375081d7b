/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two shards, the control thread and the thread of grace periods (user/agent/shard, user/agent/conn), with
 * XDP on a CPU for each shard's queue: frames that come by one shard's queue and are for the other, and a
 * connection that is removed and set up anew, under the same CID, in either shard. README.md says more.
 *
 *	(nothing)	as the agent does it: holds
 *	STEADY		the connection is there from the beginning, and stays: holds
 *	AWAKE		shards do not sleep: holds
 *	NO_GRACE	shared memory is rewritten without a grace period: must fail
 *	EARLY_PERIOD	a grace period that is under way counts: must fail
 *	NO_DRAIN	what is on its way is not taken in before the memory is rewritten: must fail
 *	ONE_DRAIN	each shard takes it in once: must fail
 *	LATE_NUMBER	what a drain covers is looked up after it: must fail
 *	ALL_AT_ONCE	a call of all shards does not wait until they stand: must fail
 *	NUDGE_FIRST	a shard is woken before it has the frame: must fail
 *	LOOK_FIRST	a shard looks for work before it announces its sleep: must fail
 *	NO_WANT		the shard whose queue is out of frames is not woken: must fail
 *	NO_SWAP		a pile's top is stored, not swapped: must fail
 *	LATEST_FIRST	a pile is taken in the order in which it lies: must fail
 *	REACH		a false claim, that the second incarnation gets no frame from the other shard: must fail
 */
#ifndef CHANGES
#define CHANGES	2	/* incarnations of the connection */
#endif
#ifndef PACKETS
#define PACKETS	1	/* that come for it, by either queue */
#endif
#ifndef FRAMES
#define FRAMES	1	/* of each queue ... */
#endif
#ifndef OTHERS
#define OTHERS	0	/* grace periods that others ask for */
#endif
#define TARGET	1	/* ... and how many the kernel is given */
#define SHARDS	2

/* Frames have numbers from 1 on, as piles and lists end with 0. */
#define NFRAMES		(SHARDS * FRAMES)
#define QUEUE(f)	(((f) - 1) / FRAMES)
#define BIT(f)		(1 << (f))
#define OTHER(s)	(1 - (s))

/* Piles: what is handed over to a shard, what comes back to a queue. */
#define INBOX(s)	(s)
#define RETURNED(q)	(SHARDS + (q))

/* What control calls for. */
#define NOTHING	0
#define TAKE	1	/* the CID is this shard's */
#define OPEN	2
#define CLOSE	3
#define STAND	4	/* until a call of all shards is over */
#define ALL	5	/* make it */

/* ---- what XDP and the agent share ---- */
bit alive;			/* of the connection: XDP admits packets for it */
byte memory;			/* incarnation that its shared memory is of; 0: nobody's */
chan fill[SHARDS] = [FRAMES] of { byte };
chan rx[SHARDS] = [FRAMES] of { byte };
byte packets = PACKETS;		/* still to come */
bit section;			/* XDP is in the middle of one ... */
bit waited_for;			/* ... and was when the grace period began that is under way */

/* ---- frames ---- */
byte next[NFRAMES + 1];
byte top[2 * SHARDS];		/* of piles */
bit wanted[SHARDS];		/* the queue is out of frames */
byte stamp[NFRAMES + 1];	/* incarnation that XDP has accepted it for */
byte order[NFRAMES + 1];	/* number of its packet, from 1 on */

/* ---- shards ---- */
byte shard_of;
bit turning[SHARDS];
bit sleeping[SHARDS];
bit woken[SHARDS];		/* ends its sleep: the eventfd, a socket */
byte asked[SHARDS];
bit drain_asked[SHARDS];		/* in turn 1 and 0 */
bit drained[SHARDS];

/* ---- control, grace periods ---- */
byte waiting, over;		/* of a call of all shards */
byte period_wanted, begun, ended;
bit done;

/* Steps are as large as what one thread does between two looks at, or changes of, what others change. */

inline nudge(to)
{
	if
	:: sleeping[to] -> woken[to] = 1
	:: else
	fi
}

inline put(p, first, last)
{
	t = top[p];
#ifdef NO_SWAP
	atomic { next[last] = t; top[p] = first; t = 0 }
#else
	do
	:: atomic { top[p] == t -> next[last] = t; top[p] = first; t = 0; break }
	:: atomic { top[p] != t -> t = top[p] }
	od
#endif
}

/* All frames of a pile, in the order in which they are to be handled, from |g| on. */
inline take_pile(p)
{
	d_step {
#ifdef LATEST_FIRST
		g = top[p];
#else
		t = top[p];
		g = 0;
		do
		:: t -> u = next[t]; next[t] = g; g = t; t = u
		:: else -> break
		od;
		u = 0;
#endif
		top[p] = 0
	}
}

inline release(f)
{
	if
	:: atomic { QUEUE(f) == s -> free = free | BIT(f); f = 0 }
	:: atomic { QUEUE(f) != s -> put(RETURNED(QUEUE(f)), f, f) };
#ifndef NO_WANT
		if
		:: atomic { wanted[QUEUE(f)] -> i = QUEUE(f) }; nudge(i); i = 0
		:: else
		fi;
#endif
		f = 0
	fi
}

/* Nothing that was accepted for one incarnation reaches another. */
inline handle(f)
{
	if
	:: atomic { core == 0 -> work = 1 }; release(f)
	:: atomic {
			core ->
			work = 1;
			assert(core == stamp[f]);
			assert(order[f] > latest[QUEUE(f)]);
			latest[QUEUE(f)] = order[f];
#ifdef REACH
			assert(core != 2 || QUEUE(f) == s);
#endif
			if
			:: skip
			:: kept = kept | BIT(f); f = 0
			fi
		};
		if
		:: f -> release(f)
		:: else
		fi
	fi
}

inline take_returned()
{
	d_step {
		g = top[RETURNED(s)];
		top[RETURNED(s)] = 0;
		do
		:: g -> free = free | BIT(g); g = next[g]
		:: else -> break
		od
	}
}

/* One frame at a time: TARGET is 1. */
inline refill()
{
	if
	:: in_fill == TARGET
	:: atomic { in_fill != TARGET && !free -> take_returned() };
		wanted[s] = !free;
		if
		:: atomic { !free -> take_returned() }
		:: else
		fi
	:: atomic { in_fill != TARGET && free -> wanted[s] = 0 }
	fi;
	if
	:: d_step {
			in_fill != TARGET && free ->
			g = 1;
			do
			:: free & BIT(g) -> break
			:: else -> g++
			od;
			free = free & ~BIT(g);
			next[g] = 0;
			stamp[g] = 0;
			order[g] = 0;
			in_fill++;
			fill[s]!g;
			g = 0
		}
	:: else
	fi
}

inline flush()
{
	if
	:: first ->
#ifdef NUDGE_FIRST
		nudge(OTHER(s));
		put(INBOX(OTHER(s)), first, last);
#else
		put(INBOX(OTHER(s)), first, last);
		nudge(OTHER(s));
#endif
		atomic { first = 0; last = 0 }
	:: else
	fi
}

inline receive()
{
	do
	:: atomic {
			rx[s]?f ->
			in_fill--;
			work = 1;
			if
			:: shard_of == s
			:: else ->
				next[f] = first;
				last = (first -> last : f);
				first = f;
				f = 0
			fi
		};
		if
		:: f -> handle(f)
		:: else
		fi
	:: atomic { empty(rx[s]) -> break }
	od;
	flush();
	refill()
}

inline take_over()
{
	if
	:: top[INBOX(s)] ->
		take_pile(INBOX(s));
		do
		:: atomic { g -> f = g; g = next[f]; next[f] = 0 }; handle(f)
		:: else -> break
		od
	:: else
	fi
}

/* The core needs a frame no more, any that it has. */
inline let_go()
{
	atomic {
		if
		:: kept & BIT(1) -> f = 1
		:: kept & BIT(2) -> f = 2
		:: kept & BIT(3) -> f = 3
		:: kept & BIT(4) -> f = 4
		fi;
		kept = kept & ~BIT(f);
		work = 1
	};
	release(f)
}

inline serve_call()
{
	if
	:: atomic { asked[s] == NOTHING -> turning[s] = 0 }
	:: atomic { asked[s] != NOTHING -> turning[s] = 0; work = 1 };
		if
		:: atomic { asked[s] == TAKE -> shard_of = s }
		:: atomic { asked[s] == OPEN -> core = memory; alive = 1 }
		:: atomic { asked[s] == CLOSE -> alive = 0; core = 0 };
			do
			:: kept -> let_go()
			:: else -> break
			od
		:: atomic { asked[s] == STAND -> waiting++ }; over == 1
		:: atomic { asked[s] == ALL -> assert(!turning[0] && !turning[1]) }
		fi;
		asked[s] = NOTHING
	fi
}

#define DATA_WAITING	(top[INBOX(s)] || len(rx[s]) || (wanted[s] && top[RETURNED(s)]))
#define CONTROL_WAITING	(asked[s] || drain_asked[s] != drained[s])

inline rest()
{
#ifdef LOOK_FIRST
	if
	:: DATA_WAITING || CONTROL_WAITING
	:: else ->
		sleeping[s] = 1;
end_asleep:	woken[s]
	fi;
#else
	sleeping[s] = 1;
	if
	:: CONTROL_WAITING
	:: else ->
		if
		:: DATA_WAITING
		:: else ->
end_asleep:		woken[s]
		fi
	fi;
#endif
	atomic { woken[s] = 0; sleeping[s] = 0 }
}

proctype shard(byte s)
{
	byte core = (s == 0 -> memory : 0);	/* incarnation of the connection that it has; 0: none */
	byte kept;		/* frames that this has, a bit each */
	byte latest[SHARDS];	/* by queue: number of the last packet that was handled */
	byte in_fill;		/* frames that the kernel has */
	byte first, last;	/* frames for the other shard */
	byte f, g, t, u, i;
	byte free = /* of its queue's frames, a bit each */
		(s == 0 -> (1 << (FRAMES + 1)) - 2 : ((1 << FRAMES) - 1) << (FRAMES + 1));
	bit work, draining;

	do
	:: atomic { turning[s] = 1; work = 0; draining = drain_asked[s] != drained[s] };
		receive();
		take_over();
		if
		:: atomic { draining -> drained[s] = !drained[s]; draining = 0 }
		:: else
		fi;
		if
		:: kept -> let_go()
		:: skip
		fi;
		serve_call();
#ifndef AWAKE
		if
		:: work || kept
		:: else -> rest()
		fi
#endif
	od
}

/* Packets: what they say is checked elsewhere. With the connection open one is claimed, and goes to a socket. */
proctype xdp()
{
	byte q, f, n, number;

	do
	:: packets > 0 ->
		atomic {
			packets--;
			number++;
			section = 1;
			if
			:: q = 0
			:: q = 1
			fi
		};
		if
		:: atomic { alive -> n = memory };
			/* The claim is in the memory of the incarnation that it is for. */
			assert(n != 0 && memory == n);
			if
			:: atomic {
				fill[q]?f ->
				stamp[f] = n;
				order[f] = number;
				rx[q]!f;
				woken[q] = 1;
				f = 0
			}
			:: empty(fill[q])
			fi
		:: else
		fi;
		atomic { n = 0; q = 0; section = 0; waited_for = 0 }
	:: else -> break
	od
}

proctype grace()
{
	do
	:: atomic { period_wanted > begun -> begun++; waited_for = section };
		atomic { !waited_for -> ended = begun }
	:: done -> break
	od
}

/* Others are removed as well. */
proctype others()
{
	byte n;

	do
	:: n < OTHERS -> n++; period_wanted = begun + 1
	:: else -> break
	od
}

inline call(to, what)
{
	asked[to] = what;
	nudge(to);
	asked[to] == NOTHING
}

inline call_all()
{
	asked[1] = STAND;
	nudge(1);
#ifndef ALL_AT_ONCE
	waiting == 1;
#endif
	call(0, ALL);
	over = 1;
	asked[1] == NOTHING;
	atomic { over = 0; waiting = 0 }
}

inline drain()
{
	times = 0;
#ifndef ONE_DRAIN
	do
	:: times == 2 -> break
	:: else ->
#endif
		i = 0;
		do
		:: i == SHARDS -> break
		:: else ->
			drain_asked[i] = !drain_asked[i];
			nudge(i);
			drained[i] == drain_asked[i];
			i++
		od;
#ifndef ONE_DRAIN
		times++
	od;
#endif
	i = 0;
	times = 0
}

/* All that was closed before the latest period began that is over. */
inline settle()
{
	seen = ended;
#ifndef NO_DRAIN
	drain();
#endif
#ifdef LATE_NUMBER
	seen = ended;
#endif
	settled = seen;
	seen = 0
}

proctype control()
{
	byte n, at, i, times, closed_in, settled, seen;

	do
	:: n == CHANGES -> break
	:: else ->
		n++;
		/* The same connection once more, or another one with its CID. */
		if
		:: n > 1
		:: at = 0; call(at, TAKE)
		:: at = 1; call(at, TAKE)
		fi;
		memory = n;
		call(at, OPEN);
		if
		:: n == 1 -> call_all()
		:: else
		fi;
		call(at, CLOSE);
#ifndef NO_GRACE
#ifdef EARLY_PERIOD
		atomic { closed_in = (begun > ended -> begun : begun + 1); period_wanted = closed_in };
#else
		atomic { closed_in = begun + 1; period_wanted = closed_in };
#endif
		/* Before it may come one that was closed earlier. */
		if
		:: ended > settled -> settle()
		:: skip
		fi;
		if
		:: closed_in > settled -> ended >= closed_in; settle()
		:: else
		fi;
		closed_in = 0;
#endif
		memory = 0
	od;
	done = 1
}

/* When nothing moves all has been done, and no frame is left lying, nor a queue without one. */
proctype watch()
{
	timeout;
	assert(done && !top[INBOX(0)] && !top[INBOX(1)]);
	assert(empty(rx[0]) && empty(rx[1]));
	assert(len(fill[0]) == TARGET && len(fill[1]) == TARGET)
}

init
{
	atomic {
#ifdef STEADY
		memory = 1;
		alive = 1;
		done = 1;
#else
		run grace();
		run others();
		run control();
#endif
		run shard(0);
		run shard(1);
		run xdp();
		run watch()
	}
}
