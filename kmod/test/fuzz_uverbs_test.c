// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Commands to /dev/infiniband/uverbs0 that no honest program would give, and honest ones with some fields wrong, by each
 * way in: write(), extended write(), and RDMA_VERBS_IOCTL, with what the provider of rdma-core adds (uapi/exrnic-abi.h).
 * Threads share a file, which others close; children inherit it; pages are mapped at any offset.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#include "exrnic-abi.h"
#include "fuzz.h"

#define UVERBS "/dev/infiniband/uverbs0"
#define SHARE "/sys/module/exrnic/parameters/max_user_percent"

enum {
	POOL_PAGES = 256,
	HANDLES = 16,
	BYTES = 1024,		/* of a command, or of an answer */
	THREADS = 3,
	MAPPINGS = 8,
	LIMIT_FILES = 64,
	CHILD_INPUTS = 30,
};

/* What commands make; and nothing. */
enum kind { PD, CQ, QP, SRQ, AH, MR, MW, KINDS, NONE = KINDS };

/* The file, and what it has: of all threads. A handle may be another one's, or stale: so much the better. */
static int hostile_fd;
static uint32_t handles[KINDS][HANDLES];
static uint64_t page_offset;
static char *pool; /* memory that exists */
static char *gap;  /* and some that does not, at its end */

struct hostile {
	struct fuzz f;
	uint64_t succeeded;
	unsigned int made[KINDS + 1];
	void *mapped[MAPPINGS];
	union {
		uint8_t bytes[BYTES];
		uint32_t words[BYTES / 4];
		uint64_t response; /* address, of most */
		struct ib_uverbs_reg_mr reg_mr;
		struct ib_uverbs_rereg_mr rereg_mr;
		struct ib_uverbs_alloc_mw alloc_mw;
		struct ib_uverbs_create_cq create_cq;
		struct ib_uverbs_ex_create_cq ex_create_cq;
		struct ib_uverbs_resize_cq resize_cq;
		struct ib_uverbs_create_qp create_qp;
		struct ib_uverbs_ex_create_qp ex_create_qp;
		struct ib_uverbs_query_qp query_qp;
		struct ib_uverbs_modify_qp modify_qp;
		struct ib_uverbs_destroy_qp destroy; /* also of completion and shared receive queues */
		struct ib_uverbs_create_srq create_srq;
		struct ib_uverbs_modify_srq modify_srq;
		struct ib_uverbs_create_ah create_ah;
		struct ib_uverbs_attach_mcast mcast;
		struct ib_uverbs_query_port query_port;
	} in;
	union {
		uint8_t bytes[BYTES];
		uint64_t words[BYTES / 8];
		struct exrnic_ib_create_cq cq;
		struct exrnic_ib_create_srq srq;
		struct exrnic_ib_create_qp qp;
	} driver;
	uint32_t out[BYTES / 4];
	uint32_t driver_out[BYTES / 4];
};

struct command {
	uint32_t number;
	bool extended;
	bool answers; /* begins with the address of the answer */
	size_t core, driver, out, driver_out;
	enum kind makes;
};

#define LEGACY(name, in, out, driver, driver_out, makes) \
	{ IB_USER_VERBS_CMD_##name, false, true, in, driver, out, driver_out, makes }
#define SILENT(name, in) { IB_USER_VERBS_CMD_##name, false, false, in, 0, 0, 0, NONE }
#define EXTENDED(name, in, out, driver, driver_out, makes) \
	{ IB_USER_VERBS_EX_CMD_##name, true, false, in, driver, out, driver_out, makes }
#define SIZE(name) sizeof(struct ib_uverbs_##name)
#define OURS(name) sizeof(struct exrnic_ib_##name)

static const struct command commands[] = {
	LEGACY(ALLOC_PD, SIZE(alloc_pd), 4, 0, OURS(alloc_pd_resp), PD),
	LEGACY(CREATE_CQ, SIZE(create_cq), 8, OURS(create_cq), OURS(create_cq_resp), CQ),
	LEGACY(CREATE_QP, SIZE(create_qp), SIZE(create_qp_resp), OURS(create_qp), OURS(create_qp_resp), QP),
	LEGACY(CREATE_QP, SIZE(create_qp), SIZE(create_qp_resp), OURS(create_qp), OURS(create_qp_resp), QP),
	LEGACY(CREATE_QP, SIZE(create_qp), SIZE(create_qp_resp), OURS(create_qp), OURS(create_qp_resp), QP),
	LEGACY(CREATE_SRQ, SIZE(create_srq), SIZE(create_srq_resp), OURS(create_srq), OURS(create_srq_resp), SRQ),
	LEGACY(CREATE_AH, SIZE(create_ah), 4, 0, OURS(create_ah_resp), AH),
	LEGACY(REG_MR, SIZE(reg_mr), 12, 0, 0, MR),
	LEGACY(ALLOC_MW, SIZE(alloc_mw), 8, 0, 0, MW),
	LEGACY(REREG_MR, SIZE(rereg_mr), 8, 0, 0, NONE),
	LEGACY(RESIZE_CQ, SIZE(resize_cq), 8, OURS(resize_cq), OURS(resize_cq_resp), NONE),
	LEGACY(QUERY_QP, SIZE(query_qp), SIZE(query_qp_resp), 0, 0, NONE),
	LEGACY(QUERY_SRQ, SIZE(query_srq), SIZE(query_srq_resp), 0, 0, NONE),
	LEGACY(QUERY_DEVICE, SIZE(query_device), SIZE(query_device_resp), 0, 0, NONE),
	LEGACY(QUERY_PORT, SIZE(query_port), SIZE(query_port_resp), 0, 0, NONE),
	LEGACY(CREATE_COMP_CHANNEL, SIZE(create_comp_channel), 4, 0, 0, NONE),
	LEGACY(GET_CONTEXT, SIZE(get_context), 8, 0, OURS(alloc_ucontext_resp), NONE),
	LEGACY(DESTROY_CQ, SIZE(destroy_cq), 8, 0, 0, NONE),
	LEGACY(DESTROY_QP, SIZE(destroy_qp), 4, 0, 0, NONE),
	LEGACY(DESTROY_SRQ, SIZE(destroy_srq), 4, 0, 0, NONE),
	LEGACY(POLL_CQ, SIZE(poll_cq), 8 + SIZE(wc), 0, 0, NONE),
	LEGACY(POST_SEND, SIZE(post_send) + SIZE(send_wr), 4, 0, 0, NONE),
	LEGACY(POST_RECV, SIZE(post_recv) + SIZE(recv_wr), 4, 0, 0, NONE),
	LEGACY(POST_SRQ_RECV, SIZE(post_srq_recv) + SIZE(recv_wr), 4, 0, 0, NONE),
	LEGACY(OPEN_XRCD, SIZE(open_xrcd), 4, 0, 0, NONE),
	LEGACY(CREATE_XSRQ, SIZE(create_xsrq), SIZE(create_srq_resp), OURS(create_srq), OURS(create_srq_resp), SRQ),
	LEGACY(OPEN_QP, SIZE(open_qp), SIZE(create_qp_resp), OURS(create_qp), OURS(create_qp_resp), QP),
	SILENT(MODIFY_QP, SIZE(modify_qp)),
	SILENT(MODIFY_QP, SIZE(modify_qp)),
	SILENT(MODIFY_QP, SIZE(modify_qp)),
	SILENT(MODIFY_SRQ, SIZE(modify_srq)),
	SILENT(ATTACH_MCAST, SIZE(attach_mcast)),
	SILENT(DETACH_MCAST, SIZE(detach_mcast)),
	SILENT(REQ_NOTIFY_CQ, SIZE(req_notify_cq)),
	SILENT(DEALLOC_PD, 4),
	SILENT(DESTROY_AH, 4),
	SILENT(DEREG_MR, 4),
	SILENT(DEALLOC_MW, 4),
	EXTENDED(QUERY_DEVICE, SIZE(ex_query_device), SIZE(ex_query_device_resp), 0, 0, NONE),
	EXTENDED(CREATE_CQ, SIZE(ex_create_cq), SIZE(ex_create_cq_resp), OURS(create_cq), OURS(create_cq_resp), CQ),
	EXTENDED(CREATE_QP, SIZE(ex_create_qp), SIZE(ex_create_qp_resp), OURS(create_qp), OURS(create_qp_resp), QP),
	EXTENDED(MODIFY_QP, SIZE(ex_modify_qp), SIZE(ex_modify_qp_resp), 0, 0, NONE),
	EXTENDED(CREATE_WQ, SIZE(ex_create_wq), SIZE(ex_create_wq_resp), 32, 16, NONE),
	EXTENDED(MODIFY_CQ, SIZE(ex_modify_cq), 0, 0, 0, NONE),
	EXTENDED(CREATE_RWQ_IND_TBL, 16, 16, 8, 8, NONE),
	EXTENDED(CREATE_FLOW, SIZE(create_flow), SIZE(create_flow_resp), 0, 0, NONE),
};

enum { COMMANDS = sizeof(commands) / sizeof(commands[0]) };

/* ---- Fields */

static uint64_t draw_page(struct hostile *h)
{
	return (uintptr_t)pool + draw_below(&h->f, POOL_PAGES) * PAGE;
}

static uint64_t draw_address(struct hostile *h)
{
	switch (draw_below(&h->f, 8)) {
	case 0:
		return draw(&h->f);
	case 1:
		return 0xffff888000000000 + draw_below(&h->f, 1 << 30);
	case 2:
		return (uintptr_t)gap - draw_below(&h->f, 2 * PAGE);
	case 3:
		return draw_page(h) + draw_below(&h->f, PAGE);
	default:
		return draw_page(h);
	}
}

/* Of that kind, mostly. */
static uint32_t draw_handle(struct hostile *h, enum kind kind)
{
	switch (draw_below(&h->f, 24)) {
	case 0:
		return draw_word(&h->f);
	case 1:
		return handles[draw_below(&h->f, KINDS)][draw_below(&h->f, HANDLES)];
	default:
		return handles[kind][draw_below(&h->f, HANDLES)];
	}
}

static uint32_t draw_field(struct hostile *h)
{
	return draw_below(&h->f, 2) ? draw_handle(h, draw_below(&h->f, KINDS)) : draw_word(&h->f);
}

/* ---- Commands that may well succeed */

static void fill_rings(struct hostile *h, const struct command *c)
{
	const uint32_t log = EXRNIC_RING_LOG_MIN + draw_below(&h->f, 4);

	if (c->number == IB_USER_VERBS_CMD_CREATE_CQ || c->number == IB_USER_VERBS_CMD_RESIZE_CQ)
		h->driver.cq = (struct exrnic_ib_create_cq){ .ring = draw_page(h), .log_entries = log };
	else if (c->number == IB_USER_VERBS_CMD_CREATE_SRQ)
		h->driver.srq = (struct exrnic_ib_create_srq){ .ring = draw_page(h), .log_slots = log };
	else if (c->number == IB_USER_VERBS_CMD_CREATE_QP)
		h->driver.qp = (struct exrnic_ib_create_qp){
			.sq = draw_page(h),
			.rq = draw_page(h),
			.sq_log_slots = log,
			.rq_log_slots = log,
		};
}

/* What both ways to make a queue pair have alike, from pd_handle on. */
#define FILL_QP(h, to)                                                        \
	do {                                                                  \
		(to)->pd_handle = draw_handle(h, PD);                         \
		(to)->send_cq_handle = draw_handle(h, CQ);                    \
		(to)->recv_cq_handle = draw_handle(h, CQ);                    \
		(to)->srq_handle = draw_handle(h, SRQ);                       \
		(to)->max_send_wr = 1 + draw_below(&(h)->f, 8);               \
		(to)->max_recv_wr = 1 + draw_below(&(h)->f, 8);               \
		(to)->max_send_sge = 1;                                       \
		(to)->max_recv_sge = 1;                                       \
		(to)->qp_type = 2 + draw_below(&(h)->f, 3); /* RC, UC, UD */  \
		(to)->is_srq = !draw_below(&(h)->f, 4);                       \
		if ((to)->is_srq) {                                           \
			(h)->driver.qp.rq = 0;                                \
			(h)->driver.qp.rq_log_slots = 0;                      \
		}                                                             \
		if ((to)->qp_type == 4)                                       \
			(h)->driver.qp.headers = draw_page(h);                \
	} while (0)

/* One of the steps to RTS, or another state; not all of it fits. */
static void fill_modify(struct hostile *h)
{
	static const uint32_t masks[] = { 1, 0x39, 0x121181, 0x23e01, 0x31, 0x71, 1, 0x10001 };
	struct ib_uverbs_modify_qp *m = &h->in.modify_qp;
	const uint32_t step = draw_below(&h->f, 8);

	m->qp_handle = draw_handle(h, QP);
	m->attr_mask = masks[step];
	m->qp_state = step < 4 ? step : draw_below(&h->f, 7);
	m->port_num = 1;
	m->path_mtu = 1 + draw_below(&h->f, 5);
	m->qkey = 0x1234;
	m->dest_qp_num = draw_below(&h->f, 64);
	m->rnr_retry = 7;
	m->max_rd_atomic = draw_below(&h->f, 5);
	m->max_dest_rd_atomic = draw_below(&h->f, 5);
	m->dest.is_global = 1;
	m->dest.port_num = 1;
	m->dest.hop_limit = 1;
	memcpy(m->dest.dgid, "\xfe\x80\0\0\0\0\0\0\0\x45\x58\xff\xfe\x52\0\0", 16);
	m->qp_access_flags = draw_below(&h->f, 32);
}

static void fill_honest(struct hostile *h, const struct command *c)
{
	memset(&h->in, 0, sizeof(h->in));
	memset(&h->driver, 0, sizeof(h->driver));
	fill_rings(h, c);
	if (c->extended) {
		if (c->number == IB_USER_VERBS_EX_CMD_CREATE_CQ) {
			h->in.ex_create_cq.cqe = 1 + draw_below(&h->f, 8);
			h->in.ex_create_cq.comp_channel = -1;
		} else if (c->number == IB_USER_VERBS_EX_CMD_CREATE_QP) {
			FILL_QP(h, &h->in.ex_create_qp);
		} else if (c->number == IB_USER_VERBS_EX_CMD_MODIFY_QP) {
			fill_modify(h);
		}
		return;
	}
	switch (c->number) {
	case IB_USER_VERBS_CMD_CREATE_CQ:
		h->in.create_cq.cqe = 1 + draw_below(&h->f, 8);
		h->in.create_cq.comp_channel = draw_below(&h->f, 4) ? -1 : hostile_fd + 1 + (int)draw_below(&h->f, LIMIT_FILES);
		break;
	case IB_USER_VERBS_CMD_RESIZE_CQ:
		h->in.resize_cq.cq_handle = draw_handle(h, CQ);
		h->in.resize_cq.cqe = 1 + draw_below(&h->f, 8);
		break;
	case IB_USER_VERBS_CMD_CREATE_QP:
		FILL_QP(h, &h->in.create_qp);
		break;
	case IB_USER_VERBS_CMD_CREATE_SRQ:
		h->in.create_srq.pd_handle = draw_handle(h, PD);
		h->in.create_srq.max_wr = 1 + draw_below(&h->f, 8);
		h->in.create_srq.max_sge = 1;
		break;
	case IB_USER_VERBS_CMD_MODIFY_SRQ:
		h->in.modify_srq.srq_handle = draw_handle(h, SRQ);
		h->in.modify_srq.attr_mask = 1 + draw_below(&h->f, 3);
		h->in.modify_srq.srq_limit = draw_below(&h->f, 8);
		break;
	case IB_USER_VERBS_CMD_CREATE_AH:
		h->in.create_ah.pd_handle = draw_handle(h, PD);
		h->in.create_ah.attr.is_global = 1;
		h->in.create_ah.attr.port_num = 1;
		memcpy(h->in.create_ah.attr.grh.dgid, "\xfe\x80\0\0\0\0\0\0\0\x45\x58\xff\xfe\x52\0\0", 16);
		break;
	case IB_USER_VERBS_CMD_REG_MR:
		h->in.reg_mr.start = draw_page(h) + draw_below(&h->f, PAGE);
		h->in.reg_mr.hca_va = h->in.reg_mr.start;
		h->in.reg_mr.length = 1 + draw_below(&h->f, 8 * PAGE);
		h->in.reg_mr.pd_handle = draw_handle(h, PD);
		h->in.reg_mr.access_flags = 1 + 2 * draw_below(&h->f, 16);
		break;
	case IB_USER_VERBS_CMD_REREG_MR:
		h->in.rereg_mr.mr_handle = draw_handle(h, MR);
		h->in.rereg_mr.flags = 1 + draw_below(&h->f, 7);
		h->in.rereg_mr.start = draw_page(h);
		h->in.rereg_mr.hca_va = h->in.rereg_mr.start;
		h->in.rereg_mr.length = 1 + draw_below(&h->f, 8 * PAGE);
		h->in.rereg_mr.pd_handle = draw_handle(h, PD);
		h->in.rereg_mr.access_flags = 1 + 2 * draw_below(&h->f, 16);
		break;
	case IB_USER_VERBS_CMD_ALLOC_MW:
		h->in.alloc_mw.pd_handle = draw_handle(h, PD);
		h->in.alloc_mw.mw_type = draw_below(&h->f, 4);
		break;
	case IB_USER_VERBS_CMD_QUERY_QP:
		h->in.query_qp.qp_handle = draw_handle(h, QP);
		h->in.query_qp.attr_mask = 0x1fffff;
		break;
	case IB_USER_VERBS_CMD_QUERY_SRQ:
		h->in.destroy.qp_handle = draw_handle(h, SRQ);
		break;
	case IB_USER_VERBS_CMD_QUERY_PORT:
		h->in.query_port.port_num = 1;
		break;
	case IB_USER_VERBS_CMD_MODIFY_QP:
		fill_modify(h);
		break;
	case IB_USER_VERBS_CMD_ATTACH_MCAST:
	case IB_USER_VERBS_CMD_DETACH_MCAST:
		h->in.mcast.gid[0] = 0xff;
		h->in.mcast.gid[1] = 0x0e;
		h->in.mcast.gid[15] = draw_below(&h->f, 8);
		h->in.mcast.qp_handle = draw_handle(h, QP);
		break;
	case IB_USER_VERBS_CMD_DESTROY_CQ:
	case IB_USER_VERBS_CMD_POLL_CQ:
		h->in.destroy.qp_handle = draw_handle(h, CQ);
		break;
	case IB_USER_VERBS_CMD_DESTROY_QP:
	case IB_USER_VERBS_CMD_POST_SEND:
	case IB_USER_VERBS_CMD_POST_RECV:
		h->in.destroy.qp_handle = draw_handle(h, QP);
		break;
	case IB_USER_VERBS_CMD_DESTROY_SRQ:
	case IB_USER_VERBS_CMD_POST_SRQ_RECV:
		h->in.destroy.qp_handle = draw_handle(h, SRQ);
		break;
	case IB_USER_VERBS_CMD_REQ_NOTIFY_CQ:
		h->in.words[0] = draw_handle(h, CQ);
		break;
	case IB_USER_VERBS_CMD_DEALLOC_PD:
		h->in.words[0] = draw_handle(h, PD);
		break;
	case IB_USER_VERBS_CMD_DESTROY_AH:
		h->in.words[0] = draw_handle(h, AH);
		break;
	case IB_USER_VERBS_CMD_DEREG_MR:
		h->in.words[0] = draw_handle(h, MR);
		break;
	case IB_USER_VERBS_CMD_DEALLOC_MW:
		h->in.words[0] = draw_handle(h, MW);
		break;
	}
}

/* Some fields, of the core's part or the driver's, or pairs of them that may be an address. Half of all stay honest. */
static void spoil(struct hostile *h, const struct command *c)
{
	uint32_t times = draw_below(&h->f, 2) ? draw_below(&h->f, 4) : 0;

	for (; times; times--) {
		const bool ours = c->driver && draw_below(&h->f, 2);
		uint32_t *words = ours ? (uint32_t *)h->driver.words : h->in.words;
		const size_t count = (ours ? c->driver : c->core) / sizeof(*words);
		const size_t at = draw_below(&h->f, (uint32_t)count);
		const uint64_t address = draw_address(h);

		if (draw_below(&h->f, 3) || count < 2)
			words[at] = draw_field(h);
		else
			memcpy(&words[at & ~(size_t)1], &address, sizeof(address));
	}
}

/* ---- Ways in */

/* A size that is wrong once in a while. */
static size_t draw_size(struct hostile *h, size_t honest)
{
	return draw_below(&h->f, 24) ? honest : 4 * draw_below(&h->f, BYTES / 4);
}

static int write_legacy(struct hostile *h, const struct command *c)
{
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		uint8_t bytes[2 * BYTES];
	} all = { .hdr = { .command = c->number } };
	const size_t core = draw_size(h, c->core), driver = draw_size(h, c->driver);
	const uint64_t response = draw_below(&h->f, 32) ? (uintptr_t)h->out : draw_address(h);

	if (c->answers)
		memcpy(h->in.bytes, &response, sizeof(response));
	memcpy(all.bytes, h->in.bytes, core);
	memcpy(all.bytes + core, h->driver.bytes, driver);
	all.hdr.in_words = (uint16_t)((sizeof(all.hdr) + core + driver) / 4);
	all.hdr.out_words = (uint16_t)(draw_size(h, c->out + c->driver_out) / 4);
	return write(hostile_fd, &all, sizeof(all.hdr) + core + driver) < 0 ? -1 : 0;
}

static int write_extended(struct hostile *h, const struct command *c)
{
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_ex_cmd_hdr ex;
		uint8_t bytes[2 * BYTES];
	} all = { .hdr = { .command = c->number | IB_USER_VERBS_CMD_FLAG_EXTENDED } };
	const size_t core = draw_size(h, c->core) & ~(size_t)7, driver = draw_size(h, c->driver) & ~(size_t)7;

	memcpy(all.bytes, h->in.bytes, core);
	memcpy(all.bytes + core, h->driver.bytes, driver);
	all.hdr.in_words = (uint16_t)(core / 8);
	all.hdr.out_words = (uint16_t)(draw_size(h, c->out) / 8);
	all.ex.response = draw_below(&h->f, 32) ? (uintptr_t)h->out : draw_address(h);
	all.ex.provider_in_words = (uint16_t)(driver / 8);
	all.ex.provider_out_words = (uint16_t)(draw_size(h, c->driver_out) / 8);
	return write(hostile_fd, &all, sizeof(all.hdr) + sizeof(all.ex) + core + driver) < 0 ? -1 : 0;
}

enum { ATTRIBUTES = 12 };

struct request {
	struct ib_uverbs_ioctl_hdr hdr;
	struct ib_uverbs_attr attrs[ATTRIBUTES];
};

static void add(struct request *r, uint16_t id, size_t length, uint64_t data)
{
	struct ib_uverbs_attr *attr = &r->attrs[r->hdr.num_attrs++];

	attr->attr_id = id;
	attr->len = (uint16_t)length;
	attr->flags = UVERBS_ATTR_F_MANDATORY;
	attr->data = data;
}

/* Up to 8 bytes stand in the attribute itself. */
static void add_input(struct request *r, uint16_t id, const void *bytes, size_t length)
{
	uint64_t data = (uintptr_t)bytes;

	if (length <= sizeof(data)) {
		data = 0;
		memcpy(&data, bytes, length);
	}
	add(r, id, length, data);
}

static int send_request(struct request *r)
{
	r->hdr.length = (uint16_t)(sizeof(r->hdr) + r->hdr.num_attrs * sizeof(r->attrs[0]));
	return ioctl(hostile_fd, RDMA_VERBS_IOCTL, r);
}

/* As rdma-core does it today. */
static int invoke(struct hostile *h, const struct command *c)
{
	const size_t driver = draw_size(h, c->driver), driver_out = draw_size(h, c->driver_out);
	struct request r = {
		.hdr = { .object_id = UVERBS_OBJECT_DEVICE, .method_id = UVERBS_METHOD_INVOKE_WRITE },
	};

	add(&r, UVERBS_ATTR_WRITE_CMD, 8, c->number | (c->extended ? IB_USER_VERBS_CMD_FLAG_EXTENDED : 0));
	add_input(&r, UVERBS_ATTR_CORE_IN, h->in.bytes, draw_size(h, c->core));
	if (c->out)
		add(&r, UVERBS_ATTR_CORE_OUT, draw_size(h, c->out), (uintptr_t)h->out);
	if (driver)
		add_input(&r, UVERBS_ATTR_UHW_IN, h->driver.bytes, driver);
	if (driver_out)
		add(&r, UVERBS_ATTR_UHW_OUT, driver_out, (uintptr_t)h->driver_out);
	return send_request(&r);
}

static void structured(struct hostile *h)
{
	const struct command *c = &commands[draw_below(&h->f, COMMANDS)];
	const uint32_t way = draw_below(&h->f, 3);
	int result;

	fill_honest(h, c);
	spoil(h, c);
	if (!way)
		result = invoke(h, c);
	else
		result = c->extended ? write_extended(h, c) : write_legacy(h, c);
	if (result)
		return;
	h->succeeded++;
	h->made[c->makes]++;
	if (c->makes != NONE)
		handles[c->makes][draw_below(&h->f, HANDLES)] = h->out[0];
}

/* Any object, method and attributes; handles and addresses where they may be wanted. */
static void unstructured(struct hostile *h)
{
	struct request r = {
		.hdr = {
			.object_id = (uint16_t)draw_below(&h->f, UVERBS_OBJECT_ASYNC_EVENT + 2),
			.method_id = (uint16_t)draw_below(&h->f, 10),
		},
	};
	uint32_t count = draw_below(&h->f, ATTRIBUTES), i;

	fill_honest(h, &commands[draw_below(&h->f, COMMANDS)]);
	spoil(h, &commands[0]);
	for (i = 0; i < count; i++) {
		const uint16_t id = draw_below(&h->f, 8) ? (uint16_t)i : (uint16_t)draw_word(&h->f);

		switch (draw_below(&h->f, 4)) {
		case 0:
			add(&r, id, 0, draw_field(h));
			break;
		case 1:
			add(&r, id, 4 * draw_below(&h->f, 4), draw_field(h));
			break;
		case 2:
			add(&r, id, 8 * draw_below(&h->f, 32), (uintptr_t)h->driver.bytes);
			break;
		default:
			add(&r, id, draw_word(&h->f), draw_address(h));
		}
		if (draw_below(&h->f, 2))
			r.attrs[i].flags = (uint16_t)draw_below(&h->f, 3);
	}
	if (count && draw_below(&h->f, 2))
		r.attrs[count - 1].attr_id = (uint16_t)(UVERBS_ATTR_UHW_IN + draw_below(&h->f, 2));
	if (!draw_below(&h->f, 16))
		r.hdr.driver_id = draw_word(&h->f);
	if (!send_request(&r))
		h->succeeded++;
}

/* ---- The file, its pages, and who has it */

static void map_some(struct hostile *h)
{
	const uint32_t at = draw_below(&h->f, MAPPINGS);
	const size_t length = draw_below(&h->f, 4) ? PAGE : draw_below(&h->f, 4 * PAGE);
	const uint64_t offset = draw_below(&h->f, 3) ? page_offset : draw_below(&h->f, 64) * PAGE;
	void *mapped = mmap(NULL, length, 1 + (int)draw_below(&h->f, 3), draw_below(&h->f, 8) ? MAP_SHARED : MAP_PRIVATE,
			    hostile_fd, (off_t)(draw_below(&h->f, 16) ? offset : draw(&h->f) & ~(uint64_t)(PAGE - 1)));

	if (mapped == MAP_FAILED)
		return;
	if (h->mapped[at])
		munmap(h->mapped[at], PAGE);
	h->mapped[at] = mapped;
}

/* With a context, or a file that has none yet. */
static void open_again(struct hostile *h)
{
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_get_context get;
	} all = {
		.hdr = {
			.command = IB_USER_VERBS_CMD_GET_CONTEXT,
			.in_words = sizeof(all) / 4,
			.out_words = (8 + OURS(alloc_ucontext_resp)) / 4,
		},
		.get = { .response = (uintptr_t)h->out },
	};
	int fd = open(UVERBS, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return;
	dup2(fd, hostile_fd);
	close(fd);
	if (draw_below(&h->f, 16) && write(hostile_fd, &all, sizeof(all)) > 0)
		memcpy(&page_offset, h->out + 2, sizeof(page_offset));
}

static void close_some(struct hostile *h)
{
	close(hostile_fd + 1 + (int)draw_below(&h->f, LIMIT_FILES));
}

static void inherit(struct hostile *h)
{
	pid_t child = fork();

	if (child)
		return;
	for (int i = 0; i < CHILD_INPUTS; i++)
		structured(h);
	_exit(0);
}

static void bury_children(void)
{
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

static void act(struct hostile *h)
{
	switch (draw_below(&h->f, 1024)) {
	case 0:
		open_again(h);
		break;
	case 1 ... 2:
		inherit(h);
		break;
	case 3 ... 30:
		map_some(h);
		break;
	case 31 ... 40:
		close_some(h);
		break;
	case 41 ... 200:
		unstructured(h);
		break;
	case 201:
		bury_children();
		break;
	default:
		structured(h);
	}
}

static void *run_thread(void *argument)
{
	struct hostile *h = argument;

	while (fuzz_goes_on(&h->f))
		act(h);
	return NULL;
}

static void tell_made(const struct hostile *h)
{
	printf("# %llu of %llu have succeeded: %u domains, %u completion queues, %u queue pairs, %u shared receive queues, %u address handles, %u regions, %u windows\n",
	       (unsigned long long)h->succeeded, (unsigned long long)h->f.inputs, h->made[PD], h->made[CQ], h->made[QP],
	       h->made[SRQ], h->made[AH], h->made[MR], h->made[MW]);
}

static void random_verbs(struct fuzz *f, const struct bystander *b)
{
	static struct hostile hostiles[THREADS];
	pthread_t threads[THREADS];

	(void)b;
	become_nobody(4 * POOL_PAGES);
	pool = pages(POOL_PAGES + 1);
	gap = pool + POOL_PAGES * PAGE;
	munmap(gap, PAGE);
	hostile_fd = open(UVERBS, O_RDWR | O_CLOEXEC);
	if (hostile_fd < 0)
		give_up(UVERBS);
	for (unsigned int i = 0; i < THREADS; i++) {
		hostiles[i].f = *f;
		hostiles[i].f.state += i << 20;
	}
	open_again(&hostiles[0]);
	for (unsigned int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, run_thread, &hostiles[i]);
	for (unsigned int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		f->inputs += hostiles[i].f.inputs;
		tell_made(&hostiles[i]);
	}
	while (wait(NULL) > 0)
		;
}

/* ---- What must be left */

/* How many can be made now: by root, of all that the device has; by the hostile user, of a hundredth of it. */
struct left {
	unsigned int files, cqs, qps;
	unsigned int user_pds, user_cqs, user_qps, user_stags;
};

static unsigned int count_files(void)
{
	int files[EXRNIC_USER_PAGES + 1];
	unsigned int count = 0, i;

	while (count <= EXRNIC_USER_PAGES && (files[count] = open(device_path(), O_RDWR | O_CLOEXEC)) >= 0)
		count++;
	for (i = 0; i < count; i++)
		close(files[i]);
	return count;
}

static struct set make_set_without_reads(void)
{
	struct set s = make_set();

	object_ioctl(s.fd, EXRNIC_IOCTL_DESTROY_QP, s.qpn);
	s.qp.max_reads_out = 0;
	s.qp.max_reads_in = 0;
	return s;
}

static void count_of_root(struct left *left)
{
	struct set s = make_set_without_reads();
	uint32_t out;

	while (!create_qp_of(&s))
		left->qps++;
	while (!create_cq(s.fd, s.ring, 8, &out))
		left->cqs++;
	close(s.fd);
	left->files = count_files();
}

static void count_of_user(struct left *left)
{
	struct set s;
	uint32_t out;

	become_nobody(4 * POOL_PAGES);
	s = make_set_without_reads();
	while (!create_qp_of(&s))
		left->user_qps++;
	while (!create_cq(s.fd, s.ring, 8, &out))
		left->user_cqs++;
	while (!alloc_mw(s.fd, s.pd, &out))
		left->user_stags++;
	while (!alloc_pd(s.fd, &out))
		left->user_pds++;
}

static struct left count_left(void)
{
	struct left *left = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct left copy;
	int status = -1;
	pid_t child;

	if (left == MAP_FAILED)
		give_up("mmap");
	write_file(SHARE, "1");
	child = fork();
	if (!child) {
		count_of_user(left);
		_exit(0);
	}
	waitpid(child, &status, 0);
	write_file(SHARE, "50");
	CHECK_EQ(status, 0);
	count_of_root(left);
	copy = *left;
	munmap(left, PAGE);
	return copy;
}

static void check_left(const struct left *now, const struct left *before)
{
	CHECK_EQ(now->files, before->files);
	CHECK_EQ(now->qps, before->qps);
	CHECK_EQ(now->cqs, before->cqs);
	CHECK_EQ(now->user_pds, before->user_pds);
	CHECK_EQ(now->user_cqs, before->user_cqs);
	CHECK_EQ(now->user_qps, before->user_qps);
	CHECK_EQ(now->user_stags, before->user_stags);
}

/* A process may register a buffer as often as it likes; the DMA debugger can count no overlap. */
static bool is_of_overlaps(const char *line)
{
	return strstr(line, "overlapping mappings aren't supported") || strstr(line, "add_dma_entry");
}

static bool log_is_clean(int log)
{
	static const char *const bad[] = { "BUG:", "WARNING:", "Oops", "RESTRACK", "UBSAN", "KASAN", "general protection",
					   "refcount_t", "DMA-API: exrnic", "possible", "cut off" };
	char line[2048];
	ssize_t length;

	while ((length = read(log, line, sizeof(line) - 1)) > 0 || (length < 0 && errno == EPIPE)) {
		if (length < 0)
			continue;
		line[length] = 0;
		for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
			if (strstr(line, bad[i]) && !is_of_overlaps(line)) {
				printf("# the log has: %s", line);
				return false;
			}
	}
	return true;
}

static void random_verbs_do_no_harm(void)
{
	struct bystander b;
	struct left before, behind;
	int log;

	if (access(UVERBS, F_OK))
		skip("no " UVERBS);
	if (chmod(UVERBS, 0666))
		give_up(UVERBS);
	before = count_left();
	log = open_log();
	b = make_bystander();
	run_hostile(random_verbs, &b);
	check_bystander(&b);
	behind = count_left();
	check_left(&behind, &before);
	CHECK(log_is_clean(log));
}

const struct test fuzz_uverbs_tests[] = {
	{ "verbs: random commands to uverbs do no harm, and leave nothing", random_verbs_do_no_harm, 300 },
	{ NULL, NULL, 0 },
};
