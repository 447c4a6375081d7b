/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What an agent does, |e| of handshake.pml, whose state and definitions these are: user/cm/conn.c and
 * handshake.c, for one connection. A message has arrived in |mt|, |mi|, |mj|, |mkey|, |mkind|.
 */

inline empty_queue(x)
{
	if
	:: x == 0 -> do :: len(to0) > 0 -> to0?_,_,_,_,_ :: len(to0) == 0 -> break od
	:: else -> do :: len(to1) > 0 -> to1?_,_,_,_,_ :: len(to1) == 0 -> break od
	fi
}

/* A message of |e| about offers |i| and |j|, with a key and its security. */
inline say(type, i, j, key, its_kind)
{
	if
	:: E.who != HONEST ->
		E.told = E.told | (type == M_OPEN || type == M_READY || type == M_RESUME || type == M_REKEY
				-> BIT(i) : 0);
		P.told = P.told | (type == M_READY || type == M_RESUME || type == M_REKEY -> BIT(j) : 0);
		E.told_keys = E.told_keys | (type == M_OPEN || type == M_REKEY -> BIT(key) : 0)
	:: E.who == HONEST && linked ->
		if
		:: e == 0 && len(to1) < DEPTH -> to1!type,i,j,key,its_kind
		:: e == 1 && len(to0) < DEPTH -> to0!type,i,j,key,its_kind
		:: else -> over = true
		fi
	:: else
	fi
}

inline lose(state)
{
	E.st = state;
	E.rekey = 0;
	E.rekey_due = false
}

inline restart()
{
	E.rekey = 0;
	E.rekey_due = false;
	E.redial_due = false;
	E.ours = 0;
	if
	:: ACCEPTS(e) -> E.st = REJECTED
	:: !ACCEPTS(e) && E.phase == OPEN -> E.st = OPENING; E.due = true
	:: else -> E.st = DOWN
	fi
}

/* A key of our own for packets to us. */
inline new_key()
{
	if
	:: E.keys < KEYS - 1 -> E.keys++
	:: else -> over = true
	fi;
	E.rx_before = E.rx;
	E.rx = E.keys
}

inline send_open()
{
	if
	:: E.offers < OFFERS -> E.offers++
	:: else -> over = true
	fi;
	new_key();
	E.rx_before = 0;
	E.ours = E.offers;
	E.key_of[E.ours] = E.rx;
	say(M_OPEN, E.ours, 0, E.rx, E.kind)
}

inline send_rekey()
{
	E.rekey_due = false;
	if
	:: E.rekey == 0 -> new_key(); E.rekey = E.rx
	:: else
	fi;
	say(M_REKEY, E.ours, E.theirs, E.rekey, E.kind)
}

/* cm_on_up() */
inline go_up()
{
	E.phase = OPEN;
	if
	:: E.who == HONEST && E.peer_boot != P.boot && E.st == READY -> lose(DOWN)
	:: else
	fi;
	E.peer_boot = (E.who == HONEST -> P.boot : E.peer_boot);
	if
	:: !ENTITLED(e) -> E.ours = 0; lose(REJECTED)
	:: ENTITLED(e) && E.st == READY -> E.resume_due = true; E.due = true
	:: else -> restart()
	fi
}

/* The session of |e| ends: cm_on_down(). */
inline go_down()
{
	linked = linked && E.who != HONEST;
	E.phase = IDLE;
	E.who = 0;
	E.due = false;
	E.resume_due = false;
	E.redial_due = false;
	E.friend_up = false;
	empty_queue(e);
	if
	:: E.st == READY ->
#ifdef REKEY_ANEW
		E.rekey_due = E.rekey_due || E.rekey != 0; E.rekey = 0
#else
		E.rekey_due = E.rekey_due || E.rekey != 0
#endif
	:: else -> lose(DOWN); E.ours = 0; E.theirs = 0
	fi
}

/* cm_run_pending() */
inline begin()
{
	E.due = false;
	if
	:: !ENTITLED(e) -> E.ours = 0; lose(REJECTED)
	:: ENTITLED(e) && E.st == OPENING && E.ours == 0 -> send_open()
	:: ENTITLED(e) && E.st == READY ->
		if
		:: E.resume_due -> E.resume_due = false; say(M_RESUME, E.ours, E.theirs, 0, 0)
		:: else
		fi;
		if
		:: E.rekey_due -> send_rekey()
		:: else
		fi
	:: else
	fi
}

/* The peer set up the same pair, and nobody has sent into our window by another. */
inline become_ready()
{
	E.st = READY;
	E.carried = E.carried | BIT(E.ours);
	assert(E.theirs != HIS);
	assert(P.with[E.theirs] == E.ours);
	assert(P.into[E.theirs] == 0 || P.into[E.theirs] == E.ours);
	P.into[E.theirs] = E.ours
}

inline establish()
{
	assert(!(E.carried & BIT(E.ours)));
	assert(E.into[E.ours] == 0 || E.into[E.ours] == E.theirs);
	if
	:: E.theirs != HIS -> assert(E.tx == P.key_of[E.theirs])
	:: else
	fi;
	E.with[E.ours] = E.theirs;
	E.st = RECEIVING;
	say(M_READY, E.ours, E.theirs, 0, 0)
}

inline abandon()
{
	E.ours = 0;
	lose(REJECTED);
	E.redial_due = DIALS(e)
}

inline on_open()
{
	if
	:: !ENTITLED(e) -> E.ours = 0; lose(REJECTED); say(M_REJECT, mi, 0, 0, 0)
#ifndef KIND_UNSEEN
	:: ENTITLED(e) && mkind != E.kind -> say(M_REJECT, mi, 0, 0, 0); abandon()
#endif
	:: else ->
#ifndef USED_AGAIN
		E.ours = (E.st == READY || ACCEPTS(e) -> 0 : E.ours);
#endif
		if
		:: PAIRED(e) -> lose(OPENING)
		:: else
		fi;
		E.theirs = mi;
		if
		:: E.ours == 0 -> send_open()
		:: else
		fi;
		E.tx = mkey;
		E.tx_kind = mkind;
		establish()
	fi
}

#define OF_PAIR	(PAIRED(e) && mi == E.theirs && mj == E.ours)

inline on_ready()
{
	if
#ifdef ANY_READY
	:: E.st == RECEIVING -> become_ready()
#else
	:: E.st == RECEIVING && OF_PAIR -> become_ready()
#endif
	:: else
	fi
}

inline on_rekey()
{
	if
	:: !OF_PAIR
#ifndef REKEY_KIND
	:: OF_PAIR && mkind != E.kind -> go_down()
#endif
	:: else -> E.tx = mkey; E.tx_kind = mkind; say(M_REKEYED, E.ours, E.theirs, mkey, 0)
	fi
}

inline on_rekeyed()
{
	if
	:: OF_PAIR && mkey == E.rekey -> E.rekey = 0
	:: else
	fi
}

inline on_resume()
{
	if
#ifdef DEAF
	:: true
#endif
	:: E.st == READY && OF_PAIR
	:: !(E.st == READY && OF_PAIR) && ACCEPTS(e) && E.st != READY -> say(M_REJECT, mi, 0, 0, 0)
	:: else ->
		say(M_STALE, mi, 0, 0, 0);
		if
		:: E.st == READY -> lose(OPENING); restart()
		:: else
		fi
	fi
}

/* A message about the connection. */
inline on_message()
{
	if
	:: mt == M_OPEN -> on_open()
	:: mt == M_READY -> on_ready()
	:: mt == M_CLOSE && mi == E.theirs -> abandon()
	:: mt == M_REJECT && mi == E.ours -> abandon()
	:: mt == M_STALE && mi == E.ours -> abandon(); restart()
	:: mt == M_REKEY -> on_rekey()
	:: mt == M_REKEYED -> on_rekeyed()
	:: mt == M_RESUME -> on_resume()
	:: else
	fi
}
