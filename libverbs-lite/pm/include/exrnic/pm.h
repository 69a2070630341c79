/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * verbs-lite-pm: the calls of PMv2 on PUSH and PULL of the RNIC, in plain C. Message passing with
 * buffers of the library, without a copy or a wait; and remote write and read of memory by handles.
 *
 * A context is one of `nodes` processes, which find each other over TCP (pmOpenContext). Several
 * processes of one machine each have a context of their own, with a number of its own, whether
 * their RNICs are one or several: messages go by the RNIC between all of them.
 *
 * Errors: 0, or an errno, and pmErrorText() names the argument, its value and limit, and the node.
 * EINVAL: a null pointer, a value out of range. ECONNRESET: that node is gone, or has left; calls
 * for others go on. ETIMEDOUT: the limit of time of the context. None waits longer.
 *
 * Threads: any. From the call that gives a send buffer to pmSend a context is its thread's, as far
 * as sending goes: others get ENOBUFS.
 */
#ifndef EXRNIC_PM_H
#define EXRNIC_PM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct vl_rnic;
struct pm_context;

#pragma GCC visibility push(default)

#define PM_MESSAGE_MAX 8192 /* bytes of a message */
#define PM_NODES_MAX 256
#define PM_SLOTS 256        /* places for messages to a node, whatever the number of nodes */
#define PM_SLOTS_OF_NODE 32 /* most of them that one sender has */
#define PM_SEND_BUFFERS 64
#define PM_LOCKS_MAX 256 /* areas that a context has locked */
#define PM_NODE_ANY (-1)

struct pm_attr {
  int nodes;                    /* 2 to PM_NODES_MAX */
  int self;                     /* this one's number */
  const char* const* addresses; /* "HOST:PORT" of each, the same list at all nodes */
  struct vl_rnic* rnic;         /* an RNIC that is open, for contexts that share one; or NULL... */
  const char* device;           /* ...and this is opened, as of vl_open_rnic */
  int timeout_ms;               /* limit of each wait; 0: 30000 */
};

/*
 * Waits for all others, in any order of start. ETIMEDOUT: the text names those who did not come.
 * EPROTO: a node counts otherwise, or has another list. Also errno of verbs.
 */
int pmOpenContext(const struct pm_attr* attr, struct pm_context** context);

/*
 * What was sent is delivered before; receive buffers are gone, and areas unlocked. The context is
 * gone behind it, whatever it returns.
 */
int pmCloseContext(struct pm_context* context);

int pmGetSelf(struct pm_context* context, int* node);
int pmGetNodes(struct pm_context* context, int* nodes);

/* ---- Messages -------------------------------------------------------------------------------- */

/*
 * A buffer for a message of `length` bytes (0 to PM_MESSAGE_MAX) to a node, not this one. ENOBUFS:
 * the node has no place at the moment, or all send buffers are under way, or another thread has
 * one: try again, and receive meanwhile. EBUSY: this thread has one already. The caller fills it,
 * and sends.
 */
int pmGetSendBuffer(struct pm_context* context, int node, void** buffer, size_t length);

/* One buffer for several nodes, each named once: all of them have a place, or ENOBUFS. */
int pmGetMulticastBuffer(struct pm_context* context, const int* nodes, int count, void** buffer,
                         size_t length);

/* Sends it. The buffer is the library's again. EINVAL: this thread has none. */
int pmSend(struct pm_context* context);

/*
 * The next message of any node; those of one come in order. ENOBUFS: nothing came. ECONNRESET: a
 * node has died, which is told once, behind its last message. The buffer stays until it is
 * released.
 */
int pmReceive(struct pm_context* context, void** buffer, size_t* length);
/* With the node that sent it; of ECONNRESET the one that died. */
int pmReceiveFrom(struct pm_context* context, void** buffer, size_t* length, int* node);

/* Gives the oldest buffer that was received back to its sender. EINVAL: there is none. */
int pmReleaseReceiveBuffer(struct pm_context* context);

/* ---- Remote write and read ------------------------------------------------------------------- */

/* A place in an area that a node has locked: handle + n is n bytes further on. 0 is none. */
typedef uint64_t pm_handle;

/*
 * Locks memory, so that `node`, or all nodes, may write and read it by the handle, and this one may
 * from there. Programs tell each other handles by messages. ENOSPC: PM_LOCKS_MAX are locked. The
 * library asks nodes to keep to `node`; the RNIC guards the memory's bounds.
 */
int pmMLock(struct pm_context* context, int node, void* address, size_t length, pm_handle* handle);

/*
 * Behind it nobody begins a transfer there: their calls give EINVAL. Whoever has one under way to
 * it is in error, and its connection for transfers to this node ends.
 */
int pmMUnlock(struct pm_context* context, pm_handle handle);

/*
 * Begin to move `length` bytes (1 to 2^31 - 1) from here to the node's area, and from there to
 * here. Transfers with one node are done in order. ENOBUFS: as many are under way as can be.
 * EINVAL: a handle is none, or was unlocked; the text says whose. ERANGE: it does not reach so far.
 * EACCES: the area is for another node.
 */
int pmWrite(struct pm_context* context, int node, pm_handle remote, pm_handle local, size_t length);
int pmRead(struct pm_context* context, int node, pm_handle remote, pm_handle local, size_t length);

/* EBUSY: some are under way. ECONNRESET: some have failed since the last time, with which node. */
int pmIsWriteDone(struct pm_context* context);
int pmIsReadDone(struct pm_context* context);
/* Waits for all of both. */
int pmWaitDone(struct pm_context* context);

/* Of the last call of this thread, behind an error; else "". Valid until its next call. */
const char* pmErrorText(void);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* EXRNIC_PM_H */
