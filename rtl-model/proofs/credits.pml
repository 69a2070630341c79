/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages that find no receive, and end-to-end credits (../../EFE.md), between a requester and a
 * responder. Segments and refusals come once and in order (reliable.pml); credit updates are lost, late
 * or overtaken. Each work request is a message, which takes a receive, or a write; of one segment.
 */
#ifndef WORK
#define WORK 3
#endif
#ifndef SLOTS_OF_A_RECEIVE
#define SLOTS_OF_A_RECEIVE 1  /* 2: the limit is too high */
#endif
#define MODULO 8              /* credits.sv: 2^15 */
#define DISTANCE(from, to) (((to) - (from) + MODULO) % MODULO)
#define ABOVE(a, b) (DISTANCE(b, a) > 0 && DISTANCE(b, a) < MODULO / 2)

chan data[1] = [WORK + 1] of {byte /* work request */, bit /* ask */};
mtype = {ACKNOWLEDGED, NO_RECEIVE};
chan answer = [WORK + 1] of {mtype, byte};
chan update = [2] of {byte};

bit is_message[WORK];
byte number_of[WORK];         /* messages before it */

/* requester: turn_control; completer: completion_status */
byte next;                    /* work request that is issued next */
byte issued, ended;
bit no_receive; byte from;    /* status.rnr, fault_seq */
bit probe;                    /* the first one after a pause, alone */
bit paused; bit waits_for_credit; bit pauses_for_credit;
bit has_limit; byte limit;    /* credit_limits */
byte completed;

/* responder: receives, stream_check; credit_updates */
byte messages;                /* that have taken a receive */
byte posted, slots_posted;
bit behind; byte refused;     /* discards until it comes */
bit peer_sends, told_any, lapsed; byte told;

byte executed;                /* work requests, in order */
byte w, l; bit ask; mtype a;

inline update_peer() {
  if
  :: peer_sends ->
    l = (messages + slots_posted - SLOTS_OF_A_RECEIVE * messages + MODULO) % MODULO;
    w = (lapsed -> messages % MODULO : told);
    if
    :: !told_any || (ABOVE(l, w) && DISTANCE(messages % MODULO, w) < DISTANCE(w, l)) ->
      told_any = 1; lapsed = 0; told = l;
      if :: nfull(update) -> update!l :: full(update) fi  /* or it is lost */
    :: else
    fi
  :: else
  fi;
  l = 0; w = 0
}

inline respond() {
  data[0]?w, ask;
  if
#ifndef WITHOUT_DISCARDING
  :: behind && w != refused -> a = ACKNOWLEDGED
#else
  :: false
#endif
  :: else ->
    if
    :: is_message[w] && messages == posted ->
      behind = 1; refused = w; a = NO_RECEIVE; lapsed = 1; peer_sends = 1
    :: else ->
      assert(w == executed);  /* once, in order */
      executed++;
      if
      :: is_message[w] -> messages++; behind = 0; refused = 0; peer_sends = 1; lapsed = lapsed || ask
      :: else
      fi;
      a = ACKNOWLEDGED
    fi
  fi;
  answer!a, w;
  w = 0; ask = 0; a = 0;
  update_peer()
}

inline hear_answer() {
  answer?a, w;
  ended++;
  if
  :: a == NO_RECEIVE && !no_receive -> no_receive = 1; from = w
  :: a == ACKNOWLEDGED && (!no_receive || w < from) ->
    assert(w == completed && w < executed);  /* no completion of what was not done */
    completed++; probe = 0
  :: else
  fi;
  /* requester: go_back, when all that is under way has ended */
  if
  :: no_receive && issued == ended ->
    next = from; no_receive = 0; from = 0; probe = 1; paused = 1; pauses_for_credit = 0; issued = 0; ended = 0
  :: else
  fi;
  if :: issued == ended -> issued = 0; ended = 0 :: else fi;
  w = 0; a = 0
}

#define BEYOND (has_limit && DISTANCE(limit, (number_of[next] + 1) % MODULO) > 0 && \
                DISTANCE(limit, (number_of[next] + 1) % MODULO) < MODULO / 2)
#define MAY_ISSUE (next < WORK && !no_receive && !paused && !(probe && issued != ended))
#define WAITS (is_message[next] && !probe && BEYOND && !(waits_for_credit && issued == ended))

inline issue() {
  if
  :: WAITS -> waits_for_credit = 1; pauses_for_credit = 1; paused = 1
  :: else ->
    data[0]!next, (waits_for_credit && BEYOND);
    if :: waits_for_credit && BEYOND && is_message[next] -> probe = 1 :: else fi;
    if :: is_message[next] -> waits_for_credit = 0 :: else fi;
    next++; issued++
  fi
}

inline hear_update() {
  update?l;
  if
  :: !has_limit || ABOVE(l, limit) ->
    has_limit = 1; limit = l;
    if :: pauses_for_credit -> paused = 0; pauses_for_credit = 0 :: else fi
  :: else
  fi;
  l = 0
}

init {
  atomic {
    do
    :: w < WORK ->
      number_of[w] = (w == 0 -> 0 : number_of[w - 1] + is_message[w - 1]);
      if :: is_message[w] = 1 :: w > 0 -> is_message[w] = 0 fi;
      w++
    :: else -> break
    od;
    w = 0
  }
  do
  :: atomic { MAY_ISSUE && nfull(data[0]) -> issue() }
#ifndef WITHOUT_PROBES
  :: atomic { paused -> paused = 0; pauses_for_credit = 0 }
#else
  :: atomic { paused && !pauses_for_credit -> paused = 0 }
#endif
  :: atomic { nempty(data[0]) && nfull(answer) -> respond() }
  :: atomic { nempty(answer) -> hear_answer() }
  :: atomic { nempty(update) -> hear_update() }
  :: atomic { nempty(update) -> update?_ }                                  /* lost */
  :: atomic { len(update) == 2 -> update?l; update!l; l = 0 }               /* overtaken */
  :: atomic { posted < WORK -> posted++; slots_posted = slots_posted + SLOTS_OF_A_RECEIVE; update_peer() }
  :: atomic { completed == WORK && executed == WORK -> break }
  od
}
