/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * verbs-lite-dsm: memory that the processes of several nodes share, by the calls of JIAJIA, in
 * which programs of shared memory are written. What one node writes, others see when both have
 * synchronised: the writer has released (jia_unlock, jia_barrier, jia_setcv), and the reader has
 * then acquired (jia_lock, jia_barrier, jia_waitcv). Nodes may write to one page together, if not
 * to the same 4 bytes, which are aligned.
 *
 * All nodes run the same program, and allocate alike: the same calls in the same order. An address
 * is the same on all of them. One thread of a process calls; others may use the memory while none
 * of them is in a call. System calls do not fault: read() into shared memory gives EFAULT for a
 * page that this node has not written since it last synchronised, its own homes included, and
 * write() for one that it has not read. Handlers of signals may use shared memory, but neither that
 * nor a call within a call. A fault needs 16 KiB of stack.
 *
 * Errors: there are no results to check. What is wrong, here or on another node, is said in one
 * line of standard error, which names argument, value and limit, or the node, and ends the process
 * with status 1. The other nodes are told, and end alike.
 */
#ifndef EXRNIC_JIA_H
#define EXRNIC_JIA_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define JIA_API __attribute__((visibility("default")))

#define JIA_NODES_MAX 64
#define JIA_LOCKS 1024     /* numbers of locks are below */
#define JIA_CONDITIONS 256 /* and those of condition variables */

extern JIA_API int jiapid;   /* this node, 0 and on */
extern JIA_API int jiahosts; /* how many there are */

/*
 * Before any other call. Which nodes there are says the environment:
 *   JIA_HOSTS   HOST:PORT of each, with commas between; none: this process is alone
 *   JIA_NODE    which of them this process is
 *   JIA_AREA    MiB of shared memory, 1 to 1024 (64); alike on all nodes
 *   JIA_LIMIT   seconds, 0.1 to 86400, that a node waits for others, at a lock or a barrier, too
 * (60) VL_DEVICE   its RNIC The arguments are the program's; nothing is taken from them.
 */
JIA_API void jia_init(int argc, char** argv);

/* The same, told by arguments. area: bytes, or 0; limit_ms: or 0; then the environment says it. */
JIA_API void jia_init_nodes(int node, int nodes, const char* const* addresses, size_t area,
                            long limit_ms);

/* The last call, of all nodes together. Shared memory is gone after it. */
JIA_API void jia_exit(void);

/*
 * `size` bytes of zeroes, from a whole page on. The pages have homes, where what others write comes
 * together; a node writes to pages that have their home there at the least cost. Blocks, rounded up
 * to pages, go to the nodes in turn:
 *   jia_alloc     all of it to one node: the first call to node 0, each later one to the next
 *   jia_alloc1    all of it to node 0
 *   jia_alloc2    blocks of `block` bytes, from node 0 on
 *   jia_alloc2p   all of it to `node`
 *   jia_alloc3    blocks, from `node` on
 *   jia_alloc_first_touch   a page to who first reads or writes there
 */
JIA_API unsigned long jia_alloc(size_t size);
JIA_API unsigned long jia_alloc1(size_t size);
JIA_API unsigned long jia_alloc2(size_t size, size_t block);
JIA_API unsigned long jia_alloc2p(size_t size, int node);
JIA_API unsigned long jia_alloc3(size_t size, size_t block, int node);
JIA_API unsigned long jia_alloc_first_touch(size_t size);

/* A lock is one node's at a time. It must not be asked for by who has it. */
JIA_API void jia_lock(int lock);
JIA_API void jia_unlock(int lock);

/* Returns when all nodes have come to it. What they have written before is seen after it. */
JIA_API void jia_barrier(void);
/* Likewise, but nothing is written or seen by it. */
JIA_API void jia_wait(void);

/* A condition variable is set or not; who waits for one that is set does not wait. */
JIA_API void jia_setcv(int condition);
JIA_API void jia_resetcv(int condition);
JIA_API void jia_waitcv(int condition);

/* Seconds since some moment. */
JIA_API double jia_wtime(void);
JIA_API float jia_clock(void); /* since jia_init */

/* JIAJIA's options: they are taken, and change nothing. */
#define OFF 0
#define ON 1
enum jia_option { HMIG = 0, ADWD, BROADCAST, LOADBAL, WVEC };
JIA_API void jia_config(int option, int value);

/* Says so, as printf does, and ends the program on all nodes. */
JIA_API void jia_error(const char* format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* Where the time of this node went since jia_init or jia_startstat; seconds. */
struct jia_stat {
  double faults; /* pages that were fetched, and first writes to pages */
  double diffs;  /* what was written, brought to its homes */
  double barrier;
  double locks; /* waited for locks and condition variables */
  uint64_t read_faults, write_faults;
  uint64_t pages_fetched, pages_pushed; /* of the latter only what was changed */
  uint64_t bytes_pushed;
  uint64_t firmware_barriers; /* at which all nodes met by firmware of their RNICs */
};
/* Both return 0. */
JIA_API unsigned int jia_startstat(void);
JIA_API unsigned int jia_stopstat(void); /* prints it to standard output */
JIA_API void jia_statistics(struct jia_stat* statistics);

#ifdef __cplusplus
}
#endif

#endif /* EXRNIC_JIA_H */
