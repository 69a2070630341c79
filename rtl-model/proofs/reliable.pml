/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * EFE's reliable class between two nodes: sessions, numbers, acknowledgements, refusals (../../EFE.md).
 * Both nodes send and receive, over wires that lose, double and reorder frames. Each segment is placed
 * or refused as the responder likes. Who has a rule in the RTL stands behind it.
 *
 * What is not here: selective acknowledgements and windows, which say when a frame is sent again, and
 * not what becomes of it; numbers that wrap.
 */
#ifndef MESSAGES
#define MESSAGES 2   /* of each node */
#endif
#ifndef LOSSES
#define LOSSES 2     /* how often the wires may do that */
#endif
#ifndef DOUBLES
#define DOUBLES 1
#endif
#ifndef OVERTAKES
#define OVERTAKES 1
#endif
#ifndef EARLY
#define EARLY 0      /* time-outs while the frame or its answer is under way */
#endif
#ifndef RESETS
#define RESETS 0     /* of node 0 */
#endif
#ifndef LIMIT
#define LIMIT 1      /* RETRY_LIMIT */
#endif
#define ROOM 3       /* frames that a wire holds */
#define SESSIONS 24
#define AFTER_RESET 8 /* drawn anew: not one of those that count as late */
#define LATE 4        /* LateSessions */

/* data: with SEQ, else alone. ours: peer_session, 0 without ACK. number: of a refusal, then of seq. */
chan wire[2] = [ROOM] of {bit /* data */, bit /* syn */, byte /* session */, byte /* ours */,
                          byte /* seq */, byte /* ack */, byte /* heard */, byte /* number */};

typedef Node {
  /* efe_tx: tx_peer */
  byte session; bit established; byte una; byte next; byte retries; bit heard;
  byte base;                     /* message that is number 0 of this session */
  bit owed; bit alone;           /* tx_ack_pending */
  /* efe_rx: rx_sequence, rx_held, rx_placed */
  byte rx_session; byte rx_previous; byte rx_next; byte rx_judged; bit rx_held;
  /* rx_refusals, ours: in force, its number, what it refuses */
  bit in_force; byte last; byte refused;
  /* rx_refusals, the peer's: the last one; whether it was dealt with; one to be dealt with */
  byte seen_session; byte seen; bit dealt; bit pending; byte pending_message;
};
Node node[2];

/* What has become of each message: of its work request, of its segment at the peer, and what its
 * sender was told. */
#define OPEN 0
#define PLACED 1
#define GIVEN_UP 2
byte fate[2 * MESSAGES];
bit got[2 * MESSAGES];
bit refused_once[2 * MESSAGES];
byte told_in[2 * MESSAGES];     /* session of the refuser; 0: never */
byte first_of[2 * SESSIONS];    /* message that is number 0 of a session */

byte lost, doubled, overtaken, early, resets;
byte vain;  /* time-outs since anything has come of one */

bit f_data, f_syn;
byte f_session, f_ours, f_seq, f_ack, f_heard, f_number, p, m;

#define me node[n]
#define NEWER (f_ours > me.seen_session || (f_ours == me.seen_session && f_number > me.seen))

/* tx_header. Every frame says what has come; the refusal in force goes with those that are alone. */
inline transmit(n, with_data, seq_) {
  f_ack = me.rx_judged;
#ifndef WITHOUT_ACK_STOPS
  if :: me.in_force -> f_ack = me.refused :: else fi;
#endif
  f_heard = 0;
  if
  :: me.dealt && me.seen_session == me.session -> f_heard = me.seen
  :: else
  fi;
  if
  :: with_data -> wire[1 - n]!1, !me.established, me.session, me.rx_session, seq_, f_ack, f_heard, 0
  :: else ->
    wire[1 - n]!0, !me.established, me.session, me.rx_session, (me.in_force -> me.refused : 0), f_ack,
        f_heard, (me.in_force -> me.last : 0)
  fi;
  if
  :: with_data && me.alone
  :: else -> me.owed = 0; me.alone = 0
  fi;
  f_ack = 0; f_heard = 0
}

/* tx_ends: the work request of a message ends, once. */
inline end_message(n, which, how) {
  assert(fate[n * MESSAGES + which] == OPEN);
  if
  :: how == PLACED ->  /* by the peer, or its sender has heard of the refusal */
    assert(got[n * MESSAGES + which] || told_in[n * MESSAGES + which] != 0)
  :: else
  fi;
  fate[n * MESSAGES + which] = how
}

/* tx_verdict: give_up. A new session. */
inline give_up(n) {
  do
  :: me.una < me.next -> end_message(n, me.base + me.una, GIVEN_UP); me.una++
  :: else -> break
  od;
  me.base = me.base + me.next;
  me.una = 0; me.next = 0; me.established = 0; me.retries = 0; me.heard = 0;
  me.session++;
  first_of[n * SESSIONS + me.session] = me.base;
  vain = 0
}

/* rx_sequence: adopt, restart */
inline adopt(n) {
  p = me.rx_session;
  me.rx_previous = me.rx_session; me.rx_session = f_session;
  me.rx_next = 0; me.rx_judged = 0; me.rx_held = 0; me.in_force = 0;
  me.refused = 0; me.seen = 0; me.seen_session = 0; me.dealt = 0; me.pending = 0; me.pending_message = 0;
  if
#ifndef WITHOUT_GIVEN_UP_IS_NOT_FORGOTTEN
  :: p != 0 && (f_ours == 0 || (f_ours != me.session && me.established)) ->
#else
  :: p != 0 ->
#endif
    assert(f_ours == 0 || resets > 0);  /* who knows us has not forgotten us */
    give_up(n)
  :: else
  fi;
  p = 0
}

/* tx_verdict: ack_good; rx_refusals: ended */
inline acknowledged(n) {
  if
  :: f_ours == me.session && f_ack >= me.una && f_ack <= me.next ->
    me.established = 1; me.heard = 1;
    if
    :: me.in_force && f_heard == me.last ->
      me.in_force = 0; me.refused = 0; me.owed = 1; me.alone = 1; vain = 0
    :: else
    fi;
    do
    :: me.una < f_ack ->
      end_message(n, me.base + me.una, PLACED); me.una++; me.retries = 0; vain = 0
    :: else -> break
    od
  :: else
  fi
}

/* rx_sequence, rx_held */
inline keep_segment(n) {
  if
  :: f_seq < me.rx_next || (me.rx_held && f_seq == me.rx_next + 1) ->
    me.owed = 1; me.alone = me.alone || me.in_force
  :: else ->
    if
    :: f_seq == me.rx_next -> me.rx_next = me.rx_next + 1 + me.rx_held; me.rx_held = 0
    :: f_seq == me.rx_next + 1 -> me.rx_held = 1; me.owed = 1; me.alone = 1
    :: else
    fi
  fi
}

/* The queue pair of a message hears that it was refused: never of one that has ended well, unless its
 * peer is gone, as that node was reset; and once, unless the node that refuses has begun a new session
 * since. (Who was reset may hear of what it sent before: that is for lives.pml.) */
inline tell(n) {
  assert(fate[n * MESSAGES + me.pending_message] != PLACED || resets > 0);
  assert(told_in[n * MESSAGES + me.pending_message] != me.rx_session || (resets > 0 && n == 0));
  assert(refused_once[n * MESSAGES + me.pending_message]);
  told_in[n * MESSAGES + me.pending_message] = me.rx_session;
  me.pending = 0; me.pending_message = 0; vain = 0
}

/* rx_refusals: fresh, answered */
inline take_refusal(n) {
  if
  :: f_ours == me.seen_session && f_number == me.seen && me.dealt -> me.owed = 1
  :: else
  fi;
  if
#ifndef WITHOUT_LATE_REFUSALS_ARE_IGNORED
  :: me.seen == 0 || NEWER ->
#else
  :: me.seen == 0 || f_ours != me.seen_session || f_number != me.seen || me.dealt ->
#endif
    if :: me.pending -> tell(n) :: else fi;
    me.seen_session = f_ours; me.seen = f_number; me.dealt = 0;
    me.pending = 1; me.pending_message = first_of[n * SESSIONS + f_ours] + f_seq
  :: else
  fi
}

inline receive(n) {
  wire[n]?f_data, f_syn, f_session, f_ours, f_seq, f_ack, f_heard, f_number;
  if
  :: f_session != me.rx_session ->
    if
#ifndef WITHOUT_LATE_SESSIONS_ARE_DROPPED
    :: f_syn && f_session != me.rx_previous &&
       (me.rx_session == 0 || f_session > me.rx_session || f_session + LATE < me.rx_session) -> adopt(n)
#else
    :: f_syn -> adopt(n)
#endif
    :: else
    fi
  :: else
  fi;
  if
  :: f_session == me.rx_session ->
    if :: f_ours != 0 -> acknowledged(n) :: else fi;
    if
    :: f_data -> keep_segment(n)
    :: !f_data && f_number != 0 -> take_refusal(n)
    :: else
    fi;
    if :: !f_data && f_syn && f_ours == 0 -> me.owed = 1 :: else fi
  :: else
  fi;
  f_data = 0; f_syn = 0; f_session = 0; f_ours = 0; f_seq = 0; f_ack = 0; f_heard = 0; f_number = 0
}

/* The responder: the next segment in order is placed, or refused. */
inline judge(n) {
  p = 1 - n;
  m = p * MESSAGES + first_of[p * SESSIONS + me.rx_session] + me.rx_judged;
  assert(!got[m] && !refused_once[m] || (resets > 0 && p == 1));
  if
  :: got[m] = 1; me.rx_judged++; me.owed = 1
  :: !me.in_force ->  /* rx_refusals: set */
    refused_once[m] = 1;
    me.in_force = 1; me.last++; me.refused = me.rx_judged; me.rx_judged++; me.owed = 1; me.alone = 1
  :: me.in_force ->   /* rx_frames: put off */
#ifndef WITHOUT_PUTTING_OFF
    me.rx_next = me.rx_judged; me.rx_held = 0; me.owed = 1
#else
    refused_once[m] = 1; me.rx_judged++; me.owed = 1
#endif
  fi;
  p = 0; m = 0
}

/* tx_timer, tx_verdict: the first frame is sent again, or the peer is given up. */
inline time_out(n) {
  if
  :: me.retries >= LIMIT && !me.heard ->
    assert(lost + early + resets >= LIMIT);  /* who answers is not given up */
    give_up(n)
  :: else ->
    me.retries = (me.retries < LIMIT -> me.retries + 1 : LIMIT); me.heard = 0;
    vain++;
    assert(vain <= 4 + LOSSES);            /* nobody waits for ever */
    transmit(n, 1, me.una)
  fi
}

/* The node begins anew, and knows nothing: its work, and what it was told, is gone. */
inline reset(n) {
  d_step {
    do
    :: me.una < me.next -> fate[n * MESSAGES + me.base + me.una] = GIVEN_UP; me.una++
    :: else -> break
    od;
    me.base = me.base + me.next; me.una = 0; me.next = 0; me.established = 0; me.retries = 0; me.heard = 0;
    me.session = me.session + AFTER_RESET;
    first_of[n * SESSIONS + me.session] = me.base;
    me.owed = 0; me.alone = 0;
    me.rx_session = 0; me.rx_previous = 0; me.rx_next = 0; me.rx_judged = 0; me.rx_held = 0;
    me.in_force = 0; me.last = 0; me.refused = 0;
    me.seen_session = 0; me.seen = 0; me.dealt = 0; me.pending = 0; me.pending_message = 0;
    resets++; vain = 0;
    /* Its queue pairs introduce themselves: it greets. */
    me.owed = 1
  }
}

#define QUIET(n) (node[n].rx_judged == node[n].rx_next && !node[n].pending && !node[n].owed)
#define SETTLED (len(wire[0]) + len(wire[1]) == 0 && QUIET(0) && QUIET(1))
#define ENDED(n) (node[n].base + node[n].next == MESSAGES && node[n].una == node[n].next)

#define NODE(n) \
  :: atomic { node[n].base + node[n].next < MESSAGES && node[n].next - node[n].una < 2 && nfull(wire[1 - n]) -> \
              node[n].next++; transmit(n, 1, node[n].next - 1) } \
  :: atomic { node[n].owed && nfull(wire[1 - n]) -> transmit(n, 0, 0) } \
  :: atomic { nempty(wire[n]) -> receive(n) } \
  :: atomic { node[n].rx_judged < node[n].rx_next -> judge(n) } \
  :: atomic { node[n].pending -> tell(n); node[n].dealt = 1; node[n].owed = 1 } \
  :: atomic { node[n].una < node[n].next && nfull(wire[1 - n]) && (SETTLED || early < EARLY) -> \
              early = early + (SETTLED -> 0 : 1); time_out(n) } \
  :: atomic { nempty(wire[n]) && lost < LOSSES -> wire[n]?_,_,_,_,_,_,_,_; lost++ } \
  :: atomic { nempty(wire[n]) && nfull(wire[n]) && doubled < DOUBLES -> doubled++; \
              wire[n]?<f_data, f_syn, f_session, f_ours, f_seq, f_ack, f_heard, f_number>; \
              wire[n]!f_data, f_syn, f_session, f_ours, f_seq, f_ack, f_heard, f_number; \
              f_data = 0; f_syn = 0; f_session = 0; f_ours = 0; f_seq = 0; f_ack = 0; f_heard = 0; f_number = 0 } \
  :: atomic { len(wire[n]) > 1 && overtaken < OVERTAKES -> overtaken++; \
              wire[n]?f_data, f_syn, f_session, f_ours, f_seq, f_ack, f_heard, f_number; \
              wire[n]!f_data, f_syn, f_session, f_ours, f_seq, f_ack, f_heard, f_number; \
              f_data = 0; f_syn = 0; f_session = 0; f_ours = 0; f_seq = 0; f_ack = 0; f_heard = 0; f_number = 0 }

init {
  d_step { node[0].session = 1; node[1].session = 1 }
  do
  NODE(0)
  NODE(1)
  :: atomic { resets < RESETS -> reset(0) }
  :: atomic { ENDED(0) && ENDED(1) && SETTLED -> break }
  od
}
