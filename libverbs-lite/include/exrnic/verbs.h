// SPDX-License-Identifier: BSD-2-Clause
/*
 * libverbs-lite: RDMA verbs of the exrnic, in plain C.
 *
 * A process opens an RNIC, makes objects on it (protection domain, completion queue, queue pair,
 * memory region), connects a queue pair to another one, of any node, posts work and polls
 * completions. vl_post_sq, vl_post_rq, vl_post_srq_recv, vl_poll_cq and vl_req_notify_cq enter the
 * kernel never: they write rings in memory and store 8 bytes into a page of the device that belongs
 * to this process alone. (In the simulator, "sim:PATH", that store is a message to it.) Threads in
 * these calls on one queue wait for each other, and they spin: as long as the other one is in its
 * call, some tens of instructions for each work request or completion, and until it has its
 * processor back if it has lost it. So threads that share a queue and a processor need one
 * real-time priority: a higher one would wait for ever.
 *
 * Errors: calls return 0 (or a count), or -1 with errno; calls that make an object return NULL with
 * errno. Every call gives EINVAL for a null pointer or a value out of range; those that return a
 * number or an address give 0 with it. Calls that reach the device also give ENODEV (it was
 * removed), EIO (it refused), ETIMEDOUT (it did not answer) and ENOMEM, and those that make an
 * object ENOSPC (the device has no place left for one of its kind, over all processes) and EDQUOT
 * (a limit of the kernel module's parameters is reached). A call that fails has changed nothing,
 * with one exception: when destroying an object ends in EIO or ETIMEDOUT, a kernel module has
 * released what it holds of it; the object of this library stays, and so does the RNIC that it
 * belongs to.
 *
 * Removal: once the RNIC was removed, has vanished (a kernel module finds out within two seconds)
 * or the simulator has ended, destroying its objects and closing it succeed, or give EIO. Posting
 * work, and polling or arming a completion queue, then gives ENODEV. VL_EVENT_DEVICE_FATAL, and
 * then ENODEV from the file descriptors of events, say so to whoever waits.
 *
 * Threads: every call may be made from any thread at any time, on the same object too. Only
 * destroying an object while another call uses it is an error of the caller.
 *
 * Fork: rings and the device page are not inherited, but the objects are the parent's: a child that
 * destroys one ends it for the parent, and one that posts or polls ends by SIGSEGV. It opens the
 * RNIC itself, leaves what it has inherited alone, and ends by _exit() if destructors would not.
 *
 * Units: lengths are bytes, times are nanoseconds of the device's clock, integers are in host byte
 * order. Addresses at the peer are its virtual addresses (tagged offsets).
 *
 * Source: the semantics are those of RFC 5040 (RDMAP), RFC 5041 (DDP), RFC 7306 and the RDMA verbs
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

/* Behind the name of an enumeration: its variables may hold any number, in C++ as in C, so that a
 * wrong one can be refused. */
#ifdef __cplusplus
#define VL_ANY_NUMBER : int
#else
#define VL_ANY_NUMBER
#endif

#define VL_MAX_SGE 16    /* scatter/gather elements of a work request */
#define VL_MAX_INLINE 64 /* bytes of inline data */
#define VL_MAX_READS 64  /* PULLs of a queue pair under way, in each direction */

/* Objects. The library owns them from the call that makes them to the call that destroys them. */
struct vl_rnic;
struct vl_pd;
struct vl_comp_channel;
struct vl_cq;
struct vl_srq;
struct vl_qp;
struct vl_mr;
struct vl_mw;

/* ---- RNIC ------------------------------------------------------------------------------------ */

#define VL_PKEYS 16

struct vl_rnic_attr {
  uint32_t node_id; /* of this RNIC in its fabric */
  uint32_t mtu;     /* payload of a frame, bytes */
  uint32_t max_qp;  /* objects of each kind, over all processes; of queue pairs two fewer */
  uint32_t max_cq;
  uint32_t max_mr;
  uint32_t max_srq;
  uint32_t max_wr;         /* most work requests of a queue, if none needs more than a slot */
  uint32_t max_cq_entries; /* most entries that vl_create_cq grants */
  uint32_t clock_khz;      /* clock of the core */
  uint32_t comp_vectors;   /* interrupt vectors for completion queues */
  uint32_t read_pool;      /* places for PULLs under way, in each direction; over all processes */
  uint8_t mac[6];
  uint16_t pkeys[VL_PKEYS]; /* P_Keys of the node when it was opened, see VL_SERVICE_UD */
  uint64_t max_window; /* bytes of the longest remote window (exrnic/ntb.h), a board's choice */
  uint32_t max_node;   /* nodes that it can talk to have numbers below */
};

/*
 * Opens an RNIC:
 *   "exrnic0"   the device of the kernel module, in /dev; or any path with a slash in it
 *   "sim:PATH"  a node of exrnic-sim by its vfio-user socket: no kernel module, no root. The
 *               library is the driver, so only one process at a time can have the node, and open it
 *               once
 *   NULL        what the environment variable VL_DEVICE says, else "exrnic0"
 *
 * Firmware of "sim:PATH": the library has its own, and loads it when a message channel first needs
 * it. The environment variable VL_FIRMWARE names a file to take instead, and, if it is empty, none:
 * all works but what firmware does.
 *
 * ENOENT, EACCES, ECONNREFUSED: no such device, no right to it, nobody serves the socket.
 * EPROTONOSUPPORT: the kernel module or the device has another version than this library. ENOSPC:
 * all user pages are taken. EBUSY: another process has the simulator's node. ENOENT, EINVAL, ...:
 * also when VL_FIRMWARE names no file, or one that is no firmware. vl_error_text() says more.
 */
VL_API struct vl_rnic* vl_open_rnic(const char* name);

/* Closes it. EBUSY: it still has objects; destroy them first. */
VL_API int vl_close_rnic(struct vl_rnic* rnic);

VL_API int vl_query_rnic(struct vl_rnic* rnic, struct vl_rnic_attr* attr);

/*
 * *up: 1 if the Ethernet link of the RNIC is up, else 0. Enters the kernel. From then on
 * vl_query_rnic tells the node and MAC address that the RNIC has now: in a managed fabric it gets
 * them, and its link, from the manager (before that the node is 65535).
 */
VL_API int vl_query_link(struct vl_rnic* rnic, int* up);

/* ---- Protection domain (RFC 5042, 5.4.1) ----------------------------------------------------- */

/* Queue pairs reach only memory regions of their own domain. */
VL_API struct vl_pd* vl_allocate_pd(struct vl_rnic* rnic);

/* EBUSY: a queue pair, a shared receive queue, a memory region or a memory window is in it. */
VL_API int vl_deallocate_pd(struct vl_pd* pd);

/* ---- Memory region --------------------------------------------------------------------------- */

/* Rights on a region. Reading it on behalf of its owner is always allowed. */
enum vl_access {
  VL_ACCESS_LOCAL_WRITE = 1 << 0,   /* receives and own PULLs may be placed in it */
  VL_ACCESS_REMOTE_WRITE = 1 << 1,  /* peers may PUSH into it */
  VL_ACCESS_REMOTE_READ = 1 << 2,   /* peers may PULL from it */
  VL_ACCESS_REMOTE_ATOMIC = 1 << 3, /* peers may do atomics in it */
  VL_ACCESS_MW_BIND = 1 << 4        /* memory windows may be bound to it */
};

/*
 * Registers [address, address + length), length >= 1, which stays the caller's memory: it is
 * pinned, and must stay mapped, until vl_deallocate_mr. access: VL_ACCESS_* or zero. ENOMEM: beyond
 * RLIMIT_MEMLOCK. ENOSPC: no STag left. EFAULT: not all of it is mapped (writable, where a right
 * asks for it).
 */
VL_API struct vl_mr* vl_allocate_mr(struct vl_pd* pd, void* address, size_t length, int access);

/*
 * After the return the device does not touch the memory; work that names it ends in an error. A
 * region that was invalidated (VL_OP_LOCAL_INVALIDATE, or a peer's VL_OP_SEND_INVALIDATE) is
 * refused to everybody from then on, but stays pinned, and is deallocated, as any other.
 */
VL_API int vl_deallocate_mr(struct vl_mr* mr);

enum vl_reallocate {
  VL_REALLOCATE_MEMORY = 1 << 0, /* address and length */
  VL_REALLOCATE_PD = 1 << 1,
  VL_REALLOCATE_ACCESS = 1 << 2
};

/*
 * Changes of a region what `what` names, at least one of VL_REALLOCATE_*; the other arguments are
 * NULL or zero, else EINVAL. After success it has another STag (vl_mr_stag), and work that names
 * the old one ends in an error; the new pd is of the same RNIC. After an error it is as it was,
 * unless the device did not answer (EIO, ETIMEDOUT): then nobody reaches its memory any more, and
 * it is to be deallocated. Other errors as of vl_allocate_mr; old and new memory count together
 * against RLIMIT_MEMLOCK for a moment.
 */
VL_API int vl_reallocate_mr(struct vl_mr* mr, int what, struct vl_pd* pd, void* address,
                            size_t length, int access);

/* Steering tag (RFC 5040, 3.2), for own scatter/gather elements and for peers alike. */
VL_API uint32_t vl_mr_stag(const struct vl_mr* mr);

/*
 * Physical buffer list of the region. *pages: in, entries that fit at `entries` (which may be NULL
 * if that is 0); out, entries of the list, of which the first that fit were written. *page_shift
 * (out): log2 of the bytes of a page. An entry is the bus address of a page; entry 0 holds the
 * first byte. Without CAP_SYS_ADMIN all entries read as zero.
 */
VL_API int vl_get_pbl(struct vl_mr* mr, uint64_t* entries, uint32_t* pages, uint32_t* page_shift);

/* ---- Memory window --------------------------------------------------------------------------- */

/*
 * A memory window, type 2B of the verbs: a part of a region for one peer, for a while, without a
 * system call. It is nothing until a work request VL_OP_BIND_MW binds it to bytes of a region of
 * its domain; then the peer of that queue pair, of VL_SERVICE_RC or VL_SERVICE_UC, and nobody else,
 * may access these bytes by the STag of that bind, with the rights of it. It is ended by
 * VL_OP_LOCAL_INVALIDATE, on any queue pair of its domain, or by VL_OP_SEND_INVALIDATE of that
 * peer; then it may be bound again. What it was bound to ends it, too: the region that is
 * invalidated, reallocated or deallocated, and the queue pair that goes to RESET or is destroyed;
 * before it is bound again it is to be invalidated all the same. ENOSPC: no STag left.
 */
VL_API struct vl_mw* vl_allocate_mw(struct vl_pd* pd);

/* After the return nobody reaches anything by it, whatever it was bound to. */
VL_API int vl_deallocate_mw(struct vl_mw* mw);

/* Steering tag, for the first bind; each bind names the key, its low byte, anew. */
VL_API uint32_t vl_mw_stag(const struct vl_mw* mw);

/* ---- Completion channel ---------------------------------------------------------------------- */

/* Where completion queues tell that they have fired, so that a thread can sleep until then. */
VL_API struct vl_comp_channel* vl_create_comp_channel(struct vl_rnic* rnic);

/* EBUSY: a completion queue uses it. */
VL_API int vl_destroy_comp_channel(struct vl_comp_channel* channel);

/*
 * Its file descriptor, for poll, select or epoll: readable while an event waits, POLLHUP when the
 * RNIC is gone. The caller may set O_NONBLOCK; everything else with it is the library's.
 */
VL_API int vl_comp_channel_fd(const struct vl_comp_channel* channel);

/*
 * Takes the next event: *cq is the queue, *context (unless NULL) that of its attributes. Waits for
 * one, or gives EAGAIN if the file descriptor has O_NONBLOCK; EINTR. ENODEV: the RNIC is gone. If
 * it was armed, the queue has then fired and no longer is: arm it (vl_req_notify_cq), then poll it
 * until it is empty. An event may find no completion: one may have been polled already, and where
 * queues share an interrupt (comp_vector) one that fires is an event of each. Each event is
 * acknowledged with vl_ack_cq_events.
 */
VL_API int vl_get_cq_event(struct vl_comp_channel* channel, struct vl_cq** cq, void** context);

/* So many events that vl_get_cq_event gave of this queue are dealt with. EINVAL: more than that. */
VL_API int vl_ack_cq_events(struct vl_cq* cq, unsigned events);

/* ---- Completion queue ------------------------------------------------------------------------ */

/* When an armed queue (vl_req_notify_cq) fires. */
struct vl_cq_moderation {
  uint32_t count; /* behind so many completions, at most 65535; 0 is 1... */
  uint32_t ns;    /* ...or so long after the first of them; below 2^24. 0: at the first */
};

/*
 * A queue that holds at least `entries` completions (1 to vl_rnic_attr.max_cq_entries). Every
 * work request may take one, also an unsignaled one, as it gets one when it fails: a queue that
 * is too small for what is outstanding loses completions, and the queue pair that should have had
 * one goes to the error state. moderation: NULL to fire at the first completion.
 */
VL_API struct vl_cq* vl_create_cq(struct vl_rnic* rnic, uint32_t entries,
                                  const struct vl_cq_moderation* moderation);

struct vl_cq_init_attr {
  uint32_t entries; /* as above */
  struct vl_cq_moderation moderation;
  struct vl_comp_channel* channel; /* of the same RNIC, where it tells that it has fired; or NULL */
  void* context;                   /* the caller's; comes back from vl_get_cq_event */
  uint32_t comp_vector;            /* interrupt: 1 to vl_rnic_attr.comp_vectors; 0: one that few
                                      queues share. Sharing costs events that find no completion */
};

/* A queue with a channel. */
VL_API struct vl_cq* vl_create_cq_ex(struct vl_rnic* rnic, const struct vl_cq_init_attr* attr);

/*
 * Gives the queue room for at least `entries` completions, more or fewer than it had, while it is
 * in use: each completion is polled once, in order, by whatever thread. All else of it stays, as
 * does whether it is armed. ENOSPC: more completions than that have not been polled. With any error
 * the queue is as it was.
 */
VL_API int vl_resize_cq(struct vl_cq* cq, uint32_t entries);

/* EBUSY: a queue pair uses it, or an event of it is not acknowledged. */
VL_API int vl_destroy_cq(struct vl_cq* cq);

enum vl_wc_status VL_ANY_NUMBER {
  VL_WC_SUCCESS,           /* all bytes are placed: of a PULL or a receive here, else at the peer */
  VL_WC_LOC_LEN_ERR,       /* the length is inconsistent or too large; receive: too short */
  VL_WC_LOC_QP_OP_ERR,     /* the device found the work request malformed */
  VL_WC_LOC_PROT_ERR,      /* a local STag is invalid, of another domain, or too small */
  VL_WC_WR_FLUSH_ERR,      /* not completed: the queue pair is in the error state */
  VL_WC_REM_ACCESS_ERR,    /* the peer refused: STag, bounds, rights or domain */
  VL_WC_REM_OP_ERR,        /* the peer could not execute it: its receive is too short, ... */
  VL_WC_RETRY_EXC_ERR,     /* the peer did not answer, or not in time: see vl_qp_attr */
  VL_WC_GENERAL_ERR,       /* the device gave a status that this library does not know */
  VL_WC_RNR_RETRY_EXC_ERR, /* the message found no receive at the peer, rnr_retry times over */
  VL_WC_MW_BIND_ERR        /* a memory window could not be bound: see VL_OP_BIND_MW */
};

enum vl_wc_opcode VL_ANY_NUMBER {
  VL_WC_PUSH, /* PUSH, PUSH_IMM */
  VL_WC_SEND, /* SEND, SEND_IMM, SEND_INVALIDATE */
  VL_WC_PULL,
  VL_WC_LOCAL_INVALIDATE,
  VL_WC_RECV,
  VL_WC_FETCH_ADD,
  VL_WC_COMPARE_SWAP,
  VL_WC_UNKNOWN,       /* only with an error: the device does not know what it was */
  VL_WC_FAST_REGISTER, /* which the kernel alone can post */
  VL_WC_BIND_MW
};

/* What came with a receive that ended with VL_WC_SUCCESS. */
enum vl_wc_flags {
  VL_WC_WITH_IMM = 1 << 0,        /* imm_data is valid */
  VL_WC_WITH_INVALIDATE = 1 << 1, /* invalidated_stag is valid */
  VL_WC_SOLICITED = 1 << 2,       /* the sender asked for a solicited event */
  VL_WC_WITH_SOURCE = 1 << 3,     /* of VL_SERVICE_UD: src_node and src_qpn are valid */
  VL_WC_WITH_GROUP = 1 << 4,      /* likewise: it was for a group, and group is valid */
  VL_WC_WRITTEN = 1 << 5          /* with VL_WC_WITH_IMM: a PUSH_IMM took the receive */
};

struct vl_wc {
  uint64_t wr_id; /* of the work request */
  enum vl_wc_status status;
  enum vl_wc_opcode opcode;
  uint32_t byte_len;     /* bytes of the message; valid with VL_WC_SUCCESS. Of a receive that a
                            PUSH_IMM took: the bytes of the PUSH. With VL_QP_GRH: and VL_GRH_BYTES */
  uint32_t qpn;          /* queue pair, of this side */
  uint32_t detail;       /* with VL_WC_REM_*: the terminate code, layer << 12 | etype << 8 | code
                            (RFC 5040, 4.8; enum exrnic_term_code in exrnic_hw.h) */
  uint64_t timestamp_ns; /* device time of the completion */
  int flags;             /* VL_WC_WITH_IMM, ...; zero unless it is a receive */
  uint32_t imm_data;
  uint32_t invalidated_stag; /* own STag, which the peer's SEND_INVALIDATE has invalidated */
  uint32_t src_node;         /* who sent the datagram */
  uint32_t src_qpn;
  uint32_t group; /* that the datagram was for: the queue pair may be attached to several */
};

/*
 * Takes up to num_entries (>= 0) completions into wc[], oldest first, and returns how many; 0 if
 * there are none. No system call. A completion also gives back the slots of the unsignaled work
 * requests before it. Completions of a destroyed queue pair never appear.
 */
VL_API int vl_poll_cq(struct vl_cq* cq, int num_entries, struct vl_wc* wc);

/*
 * Arms the queue: its interrupt fires, once, at the next completion, as its moderation says; with
 * solicited_only at the next receive that the sender wants noticed (VL_SEND_SOLICITED) and at the
 * next failure. One that is armed for any completion stays so. If completions wait already it fires
 * at once. No system call. Its channel, if it has one, then has an event.
 */
VL_API int vl_req_notify_cq(struct vl_cq* cq, int solicited_only);

/*
 * What the last call of this thread has to say beyond errno, if it failed: which argument was
 * wrong, with its value and its limit, what is in use by whom, the path that could not be opened,
 * the command that the device refused; or "" where errno says all. "" behind a call that succeeded.
 * Valid until the next call of this thread.
 */
VL_API const char* vl_error_text(void);

/* A text in English for a status; never NULL; static memory. */
VL_API const char* vl_status_string(enum vl_wc_status status);

/* Likewise for the operation of a completion, and for the terminate code in vl_wc.detail. */
VL_API const char* vl_wc_opcode_string(enum vl_wc_opcode opcode);
VL_API const char* vl_terminate_string(uint32_t detail);

/* ---- Shared receive queue -------------------------------------------------------------------- */

/*
 * A work request takes one slot of its queue, and another for each 4 elements beyond 2, and one
 * more for inline data beyond 32 bytes. Queues are made for max_wr work requests of the most
 * elements and inline bytes that were asked for; of smaller ones they hold more.
 */
struct vl_srq_attr {
  uint32_t max_wr;  /* receives; in: at least 1; out: what the queue holds, no less */
  uint32_t max_sge; /* elements of a receive; in: 0 to VL_MAX_SGE; out: what it takes, no less */
  uint32_t limit;   /* see vl_modify_srq */
};

/* A queue of receives for queue pairs of the same domain. EINVAL also: more slots than max_wr. */
VL_API struct vl_srq* vl_create_srq(struct vl_pd* pd, struct vl_srq_attr* attr);

/*
 * Arms the limit (at most 65535; 0: none): when a receive is taken and fewer slots than that are
 * left posted, the device raises its event, once, and the limit is 0 from then on.
 */
VL_API int vl_modify_srq(struct vl_srq* srq, uint32_t limit);

/* attr->limit: 0 if no limit is armed, or its event has come. */
VL_API int vl_query_srq(struct vl_srq* srq, struct vl_srq_attr* attr);

/* EBUSY: a queue pair uses it, or an event of it is not acknowledged. */
VL_API int vl_destroy_srq(struct vl_srq* srq);

/* ---- Queue pair ------------------------------------------------------------------------------ */

enum vl_qp_state VL_ANY_NUMBER {
  VL_QPS_RESET, /* nothing is sent or received */
  VL_QPS_INIT,  /* receives may be posted */
  VL_QPS_RTR,   /* the peer is known: ready to receive */
  VL_QPS_RTS,   /* ready to send */
  VL_QPS_ERROR, /* work is flushed */
  VL_QPS_SQD    /* send queue drained: work requests that have begun end, no other one begins; else
                   as VL_QPS_RTS */
};

/*
 * VL_SERVICE_UC: each message is sent once, for PUSH and SEND kinds but not VL_OP_SEND_INVALIDATE.
 * Work completes when it was sent. A message of which anything is lost, or that finds no receive,
 * is dropped without a word; its receive is there for the next one. What was placed of a PUSH that
 * is lost stays. The peer must be of the same service.
 *
 * VL_SERVICE_UD: datagrams, each sent once to a queue pair or a group that its work request names
 * (vl_send_wr.ud): VL_OP_SEND and VL_OP_SEND_IMM of at most mtu bytes (vl_query_rnic), and
 * VL_OP_LOCAL_INVALIDATE. Work completes when it was sent. A queue pair takes datagrams from
 * anyone, on its own node too, who names its Q_Key and whose P_Key matches, and tells who it was
 * (VL_WC_WITH_SOURCE). One to a group goes to all that are attached, on the sender's node too, the
 * sender itself included. All else is dropped without a word, and counted by the receiver's device:
 * another key, no receive, or one that is too short, which stays for the next datagram.
 */
enum vl_service VL_ANY_NUMBER {
  VL_SERVICE_RC, /* reliable connection */
  VL_SERVICE_UC, /* unreliable connection */
  VL_SERVICE_UD  /* unreliable datagram */
};

/*
 * P_Keys have 16 bits: the low 15 name a partition, or none if they are 0; the highest says that
 * the queue pair is a full member of it. Two match that name one partition, unless neither is a
 * full member (InfiniBand 1.3, 10.9.3). The administrator fills the node's table of them (pkeys/ of
 * the RNIC in sysfs; "sim:PATH": as after reset), and a program chooses an entry. Entry 0 is
 * 0xffff, and the others name none, until that is changed. When an entry is, its queue pairs have
 * the new key.
 *
 * A Q_Key with bit 31 (VL_QKEY_CONTROLLED) is for those who have CAP_NET_RAW: only they can give
 * one to a queue pair; and a datagram that names one leaves with the Q_Key of its own queue pair
 * (InfiniBand 1.3, 10.2.5), so that nobody else reaches it. Other Q_Keys protect from nobody who
 * guesses them. With "sim:PATH" there is no kernel that would ask who may.
 */
#define VL_QKEY_CONTROLLED 0x80000000

/* vl_qp_init_attr.flags */
enum vl_qp_flags {
  /* Of VL_SERVICE_UD: datagrams are placed behind VL_GRH_BYTES of their receive, which count as
     room and as bytes. Nobody writes these: a program that wants a GRH there makes it of vl_wc. */
  VL_QP_GRH = 1 << 0
};
#define VL_GRH_BYTES 40

struct vl_qp_init_attr {
  struct vl_cq* send_cq; /* of the same RNIC; both may be the same */
  struct vl_cq* recv_cq;
  uint32_t max_send_wr; /* in: at least 1; out: what the queue holds, no less */
  uint32_t max_recv_wr; /* likewise; ignored with srq */
  enum vl_service service;
  struct vl_srq* srq;     /* of the same domain: it has the receives; or NULL */
  uint32_t max_send_sge;  /* elements of a work request; in: 0 to VL_MAX_SGE; out: no less */
  uint32_t max_recv_sge;  /* likewise; ignored with srq */
  uint32_t max_inline;    /* bytes of VL_SEND_INLINE; in: 0 to VL_MAX_INLINE; out: no less */
  uint32_t max_reads_out; /* 0 to VL_MAX_READS: PULL requests under way; a PULL needs one for each
                             element that is not empty, at least one */
  uint32_t max_reads_in;  /* 0 to VL_MAX_READS: of the peer; no less than its max_reads_out, else a
                             PULL too many ends both queue pairs with an error */
  int flags;              /* VL_QP_* */
};

/* vl_qp_attr.mask: attributes that are given, as ibv_modify_qp's attr_mask */
enum vl_qp_attr_mask {
  VL_QP_DEST = 1 << 0, /* dest_node and dest_qpn */
  VL_QP_QKEY = 1 << 1,
  VL_QP_PKEY_INDEX = 1 << 2,
  VL_QP_ACCESS = 1 << 3,
  VL_QP_PATH_MTU = 1 << 4,
  VL_QP_MAX_READS_IN = 1 << 5,
  VL_QP_MAX_READS_OUT = 1 << 6,
  VL_QP_MIN_RNR_TIMER = 1 << 7,
  VL_QP_RNR_RETRY = 1 << 8,
  VL_QP_TIMEOUT = 1 << 9,
  VL_QP_RETRY_COUNT = 1 << 10
};

struct vl_qp_attr {
  enum vl_qp_state state;
  uint32_t dest_node; /* peer; known from VL_QPS_RTR on; VL_SERVICE_UD has none: the own node, 0 */
  uint32_t dest_qpn;
  uint32_t sq_producer; /* vl_query_qp only: send slots that the device was told of... */
  uint32_t sq_consumer; /* ...and has taken; both modulo 2^16; back to a message that comes again */
  uint32_t min_rnr_timer; /* the pause that the peer is asked for when a message of it finds no
                             receive, 0 to VL_MAX_RNR_TIMER, see below */
  uint32_t rnr_retry;     /* how often a message of ours is sent again that found no receive, 0 to
                             VL_RNR_RETRY_ENDLESS */
  uint32_t qkey;          /* these two of VL_SERVICE_UD */
  uint32_t pkey_index;    /* its P_Key: an entry of vl_rnic_attr.pkeys that names a partition */
  uint32_t mask;          /* VL_QP_*: which of these are given; 0: see vl_modify_qp */
  int access;             /* VL_ACCESS_REMOTE_*: what the peer may do; it is refused as by a region
                             without that right. VL_ACCESS_LOCAL_WRITE is ignored. At first all */
  uint32_t path_mtu;      /* most payload bytes of its frames, unless the RNIC's MTU is less: 256 to
                             4096, a multiple of 16. At first 4096 */
  uint32_t max_reads_in;  /* PULL requests of the peer, and */
  uint32_t max_reads_out; /* own ones under way, up to those of vl_qp_init_attr, as at first */
  uint32_t timeout; /* these two as verbs have them, 0 to 31 and 0 to 7. Work of which nothing was
                       heard for retry_count + 1 time-outs, and one more at most, ends with
                       VL_WC_RETRY_EXC_ERR; a time-out is 4.096 us * 2^timeout, 16 us at least; 0 is
                       none. When frames are sent again, and when a peer is given up, be that
                       sooner, is the RNIC's, for each node */
  uint32_t retry_count;
  int sq_draining; /* vl_query_qp only: in VL_QPS_SQD, and work requests that had begun have
                      not ended */
};

/*
 * A message that finds no receive (SEND, PUSH_IMM) is sent again behind a pause: queue pair and
 * connection stay as they are, work behind it waits. min_rnr_timer is a code, the table of the
 * verbs (InfiniBand 1.3, table 45): 1 is 10 us, 2 20, 3 30, 4 40, 5 60, 6 80, 7 120, 8 160, and so
 * on, each second one twice as long; 31 is 492 ms and 0 655 ms. When rnr_retry is used up, with 0
 * at once, it ends with VL_WC_RNR_RETRY_EXC_ERR, and the queue pair goes to ERROR; the peer's does
 * not.
 */
#define VL_MAX_RNR_TIMER 31
#define VL_RNR_RETRY_ENDLESS 7

/*
 * A queue pair in VL_QPS_RESET. EINVAL also: more slots (see vl_srq_attr) than max_wr.
 *
 * PULLs: an RNIC has vl_rnic_attr.read_pool places for those under way, in each direction, for the
 * queue pairs of all processes (max_res_rd_atom of other verbs; VL_MAX_READS is their
 * max_qp_rd_atom). A queue pair has its max_reads_out and max_reads_in of them until it is
 * destroyed, each rounded up to 4, 8, 16, 32 or 64: so it never waits for others. With the 4096 of
 * an RNIC of full size each of 1022 queue pairs can have 4, or 64 can have 64. ENOSPC: fewer are
 * free. EDQUOT: the user has a share of them, max_user_percent of the kernel module. So ask for
 * what the program needs; a queue pair that never PULLs needs none, and one whose peer never does,
 * neither.
 */
VL_API struct vl_qp* vl_create_qp(struct vl_pd* pd, struct vl_qp_init_attr* attr);

/*
 * Goes to attr->state, and takes the attributes that attr->mask names, as ibv_modify_qp does:
 *
 *   change                attributes of RC and UC     of RC besides          of UD
 *   RESET or INIT to INIT access                                             qkey, pkey_index
 *   INIT to RTR           dest, access, path_mtu      max_reads_in,          qkey, pkey_index
 *                                                     min_rnr_timer
 *   RTR, RTS or SQD to    access                      min_rnr_timer,         qkey
 *   RTS                                               rnr_retry, timeout,
 *                                                     retry_count; from RTR
 *                                                     max_reads_out
 *   SQD to SQD            access                      all of the above       qkey, pkey_index
 *
 * RTS to SQD, and any to ERROR or RESET, have none. INIT to RTR needs dest, and RESET to INIT of UD
 * its keys. With mask 0 these are given, and of RC also min_rnr_timer with INIT to RTR and
 * rnr_retry with RTR to RTS; another change sets none then. RESET takes all of them back to what
 * they are at first, but dest. EPERM: no such transition, or it has not such an attribute; or a
 * qkey with VL_QKEY_CONTROLLED without CAP_NET_RAW. EINVAL also: one is missing or out of range.
 * Nothing is changed then. In SQD the work requests that have begun end, and no other one begins:
 * vl_query_qp says when; receives go on. What is posted waits for RTS. The peer may be a queue pair
 * of this node, or this one itself. In ERROR all outstanding work comes back with
 * VL_WC_WR_FLUSH_ERR (of a shared receive queue only the receive of a message that had begun);
 * RESET drops it without completions, those already queued included; PULLs of the peer that are
 * under way end with VL_WC_REM_OP_ERR. The device goes to ERROR by itself after any failed work
 * request.
 */
VL_API int vl_modify_qp(struct vl_qp* qp, const struct vl_qp_attr* attr);

VL_API int vl_query_qp(struct vl_qp* qp, struct vl_qp_attr* attr);

/*
 * Datagrams to a group of nodes' queue pairs, 0 to VL_MAX_GROUP: from attach on those of other
 * nodes come to the queue pair, which is of VL_SERVICE_UD, as its own do, as long as it has their
 * Q_Key; detach and vl_destroy_qp end that. Of one datagram each attached queue pair gets a copy.
 * EINVAL also: another service, or no such group. EEXIST: it is attached already. ENOENT: it is
 * not. ENOSPC: all attachments of the device (64) are in use.
 */
#define VL_MAX_GROUP 0xffff
VL_API int vl_attach_mcast(struct vl_qp* qp, uint32_t group);
VL_API int vl_detach_mcast(struct vl_qp* qp, uint32_t group);

/*
 * After the return no completion of it appears, and the device touches no memory on its behalf.
 * EBUSY: an event of it is not acknowledged.
 */
VL_API int vl_destroy_qp(struct vl_qp* qp);

/* A text in English for a state; never NULL; static memory. */
VL_API const char* vl_qp_state_string(enum vl_qp_state state);

/* Number of the queue pair, which its peer needs. */
VL_API uint32_t vl_qp_number(const struct vl_qp* qp);

/* ---- Asynchronous events --------------------------------------------------------------------- */

enum vl_event_type VL_ANY_NUMBER {
  VL_EVENT_QP_ERROR = 1, /* qp went to the error state, not by vl_modify_qp */
  VL_EVENT_CQ_ERROR,     /* cq has overrun: a completion is lost */
  VL_EVENT_SRQ_LIMIT,    /* srq has fewer receives than its limit, which is 0 now */
  VL_EVENT_PEER_DEAD, /* a node does not answer any more; its queue pairs went to the error state */
  VL_EVENT_DEVICE_FATAL, /* the RNIC was removed, or the simulator has ended: nothing works any more
                          */
  VL_EVENT_LINK,         /* the Ethernet link came or went; vl_query_link tells how it is */
  VL_EVENT_QP_LAST_WQE,  /* qp, in the error state, holds no receive of its shared receive queue any
                           more: the   completion of the last one is there. Also if vl_modify_qp has
                           taken it there */
  VL_EVENT_QP_SQ_DRAINED /* qp, in VL_QPS_SQD: all work requests that had begun have ended, and
                           their completions are there. Once for each change from VL_QPS_RTS, unless
                           VL_QPS_SQD is left before; vl_query_qp (sq_draining) says what is so now
                         */
};

struct vl_async_event {
  enum vl_event_type type;
  struct vl_qp* qp; /* the object that it is about; the others are NULL */
  struct vl_cq* cq;
  struct vl_srq* srq;
};

/* A file descriptor that is readable while an event waits, as that of a channel. */
VL_API int vl_async_fd(const struct vl_rnic* rnic);

/*
 * Takes the next event. Waits for one, or gives EAGAIN if the file descriptor has O_NONBLOCK;
 * EINTR. ENODEV: the RNIC is gone, and all its events were taken. An object has at most one event
 * of a type that was not taken: it tells of all that happened before. Each event is acknowledged
 * with vl_ack_async_event.
 */
VL_API int vl_get_async_event(struct vl_rnic* rnic, struct vl_async_event* event);

/* The event is dealt with: its object may be destroyed. EINVAL: it was acknowledged before. */
VL_API int vl_ack_async_event(const struct vl_async_event* event);

/* A text in English for a type of event; never NULL; static memory. */
VL_API const char* vl_event_type_string(enum vl_event_type type);

/* ---- Work ------------------------------------------------------------------------------------ */

/* Local memory: length bytes from a virtual address within a region. */
struct vl_sge {
  uint64_t address;
  uint32_t length;
  uint32_t stag;
};

/*
 * Work requests of a queue pair begin and complete in the order in which they were posted. PULLs,
 * with atomics, and other work are never under way at the same time: a change from one to the other
 * costs a round trip.
 */
enum vl_wr_opcode VL_ANY_NUMBER {
  VL_OP_PUSH = 1,        /* RDMA Write (RFC 5040, 5.1): the local bytes go to remote_stag,
                            remote_address */
  VL_OP_PUSH_IMM,        /* PUSH, then imm_data into the completion of a receive of the peer (RFC
                            7306, 6), whose elements stay untouched */
  VL_OP_SEND,            /* Send (RFC 5040, 5.3): the local bytes go to a receive of the peer */
  VL_OP_SEND_IMM,        /* SEND, with imm_data in the completion of that receive */
  VL_OP_SEND_INVALIDATE, /* SEND; then the peer invalidates its STag invalidate_stag, of a region
                            that peers may read or write */
  VL_OP_PULL,            /* RDMA Read (RFC 5040, 5.2): the bytes at remote_stag, remote_address come
                            to the local elements, which need VL_ACCESS_LOCAL_WRITE */
  VL_OP_LOCAL_INVALIDATE, /* invalidates the own STag invalidate_stag when all before it has ended;
                             no elements */
  VL_OP_FETCH_ADD,    /* atomic (RFC 7306, 5): atomic_data is added to the 8 bytes, a number of the
                         peer, at remote_stag, remote_address, which is a multiple of 8; what was there
                         before comes to the one local element of 8 bytes. Needs firmware at the peer,
                         and VL_ACCESS_REMOTE_ATOMIC */
  VL_OP_COMPARE_SWAP, /* likewise; atomic_data takes its place if it was atomic_compare */
  VL_OP_BIND_MW = 11  /* binds a memory window as `bind` says, when all before it has ended; no
                         elements. VL_WC_MW_BIND_ERR: it is bound, of another domain, or none; the
                         region is of another domain, lacks a right (see vl_mw_bind) or bytes */
};

enum vl_send_flags {
  VL_SEND_SIGNALED = 1 << 0,  /* completes visibly on success too; failures always do */
  VL_SEND_FENCE = 1 << 1,     /* begins when all PULLs before it have ended */
  VL_SEND_SOLICITED = 1 << 2, /* SEND kinds, PUSH_IMM: the peer's completion is a solicited one */
  VL_SEND_INLINE = 1 << 3     /* SEND and PUSH kinds: the bytes are copied at the call, and may be
                                 reused at its return; STags of the elements are ignored */
};

/* Where a datagram goes. */
struct vl_destination {
  uint32_t node; /* another one; or VL_NODE_GROUP */
  uint32_t qpn;  /* its queue pair; or the group */
  uint32_t qkey; /* the Q_Key of that queue pair, or of all that are attached; with
                    VL_QKEY_CONTROLLED that of the own queue pair is meant */
};
#define VL_NODE_GROUP 0xffffffff

/* What a memory window is to be, see vl_allocate_mw. */
struct vl_mw_bind {
  uint32_t stag;        /* of the window; its low byte, the key, may be any, best a new one */
  uint32_t region_stag; /* of a region with VL_ACCESS_MW_BIND, in the same domain */
  uint64_t address;     /* of the first byte, in the region as in the window */
  uint64_t length;      /* at least 1 */
  int access;           /* of VL_ACCESS_* those of peers, REMOTE_*; to write, and to do atomics, the
                           region needs VL_ACCESS_LOCAL_WRITE, and no right of peers itself */
};

struct vl_send_wr {
  uint64_t wr_id; /* the caller's; comes back in vl_wc */
  const struct vl_send_wr* next;
  const struct vl_sge* sg_list;
  int num_sge; /* 0 to max_send_sge, inline to VL_MAX_SGE; bytes are taken, or placed, in order */
  enum vl_wr_opcode opcode;
  int flags;            /* VL_SEND_* */
  uint32_t remote_stag; /* PUSH kinds, PULL, atomics */
  uint64_t remote_address;
  uint32_t imm_data;        /* PUSH_IMM, SEND_IMM */
  uint32_t invalidate_stag; /* SEND_INVALIDATE: the peer's; LOCAL_INVALIDATE: an own one */
  uint64_t atomic_data;     /* FETCH_ADD, COMPARE_SWAP */
  uint64_t atomic_compare;  /* COMPARE_SWAP */
  struct vl_destination ud; /* SEND, SEND_IMM on a queue pair of VL_SERVICE_UD */
  struct vl_mw_bind bind;   /* BIND_MW */
};

struct vl_recv_wr {
  uint64_t wr_id;
  const struct vl_recv_wr* next;
  const struct vl_sge* sg_list;
  int num_sge; /* 0 to max_recv_sge; a message fills them in order */
};

/*
 * Posts a list of work requests, with one doorbell and without a system call. One request alone
 * with at most 32 bytes of inline data is stored into the user page instead, so that the device
 * need not read it from memory; not if the environment variable VL_PIO was 0 when the RNIC was
 * opened. The list and its elements may be reused at the return; the bytes they name belong to the
 * device until completion. On -1 *bad_wr (if bad_wr is not NULL) is the first that was not posted;
 * those before it were. ENOMEM: the queue is full; poll the completion queue. EINVAL: opcode, flags
 * that do not fit it, an opcode that the service does not carry, num_sge, more than 2 GiB (of
 * VL_SERVICE_UD the mtu), a destination that does not exist, or inline
 * more than max_inline bytes in all, a PULL or an atomic that needs more than max_reads_out, an
 * atomic without one element of 8 bytes, a bind of no bytes, of bytes beyond 2^64 or with a right
 * that is none of peers', or the queue pair is in a state before VL_QPS_RTS. EBUSY:
 * it has remote windows (exrnic/ntb.h).
 *
 * Slots are given back when a completion is polled. So at least one work request in each
 * max_send_wr must be signaled.
 */
VL_API int vl_post_sq(struct vl_qp* qp, const struct vl_send_wr* wr,
                      const struct vl_send_wr** bad_wr);

/*
 * Posts receives, likewise; each SEND and PUSH_IMM of the peer takes one, in order. If there is
 * none, the message comes again, see VL_MAX_RNR_TIMER (of VL_SERVICE_UC and VL_SERVICE_UD it is
 * dropped). If it is shorter than the message, the peer's work request ends with VL_WC_REM_OP_ERR,
 * and both queue pairs go to the error state (not of VL_SERVICE_UD, see there). EINVAL: num_sge,
 * more than 2 GiB, the queue pair has a shared receive queue, or is in VL_QPS_RESET.
 */
VL_API int vl_post_rq(struct vl_qp* qp, const struct vl_recv_wr* wr,
                      const struct vl_recv_wr** bad_wr);

/*
 * Posts receives to a shared receive queue, likewise. Its receives complete in any order, on the
 * queues of the queue pairs that took them. Places are used in turn: ENOMEM also, when the receive
 * whose place is next has not completed (or not been polled) though later ones have.
 */
VL_API int vl_post_srq_recv(struct vl_srq* srq, const struct vl_recv_wr* wr,
                            const struct vl_recv_wr** bad_wr);

#ifdef __cplusplus
}
#endif

#endif /* EXRNIC_VERBS_H */
