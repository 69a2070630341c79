/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The fence of invalidations (../../tiles/memory/xlate/README.md): an invalidation, and a bind that
 * replaces one, is answered when all that the old translation let in is over. CLIENTS look up, hold the
 * address until they have a place for the data (a slot of efe_tx), and read; the host answers in any
 * order. Slots are freed by the completer, whose look-up is not of this region: it waits for nobody.
 */
#ifndef CLIENTS
#define CLIENTS 3
#endif
#ifndef ROUNDS
#define ROUNDS 2     /* look-ups or invalidations of each client */
#endif
#define SLOTS 1

#define REST 0
#define HOLDS 1      /* xlate's hold_i: it has an address, and has asked for no transfer with it */
#define ASKED 2      /* an invalidation was done: invalidated_q */
typedef Client { byte state; byte rounds; byte reads; bit has_slot; bit fenced; byte done_at; byte let_in; };
Client client[CLIENTS];
byte invalidations;          /* that were done; an address is of the one before it */
byte read_age[CLIENTS];      /* for the proof: of the reads under way */
byte reads[CLIENTS];         /* dma_read: under way */
byte slots = SLOTS;          /* free */

/* xlate: fence_e */
#define NONE 0
#define WAITS_FOR_HOLDERS 1
#define WAITS_FOR_READS 2
#define DONE 3
byte fence;
bit holding[CLIENTS];        /* holding_q */
bit before[CLIENTS];         /* dma_read: a read that was asked for before the fence */
byte i;

#define me client[c]
#define LET_GO (fence == WAITS_FOR_HOLDERS)

inline begin_fence() {
  i = 0;
  do
  :: i < CLIENTS ->
    client[i].fenced = (client[i].state == ASKED);
    holding[i] = 1; i++
  :: else -> break
  od;
#ifndef WITHOUT_WAITING_FOR_HOLDERS
  fence = WAITS_FOR_HOLDERS;
#else
  begin_reads();
#endif
  i = 0
}

inline begin_reads() {
  i = 0;
  do
  :: i < CLIENTS -> before[i] = (reads[i] > 0); i++
  :: else -> break
  od;
#ifndef WITHOUT_WAITING_FOR_READS
  fence = WAITS_FOR_READS;
#else
  fence = DONE;
#endif
  i = 0
}

inline answer_fenced() {
  i = 0;
  do
  :: i < CLIENTS ->
    if
#ifndef WITHOUT_ITS_OWN_FENCE
    :: client[i].state == ASKED && client[i].fenced ->
#else
    :: client[i].state == ASKED ->
#endif
      client[i].state = REST; client[i].fenced = 0;
      check(client[i].done_at); client[i].done_at = 0
    :: else
    fi;
    i++
  :: else -> break
  od;
  fence = NONE; i = 0
}

/* Nobody has an address that was let in before this invalidation, or reads by one. */
inline check(age) {
  k = 0;
  do
  :: k < CLIENTS ->
    assert(!(client[k].state == HOLDS && client[k].let_in < age));
    assert(!(reads[k] > 0 && read_age[k] < age));
    k++
  :: else -> break
  od;
  k = 0
}
byte k;

#define NOBODY_HOLDS (!holding[0] && !holding[1] && !holding[2])
#define NO_READ_BEFORE (!before[0] && !before[1] && !before[2])
#define OVER(c) (client[c].state == REST && client[c].rounds == ROUNDS && reads[c] == 0 && !client[c].has_slot)

#define CLIENT(c) \
  /* A look-up that is let in, if the last invalidation was of another region. */ \
  :: atomic { client[c].state == REST && client[c].rounds < ROUNDS && reads[c] == 0 && !client[c].has_slot -> \
              client[c].state = HOLDS; client[c].let_in = invalidations } \
  /* stag_table: invalidated. One client has invalidations in hand: requester, the peer's segments. */ \
  :: atomic { client[c].state == REST && client[c].rounds < ROUNDS && reads[c] == 0 && !client[c].has_slot && c > 0 -> \
              invalidations++; client[c].state = ASKED; client[c].done_at = invalidations; client[c].rounds++ } \
  /* It asks for the read when it has a slot. */ \
  :: atomic { client[c].state == HOLDS && slots > 0 -> \
              slots--; client[c].has_slot = 1; client[c].state = REST; client[c].rounds++; \
              reads[c] = 1; read_age[c] = client[c].let_in; client[c].let_in = 0 } \
  LETS_GO(c) \
  :: atomic { reads[c] > 0 -> reads[c] = 0; read_age[c] = 0; before[c] = 0 } \
  /* The slot is freed when its data has left and the peer has placed it. That of client 1 the peer does \
   * when an invalidation of its own is answered, which waits here for client 2's. */ \
  :: atomic { client[c].has_slot && reads[c] == 0 && (c != 1 || client[2].state != ASKED) -> \
              client[c].has_slot = 0; slots++ } \
  :: atomic { fence == WAITS_FOR_HOLDERS && holding[c] && client[c].state != HOLDS -> holding[c] = 0 }

/* payload_gather: with let_go it does not wait for a slot: it forgets the address, and asks anew. */
#ifndef WITHOUT_LETTING_GO
#define LETS_GO(c) :: atomic { LET_GO && client[c].state == HOLDS && slots == 0 -> \
                               client[c].state = REST; client[c].let_in = 0 }
#else
#define LETS_GO(c)
#endif

#define ANY_ASKED (client[0].state == ASKED || client[1].state == ASKED || client[2].state == ASKED)

init {
  do
  CLIENT(0)
  CLIENT(1)
  CLIENT(2)
  :: atomic { fence == NONE && ANY_ASKED -> begin_fence() }
  :: atomic { fence == WAITS_FOR_HOLDERS && NOBODY_HOLDS -> begin_reads() }
  :: atomic { fence == WAITS_FOR_READS && NO_READ_BEFORE -> fence = DONE }
  :: atomic { fence == DONE -> answer_fenced() }
  :: atomic { OVER(0) && OVER(1) && OVER(2) && fence == NONE -> break }
  od
}
