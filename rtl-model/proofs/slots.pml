/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Slots of the retransmission buffer, and quotas (../../tiles/wire/efe_tx/README.md): NODES nodes whose
 * work, and answers to work of others, needs slots. A slot is kept until its segment is acknowledged.
 * Who has a rule in the RTL stands behind it. With SILENT the last node takes nothing, for ever: nobody
 * gives it up here, and all the others' work has to end all the same.
 */
#ifndef NODES
#define NODES 2
#endif
#ifndef WORK
#define WORK 3       /* requests of each node to each other one; for a silent one: as many as there are slots */
#endif
#ifndef SLOTS
#define SLOTS 4
#endif
#ifndef SILENT
#define SILENT 0
#endif
#define PAIRS (NODES * NODES)
#define PLACES 2     /* qp_fifo: reads of a peer that are under way */

mtype = {WRITE, READ, RESPONSE};
chan link[PAIRS] = [SLOTS] of {mtype};   /* frames from a to b: each has a slot of a's */
byte free[NODES] = SLOTS;                /* tx_slots */
byte held[PAIRS];                        /* tx_quota: slots of a for b */
byte left[PAIRS];                        /* work of a for b */
byte pulls[PAIRS];                       /* of a at b, not answered */
byte reads[PAIRS];                       /* of b's peer a, to be answered */
bit in_force[PAIRS];                     /* rx_refusals: b refuses a segment of a's */
byte waits[PAIRS];                       /* placed behind that: acknowledged when it is heard */
mtype head;

#define AT(a, b) ((a) * NODES + (b))
#define TAKES_NOTHING(b) (SILENT && b == NODES - 1)

/* tx_quota: a node may hold as many slots as are free; work begins with less. */
#ifndef WITHOUT_QUOTA
#define MAY_BEGIN(a, b) (free[a] > 0 && (held[AT(a, b)] == 0 || held[AT(a, b)] < free[a] - free[a] / 4))
#define MAY_GO_ON(a, b) (held[AT(a, b)] < free[a])
#else
#define MAY_BEGIN(a, b) (free[a] > 0)
#define MAY_GO_ON(a, b) (free[a] > 0)
#endif

inline submit(a, b, what) { free[a]--; held[AT(a, b)]++; link[AT(a, b)]!what }
inline acknowledge(a, b) { free[a]++; held[AT(a, b)]-- }

/* The responder of b, for a segment of a: it waits for no slot (responder_control). */
inline arrived(a, b) {
  if
  :: in_force[AT(a, b)] -> waits[AT(a, b)]++
  :: else -> acknowledge(a, b)
  fi
}

inline take(a, b) {
  link[AT(a, b)]?head;
  if
  :: head == READ ->
    reads[AT(a, b)]++; assert(reads[AT(a, b)] <= PLACES);
#ifndef WITHOUT_REQUESTS_ARE_TAKEN
    arrived(a, b)   /* when it has its place, not when it is answered */
#endif
  :: head == RESPONSE -> pulls[AT(b, a)]--; arrived(a, b)
  :: head == WRITE -> arrived(a, b)
  :: head == WRITE && !in_force[AT(a, b)] ->
    /* Refused: in a frame without a number, and without a slot (tx_refusals). */
    in_force[AT(a, b)] = 1; waits[AT(a, b)]++
  fi;
  head = 0
}

#ifndef WITHOUT_REFUSALS_WITHOUT_SLOTS
#define MAY_TAKE(a, b) true
#else
/* As if a refusal were a segment like others: the responder waits until it has a slot. */
#define MAY_TAKE(a, b) MAY_GO_ON(b, a)
#endif

inline hear(a, b) {
  in_force[AT(a, b)] = 0;
  do
  :: waits[AT(a, b)] > 0 -> waits[AT(a, b)]--; acknowledge(a, b)
  :: else -> break
  od
}

#ifndef WITHOUT_REQUESTS_ARE_TAKEN
#define ANSWERED(a, b) skip
#else
#define ANSWERED(a, b) arrived(a, b)
#endif

/* What a does for b, and b with what comes from a. */
#define PAIR(a, b) \
  :: atomic { left[AT(a, b)] > 0 && MAY_BEGIN(a, b) -> left[AT(a, b)]--; submit(a, b, WRITE) } \
  :: atomic { left[AT(a, b)] > 0 && MAY_BEGIN(a, b) && pulls[AT(a, b)] < PLACES -> \
              left[AT(a, b)]--; pulls[AT(a, b)]++; submit(a, b, READ) } \
  :: atomic { len(link[AT(a, b)]) > 0 && !TAKES_NOTHING(b) && MAY_TAKE(a, b) -> take(a, b) } \
  :: atomic { reads[AT(a, b)] > 0 && MAY_GO_ON(b, a) -> \
              reads[AT(a, b)]--; submit(b, a, RESPONSE); ANSWERED(a, b) } \
  :: atomic { in_force[AT(a, b)] && !TAKES_NOTHING(a) -> hear(a, b) }

#define OVER(a, b) (TAKES_NOTHING(a) || TAKES_NOTHING(b) || \
                    (left[AT(a, b)] == 0 && pulls[AT(a, b)] == 0 && held[AT(a, b)] == 0))

init {
  d_step {
    left[AT(0, 1)] = (TAKES_NOTHING(1) -> SLOTS : WORK); left[AT(1, 0)] = WORK;
#if NODES > 2
    left[AT(0, 2)] = (TAKES_NOTHING(2) -> SLOTS : WORK); left[AT(1, 2)] = (TAKES_NOTHING(2) -> SLOTS : WORK);
    left[AT(2, 0)] = (TAKES_NOTHING(2) -> 0 : WORK); left[AT(2, 1)] = (TAKES_NOTHING(2) -> 0 : WORK);
#endif
  }
  do
  PAIR(0, 1)
  PAIR(1, 0)
#if NODES > 2
  PAIR(0, 2)
  PAIR(2, 0)
  PAIR(1, 2)
  PAIR(2, 1)
  :: OVER(0, 1) && OVER(1, 0) && OVER(0, 2) && OVER(2, 0) && OVER(1, 2) && OVER(2, 1) -> break
#else
  :: OVER(0, 1) && OVER(1, 0) -> break
#endif
  od
}
