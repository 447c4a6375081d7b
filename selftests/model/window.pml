/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The receive window (include/falcon/receive/window.h) with two CPUs that run XDP and one agent, scaled
 * down: groups of 2 PSNs instead of 32, a window of 2 instead of 128, the 2 words that it takes,
 * PSNs 0 .. N-1 with N one and a half turns of the ring. Every line that touches shared memory is
 * one step; between two steps anything may happen, for as long as it likes. README.md says more.
 *
 *	(nothing)	words of {group, bits}, claimed by compare-and-swap: holds
 *	FETCH_OR	one bit a PSN, claimed by fetch-or, cleared ahead of the window: fails
 *	REACH		a false claim, that the window never gets to the end: must fail
 */
#define N	6
#define W	2
#define G	2
#define WORDS	2
#define R	(WORDS * G)

#define BIT(psn)	(1 << (psn))
#define SLOT(psn)	(((psn) / G) % WORDS)
#define MARK(psn)	(1 << ((psn) % G))
/* A word: the group above, its G bits below. */
#define WORD(group, bits)	((group) * 4 + (bits))
#define GROUP(w)	((w) / 4)
#define BITS(w)		((w) % 4)

byte base;		/* written by the agent alone */
byte ack[WORDS];	/* acknowledged PSNs; written by the agent alone */
#ifdef FETCH_OR
byte ring;		/* bit psn % R */
#else
byte ring[WORDS];
#endif

/* What has happened, one bit a PSN. No program could see these; the assertions do. */
short claimed;		/* somebody's claim holds */
short ever;		/* somebody has claimed it at some time */
short arrived;		/* claimed, and its frame waits for the agent */
short lost;		/* claimed, but its frame never reached the agent */
short delivered;	/* the agent has had it */

/* The outcome of a successful claim: the frame reaches the agent, or is lost on the way. */
inline deliver(psn)
{
	assert(!(delivered & BIT(psn)));
	assert(!(arrived & BIT(psn)));
	if
	:: arrived = arrived | BIT(psn)
	:: lost = lost | BIT(psn)
	fi
}

/*
 * A packet that is refused as seen before must have been seen before, or nobody will ever take it.
 * Its claim may have been released since we looked; then it is sent again.
 */
inline seen_before(psn)
{
	assert(ever & BIT(psn))
}

inline mark_claimed(psn)
{
	assert(!(claimed & BIT(psn)));
	claimed = claimed | BIT(psn);
	ever = ever | BIT(psn)
}

#ifdef FETCH_OR
inline claim(psn)
{
	d_step {
		w = ring & BIT(psn % R);
		ring = ring | BIT(psn % R);
		if
		:: w == 0 -> ever = ever | BIT(psn); claimed = claimed | BIT(psn)
		:: else
		fi
	}
	if
	:: w != 0 -> atomic { seen_before(psn) }
	:: else ->
		b = base;
		if
		:: psn < b	/* passed meanwhile: old */
		:: else -> atomic { deliver(psn) }
		fi
	fi
}
#else
inline claim(psn)
{
	w = ring[SLOT(psn)];
	do
	:: GROUP(w) > psn / G -> atomic { seen_before(psn); break }
	:: GROUP(w) == psn / G && (BITS(w) & MARK(psn)) -> atomic { seen_before(psn); break }
	:: else ->
		atomic {
			if
			:: ring[SLOT(psn)] == w ->
				ring[SLOT(psn)] = (GROUP(w) == psn / G -> w | MARK(psn)
							: WORD(psn / G, MARK(psn)));
				mark_claimed(psn);
				deliver(psn);
				break
			:: else -> w = ring[SLOT(psn)]
			fi
		}
	od
}
#endif

/* What one word of a snapshot says about |psn| must be so, or have been passed by the base. */
inline state_rx(psn)
{
#ifdef FETCH_OR
	w = ring & BIT(psn % R);
#else
	w = (GROUP(ring[SLOT(psn)]) == psn / G -> BITS(ring[SLOT(psn)]) & MARK(psn) : 0);
#endif
	assert(w == 0 || (claimed & BIT(psn)))
}

inline state_ack(psn)
{
	w = (GROUP(ack[SLOT(psn)]) == psn / G -> BITS(ack[SLOT(psn)]) & MARK(psn) : 0);
	assert(w == 0 || (delivered & BIT(psn)))
}

/* An ACK: the base first, then the bits, PSN by PSN, which is slower than word by word. */
inline compose_ack()
{
	b = base;
	assert((delivered & (BIT(b) - 1)) == BIT(b) - 1);
	psn = b;
	do
	:: psn < b + W && psn < N -> atomic { state_rx(psn); state_ack(psn); psn++ }
	:: else -> break
	od
}

/* A CPU that runs the XDP program: any PSN, as often as it likes, or an answer to something. */
proctype xdp()
{
	byte psn, b, w;

end:	do
	:: atomic { psn = 0; do :: psn < N - 1 -> psn++ :: break od };
		b = base;
		if
		:: psn < b -> seen_before(psn)
		:: psn >= b + W
		:: else -> claim(psn)
		fi;
		atomic { psn = 0; b = 0; w = 0 }
	:: compose_ack();
		atomic { psn = 0; b = 0; w = 0 }
	od
}

/* Undo the claim of a lost frame. */
inline release(psn)
{
#ifdef FETCH_OR
	d_step { ring = ring & ~BIT(psn % R); claimed = claimed & ~BIT(psn) }
#else
	w = ring[SLOT(psn)];
	do
	:: atomic {
		if
		:: ring[SLOT(psn)] == w ->
			ring[SLOT(psn)] = w & ~MARK(psn);
			claimed = claimed & ~BIT(psn);
			break
		:: else -> w = ring[SLOT(psn)]
		fi
	}
	od
#endif
}

inline accept(psn)
{
	d_step {
		delivered = delivered | BIT(psn);
		ack[SLOT(psn)] = WORD(psn / G,
			MARK(psn) | (GROUP(ack[SLOT(psn)]) == psn / G -> BITS(ack[SLOT(psn)]) : 0))
	}
}

/* Move the base over what is acknowledged. */
inline advance()
{
	psn = base;
	do
	:: psn < N && (delivered & BIT(psn)) ->
#ifdef FETCH_OR
		/* The PSN about to enter the window gets a clear bit before it may enter. */
		ring = ring & ~BIT((psn + W) % R);
#endif
		psn++
	:: else -> break
	od;
	base = psn
}

proctype agent()
{
	byte psn, w;

end:	do
	:: atomic { arrived != 0 ->
			psn = 0;
			do :: !(arrived & BIT(psn)) -> psn++ :: else -> break od;
			arrived = arrived & ~BIT(psn) };
		accept(psn);
		psn = 0
	:: atomic { lost != 0 ->
			psn = 0;
			do :: !(lost & BIT(psn)) -> psn++ :: else -> break od;
			lost = lost & ~BIT(psn) };
		release(psn);
		atomic { psn = 0; w = 0 }
	:: base < N && (delivered & BIT(base)) ->
		advance();
		psn = 0
#ifdef REACH
	:: base == N -> assert(false)
#endif
	od
}

init {
	atomic {
#ifndef FETCH_OR
		ring[1] = WORD(1, 0);
#endif
		ack[1] = WORD(1, 0);
		run xdp();
		run xdp();
		run agent()
	}
}
