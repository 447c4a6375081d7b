/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A RIFL lane (user/rifl/tx.c, rx.c, flow.c), both ends, scaled down: a link D slots long instead of up to
 * hundreds, IDS frame IDs, a rollback of 1 frame instead of 16, 2 requests instead of 8, 2 frames to be in
 * sync instead of 64. In every slot each end takes the frame that arrives and sends one. ERRORS frames are
 * damaged, any, in any way that shows. README.md says more.
 *
 *	(nothing)	holds: all user data arrives, in order, once, soon after the last error
 *	READER=n	users stop reading n times in all, and begin again: holds
 *	IDS=2		as many IDs as equation 13 asks for: fails
 *	D=2, IDS=5	one less than the end of a procedure needs: fails; 6: holds
 *	HASTY		new data while requests come that are not yet enough: fails
 *	DEAF		a flag that is up stays up behind other control frames: fails
 *	NO_ROLLBACK	what was damaged is taken as soon as its ID comes: fails
 *	FC_PAPER	equation 23's flow control buffer: fails
 *	REACH		a false claim, that errors are not repaired: must fail
 */
#ifndef ERRORS
#define ERRORS	3
#endif
#ifndef READER
#define READER	0
#endif
#ifndef D
#define D	1
#endif
#ifndef IDS
#define IDS	4
#endif
#define RTT	(2 * D)
#define ROLL	1
#define REQ	2
#define SYNC	2
#define SEQS	(2 * IDS)	/* user data is numbered modulo this */
#define PROCEDURE	(2 * IDS + IDS / 2)
#define SOON	(6 * PROCEDURE)	/* slots within which anything is repaired */
#ifdef FC_PAPER
#define FC	(3 * D)
#else
#define FC	(3 * RTT)
#endif

/* A frame: what it looks like, and its ID, of which BAD says that the verification code is wrong. */
#define NONE	0		/* nothing has arrived yet */
#define DATA	1
#define IDLE	2
#define PAUSE	3		/* pause request */
#define RETRANS	4		/* re-transmit request */
#define ILLEGAL	5		/* syncword */
#define BAD	IDS
/* What a data frame holds: nothing, flow control, or user data with its number. */
#define EMPTY	0
#define STOP	1
#define GO	2
#define USER	3

typedef End {
	/* rx.c */
	byte frame_id, threshold, legal, pause, retrans;
	bool in_sync, error, after_data, peer_normal, fc_paused;
	/* tx.c */
	byte filled, id, slot;
	bool running;		/* init has been left */
	bool fc_sent;
	byte buffer[IDS];
	byte next;		/* number of the next user data */
	/* flow.c, and the user */
	byte queue, want;
	bool stopped;
	byte waits;		/* slots since something was delivered, or damaged */
}

End end[2];
chan wire[2] = [D] of { byte, byte, byte };
byte errors = ERRORS, turns = READER;
byte look, id, holds;		/* the frame at hand */

inline count(requests, one)
{
	if
	:: !(one) ->
#ifdef DEAF
		if
		:: requests < REQ -> requests = 0
		:: else
		fi
#else
		requests = 0
#endif
	:: else ->
		if
		:: requests < REQ -> requests++
		:: else
		fi
	fi
}

inline frame_error(e)
{
	end[e].error = true;
	end[e].peer_normal = false;
#ifdef NO_ROLLBACK
	end[e].frame_id = end[e].threshold
#else
	end[e].frame_id = (end[e].threshold + IDS - ROLL) % IDS
#endif
}

inline lost_sync(e)
{
	if
	:: end[e].in_sync -> frame_error(e)
	:: else
	fi;
	end[e].in_sync = false;
	end[e].legal = 0;
	end[e].pause = 0;
	end[e].retrans = 0
}

/* The next frame in order. User data has to be what is next, and to find room. */
inline deliver(e)
{
	if
	:: holds == STOP -> end[e].fc_paused = true
	:: holds == GO -> end[e].fc_paused = false
	:: holds >= USER ->
		assert(holds - USER == end[e].want);
		assert(end[e].queue < FC);
		end[e].want = (end[e].want + 1) % SEQS;
		end[e].queue++;
		end[e].waits = 0
	:: else
	fi
}

inline good_data(e)
{
	if
	:: end[e].frame_id == end[e].threshold ->
		deliver(e);
		end[e].threshold = (end[e].threshold + 1) % IDS
	:: else
	fi;
	end[e].frame_id = (end[e].frame_id + 1) % IDS;
	if
	:: end[e].frame_id == end[e].threshold ->
		if
		:: !end[e].error && end[e].after_data -> end[e].peer_normal = true
		:: else
		fi;
		end[e].error = false
	:: else
	fi
}

inline receive(e)
{
	if
	:: look == NONE
	:: look == ILLEGAL -> lost_sync(e)
	:: else ->
		if
		:: !end[e].in_sync ->
			end[e].legal++;
			end[e].in_sync = (end[e].legal == SYNC)
		:: else ->
			if
			:: look == DATA && !end[e].after_data
			:: else ->
				count(end[e].pause, look == PAUSE);
				count(end[e].retrans, look == RETRANS)
			fi;
			if
			:: id != end[e].frame_id -> frame_error(e)
			:: id == end[e].frame_id && look == DATA -> good_data(e)
			:: else
			fi
		fi;
		end[e].after_data = (look == DATA)
	fi
}

inline control(e, kind)
{
	look = kind;
	id = end[e].id;
	holds = EMPTY
}

inline data(e)
{
	look = DATA;
	id = end[e].id;
	holds = end[e].buffer[id];
	end[e].id = (id + 1) % IDS
}

inline procedure(e)
{
	if
	:: end[e].slot < 2 * IDS && end[e].slot % 2 == 0 -> data(e)
	:: else -> control(e, (end[e].error -> RETRANS : IDLE))
	fi;
	end[e].slot = (end[e].slot + 1) % PROCEDURE
}

/* A new data frame: flow control if it is due, else user data if it may go. */
inline new_data(e)
{
	if
	:: !end[e].fc_sent && end[e].queue > FC / 3 * 2 ->
		end[e].buffer[end[e].id] = STOP;
		end[e].fc_sent = true
	:: end[e].fc_sent && end[e].queue < FC / 3 ->
		end[e].buffer[end[e].id] = GO;
		end[e].fc_sent = false
	:: else ->
		if
		:: end[e].peer_normal && !end[e].fc_paused ->
			end[e].buffer[end[e].id] = USER + end[e].next;
			end[e].next = (end[e].next + 1) % SEQS
		:: else -> end[e].buffer[end[e].id] = EMPTY
		fi
	fi;
	data(e)
}

/* Figure 4. */
inline transmit(e)
{
	if
	:: end[e].filled < IDS -> end[e].filled++; control(e, PAUSE)
	:: end[e].filled == IDS && (!end[e].in_sync || !end[e].running) ->
		end[e].running = true;
		control(e, PAUSE)
	:: else ->
		if
		:: end[e].pause == REQ -> control(e, IDLE)
		:: end[e].pause < REQ && (end[e].retrans == REQ || end[e].slot > 0) -> procedure(e)
		:: else ->
			if
			:: end[e].error -> control(e, RETRANS)
#ifndef HASTY
			:: !end[e].error && (end[e].pause > 0 || end[e].retrans > 0) -> control(e, IDLE)
#endif
			:: else -> new_data(e)
			fi
		fi
	fi
}

/*
 * On its way a frame may be damaged. Its verification code is wrong then, and what it looks like may be too;
 * but the codes of requests are two errors away from all others.
 */
inline damage()
{
	if
	:: true
	:: errors > 0 ->
		errors--;
		end[0].waits = 0;
		end[1].waits = 0;
		if
		:: look = ILLEGAL
		:: id = BAD
		:: look = DATA; id = BAD
		:: look = IDLE; id = BAD
		fi;
		holds = EMPTY
	fi
}

/* The user takes all there is, but while he has stopped. */
inline read(e)
{
	if
	:: true
	:: turns > 0 ->
		turns--;
		end[e].stopped = !end[e].stopped
	:: turns == 0 && end[e].stopped -> end[e].stopped = false
	fi;
	if
	:: !end[e].stopped -> end[e].queue = 0
	:: else
	fi
}

/* Something is delivered again and again, but where somebody does not read. */
inline progress(e)
{
	end[e].waits++;
	if
	:: end[0].stopped || end[1].stopped -> end[e].waits = 0
	:: else
	fi;
	assert(end[e].waits < SOON)
}

inline begin(e)
{
	end[e].threshold = ROLL;
	end[e].error = true;
	n = 0;
	do
	:: n < D -> wire[e]!NONE, 0, EMPTY; n++
	:: else -> break
	od
}

init {
	byte n;

	d_step { begin(0); begin(1); n = 0 }
	do
	:: atomic {
			d_step { wire[1]?look, id, holds; receive(0); wire[0]?look, id, holds; receive(1) }
			read(0);
			read(1);
			d_step { progress(0); progress(1); transmit(0) }
			damage();
			wire[0]!look, id, holds;
			d_step { transmit(1) }
			damage();
			wire[1]!look, id, holds;
#ifdef REACH
			assert(errors > 0 || end[0].waits > 0 || end[0].error);
#endif
			look = NONE; id = 0; holds = EMPTY
		}
	od
}
