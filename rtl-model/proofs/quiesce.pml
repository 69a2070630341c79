/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How memory is taken away (../../tiles/host/mailbox/README.md, ../../README.md, What PCIe forbids): the
 * driver's command, the core that comes to rest, and a bus on which no completion passes a store that
 * came before it, in either direction. All accesses here are to the memory that the command takes away.
 */
#ifndef BELLS
#define BELLS 2      /* stores of processes to doorbells, */
#endif
#ifndef STORES
#define STORES 2     /* and to windows */
#endif
#ifndef TIMEOUTS
#define TIMEOUTS 1   /* commands that the driver gives up */
#endif

mtype = {BELL, STORE, COMMAND, LOAD, COMPLETION, READ, WRITE, BUSY, OK};
chan inbound = [3] of {mtype};    /* to the device: stores, loads, completions of its reads */
chan outbound = [3] of {mtype};   /* to the host: its reads, its writes, completions of loads */

/* The driver: exrnic_mbox_exec_locked() */
bit sent, waits, unpinned, cut_off, gave_up;
byte bells, stores, timeouts;

/* The core: mailbox */
#define IDLE 0
#define DRAIN 1
#define REST 2
#define FINISHED 3
byte mailbox;
bit exists = 1;                   /* what the command destroys */
bit stop;                         /* exrnic_core: stop */
#define QUIESCE (mailbox == REST)

/* The blocks: requester, responder, completer, together: a read, then a write. */
bit reading, to_write;
bit window;                       /* window_send: a store of a window is in hand */
byte rung;

#ifndef WITHOUT_STORES_WHILE_IT_COMES_TO_REST
#define TAKES_STORES (!stop)
#else
#define TAKES_STORES (!QUIESCE)
#endif

init {
  do
  /* Processes. */
  :: atomic { bells < BELLS && nfull(inbound) -> inbound!BELL; bells++ }
  :: atomic { stores < STORES && nfull(inbound) -> inbound!STORE; stores++ }

  /* The driver. */
  :: atomic { !sent && nfull(inbound) -> inbound!COMMAND; sent = 1 }
  :: atomic { sent && !waits && !unpinned && nfull(inbound) -> inbound!LOAD; waits = 1 }
  /* exrnic_mbox_cut_off(): bus mastering off, then memory is unpinned. */
  :: atomic { sent && !unpinned && timeouts < TIMEOUTS ->
#ifndef WITHOUT_CUTTING_OFF
              cut_off = 1;
#endif
              gave_up = 1; unpinned = 1; timeouts++ }

  /* The bus towards the host. */
  :: atomic { len(outbound) > 0 && outbound?[READ] && nfull(inbound) ->
              outbound?READ; assert(!unpinned || cut_off); inbound!COMPLETION }
  :: atomic { outbound?[WRITE] -> outbound?WRITE; assert(!unpinned || cut_off) }
  :: atomic { outbound?[BUSY] -> outbound?BUSY; waits = 0 }
#ifndef WITHOUT_ORDER_OF_COMPLETIONS
  :: atomic { outbound?[OK] -> outbound?OK; waits = 0; unpinned = 1 }
#else
  :: atomic { outbound??[OK] -> outbound??OK; waits = 0; unpinned = 1 }
#endif

  /* The bus towards the device. */
  :: atomic { inbound?[BELL] && TAKES_STORES -> inbound?BELL; rung++ }
  :: atomic { inbound?[STORE] && TAKES_STORES && !window -> inbound?STORE; window = 1 }
  :: atomic { inbound?[COMMAND] -> inbound?COMMAND; mailbox = DRAIN }
  :: atomic { inbound?[LOAD] && nfull(outbound) -> inbound?LOAD;
              if :: mailbox == FINISHED -> outbound!OK :: else -> outbound!BUSY fi }
  :: atomic { inbound?[COMPLETION] -> inbound?COMPLETION; reading = 0; to_write = 1 }

  /* The blocks begin nothing while the core comes to rest, and end what they have begun. */
  :: atomic { exists && !QUIESCE && !reading && !to_write && rung > 0 && nfull(outbound) ->
              rung--; reading = 1; outbound!READ }
  :: atomic { to_write && nfull(outbound) -> to_write = 0; outbound!WRITE }

  /* What a window has sent goes when the peer has room: which it may have only when this core goes on.
   * Else a clock decides (window_send: ROOM_CYCLES). */
  :: atomic { window && !QUIESCE -> window = 0 }
#ifndef WITHOUT_ROOM_CYCLES
  :: atomic { window && QUIESCE && !stop -> window = 0 }
#endif

  /* mailbox: StDrain, StQuiesce, StApply */
  :: atomic { mailbox == DRAIN && !window -> mailbox = REST }
#ifndef WITHOUT_WAITING_FOR_READS
  :: atomic { mailbox == REST && !stop && !reading && !to_write -> stop = 1 }
#else
  :: atomic { mailbox == REST && !stop -> stop = 1 }
#endif
  :: atomic { mailbox == REST && stop -> exists = 0; mailbox = FINISHED; stop = 0 }

  :: atomic { unpinned && bells == BELLS && stores == STORES && len(inbound) == 0 && len(outbound) == 0 &&
              !window && !reading && !to_write -> break }
  od
}
