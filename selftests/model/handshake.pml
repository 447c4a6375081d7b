/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sessions between two agents, and the handshake of a connection on them (user/cm/PROTOCOL.md), with
 * somebody between who has the network, a certificate of his own, and a friend among the users at each
 * end, whose connection to the other end's address asks for that certificate's name. README.md says more.
 *
 * TLS is taken for what it is meant to be: what goes over a channel comes in order or not at all, from
 * whom the certificate names, and nobody else can read it. So the network may end a channel at any time,
 * and each end of it notices at another; it may be the other end of a channel itself, by his name.
 *
 *	(nothing)	each end has the connection, and offers: holds
 *	ANY_NAME	a session with a name that any connection asks for serves all: must fail
 *	ANY_DIALLER	... serves what the peer dials, and notes: must fail
 *	ANY_SESSION	a message is for the connection with its CID, on whatever session: must fail
 *	PLAIN_TOO	channels without TLS are taken as well: must fail
 *	KIND_UNSEEN	offers of another security are taken: must fail
 *	REKEY_KIND	REKEY may change the security: must fail
 *	REKEY_ANEW	REKEY on the next session has another key: must fail
 *	REPLAY		channels deliver again what they have delivered before: must fail
 *	ANY_READY	READY stands for whatever pair there is: must fail
 *	USED_AGAIN	an offer that has carried data is paired again: must fail
 *	DIAL		one end dials, the other accepts: holds
 *	DIAL, DEAF	... and RESUME is not heard: must fail
 *	REACH		a false claim, that a connection never gets up after all that can happen: must fail
 */
#ifndef CHANNELS
#define CHANNELS	2	/* between the two ends */
#endif
#ifndef INTRUSIONS
#define INTRUSIONS	1	/* sessions that he gets, at either end */
#endif
#ifndef RESETS
#define RESETS		1	/* at either end */
#endif
#ifndef CRASHES
#define CRASHES		1
#endif
#ifndef REKEYS
#define REKEYS		1	/* of each end */
#endif
#define OFFERS	5		/* of each end; only ends that disagree for ever need more */
#define KEYS	7
#define DEPTH	6		/* messages under way to an end, likewise */

#define HIS	7		/* his own offers, and keys */
#define BIT(n)	(1 << (n))
#define PEER(e)	(1 - (e))

/* Phases of a session; who is at the other end of it. */
#define IDLE	0
#define HELLO	1
#define OPEN	2
#define HONEST	1
#define NAMED	2		/* he, by the name in his certificate */
#define PLAIN	3		/* he, without one */

/* States of the connection: enum cm_state. */
#define DOWN		0
#define OPENING		1
#define RECEIVING	2
#define READY		3
#define REJECTED	4

#define CLEAR	0
#define SEALED	1

mtype = { M_HELLO, M_OPEN, M_READY, M_CLOSE, M_REJECT, M_STALE, M_REKEY, M_REKEYED, M_RESUME };

typedef agent {
	byte phase;
	byte who;
	bool boot;		/* of this run of the agent */
	bool peer_boot;		/* of the peer's, when the last session began */
	/* the connection that asks for no name, between the two ends */
	byte kind;		/* its security, as configured */
	byte st;
	byte ours;		/* our offer, 0: none */
	byte theirs;
	byte rx;		/* key of packets to us: the one given last, and before */
	byte rx_before;
	byte tx;		/* key of packets to the peer, and their security */
	byte tx_kind;
	byte rekey;		/* key that the peer has to answer */
	bool due;
	bool resume_due;
	bool rekey_due;
	bool redial_due;
	/* the friend's connection */
	bool friend_up;
	byte friend_kind;
	/* how many there have been */
	byte offers;
	byte keys;
	byte rekeys;
	/* What has happened, which no program could see; the assertions do. */
	byte key_of[OFFERS + 1];	/* our offer's */
	byte with[OFFERS + 1];		/* the peer's offer that ours was set up with last */
	byte into[OFFERS + 1];		/* the peer's offer whose packets have gone into ours */
	byte carried;			/* our offers that may have carried data, a bit each */
	byte told;			/* our offers that he knows */
	byte told_keys;			/* our keys that he knows */
};

agent ends[2];
chan to0 = [DEPTH] of { mtype, byte, byte, byte, byte };
chan to1 = [DEPTH] of { mtype, byte, byte, byte, byte };
bool linked;		/* both ends have the same channel, and neither has left it */
bool over;		/* numbers have run out: this run is not followed further */
byte channels, intrusions, resets, crashes;

/* The connection is dialled by one end; the other has one while there is a pair. */
#ifdef DIAL
#define DIALS(e)	(e == 0)
#define ACCEPTS(e)	(e == 1)
#else
#define DIALS(e)	false
#define ACCEPTS(e)	false
#endif

#define E	ends[e]
#define P	ends[PEER(e)]
#define PAIRED(x)	(ends[x].st == RECEIVING || ends[x].st == READY)

/* Whether the session of |e| may serve what is for the peer's address. */
#ifdef ANY_NAME
#define BY_NAME(e)	(ends[e].who == NAMED)
#else
#define BY_NAME(e)	false
#endif
#ifdef PLAIN_TOO
#define BY_NOTHING(e)	(ends[e].who == PLAIN)
#else
#define BY_NOTHING(e)	false
#endif
#define ENTITLED(e)	(ends[e].who == HONEST || BY_NAME(e) || BY_NOTHING(e))
#ifdef ANY_DIALLER
#define TAKES_DIALS(e)	true
#else
#define TAKES_DIALS(e)	ENTITLED(e)
#endif

#include "handshake_agent.pml"

inline forget_message()
{
	mt = 0; mi = 0; mj = 0; mkey = 0; mkind = 0
}

inline deliver()
{
	if
	:: e == 0 -> to0?mt,mi,mj,mkey,mkind
	:: else -> to1?mt,mi,mj,mkey,mkind
	fi;
#ifdef REPLAY
	if
	:: kept[e].type == 0 && mt != M_HELLO ->
		kept[e].type = mt; kept[e].i = mi; kept[e].j = mj;
		kept[e].key = mkey; kept[e].its_kind = mkind
	:: true
	fi;
#endif
	if
	:: mt == M_HELLO && E.phase == HELLO -> go_up()
	:: mt != M_HELLO && E.phase == OPEN -> on_message()
	:: else -> assert(false)
	fi
}

/* |e| connects; the other end has its HELLO, and answers. */
inline connect()
{
	channels++;
	e = PEER(e);
	if
	:: E.phase != IDLE -> go_down()
	:: else
	fi;
	empty_queue(e);
	empty_queue(PEER(e));
	E.who = HONEST;
	P.who = HONEST;
	P.phase = HELLO;
	linked = true;
	say(M_HELLO, 0, 0, 0, 0);
	go_up()
}

/* He gets the session of |e|, by what he can prove. */
inline intrude(proof)
{
	intrusions++;
	if
	:: E.phase != IDLE -> go_down()
	:: else
	fi;
	E.who = proof;
	go_up()
}

#define HE_KNOWS(x, offer)	((offer) == HIS || (ends[x].told & BIT(offer)))
#define HE_KNOWS_PAIR	(HE_KNOWS(PEER(e), E.theirs) && HE_KNOWS(e, E.ours))

/* He says something about the connection that is not his. Random numbers he must have been told. */
inline he_speaks()
{
	mkey = HIS;
	if
	:: mt = M_OPEN; mi = HIS; mkind = E.kind
	:: mt = M_OPEN; mi = HIS; mkind = CLEAR
	:: mt = M_RESUME; mi = HIS; mj = HIS
	:: PAIRED(e) && HE_KNOWS_PAIR -> mt = M_READY; mi = E.theirs; mj = E.ours
	:: PAIRED(e) && HE_KNOWS_PAIR -> mt = M_REKEY; mi = E.theirs; mj = E.ours; mkind = E.kind
	:: PAIRED(e) && HE_KNOWS(PEER(e), E.theirs) -> mt = M_CLOSE; mi = E.theirs
	fi;
	on_message()
}

/* ... and about the friend's connection, which is. */
inline he_speaks_to_friend()
{
	if
	:: mkind = CLEAR
	:: mkind = SEALED
	fi;
	if
#ifdef KIND_UNSEEN
	:: !E.friend_up -> E.friend_up = true; E.friend_kind = mkind
#else
	:: !E.friend_up && mkind == E.kind -> E.friend_up = true; E.friend_kind = mkind
#endif
#ifdef REKEY_KIND
	:: E.friend_up -> E.friend_kind = mkind
#else
	:: E.friend_up && mkind == E.kind -> E.friend_kind = mkind
	:: E.friend_up && mkind != E.kind -> go_down()
#endif
	:: else
	fi
}

/* What comes without a connection: a dial, or a note. Its taker goes by the address. */
inline he_dials()
{
	if
	:: TAKES_DIALS(e) -> assert(E.who == HONEST)
	:: else
	fi
}

inline reset()
{
	resets++;
	if
	:: E.phase == OPEN && E.ours != 0 -> say(M_CLOSE, E.ours, 0, 0, 0)
	:: else
	fi;
	restart()
}

/* The agent of |e| is killed, and another one started. */
inline crash()
{
	crashes++;
	if
	:: E.phase != IDLE -> go_down()
	:: else
	fi;
	lose(DOWN);
	E.boot = !E.boot;
	E.peer_boot = false;
	E.ours = 0;
	E.theirs = 0
}

inline grace_ends()
{
	lose(DOWN);
	E.ours = 0;
	E.theirs = 0
}

#define IN_STEP(e)	(ends[e].st == READY && ends[PEER(e)].st == READY && \
			 ends[e].ours == ends[PEER(e)].theirs && ends[e].theirs == ends[PEER(e)].ours)

/* Of the connection that is not his he has no key, it uses none of his, and he does not serve it. */
inline check_secrets(x)
{
	assert(!PAIRED(x) || !(ends[x].told_keys & BIT(ends[x].rx)));
	assert(!PAIRED(x) || ends[x].tx != HIS);
	assert(!PAIRED(x) || !(ends[PEER(x)].told_keys & BIT(ends[x].tx)));
	assert(!PAIRED(x) || ends[x].phase != OPEN || ends[x].who == HONEST)
}

/* What is sent is as secure as was configured, and with keys that the other end still takes. */
inline check_keys(x)
{
	assert(!PAIRED(x) || ends[x].tx_kind == ends[x].kind);
	assert(!ends[x].friend_up || ends[x].friend_kind == ends[x].kind);
	assert(!IN_STEP(x) || ends[x].tx == ends[PEER(x)].rx || ends[x].tx == ends[PEER(x)].rx_before)
}

/* When nothing is under way any more the ends agree: both are up, or neither is. */
inline check_rest()
{
	if
	:: linked && ends[0].phase == OPEN && ends[1].phase == OPEN && len(to0) == 0 && len(to1) == 0 &&
	   !ends[0].due && !ends[1].due && !ends[0].redial_due ->
		assert(ends[0].kind != ends[1].kind || IN_STEP(0));
		assert(ends[0].kind == ends[1].kind || (!PAIRED(0) && !PAIRED(1)));
		assert(!IN_STEP(0) || (ends[0].tx == ends[1].rx && ends[1].tx == ends[0].rx));
		assert(ends[0].rekey == 0 && ends[1].rekey == 0);
#ifdef REACH
		assert(!IN_STEP(0) || channels < CHANNELS || intrusions < INTRUSIONS || resets < RESETS ||
		       crashes < CRASHES)
#endif
	:: else
	fi
}

#ifdef REPLAY
typedef message { byte type; byte i; byte j; byte key; byte its_kind };
message kept[2];
#endif

active proctype world()
{
	byte mt, mi, mj, mkey, mkind, e;

	atomic {
		if
		:: ends[0].kind = SEALED; ends[1].kind = SEALED
		:: ends[0].kind = SEALED; ends[1].kind = CLEAR
		:: ends[0].kind = CLEAR; ends[1].kind = SEALED
		fi
	}
end:	do
	:: atomic { !over ->
		if
		:: e = 0
		:: e = 1
		fi;
		if
		:: e == 0 && len(to0) > 0 -> deliver()
		:: e == 1 && len(to1) > 0 -> deliver()
		:: E.phase == OPEN && E.due -> begin()
		:: E.phase == OPEN && E.redial_due -> restart()
		:: E.phase == IDLE && channels < CHANNELS -> connect()
		:: E.phase != IDLE -> go_down()
		:: E.phase == IDLE && E.st == READY -> grace_ends()
		:: resets < RESETS -> reset()
		:: crashes < CRASHES -> crash()
		:: E.st == READY && E.rekeys < REKEYS && E.rekey == 0 && !E.rekey_due ->
			E.rekeys++; E.rekey_due = true; E.due = true
		/* A packet, which may have been long under way: cm_heard(). */
		:: E.st == RECEIVING && E.into[E.ours] == E.theirs -> become_ready()
		:: intrusions < INTRUSIONS -> intrude(NAMED)
		:: E.phase == OPEN && E.who != HONEST -> he_speaks()
		:: E.phase == OPEN && E.who == NAMED -> he_speaks_to_friend()
		:: E.phase == OPEN && E.who != HONEST -> he_dials()
#ifdef PLAIN_TOO
		:: intrusions < INTRUSIONS -> intrude(PLAIN)
#endif
#ifdef ANY_SESSION
		/* From an address of his own, where he is who he is. */
		:: E.phase == OPEN && E.who == HONEST -> he_speaks()
#endif
#ifdef REPLAY
		:: E.phase == OPEN && kept[e].type != 0 ->
			mt = kept[e].type; mi = kept[e].i; mj = kept[e].j;
			mkey = kept[e].key; mkind = kept[e].its_kind;
			on_message()
#endif
		:: else -> skip
		fi;
#ifndef REPLAY
		assert(!over || ends[0].kind != ends[1].kind);
#endif
		if
		:: !over ->
			check_secrets(0); check_secrets(1);
			check_keys(0); check_keys(1);
			check_rest()
		:: else
		fi;
		forget_message();
		e = 0
	   }
	od
}
