// SPDX-License-Identifier: BSD-2-Clause
/*
 * libverbs-lite: message channels. Firmware of the RNICs passes messages, barriers and reductions
 * between the processes of any number of nodes: no connections, no receives to post, and memory
 * that does not grow with the number of nodes. How it does so: firmware/README.md.
 *
 * Channel n of a node speaks with channel n of the others. A process has one at most for each RNIC
 * that it has opened, and a channel of a node is one process's. Messages from one node to another
 * arrive once each, in the order in which they were sent, or fail.
 *
 * Errors, threads, fork: as in exrnic/verbs.h. Only making and destroying a channel enters the
 * kernel, and what waits for an event: vl_arm_messages, vl_await_message. EOPNOTSUPP: the RNIC has
 * no processor, as in the simulator's reference model, or no firmware runs there; vl_error_text()
 * says why. With "sim:PATH" the first channel loads firmware, see vl_open_rnic.
 */
#ifndef EXRNIC_MESSAGES_H
#define EXRNIC_MESSAGES_H

#include <stddef.h>
#include <stdint.h>

#include "exrnic/verbs.h"

#ifdef __cplusplus
extern "C" {
#endif

#define VL_MESSAGE_CHANNELS 4          /* of a node */
#define VL_MESSAGE_BYTES_MAX 65536     /* of the longest message */
#define VL_MESSAGE_SENDS_MAX 256       /* work that is posted and has not ended */
#define VL_MESSAGE_RECEIVES_MAX 16     /* places for messages that wait to be taken */
#define VL_MESSAGE_SHORT 24            /* bytes of a message that needs no such place */
#define VL_MESSAGE_NODES 256           /* node identifiers are below, and below max_node */
#define VL_MESSAGE_TIMEOUT_MAX 2000000 /* us; 0 is taken as this */

struct vl_message_channel;

struct vl_message_channel_attr {
  uint32_t number;        /* below VL_MESSAGE_CHANNELS */
  uint32_t message_bytes; /* of the longest message, both ways: at most VL_MESSAGE_BYTES_MAX */
  uint32_t sends;    /* 1 to VL_MESSAGE_SENDS_MAX; as many buffers of message_bytes are pinned */
  uint32_t receives; /* 1 to VL_MESSAGE_RECEIVES_MAX; likewise, two at least */
};

enum vl_message_kind {
  VL_MESSAGE_RECEIVED = 1, /* a message of a node, which may be this one */
  VL_MESSAGE_REDUCED = 2,  /* a reduction has ended */
  VL_MESSAGE_FAILED = 3,   /* work has failed */
};

enum vl_message_status {
  VL_MESSAGE_OK = 0,
  VL_MESSAGE_MALFORMED = 1, /* no such node; this one is not among the nodes of a reduction */
  VL_MESSAGE_TIMEOUT =
      2, /* somebody did not answer in time; a message may have come nevertheless */
  VL_MESSAGE_TOO_LONG = 3, /* longer than the receiver's message_bytes */
};

enum vl_reduction {
  VL_REDUCE_BARRIER = 0, /* the value is ignored, the result is 0 */
  VL_REDUCE_SUM = 1,     /* modulo 2^64 */
  VL_REDUCE_LEAST = 2,
  VL_REDUCE_MOST = 3,
  VL_REDUCE_AND = 4, /* bit by bit, as the next two */
  VL_REDUCE_OR = 5,
  VL_REDUCE_XOR = 6,
};

struct vl_message {
  enum vl_message_kind kind;
  enum vl_message_status status; /* VL_MESSAGE_OK but for VL_MESSAGE_FAILED */
  uint32_t source;               /* RECEIVED: node. REDUCED: group. FAILED: of the work, either */
  uint32_t length;               /* RECEIVED: bytes... */
  const void* data;              /* ...which are there until the message is released */
  uint64_t value;                /* REDUCED: the result */
  uint32_t id; /* RECEIVED: of the work there. REDUCED: round. FAILED: of the work */
};

/*
 * EBUSY: another process has the channel, or this RNIC has one already. EINVAL: an attribute is out
 * of range; vl_error_text() says which. ENOMEM: also when RLIMIT_MEMLOCK is too low for the memory.
 */
VL_API struct vl_message_channel* vl_create_message_channel(
    struct vl_rnic* rnic, const struct vl_message_channel_attr* attr);

/* What was posted and has not ended may reach its receiver, or not. Data of messages is gone. */
VL_API int vl_destroy_message_channel(struct vl_message_channel* channel);

/*
 * Where the bytes of the next message go: message_bytes of memory, until it is sent. NULL, EAGAIN:
 * as much work is under way as the channel was made for; it ends while the receivers take their
 * messages. Threads that send through one channel must see to it themselves that one fills and
 * sends at a time.
 */
VL_API void* vl_message_buffer(struct vl_message_channel* channel);

/*
 * Sends the first `length` bytes of vl_message_buffer() to `node`; 0 is a message, too. It fails
 * when nobody has taken it within timeout_us. *id, if id is not NULL: of this work, free-running
 * from 0. EAGAIN: as vl_message_buffer. EINVAL: length. ENODEV: the RNIC is gone.
 */
VL_API int vl_send_message(struct vl_message_channel* channel, unsigned node, uint32_t length,
                           uint32_t timeout_us, uint32_t* id);

/*
 * A reduction, or a barrier, among the nodes whose bits in `nodes` are 1: node n is bit n % 8 of
 * byte n / 8. Each of them names the same group (a number that they agree on, below 65536), nodes
 * and operation, and the same round: one more each time, also behind one that has failed, from
 * whatever number they agree on. The result comes by vl_poll_message. Two groups may be under way
 * together, two rounds of one group may not.
 */
VL_API int vl_reduce(struct vl_message_channel* channel, unsigned group,
                     const uint8_t nodes[VL_MESSAGE_NODES / 8], uint32_t round,
                     enum vl_reduction operation, uint64_t value, uint32_t timeout_us);

/*
 * Work with an id before this one (modulo 2^32) has ended: delivered, or told as VL_MESSAGE_FAILED.
 * (An id is before another if their difference, taken as a signed number, is negative.)
 */
VL_API uint32_t vl_messages_ended(const struct vl_message_channel* channel);

/*
 * The next event: 1 if there is one, 0 if not. It occupies its place, and its data stays, until it
 * is released; several can be taken before. Who only sends polls as well: firmware that has failed
 * and was started again hears of work that is under way in this call. ENODEV: the RNIC is gone.
 */
VL_API int vl_poll_message(struct vl_message_channel* channel, struct vl_message* message);

/*
 * For who sleeps until there is an event, one thread at a time: looks for one by vl_poll_message;
 * finds none; arms; sleeps in poll or epoll until the file descriptor of the channel is readable;
 * arms again, or polls. 1: there is an event already, do not sleep. 0: the file descriptor becomes
 * readable when there is one; what made it readable before is forgotten. It may become so without
 * one: firmware was started again, or another thread took it. It is the channel's: do not read from
 * it, nor close it. ENODEV: the RNIC is gone; the file descriptor then tells POLLHUP.
 *
 * Only events wake: a message that was delivered is none, so who waits for room in
 * vl_message_buffer or for vl_messages_ended polls.
 */
VL_API int vl_message_fd(const struct vl_message_channel* channel);
VL_API int vl_arm_messages(struct vl_message_channel* channel);

/*
 * Sleeps until there is an event for vl_poll_message: 1; or, 0, timeout_ms have passed (-1: without
 * end; 0: only looks). EINTR: a signal came. ENODEV: as vl_arm_messages.
 */
VL_API int vl_await_message(struct vl_message_channel* channel, int timeout_ms);

/* Gives the oldest `count` of those taken back. EINVAL: so many were not taken. */
VL_API int vl_release_messages(struct vl_message_channel* channel, uint32_t count);

VL_API const char* vl_message_status_string(enum vl_message_status status);

#ifdef __cplusplus
}
#endif

#endif /* EXRNIC_MESSAGES_H */
