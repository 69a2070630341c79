/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR BSD-2-Clause */
/*
 * What exrnic_ib.ko and the provider of rdma-core tell each other beside the uverbs interface: the driver's part of
 * requests and answers. Rings are memory of the process, page-aligned; a process writes work requests and reads
 * completions there by exrnic_data_path.h, and rings doorbells in the user page, without the kernel. Layouts are in
 * exrnic_hw.h, in little endian; what stands here is in the processor's order. Fields named rsvd are zero.
 */
#ifndef _UAPI_EXRNIC_ABI_H
#define _UAPI_EXRNIC_ABI_H

#include <linux/types.h>

#define EXRNIC_IB_ABI_VERSION 1

/*
 * A datagram begins with the GRH that verbs put before it, EXRNIC_GRH_BYTES, which its sender has made: the device
 * knows none. So a work request of service UD has an element more, its first: the GRH of its address handle. Each slot of the
 * send queue has a place for it in one region, the headers, which the driver registers; what is left of it is for
 * data that is sent inline.
 */
#define EXRNIC_IB_HEADER_BYTES	128
#define EXRNIC_IB_UD_INLINE_MAX	(EXRNIC_IB_HEADER_BYTES - 40)

struct exrnic_ib_alloc_ucontext_resp {
	__aligned_u64 page_offset;	/* for mmap(), shared and writable, of one page: the user page */
	__u32 device_abi;		/* EXRNIC_ABI_VERSION of the device */
	__u32 max_qp;			/* numbers of queue pairs are below */
};

struct exrnic_ib_alloc_pd_resp {
	__u32 pdn;
	__u32 rsvd;
};

/* The ring is one of 1 << log_entries struct exrnic_cqe: zeroed, or in resizing with EXRNIC_CQE_PHASE_NONE in each. */
struct exrnic_ib_create_cq {
	__aligned_u64 ring;
	__u32 log_entries;
	__u32 rsvd;
};

struct exrnic_ib_create_cq_resp {
	__u32 cqn;
	__u32 rsvd;
};

struct exrnic_ib_resize_cq {
	__aligned_u64 ring;
	__u32 log_entries;
	__u32 rsvd;
};

struct exrnic_ib_resize_cq_resp {
	__u32 producer;		/* completions from this one on are in the new ring */
	__u32 rsvd;
};

/* The ring is one of 1 << log_slots struct exrnic_wqe, as those of a queue pair. */
struct exrnic_ib_create_srq {
	__aligned_u64 ring;
	__u32 log_slots;
	__u32 rsvd;
};

struct exrnic_ib_create_srq_resp {
	__u32 srqn;
	__u32 rsvd;
};

struct exrnic_ib_create_qp {
	__aligned_u64 sq;
	__aligned_u64 rq;		/* 0 with a shared receive queue */
	__aligned_u64 headers;		/* of UD: EXRNIC_IB_HEADER_BYTES << sq_log_slots; else 0 */
	__u32 sq_log_slots;
	__u32 rq_log_slots;		/* 0 with a shared receive queue */
};

struct exrnic_ib_create_qp_resp {
	__u32 headers_stag;		/* of UD: at tagged offset `headers`; else 0 */
	__u32 rsvd;
};

/* What uverbs answers before it has 4 bytes: so nothing here is aligned to more. */
struct exrnic_ib_create_ah_resp {
	__u32 destination_low;	/* wqe.remote_to, but for the queue pair: that is to be added, unless it is a group's */
	__u32 destination_high;
	__u32 is_group;
	__u8 grh[40];		/* in front of each datagram */
};

#endif
