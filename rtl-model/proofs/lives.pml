/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lives of a queue pair (../../EFE.md): two queue pairs that are connected to each other, reset and
 * connected anew at any time, also by a reset of their node. Frames come in order, as EFE hands them
 * out (reliable.pml), or all that is under way to a node is lost with its session.
 */
#ifndef RESETS
#define RESETS 2       /* of queue pairs */
#endif
#ifndef NODE_RESETS
#define NODE_RESETS 0  /* of node 0 */
#endif
#ifndef GIVEN_UP
#define GIVEN_UP 1     /* sessions */
#endif
#define WORK 2         /* messages of each life of queue pair 0; one of queue pair 1's */
#define ROOM 5

mtype = {INTRODUCTION, QUESTION, DATA, REFUSAL};
/* What it is, src_generation, dst_generation; then for the proof alone: the two lives that it is of,
 * and which message of its life. */
chan link[2] = [ROOM] of {mtype, byte, byte, byte, byte, byte};

#define RESET 0
#define CONNECTED 1    /* RTR and on */
#define FAILED 2       /* ERROR */
typedef QueuePair {
  byte generation; byte state;
  byte knows;          /* qp_table: generation of the peer; 0: not known */
  bit met;             /* the peer has shown that it knows ours */
  bit introduced; bit owes; bit asked;
  byte left;           /* work */
  /* for the proof */
  byte life; byte meant; byte known; byte expected; byte sent;
};
QueuePair qp[2];
bit established[2];    /* anything of this node's session has come */
byte resets, node_resets, given_up, lives;
mtype f; byte src, dst, from, to, number;
bit lost_work;
byte knew[8];          /* for the proof: of each life, the lives that have introduced themselves to it */

#define me qp[n]
#define MEETS (me.left > 0 && !me.met)

inline begin_life(n) {
  lives++;
  me.life = lives;
  me.state = RESET; me.knows = 0; me.met = 0; me.introduced = 0; me.owes = 0; me.asked = 0;
  me.meant = 0; me.known = 0; me.expected = 0; me.sent = 0;
  me.left = (n == 0 -> WORK : 1)
}

#define send(n, what, s, d, l, t, k) link[1 - n]!what, s, d, l, t, k

/* requester: introduce */
inline introduce(n) {
  if
  :: (MEETS) -> send(n, QUESTION, me.generation, me.knows, me.life, me.meant, 0); me.asked = 1
  :: !(MEETS) -> send(n, INTRODUCTION, me.generation, me.knows, me.life, me.meant, 0); me.asked = 0
  fi;
  me.introduced = 1; me.owes = 0
}

/* responder: refusal. It carries the generations the other way round. */
inline refuse(n) { send(n, REFUSAL, dst, src, to, from, (f == DATA -> 1 : 0)) }

/* responder: core_segments */
inline take_introduction(n) {
  if
  :: me.state != CONNECTED ->
    if :: f == QUESTION -> refuse(n) :: else fi
  :: else ->
    if
    :: me.knows != 0 && (src != me.knows || (me.met && dst != me.generation)) -> me.expected = 0
    :: else
    fi;
    if
    :: f == QUESTION || dst != me.generation || src != me.knows -> me.owes = 1
    :: else
    fi;
    me.knows = src;
#ifndef WITHOUT_BOTH_KNOW
    me.met = (dst == me.generation);
#else
    me.met = 1;
#endif
    if :: me.known != from -> me.expected = 0 :: else fi;
    me.known = from; me.meant = from;
    knew[me.life] = knew[me.life] | (1 << from)
  fi
}

/* responder: qp_check */
inline take_data(n) {
  if
#ifndef WITHOUT_DST_GENERATION
  :: me.state == CONNECTED && dst == me.generation && src == me.knows ->
#else
  :: me.state == CONNECTED && src == me.knows ->
#endif
    assert(to == me.life);            /* no ghost: it was sent to this life, */
    assert(from == me.known);         /* by the present one of the peer; */
    assert(number >= me.expected);    /* none twice, */
    me.expected = number + 1
  :: else -> refuse(n)
  fi
}

inline receive(n) {
  link[n]?f, src, dst, from, to, number;
  established[1 - n] = 1;
  if
  :: f == INTRODUCTION || f == QUESTION -> take_introduction(n)
  :: f == DATA -> take_data(n)
  :: f == REFUSAL ->
    if
    :: me.state == CONNECTED && dst == me.generation ->
      assert(to == me.life);
      assert(number == 0 || (knew[from] >> me.life & 1));  /* work goes to who knows us, or did */
      me.state = FAILED; me.left = 0
    :: else
    fi
  fi;
  f = 0; src = 0; dst = 0; from = 0; to = 0; number = 0
}

/* tx_verdict: what is under way to the peer is lost. Of whose work a part is, nothing leaves any more
 * (tx_streams). */
inline lose_session(n) {
  lost_work = 0;
  do
  :: len(link[1 - n]) > 0 ->
    link[1 - n]?f, src, dst, from, to, number;
    if :: (f == DATA || f == QUESTION) && from == me.life -> lost_work = 1 :: else fi
  :: else -> break
  od;
  established[n] = 0;
  if :: lost_work && me.state == CONNECTED -> me.state = FAILED; me.left = 0 :: else fi;
  f = 0; src = 0; dst = 0; from = 0; to = 0; number = 0; lost_work = 0
}

/* Of what is under way to it comes only what has SYN; its own frames come before those of its next
 * session. */
inline reset_node(n) {
  node_resets++;
  if :: established[1 - n] -> lose_session(1 - n) :: else fi;
  established[n] = 0;
#ifndef WITHOUT_GENERATIONS_THAT_GO_ON
  me.generation++;     /* qp_table */
#else
  me.generation = 1;
#endif
  begin_life(n)
}

#define QUIET (len(link[0]) + len(link[1]) == 0)
#define CALM(n) (qp[n].state == FAILED || qp[n].introduced && !qp[n].owes && !(qp[n].left > 0 && qp[n].met))
#define OVER(n) (qp[n].state == FAILED || (qp[n].state == CONNECTED && qp[n].left == 0))

#define QP(n) \
  :: atomic { qp[n].state != RESET && resets < RESETS -> \
              resets++; qp[n].generation++; begin_life(n) } \
  :: atomic { qp[n].state == RESET -> qp[n].state = CONNECTED } \
  :: atomic { qp[n].state == CONNECTED && len(link[1 - n]) < ROOM - 2 && \
              (!qp[n].introduced || qp[n].owes || \
               (qp[n].left > 0 && !qp[n].met && (!qp[n].asked || (QUIET && CALM(1 - n))))) -> introduce(n) } \
  :: atomic { qp[n].state == CONNECTED && qp[n].introduced && !qp[n].owes && qp[n].left > 0 && qp[n].met && \
              len(link[1 - n]) < ROOM - 2 -> \
              send(n, DATA, qp[n].generation, qp[n].knows, qp[n].life, qp[n].meant, qp[n].sent); \
              qp[n].sent++; qp[n].left-- } \
  :: atomic { nempty(link[n]) && nfull(link[1 - n]) -> receive(n) } \
  :: atomic { given_up < GIVEN_UP -> given_up++; lose_session(n) }

init {
  d_step {
    qp[0].generation = 1; qp[1].generation = 1;
    begin_life(0); begin_life(1)
  }
  do
  QP(0)
  QP(1)
  :: atomic { node_resets < NODE_RESETS && qp[0].state != RESET -> reset_node(0) }
  :: atomic { QUIET && OVER(0) && OVER(1) -> break }
  od
}
