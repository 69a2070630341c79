/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The face of exrnic.ko to user space: /dev/exrnicN.
 *
 * One open file is one user context. It owns one user page of the device (doorbells) and every
 * object made through it; closing the last reference releases all of them. A forked child that
 * uses the file shares the context.
 *
 * Every structure has a fixed size. Fields named rsvd must be zero, else EINVAL. Handles are the
 * device's own numbers (cqn, qpn, STag) or, for a protection domain, a number of this file; a
 * handle that this file does not own gives ENOENT.
 *
 * mmap() of offset 0, one page, PROT_WRITE, MAP_SHARED maps the user page: layout in exrnic_hw.h,
 * EXRNIC_DOORBELL_*. Anything else gives EINVAL.
 *
 * Errors common to all: ENOTTY unknown command, EFAULT bad pointer, EINVAL bad field, EBUSY in use
 * by another object, ENOSPC a table of the device is full (also from open()), ENODEV device
 * removed, EIO the device refused or is broken, ETIMEDOUT the device did not answer and is broken
 * from now on, ENOMEM, EINTR killed. A destroy that gives EIO or ETIMEDOUT has released the object
 * nevertheless; after ENODEV all objects are released.
 */
#ifndef _UAPI_EXRNIC_H
#define _UAPI_EXRNIC_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define EXRNIC_UAPI_VERSION 2

struct exrnic_query {
	__u32 uapi_version;	/* EXRNIC_UAPI_VERSION */
	__u32 abi_version;	/* EXRNIC_ABI_VERSION of the device */
	__u32 node_id;
	__u32 mtu;		/* payload bytes of a frame */
	__u32 max_qp;
	__u32 max_cq;
	__u32 max_mr;
	__u32 max_sq_slots;
	__u32 max_cq_entries;
	__u32 clock_khz;	/* core clock */
	__u32 max_srq;
	__u8 mac[6];
	__u8 rsvd[6];
};

/* A handle, to destroy or to get (ALLOC_PD). */
struct exrnic_object {
	__u32 handle;
	__u32 rsvd;
};

/*
 * ring: page-aligned user address of entries * sizeof(struct exrnic_cqe), rounded up to pages; it
 * is pinned, and zeroed by the caller. entries: a power of two, 8 to max_cq_entries.
 *
 * An armed queue fires behind moderation_count completions (at most 65535; 0 is 1), or
 * moderation_ns (below 2^24) after the first of them. With moderation_ns 0 it fires at once.
 */
struct exrnic_create_cq {
	__u64 ring;
	__u32 entries;
	__u32 cqn;		/* out */
	__u32 moderation_count;
	__u32 moderation_ns;
};

/*
 * sq, rq: page-aligned user addresses of slots * sizeof(struct exrnic_wqe), rounded up to pages,
 * pinned. slots: powers of two, 8 to max_sq_slots. The queue pair starts in RESET.
 *
 * srqn: a shared receive queue of the same domain, else EINVAL, that takes the place of the
 * receive queue; rq and rq_slots are then zero. Or EXRNIC_NO_SRQ. max_reads_*: PULLs under way, of
 * this side and of the peer; at most EXRNIC_MAX_READS.
 */
struct exrnic_create_qp {
	__u64 sq;
	__u64 rq;
	__u32 sq_slots;
	__u32 rq_slots;
	__u32 pd;
	__u32 send_cqn;
	__u32 recv_cqn;
	__u32 service;		/* enum exrnic_service */
	__u32 srqn;
	__u32 max_reads_out;
	__u32 max_reads_in;
	__u32 qpn;		/* out */
};

/* state: enum exrnic_qp_state. dest_*: with RTR, else zero. EPERM: no such transition. */
struct exrnic_modify_qp {
	__u32 qpn;
	__u32 state;
	__u32 dest_node;
	__u32 dest_qpn;
};

struct exrnic_query_qp {
	__u32 qpn;		/* in */
	__u32 state;
	__u32 dest_node;
	__u32 dest_qpn;
	__u32 sq_producer;
	__u32 sq_consumer;
	__u64 rsvd;
};

/*
 * ring: page-aligned user address of slots * sizeof(struct exrnic_wqe), rounded up to pages,
 * pinned. slots: a power of two, 8 to max_sq_slots. limit: as in MODIFY_SRQ.
 */
struct exrnic_create_srq {
	__u64 ring;
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
	__u64 rsvd;
};

/*
 * Pins [address, address + length) and makes a memory region of it; tagged offsets are virtual
 * addresses. access: EXRNIC_ACCESS_*. ENOMEM: beyond RLIMIT_MEMLOCK (rings count, too).
 */
struct exrnic_reg_mr {
	__u64 address;
	__u64 length;
	__u32 pd;
	__u32 access;
	__u32 stag;		/* out */
	__u32 rsvd;
};

/*
 * The physical buffer list of a region. pages in: entries that fit at buffer, more are not
 * written; out: entries of the list. Bus addresses are copied only for CAP_SYS_ADMIN; for others
 * the entries read as zero, as in /proc/PID/pagemap.
 */
struct exrnic_get_pbl {
	__u64 buffer;		/* user address of __u64[pages] */
	__u32 stag;
	__u32 pages;		/* in, out */
	__u32 page_shift;	/* out */
	__u32 rsvd;
};

#define EXRNIC_IOCTL_MAGIC 0xE7
#define EXRNIC_IOCTL_QUERY	_IOR(EXRNIC_IOCTL_MAGIC, 0x00, struct exrnic_query)
#define EXRNIC_IOCTL_ALLOC_PD	_IOR(EXRNIC_IOCTL_MAGIC, 0x01, struct exrnic_object)
#define EXRNIC_IOCTL_DEALLOC_PD	_IOW(EXRNIC_IOCTL_MAGIC, 0x02, struct exrnic_object)
#define EXRNIC_IOCTL_CREATE_CQ	_IOWR(EXRNIC_IOCTL_MAGIC, 0x03, struct exrnic_create_cq)
#define EXRNIC_IOCTL_DESTROY_CQ	_IOW(EXRNIC_IOCTL_MAGIC, 0x04, struct exrnic_object)
#define EXRNIC_IOCTL_CREATE_QP	_IOWR(EXRNIC_IOCTL_MAGIC, 0x05, struct exrnic_create_qp)
#define EXRNIC_IOCTL_MODIFY_QP	_IOW(EXRNIC_IOCTL_MAGIC, 0x06, struct exrnic_modify_qp)
#define EXRNIC_IOCTL_QUERY_QP	_IOWR(EXRNIC_IOCTL_MAGIC, 0x07, struct exrnic_query_qp)
#define EXRNIC_IOCTL_DESTROY_QP	_IOW(EXRNIC_IOCTL_MAGIC, 0x08, struct exrnic_object)
#define EXRNIC_IOCTL_REG_MR	_IOWR(EXRNIC_IOCTL_MAGIC, 0x09, struct exrnic_reg_mr)
#define EXRNIC_IOCTL_DEREG_MR	_IOW(EXRNIC_IOCTL_MAGIC, 0x0a, struct exrnic_object)
#define EXRNIC_IOCTL_GET_PBL	_IOWR(EXRNIC_IOCTL_MAGIC, 0x0b, struct exrnic_get_pbl)
#define EXRNIC_IOCTL_CREATE_SRQ	_IOWR(EXRNIC_IOCTL_MAGIC, 0x0c, struct exrnic_create_srq)
#define EXRNIC_IOCTL_MODIFY_SRQ	_IOW(EXRNIC_IOCTL_MAGIC, 0x0d, struct exrnic_modify_srq)
#define EXRNIC_IOCTL_QUERY_SRQ	_IOWR(EXRNIC_IOCTL_MAGIC, 0x0e, struct exrnic_query_srq)
#define EXRNIC_IOCTL_DESTROY_SRQ	_IOW(EXRNIC_IOCTL_MAGIC, 0x0f, struct exrnic_object)

#endif
