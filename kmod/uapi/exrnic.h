/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR BSD-2-Clause */
/*
 * What exrnic_cdev.ko offers to user space: /dev/exrnicN.
 *
 * One open file is one user context. It owns one user page of the device (doorbells) and every
 * object made through it; closing the last reference releases all of them. A forked child that
 * uses the file shares the context.
 *
 * Structures of commands grow at their end: a new field that is zero means what there was before it. The size that a
 * program knows is part of the command. To a driver that knows more, what the program does not know is zero, and is
 * not told. One that knows less takes what is beyond that if it is zero, else E2BIG, and gives back zeros. What read() gives
 * has a fixed size. What a driver has beyond what EXRNIC_UAPI_VERSION began with is in features of QUERY. Fields named
 * rsvd must be zero, else EINVAL. Handles are the
 * device's own numbers (cqn, qpn, STag) or, for a protection domain, a number of this file; a
 * handle that this file does not own gives ENOENT.
 *
 * mmap(), MAP_SHARED. EXRNIC_MMAP_USER_PAGE, one page, with PROT_WRITE: the user page. Its layout is in
 * exrnic_hw.h, EXRNIC_DOORBELL_* and EXRNIC_PIO_AREA. The mapping is write-combining: a store barrier
 * before a doorbell or block keeps it behind what was stored to memory, one behind it makes it leave
 * and keeps it before later stores to the page. Once the device is removed, stores are lost.
 * EXRNIC_MMAP_STATE_PAGE, one page, with PROT_READ: struct exrnic_state_page. The offset of a window
 * (CREATE_WINDOW): the window. Anything else gives EINVAL.
 *
 * read() and poll() of the file deliver its asynchronous events, those of a completion channel
 * (CREATE_CHANNEL) completion events: see struct exrnic_event.
 *
 * Errors common to all: ENOTTY unknown command, or a size that none ever had; E2BIG as above; EFAULT bad pointer, EINVAL
 * bad field, ENOENT no such object of this file, EBUSY in use by another object, ENODEV device
 * removed, or reset or suspended since the file was opened (a new file works), EIO the device refused
 * or is broken, ETIMEDOUT the device did not answer and is broken from now on, ENOMEM no memory of the
 * kernel, EINTR killed. A destroy that gives EIO, or EFAULT because its answer could not be
 * written, has released the object nevertheless; after ENODEV all objects are released. What was made,
 * but could not be told (EFAULT), is undone.
 *
 * ENOSPC: what the device has is all taken, by its files together:
 *
 *	open()		   user pages: EXRNIC_USER_PAGES, or what the device has
 *	ALLOC_PD	   protection domains: EXRNIC_FW_PD - 1
 *	CREATE_CQ	   completion queues: max_cq of QUERY
 *	CREATE_SRQ	   shared receive queues: max_srq
 *	CREATE_QP	   queue pairs: max_qp - 2; places for its PULLs: read_pool, in each direction
 *	REG_MR		   STags: max_mr - 1
 *	ALLOC_MW	   the same
 *	REREG_MR	   the same: the region has its old one until it has the new one
 *	CREATE_MSG_CHANNEL the same: its memory has one
 *	CREATE_WINDOW	   windows, so many in a row: EXRNIC_MAX_WINDOWS, or what the device has
 *	ATTACH_GROUP	   attachments: EXRNIC_MAX_ATTACHED
 *
 * EDQUOT: more than the administrator allows, by parameters of exrnic_cdev and exrnic (max_user_percent), or the rdma cgroup.
 * max_objects: what one file has of domains, queues, queue pairs, regions, memory windows, windows, ports, message
 * channels and attachments; hca_object of the cgroup counts the same, hca_handle open files.
 * max_user_percent: the share of each of these kinds, of user pages, and of places for PULLs, that a user
 * without CAP_SYS_RESOURCE may have, with what it has by uverbs. max_pinned_mib, max_device_pinned_mib: memory pinned by one file, and by
 * all of a device together.
 *
 * Rings (CREATE_CQ, RESIZE_CQ, CREATE_QP, CREATE_SRQ), regions (REG_MR, REREG_MR) and the memory of a message
 * channel are pinned. EDQUOT: as above. ENOMEM also: beyond RLIMIT_MEMLOCK of the caller, without
 * CAP_IPC_LOCK; or their list of pages does not fit into contiguous memory of the kernel. EFAULT: not
 * the caller's memory, or not writable though the device is to write it. EFAULT or EOPNOTSUPP: memory
 * that the kernel pins for nobody, such as a device's, or a file's on a DAX device. What is pinned twice
 * counts twice.
 */
#ifndef _UAPI_EXRNIC_H
#define _UAPI_EXRNIC_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define EXRNIC_UAPI_VERSION 10	/* changes only if something is taken away */

struct exrnic_query {
	__u32 uapi_version;	/* EXRNIC_UAPI_VERSION; another one is another interface */
	__u32 abi_version;	/* EXRNIC_ABI_VERSION of the device */
	__u32 node_id;
	__u32 mtu;		/* payload bytes of a frame */
	__u32 max_qp;		/* two more than there can be: no process gets the numbers 0 and 1 */
	__u32 max_cq;
	__u32 max_mr;		/* one more than there can be of STags */
	__u32 max_sq_slots;
	__u32 max_cq_entries;
	__u32 clock_khz;	/* core clock */
	__u32 max_srq;
	__u32 comp_vectors;	/* interrupt vectors for completion queues, at least 1 */
	__u8 mac[6];
	__u8 rsvd[2];
	__aligned_u64 features;		/* EXRNIC_FEATURE_*: there are none yet */
	__u32 read_pool;	/* places for PULLs under way, in each direction; see CREATE_QP */
	__u32 max_node;		/* nodes that it can talk to: their identifiers are below */
	__u16 pkeys[16];	/* the node's P_Keys; with the low 15 bits zero: none. pkeys/ in sysfs */
	__aligned_u64 max_window;	/* bytes of the longest remote window: BAR 4 */
};

/* A handle, to destroy or to get (ALLOC_PD). */
struct exrnic_object {
	__u32 handle;
	__u32 rsvd;
};

/*
 * Ends a queue. Events of it that were not read yet are dropped, and none comes afterwards;
 * *_events count those that read() delivered in its life. Who hands events from one thread to
 * another frees what the cookie stands for when that many have been dealt with.
 */
struct exrnic_destroy {
	__u32 handle;
	__u32 comp_events;	/* out: of type COMPLETION; completion queues only */
	__u32 async_events;	/* out: of the other types */
	__u32 rsvd;
};

enum exrnic_event_type {
	/* From a channel: a completion queue that was armed has fired. */
	EXRNIC_EVENT_COMPLETION = 1,
	/* From a channel: a message channel that was armed has events, or firmware was started again. */
	EXRNIC_EVENT_MESSAGE = 8,
	/* From the device file; handle: the queue. */
	EXRNIC_EVENT_QP_ERROR = 2,	/* went to ERROR, not by MODIFY_QP */
	EXRNIC_EVENT_CQ_ERROR = 3,	/* has overrun: a completion is lost */
	EXRNIC_EVENT_SRQ_LIMIT = 4,	/* fewer receives than the limit; it is 0 now */
	/*
	 * Of a queue pair in ERROR: it holds no receive of its shared receive queue any more, and the completion of the
	 * last one is there. Once in a life, also if MODIFY_QP has taken it there.
	 */
	EXRNIC_EVENT_LAST_WQE = 9,
	/*
	 * Of a queue pair in SQD: all work requests that had begun have ended, and their completions are there. Once
	 * for each change from RTS to SQD, unless SQD is left before. sq_draining of QUERY_QP says what is so now.
	 */
	EXRNIC_EVENT_SQ_DRAINED = 10,
	/* From the device file, of the whole context; handle and cookie are zero. */
	EXRNIC_EVENT_PEER_DEAD = 5,	/* a node was given up: RETRY_LIMIT retransmissions */
	EXRNIC_EVENT_DEVICE_FATAL = 6,	/* removed, reset, suspended or broken: nothing works any more */
	EXRNIC_EVENT_LINK = 7,		/* the Ethernet link came or went: GET_STATUS tells how it is */
};

/*
 * What read() delivers, whole ones only, as many as fit: EINVAL if none does. It waits for the
 * first, or gives EAGAIN with O_NONBLOCK. An event that cannot be written stays: EFAULT if that is the
 * first. poll() says POLLIN while there are any.
 *
 * An object has at most one unread event of a type: what happens until it is read is told by the
 * same event. So nothing is lost, and no queue can overflow; arm and look again after an event. An event may
 * find no completion: that was taken before.
 *
 * What happens to a queue is told to its owner alone, and it is told even if the queue pair is reset before,
 * or (CQ_ERROR) destroyed. The driver may learn of it a little later than the process, which sees the
 * completion: an event may be of a life that a reset has ended. PEER_DEAD and LINK go to all contexts of
 * the device.
 *
 * When the device is removed, reset or suspended, or (for a channel) its device file closed, poll()
 * says POLLHUP, and read() gives ENODEV when all has been read; a device file has a last DEVICE_FATAL before it.
 */
struct exrnic_event {
	__aligned_u64 cookie;		/* as in CREATE_* of the object */
	__u32 type;		/* enum exrnic_event_type */
	__u32 handle;
};

/*
 * Makes a channel: a new file descriptor (close-on-exec), which may outlive all else. EMFILE,
 * ENFILE: no descriptor is free.
 */
struct exrnic_create_channel {
	__s32 fd;		/* out */
	__u32 rsvd;
};

#define EXRNIC_NO_CHANNEL	(-1)
#define EXRNIC_ANY_VECTOR	(~0u)

/*
 * ring: page-aligned user address of entries * sizeof(struct exrnic_cqe), rounded up to pages; it
 * is pinned for writing, and zeroed by the caller. entries: a power of two, 8 to max_cq_entries.
 *
 * comp_vector: below comp_vectors, or EXRNIC_ANY_VECTOR for one with few queues and ports. channel_fd: of
 * CREATE_CHANNEL on this file (EBADF: no open file, EINVAL: another one), or EXRNIC_NO_CHANNEL.
 * cookie: given back in events.
 *
 * An armed queue fires behind moderation_count completions (at most 65535; 0 is 1), or
 * moderation_ns (below 2^24) after the first of them. With moderation_ns 0 it fires at once.
 */
struct exrnic_create_cq {
	__aligned_u64 ring;
	__aligned_u64 cookie;
	__u32 entries;
	__u32 moderation_count;
	__u32 moderation_ns;
	__u32 comp_vector;
	__s32 channel_fd;
	__u32 cqn;		/* out */
};

/*
 * Gives a completion queue another ring: ring, entries as in CREATE_CQ, but that the caller sets the last byte of each
 * entry to EXRNIC_CQE_PHASE_NONE, as a round of this size may have begun. From completion number producer on, modulo 2^32, the
 * device writes to it, entry i modulo entries, with the phase of that round; those before stand in the old
 * ring, which is then unpinned and the caller's alone. All else of the queue stays, as does whether it is armed.
 *
 * ENOSPC: more completions are unread, as doorbells have told, than the new ring has entries. Then, and with any
 * other error but one, the queue has its old ring: EFAULT because the answer could not be written comes when it
 * has the new one. Both rings are pinned, and count, until the answer.
 */
struct exrnic_resize_cq {
	__aligned_u64 ring;
	__u32 cqn;
	__u32 entries;
	__u32 producer;		/* out */
	__u32 rsvd;
};

/*
 * sq, rq: page-aligned user addresses of slots * sizeof(struct exrnic_wqe), rounded up to pages,
 * pinned. slots: powers of two, 8 to max_sq_slots. The queue pair starts in RESET.
 *
 * srqn: a shared receive queue of the same domain, else EINVAL, that takes the place of the
 * receive queue; rq and rq_slots are then zero. Or EXRNIC_NO_SRQ. max_reads_*: PULLs under way, of
 * this side and of the peer; at most EXRNIC_MAX_READS. From its creation to its end it has
 * places for them of the device's read_pool, read_places (rtl-model/gen/reference.md) of each: nobody else can take them.
 *
 * flags: EXRNIC_QP_FLAGS_GRH, of service UD: datagrams are placed behind EXRNIC_GRH_BYTES of their receive, which count.
 */
struct exrnic_create_qp {
	__aligned_u64 sq;
	__aligned_u64 rq;
	__aligned_u64 cookie;
	__u32 sq_slots;
	__u32 rq_slots;
	__u32 pd;
	__u32 send_cqn;
	__u32 recv_cqn;
	__u32 service;		/* enum exrnic_service */
	__u32 srqn;
	__u32 max_reads_out;
	__u32 max_reads_in;
	__u32 qpn;		/* out; at least 2 */
	__u32 flags;		/* EXRNIC_QP_FLAGS_* */
	__u32 rsvd;		/* zero */
};

/*
 * state: enum exrnic_qp_state. attributes: EXRNIC_QP_ATTRIBUTES_*, those that are given; the fields of the others
 * are ignored. Which change of which service has which ones, and their values:
 * rtl-model/gen/reference.md, mbox_modify_qp. EPERM: no such transition, or it has not one of them. EINVAL: one is missing
 * that it needs, or has a value out of range. Nothing is changed then.
 *
 * pkey_index: of pkeys of QUERY (EINVAL: that one is none); the administrator may change
 * what stands there, and so whom the queue pair reaches. qkey: EPERM: with EXRNIC_QKEY_CONTROLLED (bit 31) it
 * needs CAP_NET_RAW.
 */
struct exrnic_modify_qp {
	__u32 qpn;
	__u32 state;
	__u32 dest_node;
	__u32 dest_qpn;
	__u32 qkey;
	__u32 pkey_index;
	__u32 attributes;
	__u32 access;		/* EXRNIC_ACCESS_REMOTE_* */
	__u32 path_mtu;		/* bytes */
	__u8 max_reads_in;
	__u8 max_reads_out;
	__u8 min_rnr_timer;
	__u8 rnr_retry;
	__u8 timeout;		/* how long nothing may be heard of its work, */
	__u8 retry_count;	/* and how often more: see mbox_modify_qp */
	__u16 rsvd;		/* zero */
};

/*
 * A queue pair of service UD, else EINVAL, and a group, up to EXRNIC_GROUP_MAX: datagrams to the group
 * come to it, or do so no more. ATTACH_GROUP: EEXIST, they do already. DETACH_GROUP: ENOENT, they do
 * not. DESTROY_QP detaches.
 */
struct exrnic_group {
	__u32 qpn;
	__u32 group;
};

struct exrnic_query_qp {
	__u32 qpn;		/* in */
	__u32 state;
	__u32 dest_node;
	__u32 dest_qpn;
	__u32 sq_producer;
	__u32 sq_consumer;
	__u32 pkey_index;	/* of service UD */
	__u32 sq_draining;	/* in SQD: work requests that had begun have not ended */
	__u32 qkey;		/* these as in MODIFY_QP, what they are now */
	__u32 access;
	__u32 path_mtu;
	__u8 max_reads_in;
	__u8 max_reads_out;
	__u8 min_rnr_timer;
	__u8 rnr_retry;
	__u8 timeout;
	__u8 retry_count;
	__u16 rsvd;		/* zero */
};

/*
 * ring: page-aligned user address of slots * sizeof(struct exrnic_wqe), rounded up to pages,
 * pinned. slots: a power of two, 8 to max_sq_slots. limit: as in MODIFY_SRQ.
 */
struct exrnic_create_srq {
	__aligned_u64 ring;
	__aligned_u64 cookie;
	__u32 slots;
	__u32 pd;
	__u32 limit;
	__u32 srqn;		/* out */
};

/*
 * Arms the limit event: once, when a receive is taken and fewer posted slots than limit are left;
 * the limit is 0 from then on. At most 65535; 0: no event.
 */
struct exrnic_modify_srq {
	__u32 srqn;
	__u32 limit;
};

struct exrnic_query_srq {
	__u32 srqn;		/* in */
	__u32 limit;		/* armed, or 0 */
	__u32 producer;		/* slots posted... */
	__u32 consumer;		/* ...and taken, both modulo 2^16 */
	__aligned_u64 rsvd;
};

/*
 * Pins [address, address + length), for writing if access (EXRNIC_ACCESS_*) has a right to write, and
 * makes a memory region of it; tagged offsets are virtual addresses.
 */
struct exrnic_reg_mr {
	__aligned_u64 address;
	__aligned_u64 length;
	__u32 pd;
	__u32 access;
	__u32 stag;		/* out */
	__u32 rsvd;
};

#define EXRNIC_REREG_TRANSLATION	0x1	/* address and length */
#define EXRNIC_REREG_PD			0x2
#define EXRNIC_REREG_ACCESS		0x4
#define EXRNIC_REREG_ALL		0x7

/*
 * Changes what flags (at least one) name; fields that they do not name are zero. The region gets
 * another STag, and the old one is no longer valid. After an error the region is as it was, but
 * with EIO, ETIMEDOUT, or an answer that cannot be written (EFAULT), it is no more. While memory is
 * pinned anew, the old and the new count together.
 */
struct exrnic_rereg_mr {
	__aligned_u64 address;
	__aligned_u64 length;
	__u32 stag;		/* in, out */
	__u32 flags;		/* EXRNIC_REREG_* */
	__u32 pd;
	__u32 access;
};

/*
 * A memory window, type 2B of verbs. Work requests BIND_MW give it a part of a region of the same domain that has
 * EXRNIC_ACCESS_MW_BIND, for the peer of their queue pair, each with a key of its own in the low byte of the STag. It ends by
 * itself with that region, REREG_MR included, and with that queue pair. DEALLOC_MW names the STag as it was told here.
 */
struct exrnic_alloc_mw {
	__u32 pd;
	__u32 stag;		/* out */
};

/*
 * The physical buffer list of a region. pages in: entries that fit at buffer, more are not
 * written; out: entries of the list. Bus addresses are copied only for CAP_SYS_ADMIN; for others
 * the entries read as zero, as in /proc/PID/pagemap.
 */
struct exrnic_get_pbl {
	__aligned_u64 buffer;		/* user address of __u64[pages] */
	__u32 stag;
	__u32 pages;		/* in, out */
	__u32 page_shift;	/* out */
	__u32 rsvd;
};

/* The device's register STATUS, read at this moment: EXRNIC_DEVICE_STATUS_*. */
struct exrnic_get_status {
	__u32 status;		/* out */
	__u32 rsvd;		/* out: zero */
};

/*
 * A management frame of the fabric (FABRIC.md): from the destination MAC address on, without FCS. SEND_MANAGEMENT sends one,
 * RECEIVE_MANAGEMENT takes the one that waits longest. EAGAIN: the last one has not left, or none waits. EPERM: without
 * CAP_NET_ADMIN. EBUSY: another file has sent or received one, and is open, in this life of the device. What waits when a file begins is dropped; an
 * answer to a file before it may still come.
 */
struct exrnic_management {
	__u8 frame[256];
};

#define EXRNIC_MMAP_USER_PAGE	0x0000	/* offsets for mmap() */
#define EXRNIC_MMAP_STATE_PAGE	0x1000

/* What the state page starts with. It can be read without a system call, for as long as it is mapped. */
struct exrnic_state_page {
	__u32 gone;		/* not 0: removed, reset, suspended or broken; nothing works any more */
};

/*
 * A remote window: a mapping of this file through which a store writes the peer's memory and a load
 * reads it. qpn: of service RC and in RTS (EINVAL), and with nothing posted to its send queue since RESET
 * (EBUSY); what is posted while it has windows ends it with an error. It names the peer and the
 * protection domain there, and cannot be destroyed before its windows; reset, it takes no access any
 * more. remote, length: what the window shows, at most max_window; as many
 * windows of the device in a row as that needs (ENOSPC). access: EXRNIC_WINDOW_ACCESS_*, not none.
 *
 * mmap() the offset, MAP_SHARED, length rounded up to pages; or pages of it. The mapping is
 * write-combining: a store barrier makes stores leave. Stores of one window arrive in the order in
 * which they left. A load waits for the peer; one that is not allowed, or not answered in time,
 * gives all ones, and a store that is not allowed does nothing: counters window_* of sysfs tell.
 * What the peer refuses puts the queue pair into ERROR. Behind DESTROY_WINDOW, or removal of the
 * device, an access of the mapping gives SIGBUS.
 */
struct exrnic_create_window {
	__aligned_u64 remote;		/* tagged offset at the peer */
	__aligned_u64 length;		/* bytes */
	__aligned_u64 offset;		/* out: for mmap() */
	__u32 qpn;
	__u32 stag;		/* at the peer */
	__u32 access;
	__u32 window;		/* out */
};

/*
 * A port: doorbell bits and scratchpads that are shared with one port of another node, which names
 * this one likewise. Which port of a node serves whom is for the two to agree on. The result is a
 * file descriptor (close-on-exec): read() waits for the next struct exrnic_port_event, poll() says
 * POLLIN when there is one, the commands below act on it, and close() closes the port.
 * EBUSY: somebody has it, or the kernel keeps it (exrnic_ntb). EPERM: it is for who has CAP_NET_RAW, as the administrator says
 * (privileged_ports of exrnic_cdev; 14 and 15 by default). It is an object of this file until it is closed. It interrupts by one of the vectors for
 * completion queues, one that few of these and of ports have: by its own, as long as there are enough.
 */
struct exrnic_open_port {
	__u32 port;		/* below EXRNIC_PORTS */
	__u32 peer_node;
	__u32 peer_port;
	__s32 fd;		/* out */
};

/*
 * What came since the last read(): doorbell bits that are not masked, EXRNIC_PORT_EVENT_*. What cannot be
 * written (EFAULT) stays.
 */
struct exrnic_port_event {
	__u32 bells;
	__u32 events;
	__u32 link_up;		/* 1: the peer's port is open now */
	__u32 rsvd;
};

/* A scratchpad. EINVAL: index beyond EXRNIC_PORT_SPADS. */
struct exrnic_port_spad {
	__u32 index;
	__u32 value;
};

/*
 * A message channel: rings and slots in memory of the process, through which firmware of the on-chip
 * processor passes messages and reductions between nodes; rtl-model/spec/channels.yaml, firmware/README.md.
 * A file has one at most (EBUSY), as its user page is the channel's bell (EXRNIC_DOORBELL_FIRMWARE).
 * number: below EXRNIC_FW_CHANNELS; EBUSY: another file has it. address: page-aligned, and length bytes are
 * pinned and written by the device; the caller has zeroed status and rings. The others: as in struct
 * exrnic_channel_open, whose limits firmware checks (EINVAL). EOPNOTSUPP also: no firmware runs. Firmware that
 * is started again goes on with the channel; `epoch` of its status tells. As long as none runs nothing
 * happens to it.
 *
 * channel_fd, cookie: as CREATE_CQ. Who sleeps arms by the number that the bell carries
 * (EXRNIC_CHANNEL_ARMED), and is told by EXRNIC_EVENT_MESSAGE, whose handle is the channel's number.
 */
struct exrnic_create_msg_channel {
	__aligned_u64 address;
	__aligned_u64 length;
	__aligned_u64 cookie;
	__u32 number;		/* the handle, too */
	__u32 status;		/* offsets into the memory */
	__u32 work;
	__u32 log_work;
	__u32 events;
	__u32 log_events;
	__u32 slots;
	__u32 slot_bytes;
	__u32 num_slots;
	__s32 channel_fd;	/* or EXRNIC_NO_CHANNEL */
};

#define EXRNIC_IOCTL_MAGIC 0xE7
#define EXRNIC_IOCTL_QUERY	_IOR(EXRNIC_IOCTL_MAGIC, 0x00, struct exrnic_query)
#define EXRNIC_IOCTL_ALLOC_PD	_IOR(EXRNIC_IOCTL_MAGIC, 0x01, struct exrnic_object)
#define EXRNIC_IOCTL_DEALLOC_PD	_IOW(EXRNIC_IOCTL_MAGIC, 0x02, struct exrnic_object)
#define EXRNIC_IOCTL_CREATE_CQ	_IOWR(EXRNIC_IOCTL_MAGIC, 0x03, struct exrnic_create_cq)
#define EXRNIC_IOCTL_DESTROY_CQ	_IOWR(EXRNIC_IOCTL_MAGIC, 0x04, struct exrnic_destroy)
#define EXRNIC_IOCTL_CREATE_QP	_IOWR(EXRNIC_IOCTL_MAGIC, 0x05, struct exrnic_create_qp)
#define EXRNIC_IOCTL_MODIFY_QP	_IOW(EXRNIC_IOCTL_MAGIC, 0x06, struct exrnic_modify_qp)
#define EXRNIC_IOCTL_QUERY_QP	_IOWR(EXRNIC_IOCTL_MAGIC, 0x07, struct exrnic_query_qp)
#define EXRNIC_IOCTL_DESTROY_QP	_IOWR(EXRNIC_IOCTL_MAGIC, 0x08, struct exrnic_destroy)
#define EXRNIC_IOCTL_REG_MR	_IOWR(EXRNIC_IOCTL_MAGIC, 0x09, struct exrnic_reg_mr)
#define EXRNIC_IOCTL_DEREG_MR	_IOW(EXRNIC_IOCTL_MAGIC, 0x0a, struct exrnic_object)
#define EXRNIC_IOCTL_GET_PBL	_IOWR(EXRNIC_IOCTL_MAGIC, 0x0b, struct exrnic_get_pbl)
#define EXRNIC_IOCTL_CREATE_SRQ	_IOWR(EXRNIC_IOCTL_MAGIC, 0x0c, struct exrnic_create_srq)
#define EXRNIC_IOCTL_MODIFY_SRQ	_IOW(EXRNIC_IOCTL_MAGIC, 0x0d, struct exrnic_modify_srq)
#define EXRNIC_IOCTL_QUERY_SRQ	_IOWR(EXRNIC_IOCTL_MAGIC, 0x0e, struct exrnic_query_srq)
#define EXRNIC_IOCTL_DESTROY_SRQ	_IOWR(EXRNIC_IOCTL_MAGIC, 0x0f, struct exrnic_destroy)
#define EXRNIC_IOCTL_CREATE_CHANNEL \
	_IOWR(EXRNIC_IOCTL_MAGIC, 0x10, struct exrnic_create_channel)
#define EXRNIC_IOCTL_REREG_MR	_IOWR(EXRNIC_IOCTL_MAGIC, 0x11, struct exrnic_rereg_mr)
#define EXRNIC_IOCTL_CREATE_WINDOW \
	_IOWR(EXRNIC_IOCTL_MAGIC, 0x12, struct exrnic_create_window)
#define EXRNIC_IOCTL_DESTROY_WINDOW	_IOW(EXRNIC_IOCTL_MAGIC, 0x13, struct exrnic_object)
#define EXRNIC_IOCTL_OPEN_PORT	_IOWR(EXRNIC_IOCTL_MAGIC, 0x14, struct exrnic_open_port)
#define EXRNIC_IOCTL_CREATE_MSG_CHANNEL \
	_IOW(EXRNIC_IOCTL_MAGIC, 0x15, struct exrnic_create_msg_channel)
#define EXRNIC_IOCTL_DESTROY_MSG_CHANNEL \
	_IOW(EXRNIC_IOCTL_MAGIC, 0x16, struct exrnic_object)
#define EXRNIC_IOCTL_ATTACH_GROUP	_IOW(EXRNIC_IOCTL_MAGIC, 0x17, struct exrnic_group)
#define EXRNIC_IOCTL_DETACH_GROUP	_IOW(EXRNIC_IOCTL_MAGIC, 0x18, struct exrnic_group)
#define EXRNIC_IOCTL_RESIZE_CQ	_IOWR(EXRNIC_IOCTL_MAGIC, 0x19, struct exrnic_resize_cq)
#define EXRNIC_IOCTL_ALLOC_MW	_IOWR(EXRNIC_IOCTL_MAGIC, 0x1a, struct exrnic_alloc_mw)
#define EXRNIC_IOCTL_DEALLOC_MW	_IOW(EXRNIC_IOCTL_MAGIC, 0x1b, struct exrnic_object)
#define EXRNIC_IOCTL_GET_STATUS	_IOR(EXRNIC_IOCTL_MAGIC, 0x20, struct exrnic_get_status)
#define EXRNIC_IOCTL_SEND_MANAGEMENT \
	_IOW(EXRNIC_IOCTL_MAGIC, 0x21, struct exrnic_management)
#define EXRNIC_IOCTL_RECEIVE_MANAGEMENT \
	_IOR(EXRNIC_IOCTL_MAGIC, 0x22, struct exrnic_management)

/*
 * Of a port's descriptor. RING: these bits at the peer. MASK: bits that are not told until they are
 * unmasked. Each port has scratchpads, which both sides set and get: SET_SPAD one of the peer's, which
 * gets it by GET_SPAD; SET_OWN_SPAD one of this port's, which the peer gets by GET_PEER_SPAD. All are 0 when
 * the link has come up. RING, SET_SPAD and SET_OWN_SPAD: ENOTCONN while the peer's port is closed. All: ENODEV.
 */
#define EXRNIC_PORT_IOCTL_RING		_IOW(EXRNIC_IOCTL_MAGIC, 0x40, __u32)
#define EXRNIC_PORT_IOCTL_MASK		_IOW(EXRNIC_IOCTL_MAGIC, 0x41, __u32)
#define EXRNIC_PORT_IOCTL_SET_SPAD	_IOW(EXRNIC_IOCTL_MAGIC, 0x42, struct exrnic_port_spad)
#define EXRNIC_PORT_IOCTL_GET_SPAD	_IOWR(EXRNIC_IOCTL_MAGIC, 0x43, struct exrnic_port_spad)
#define EXRNIC_PORT_IOCTL_SET_OWN_SPAD	_IOW(EXRNIC_IOCTL_MAGIC, 0x44, struct exrnic_port_spad)
#define EXRNIC_PORT_IOCTL_GET_PEER_SPAD	_IOWR(EXRNIC_IOCTL_MAGIC, 0x45, struct exrnic_port_spad)

#endif
