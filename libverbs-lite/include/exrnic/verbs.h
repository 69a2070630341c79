// SPDX-License-Identifier: BSD-2-Clause
/*
 * libverbs-lite: RDMA verbs of the exrnic, in plain C.
 *
 * A process opens an RNIC, makes objects on it (protection domain, completion queue, queue pair,
 * memory region), connects a queue pair to one of another node, posts work and polls completions.
 * vl_post_sq, vl_post_rq and vl_poll_cq enter the kernel never: they write rings in memory and
 * store 8 bytes into a page of the device that belongs to this process alone.
 *
 * Errors: calls return 0 (or a count), or -1 with errno; calls that make an object return NULL with
 * errno. Every call gives EINVAL for a null pointer or a value out of range. Calls that reach the
 * device also give ENODEV (it was removed), EIO (it refused), ETIMEDOUT (it did not answer) and
 * ENOMEM. A call that fails has changed nothing.
 *
 * Removal: once the RNIC was removed, destroying its objects and closing it succeed; posting work
 * raises SIGBUS, as the page that it would ring is gone.
 *
 * Threads: every call may be made from any thread at any time, on the same object too. Only
 * destroying an object while another call uses it is an error of the caller.
 *
 * Fork: rings and the device page are not inherited. A child opens the RNIC itself.
 *
 * Units: lengths are bytes, times are nanoseconds of the device's clock, integers are in host byte
 * order. Addresses at the peer are its virtual addresses (tagged offsets).
 *
 * Source: the semantics are those of RFC 5040 (RDMAP), RFC 5041 (DDP) and the RDMA verbs
 * specification (draft-hilland-rddp-verbs-00), with the work request lists of libibverbs.
 */
#ifndef EXRNIC_VERBS_H
#define EXRNIC_VERBS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VL_API __attribute__((visibility("default")))

/* Most scatter/gather elements of a work request of the send queue, and of the receive queue. */
#define VL_MAX_SEND_SGE 2
#define VL_MAX_RECV_SGE 1

/* Objects. The library owns them from the call that makes them to the call that destroys them. */
struct vl_rnic;
struct vl_pd;
struct vl_cq;
struct vl_qp;
struct vl_mr;

/* ---- RNIC ------------------------------------------------------------------------------------ */

struct vl_rnic_attr {
  uint32_t node_id; /* of this RNIC in its fabric */
  uint32_t mtu;     /* payload of a frame, bytes */
  uint32_t max_qp;  /* objects of each kind, over all processes */
  uint32_t max_cq;
  uint32_t max_mr;
  uint32_t max_wr;         /* most work requests of a queue (vl_create_qp) */
  uint32_t max_cq_entries; /* most entries that vl_create_cq grants */
  uint32_t clock_khz;      /* clock of the core */
  uint8_t mac[6];
};

/*
 * Opens an RNIC: "exrnic0" (in /dev), a path with a slash in it, or NULL for the first one.
 * ENOENT, EACCES: no such device, no right to it. EPROTONOSUPPORT: the kernel module or the
 * device has another version than this library. ENOSPC: all user pages are taken.
 */
VL_API struct vl_rnic* vl_open_rnic(const char* name);

/* Closes it. EBUSY: it still has objects; destroy them first. */
VL_API int vl_close_rnic(struct vl_rnic* rnic);

VL_API int vl_query_rnic(struct vl_rnic* rnic, struct vl_rnic_attr* attr);

/* ---- Protection domain (RFC 5042, 5.4.1) ----------------------------------------------------- */

/* Queue pairs reach only memory regions of their own domain. */
VL_API struct vl_pd* vl_allocate_pd(struct vl_rnic* rnic);

/* EBUSY: a queue pair or a memory region is in it. */
VL_API int vl_deallocate_pd(struct vl_pd* pd);

/* ---- Memory region --------------------------------------------------------------------------- */

/* Rights on a region. Reading it on behalf of its owner is always allowed. */
enum vl_access {
  VL_ACCESS_LOCAL_WRITE = 1 << 0,  /* receives may be placed in it */
  VL_ACCESS_REMOTE_WRITE = 1 << 1, /* peers may PUSH into it */
  VL_ACCESS_REMOTE_READ = 1 << 2   /* peers may PULL from it */
};

/*
 * Registers [address, address + length), length >= 1, which stays the caller's memory: it is
 * pinned, and must stay mapped, until vl_deallocate_mr. access: VL_ACCESS_* or zero. ENOMEM: beyond
 * RLIMIT_MEMLOCK, or no STag left. EFAULT: not all of it is mapped (writable, where a right asks
 * for it).
 */
VL_API struct vl_mr* vl_allocate_mr(struct vl_pd* pd, void* address, size_t length, int access);

/* After the return the device does not touch the memory; work that names it ends in an error. */
VL_API int vl_deallocate_mr(struct vl_mr* mr);

/* Steering tag (RFC 5040, 3.2), for own scatter/gather elements and for peers alike. */
VL_API uint32_t vl_mr_stag(const struct vl_mr* mr);

/*
 * Physical buffer list of the region. *pages: in, entries that fit at `entries` (which may be NULL
 * if that is 0); out, entries of the list, of which the first that fit were written. *page_shift
 * (out): log2 of the bytes of a page. An entry is the bus address of a page; entry 0 holds the
 * first byte. Without CAP_SYS_ADMIN all entries read as zero.
 */
VL_API int vl_get_pbl(struct vl_mr* mr, uint64_t* entries, uint32_t* pages, uint32_t* page_shift);

/* ---- Completion queue ------------------------------------------------------------------------ */

/*
 * A queue that holds at least `entries` completions (1 to vl_rnic_attr.max_cq_entries). Every
 * work request may take one, also an unsignaled one, as it gets one when it fails: a queue that
 * is too small for what is outstanding loses completions.
 */
VL_API struct vl_cq* vl_create_cq(struct vl_rnic* rnic, uint32_t entries);

/* EBUSY: a queue pair uses it. */
VL_API int vl_destroy_cq(struct vl_cq* cq);

enum vl_wc_status {
  VL_WC_SUCCESS,        /* PUSH: all bytes are placed at the peer */
  VL_WC_LOC_LEN_ERR,    /* the device found the length inconsistent or too large */
  VL_WC_LOC_QP_OP_ERR,  /* the device found the work request malformed */
  VL_WC_LOC_PROT_ERR,   /* a local STag is invalid, of another domain, or too small */
  VL_WC_WR_FLUSH_ERR,   /* not executed: the queue pair is in the error state */
  VL_WC_REM_ACCESS_ERR, /* the peer refused: STag, bounds, rights or domain */
  VL_WC_REM_OP_ERR,     /* the peer could not execute it */
  VL_WC_RETRY_EXC_ERR,  /* the peer did not answer */
  VL_WC_GENERAL_ERR     /* the device gave a status that this library does not know */
};

enum vl_wc_opcode {
  VL_WC_PUSH,
  VL_WC_RECV,
  VL_WC_UNKNOWN /* only with an error: the device does not know what it was */
};

struct vl_wc {
  uint64_t wr_id; /* of the work request */
  enum vl_wc_status status;
  enum vl_wc_opcode opcode;
  uint32_t byte_len;     /* bytes of the message; valid with VL_WC_SUCCESS */
  uint32_t qpn;          /* queue pair, of this side */
  uint32_t detail;       /* with VL_WC_REM_*: the terminate code, layer << 12 | etype << 8 | code
                            (RFC 5040, 4.8; enum exrnic_term_code in exrnic_hw.h) */
  uint64_t timestamp_ns; /* device time of the completion */
};

/*
 * Takes up to num_entries (>= 0) completions into wc[], oldest first, and returns how many; 0 if
 * there are none. No system call. A completion also gives back the slots of the unsignaled work
 * requests before it. Completions of a destroyed queue pair never appear.
 */
VL_API int vl_poll_cq(struct vl_cq* cq, int num_entries, struct vl_wc* wc);

/* A text in English for a status; never NULL; static memory. */
VL_API const char* vl_status_string(enum vl_wc_status status);

/* ---- Queue pair ------------------------------------------------------------------------------ */

enum vl_qp_state {
  VL_QPS_RESET, /* nothing is sent or received */
  VL_QPS_INIT,  /* receives may be posted */
  VL_QPS_RTR,   /* the peer is known: ready to receive */
  VL_QPS_RTS,   /* ready to send */
  VL_QPS_ERROR  /* work is flushed */
};

enum vl_service {
  VL_SERVICE_RC /* reliable connection */
};

struct vl_qp_init_attr {
  struct vl_cq* send_cq; /* of the same RNIC; both may be the same */
  struct vl_cq* recv_cq;
  uint32_t max_send_wr; /* in: 1 to vl_rnic_attr.max_wr; out: what the queue holds, no less */
  uint32_t max_recv_wr;
  enum vl_service service;
};

struct vl_qp_attr {
  enum vl_qp_state state;
  uint32_t dest_node; /* peer; known from VL_QPS_RTR on */
  uint32_t dest_qpn;
  uint32_t sq_producer; /* vl_query_qp only: send slots that the device was told of... */
  uint32_t sq_consumer; /* ...and has taken; both modulo 2^16 */
};

/* A queue pair in VL_QPS_RESET. */
VL_API struct vl_qp* vl_create_qp(struct vl_pd* pd, struct vl_qp_init_attr* attr);

/*
 * Goes to attr->state: RESET to INIT, INIT to RTR (with dest_node, dest_qpn), RTR to RTS, and any
 * to ERROR or RESET. EPERM: no such transition. In ERROR all outstanding work comes back with
 * VL_WC_WR_FLUSH_ERR; RESET drops it without completions, those already queued included. The device
 * goes to ERROR by itself after any failed work request.
 */
VL_API int vl_modify_qp(struct vl_qp* qp, const struct vl_qp_attr* attr);

VL_API int vl_query_qp(struct vl_qp* qp, struct vl_qp_attr* attr);

/* After the return no completion of it appears, and the device touches no memory on its behalf. */
VL_API int vl_destroy_qp(struct vl_qp* qp);

/* Number of the queue pair, which its peer needs. */
VL_API uint32_t vl_qp_number(const struct vl_qp* qp);

/* ---- Work ------------------------------------------------------------------------------------ */

/* Local memory: length bytes from a virtual address within a region. */
struct vl_sge {
  uint64_t address;
  uint32_t length;
  uint32_t stag;
};

enum vl_wr_opcode {
  VL_OP_PUSH = 1 /* RDMA Write (RFC 5040, 5.1): the local bytes go to remote_stag, remote_address */
};

enum vl_send_flags {
  VL_SEND_SIGNALED = 1 << 0 /* completes visibly on success too; failures always do */
};

struct vl_send_wr {
  uint64_t wr_id; /* the caller's; comes back in vl_wc */
  const struct vl_send_wr* next;
  const struct vl_sge* sg_list;
  int num_sge; /* 0 to VL_MAX_SEND_SGE; bytes are gathered in order */
  enum vl_wr_opcode opcode;
  int flags; /* VL_SEND_* */
  uint32_t remote_stag;
  uint64_t remote_address;
};

struct vl_recv_wr {
  uint64_t wr_id;
  const struct vl_recv_wr* next;
  const struct vl_sge* sg_list;
  int num_sge; /* 0 to VL_MAX_RECV_SGE */
};

/*
 * Posts a list of work requests, with one doorbell and without a system call. The list and its
 * elements may be reused at the return; the bytes they name belong to the device until completion.
 * On -1 *bad_wr (if bad_wr is not NULL) is the first that was not posted; those before it were.
 * ENOMEM: the queue is full; poll the completion queue. EINVAL: opcode, flags, num_sge, more than
 * 2 GiB in all, or the queue pair is in a state before VL_QPS_RTS.
 *
 * Slots are given back when a completion is polled. So at least one work request in each
 * max_send_wr must be signaled.
 */
VL_API int vl_post_sq(struct vl_qp* qp, const struct vl_send_wr* wr,
                      const struct vl_send_wr** bad_wr);

/*
 * Posts receives, likewise. EINVAL: num_sge, or the queue pair is in VL_QPS_RESET. The device has
 * no message that takes a receive yet: they come back only with VL_WC_WR_FLUSH_ERR, once the queue
 * pair is in the error state.
 */
VL_API int vl_post_rq(struct vl_qp* qp, const struct vl_recv_wr* wr,
                      const struct vl_recv_wr** bad_wr);

#ifdef __cplusplus
}
#endif

#endif /* EXRNIC_VERBS_H */
