// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Completion queues: made, resized, polled in both ways, armed. */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>

#include <ccan/ilog.h>

#include "exrnic_verbs.h"

/* Below this shift detail has the queue pair of a datagram's sender. */
#define EXRNIC_SENDER_QPN_MASK	((1u << EXRNIC_SENDER_NODE_SHIFT) - 1)

enum {
	EXRNIC_WC_FLAGS = IBV_WC_STANDARD_FLAGS |
			  IBV_WC_EX_WITH_COMPLETION_TIMESTAMP,
};

static const enum ibv_wc_status exrnic_wc_status[] = {
	[EXRNIC_CQE_STATUS_SUCCESS] = IBV_WC_SUCCESS,
	[EXRNIC_CQE_STATUS_LOC_LEN_ERR] = IBV_WC_LOC_LEN_ERR,
	[EXRNIC_CQE_STATUS_LOC_QP_OP_ERR] = IBV_WC_LOC_QP_OP_ERR,
	[EXRNIC_CQE_STATUS_LOC_PROT_ERR] = IBV_WC_LOC_PROT_ERR,
	[EXRNIC_CQE_STATUS_WR_FLUSH_ERR] = IBV_WC_WR_FLUSH_ERR,
	[EXRNIC_CQE_STATUS_REM_ACCESS_ERR] = IBV_WC_REM_ACCESS_ERR,
	[EXRNIC_CQE_STATUS_REM_OP_ERR] = IBV_WC_REM_OP_ERR,
	[EXRNIC_CQE_STATUS_RETRY_EXC_ERR] = IBV_WC_RETRY_EXC_ERR,
	[EXRNIC_CQE_STATUS_RNR_RETRY_EXC_ERR] = IBV_WC_RNR_RETRY_EXC_ERR,
	[EXRNIC_CQE_STATUS_MW_BIND_ERR] = IBV_WC_MW_BIND_ERR,
};

static enum ibv_wc_status exrnic_status_of(const struct exrnic_cqe *cqe)
{
	if (cqe->status >= sizeof(exrnic_wc_status) / sizeof(exrnic_wc_status[0]))
		return IBV_WC_GENERAL_ERR;
	return exrnic_wc_status[cqe->status];
}

static enum ibv_wc_opcode exrnic_opcode_of(const struct exrnic_cq *cq,
					   const struct exrnic_cqe *cqe)
{
	switch (exrnic_of_wqe_opcode(cqe->opcode).completes) {
	case EXRNIC_COMPLETION_PUSH:
		return IBV_WC_RDMA_WRITE;
	case EXRNIC_COMPLETION_PULL:
		return IBV_WC_RDMA_READ;
	case EXRNIC_COMPLETION_LOCAL_INVALIDATE:
		return cq->unbinds ? IBV_WC_BIND_MW : IBV_WC_LOCAL_INV;
	case EXRNIC_COMPLETION_FETCH_ADD:
		return IBV_WC_FETCH_ADD;
	case EXRNIC_COMPLETION_COMPARE_SWAP:
		return IBV_WC_COMP_SWAP;
	case EXRNIC_COMPLETION_BIND_MW:
		return IBV_WC_BIND_MW;
	case EXRNIC_COMPLETION_RECV:
		return cqe->flags & EXRNIC_CQE_FLAGS_WRITTEN ?
			IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV;
	default:
		/* Of what the device does not know, too: with an error verbs say nothing of it. */
		return IBV_WC_SEND;
	}
}

static unsigned int exrnic_wc_flags_of(const struct exrnic_cqe *cqe)
{
	unsigned int flags = 0;

	if (cqe->flags & EXRNIC_CQE_FLAGS_IMM)
		flags |= IBV_WC_WITH_IMM;
	if (cqe->flags & EXRNIC_CQE_FLAGS_INVALIDATED)
		flags |= IBV_WC_WITH_INV;
	/* Its sender has put a GRH before each datagram. */
	if (cqe->flags & EXRNIC_CQE_FLAGS_SENDER)
		flags |= IBV_WC_GRH;
	return flags;
}

static uint32_t exrnic_src_qp_of(const struct exrnic_cqe *cqe)
{
	return cqe->flags & EXRNIC_CQE_FLAGS_SENDER ?
		cqe->detail & EXRNIC_SENDER_QPN_MASK : 0;
}

/* The terminate code of a peer that has refused. */
static uint32_t exrnic_vendor_err_of(const struct exrnic_cqe *cqe)
{
	return cqe->flags & EXRNIC_CQE_FLAGS_SENDER ? 0 : cqe->detail;
}

/*
 * An STag is a number, as immediate data are to the device: so those of verbs,
 * in the network's order, are the same number to the peer whatever its order,
 * and to users of libverbs-lite and of the kernel.
 */
static void exrnic_set_imm_of(const struct exrnic_cqe *cqe, struct ibv_wc *wc)
{
	if (cqe->flags & EXRNIC_CQE_FLAGS_INVALIDATED)
		wc->invalidated_rkey = cqe->imm_data;
	else
		wc->imm_data = htobe32(cqe->imm_data);
}

/* ---- Taking completions, under cq->lock */

void exrnic_cq_report_taken(struct exrnic_cq *cq)
{
	struct exrnic_context *ctx = to_exrnic_ctx(cq->vcq.cq.context);

	exrnic_cq_report_if_due(&cq->ring, &ctx->page, cq->smallest_ring);
}

static struct exrnic_qp *exrnic_qp_of(struct exrnic_cq *cq,
				      const struct exrnic_cqe *cqe)
{
	struct exrnic_context *ctx = to_exrnic_ctx(cq->vcq.cq.context);

	if (cqe->qpn >= ctx->max_qp)
		return NULL;
	return EXRNIC_DP_LOAD_ACQUIRE(&ctx->qps[cqe->qpn]);
}

/* Before its slot is given back. */
static bool exrnic_unbinds(const struct exrnic_qp *qp,
			   const struct exrnic_cqe *cqe)
{
	const struct exrnic_ring *ring = &qp->sq.queue.ring;

	return cqe->opcode == EXRNIC_WQE_OPCODE_LOCAL_INVALIDATE &&
	       ring->slots[exrnic_ring_slot(ring, cqe->wqe_index)].number ==
		       EXRNIC_UNBINDS;
}

/* Ends the work that a CQE speaks of. False: none is outstanding. */
static bool exrnic_end_work(struct exrnic_cq *cq, struct exrnic_qp *qp,
			    const struct exrnic_cqe *cqe, uint64_t *wr_id)
{
	if (!qp)
		return false;
	if (cqe->opcode != EXRNIC_WQE_OPCODE_RECV) {
		cq->unbinds = exrnic_unbinds(qp, cqe);
		return qp->send_cq == cq &&
		       exrnic_work_queue_complete(&qp->sq.queue,
						  cqe->wqe_index, wr_id);
	}
	if (qp->recv_cq != cq)
		return false;
	if (qp->srq)
		return exrnic_shared_queue_complete(&qp->srq->queue,
						    cqe->wqe_index, wr_id);
	return exrnic_work_queue_complete(&qp->rq.queue, cqe->wqe_index,
					  wr_id);
}

/* The next one, or NULL: there is none. Its place is not given back yet. */
static const struct exrnic_cqe *exrnic_take(struct exrnic_cq *cq,
					    uint64_t *wr_id)
{
	const struct exrnic_cqe *cqe;

	while ((cqe = exrnic_cq_at(&cq->ring, cq->ring.consumer))) {
		struct exrnic_qp *qp = exrnic_qp_of(cq, cqe);

		cq->ring.consumer++;
		if (exrnic_end_work(cq, qp, cqe, wr_id))
			return cqe;
	}
	return NULL;
}

int exrnic_poll_cq(struct ibv_cq *ibcq, int most, struct ibv_wc *wc)
{
	struct exrnic_cq *cq = to_exrnic_cq(ibcq);
	const struct exrnic_cqe *cqe;
	int taken;

	exrnic_lock(&cq->lock);
	for (taken = 0; taken < most; taken++, wc++) {
		cqe = exrnic_take(cq, &wc->wr_id);
		if (!cqe)
			break;
		wc->status = exrnic_status_of(cqe);
		wc->opcode = exrnic_opcode_of(cq, cqe);
		wc->vendor_err = exrnic_vendor_err_of(cqe);
		wc->byte_len = cqe->byte_length;
		exrnic_set_imm_of(cqe, wc);
		wc->qp_num = cqe->qpn;
		wc->src_qp = exrnic_src_qp_of(cqe);
		wc->wc_flags = exrnic_wc_flags_of(cqe);
		wc->pkey_index = 0;
		wc->slid = 0;
		wc->sl = 0;
		wc->dlid_path_bits = 0;
	}
	exrnic_cq_report_taken(cq);
	exrnic_unlock(&cq->lock);
	return taken;
}

int exrnic_req_notify_cq(struct ibv_cq *ibcq, int solicited_only)
{
	struct exrnic_context *ctx = to_exrnic_ctx(ibcq->context);
	struct exrnic_cq *cq = to_exrnic_cq(ibcq);

	exrnic_lock(&cq->lock);
	exrnic_cq_report(&cq->ring, &ctx->page,
			 solicited_only ? EXRNIC_DOORBELL_CQ_ARM_SOLICITED :
					  EXRNIC_DOORBELL_CQ_ARM);
	exrnic_unlock(&cq->lock);
	return 0;
}

/* ---- Polling one by one: the lock is held from start_poll to end_poll */

static struct exrnic_cq *to_exrnic_cq_ex(struct ibv_cq_ex *ibcq)
{
	return container_of(ibcq, struct exrnic_cq, vcq.cq_ex);
}

static int exrnic_take_current(struct exrnic_cq *cq)
{
	cq->cqe = exrnic_take(cq, &cq->vcq.cq_ex.wr_id);
	if (!cq->cqe)
		return ENOENT;
	cq->vcq.cq_ex.status = exrnic_status_of(cq->cqe);
	return 0;
}

static int exrnic_start_poll(struct ibv_cq_ex *ibcq,
			     struct ibv_poll_cq_attr *attr)
{
	struct exrnic_cq *cq = to_exrnic_cq_ex(ibcq);
	int ret;

	if (attr->comp_mask)
		return EINVAL;

	exrnic_lock(&cq->lock);
	ret = exrnic_take_current(cq);
	if (ret) {
		exrnic_cq_report_taken(cq);
		exrnic_unlock(&cq->lock);
	}
	return ret;
}

/* The one before is done with. */
static int exrnic_next_poll(struct ibv_cq_ex *ibcq)
{
	struct exrnic_cq *cq = to_exrnic_cq_ex(ibcq);

	exrnic_cq_report_taken(cq);
	return exrnic_take_current(cq);
}

static void exrnic_end_poll(struct ibv_cq_ex *ibcq)
{
	struct exrnic_cq *cq = to_exrnic_cq_ex(ibcq);

	exrnic_cq_report_taken(cq);
	exrnic_unlock(&cq->lock);
}

static enum ibv_wc_opcode exrnic_read_opcode(struct ibv_cq_ex *ibcq)
{
	const struct exrnic_cq *cq = to_exrnic_cq_ex(ibcq);

	return exrnic_opcode_of(cq, cq->cqe);
}

static uint32_t exrnic_read_vendor_err(struct ibv_cq_ex *ibcq)
{
	return exrnic_vendor_err_of(to_exrnic_cq_ex(ibcq)->cqe);
}

static uint32_t exrnic_read_byte_len(struct ibv_cq_ex *ibcq)
{
	return to_exrnic_cq_ex(ibcq)->cqe->byte_length;
}

static __be32 exrnic_read_imm_data(struct ibv_cq_ex *ibcq)
{
	const struct exrnic_cqe *cqe = to_exrnic_cq_ex(ibcq)->cqe;
	struct ibv_wc wc;

	/* ibv_wc_read_invalidated_rkey() takes it for the STag. */
	exrnic_set_imm_of(cqe, &wc);
	return wc.imm_data;
}

static uint32_t exrnic_read_qp_num(struct ibv_cq_ex *ibcq)
{
	return to_exrnic_cq_ex(ibcq)->cqe->qpn;
}

static uint32_t exrnic_read_src_qp(struct ibv_cq_ex *ibcq)
{
	return exrnic_src_qp_of(to_exrnic_cq_ex(ibcq)->cqe);
}

static unsigned int exrnic_read_wc_flags(struct ibv_cq_ex *ibcq)
{
	return exrnic_wc_flags_of(to_exrnic_cq_ex(ibcq)->cqe);
}

/* Ethernet has no LIDs, and the device one service level. */
static uint32_t exrnic_read_slid(struct ibv_cq_ex *ibcq)
{
	return 0;
}

static uint8_t exrnic_read_sl(struct ibv_cq_ex *ibcq)
{
	return 0;
}

static uint8_t exrnic_read_dlid_path_bits(struct ibv_cq_ex *ibcq)
{
	return 0;
}

/* In ns: hca_core_clock is 1 GHz. */
static uint64_t exrnic_read_completion_ts(struct ibv_cq_ex *ibcq)
{
	return to_exrnic_cq_ex(ibcq)->cqe->timestamp;
}

static void exrnic_set_cq_ops(struct ibv_cq_ex *ibcq, uint64_t wc_flags)
{
	ibcq->start_poll = exrnic_start_poll;
	ibcq->next_poll = exrnic_next_poll;
	ibcq->end_poll = exrnic_end_poll;
	ibcq->read_opcode = exrnic_read_opcode;
	ibcq->read_vendor_err = exrnic_read_vendor_err;
	ibcq->read_wc_flags = exrnic_read_wc_flags;
	if (wc_flags & IBV_WC_EX_WITH_BYTE_LEN)
		ibcq->read_byte_len = exrnic_read_byte_len;
	if (wc_flags & IBV_WC_EX_WITH_IMM)
		ibcq->read_imm_data = exrnic_read_imm_data;
	if (wc_flags & IBV_WC_EX_WITH_QP_NUM)
		ibcq->read_qp_num = exrnic_read_qp_num;
	if (wc_flags & IBV_WC_EX_WITH_SRC_QP)
		ibcq->read_src_qp = exrnic_read_src_qp;
	if (wc_flags & IBV_WC_EX_WITH_SLID)
		ibcq->read_slid = exrnic_read_slid;
	if (wc_flags & IBV_WC_EX_WITH_SL)
		ibcq->read_sl = exrnic_read_sl;
	if (wc_flags & IBV_WC_EX_WITH_DLID_PATH_BITS)
		ibcq->read_dlid_path_bits = exrnic_read_dlid_path_bits;
	if (wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP)
		ibcq->read_completion_ts = exrnic_read_completion_ts;
}

/* ---- Making and changing */

static bool exrnic_cqe_count_is_valid(struct ibv_context *ibctx, int cqe)
{
	const uint32_t most = exrnic_cq_capacity(1u << EXRNIC_CQ_LOG_MAX);

	if (cqe >= 1 && cqe <= most)
		return true;
	verbs_err(verbs_get_ctx(ibctx), "cqe is %d, not 1 to %u\n", cqe, most);
	return false;
}

/* A queue with its ring, of which the kernel does not know yet. */
static struct exrnic_cq *exrnic_alloc_cq(struct exrnic_pd *parent_domain,
					 int cqe, bool one_thread)
{
	const uint32_t entries = exrnic_cq_ring_for(cqe);
	struct exrnic_cq *cq;
	int ret;

	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return NULL;

	cq->parent_domain = parent_domain;
	ret = exrnic_memory_alloc(&cq->memory, parent_domain,
				  EXRNIC_RESOURCE_CQ,
				  entries * sizeof(struct exrnic_cqe));
	if (ret) {
		free(cq);
		errno = ret;
		return NULL;
	}
	exrnic_lock_init(&cq->lock, one_thread);
	cq->ring.entries = cq->memory.data;
	cq->ring.num_entries = entries;
	cq->smallest_ring = entries;
	return cq;
}

static void exrnic_free_cq(struct exrnic_cq *cq)
{
	exrnic_memory_free(&cq->memory);
	free(cq);
}

static struct exrnic_ib_create_cq exrnic_cq_request(struct exrnic_cq *cq)
{
	return (struct exrnic_ib_create_cq){
		.ring = (uintptr_t)cq->memory.data,
		.log_entries = ilog32(cq->ring.num_entries) - 1,
	};
}

struct ibv_cq *exrnic_create_cq(struct ibv_context *ibctx, int cqe,
				struct ibv_comp_channel *channel,
				int comp_vector)
{
	struct exrnic_create_cq_resp resp = {};
	struct exrnic_create_cq cmd = {};
	struct exrnic_cq *cq;
	int ret;

	if (!exrnic_cqe_count_is_valid(ibctx, cqe)) {
		errno = EINVAL;
		return NULL;
	}
	cq = exrnic_alloc_cq(NULL, cqe, false);
	if (!cq)
		return NULL;

	cmd.drv_payload = exrnic_cq_request(cq);
	ret = ibv_cmd_create_cq(ibctx, exrnic_cq_capacity(cq->ring.num_entries),
				channel, comp_vector, &cq->vcq.cq,
				&cmd.ibv_cmd, sizeof(cmd), &resp.ibv_resp,
				sizeof(resp));
	if (ret) {
		exrnic_free_cq(cq);
		errno = ret;
		return NULL;
	}
	cq->ring.number = resp.cqn;
	cq->vcq.cq.cqe = exrnic_cq_capacity(cq->ring.num_entries);
	return &cq->vcq.cq;
}

static bool exrnic_cq_attr_is_valid(struct ibv_context *ibctx,
				    const struct ibv_cq_init_attr_ex *attr)
{
	if (!check_comp_mask(attr->comp_mask, IBV_CQ_INIT_ATTR_MASK_FLAGS |
						      IBV_CQ_INIT_ATTR_MASK_PD) ||
	    !check_comp_mask(attr->wc_flags, EXRNIC_WC_FLAGS) ||
	    ((attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) &&
	     !check_comp_mask(attr->flags,
			      IBV_CREATE_CQ_ATTR_SINGLE_THREADED))) {
		errno = EOPNOTSUPP;
		return false;
	}
	if (!exrnic_cqe_count_is_valid(ibctx, attr->cqe) ||
	    ((attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD) &&
	     !to_exrnic_pd(attr->parent_domain)->protection_domain)) {
		errno = EINVAL;
		return false;
	}
	return true;
}

static bool exrnic_cq_is_one_thread(const struct ibv_cq_init_attr_ex *attr)
{
	return (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) &&
	       (attr->flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED);
}

struct ibv_cq_ex *exrnic_create_cq_ex(struct ibv_context *ibctx,
				      struct ibv_cq_init_attr_ex *attr)
{
	struct exrnic_create_cq_ex_resp resp = {};
	struct exrnic_create_cq_ex cmd = {};
	struct ibv_cq_init_attr_ex kernel_attr = {};
	struct exrnic_pd *parent_domain = NULL;
	struct exrnic_cq *cq;
	int ret;

	if (!exrnic_cq_attr_is_valid(ibctx, attr))
		return NULL;
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD)
		parent_domain = to_exrnic_pd(attr->parent_domain);
	cq = exrnic_alloc_cq(parent_domain, attr->cqe,
			     exrnic_cq_is_one_thread(attr) ||
			     exrnic_pd_is_one_thread(parent_domain));
	if (!cq)
		return NULL;

	/* The device notes the time in any case: the kernel need not know. */
	kernel_attr.cqe = exrnic_cq_capacity(cq->ring.num_entries);
	kernel_attr.channel = attr->channel;
	kernel_attr.comp_vector = attr->comp_vector;
	cmd.drv_payload = exrnic_cq_request(cq);
	ret = ibv_cmd_create_cq_ex(ibctx, &kernel_attr, &cq->vcq,
				   &cmd.ibv_cmd, sizeof(cmd), &resp.ibv_resp,
				   sizeof(resp), 0);
	if (ret) {
		exrnic_free_cq(cq);
		errno = ret;
		return NULL;
	}
	cq->ring.number = resp.cqn;
	cq->vcq.cq.cqe = exrnic_cq_capacity(cq->ring.num_entries);
	exrnic_set_cq_ops(&cq->vcq.cq_ex, attr->wc_flags);
	return &cq->vcq.cq_ex;
}

/*
 * The device counts as unread what it was not told to be taken: so it is told
 * in time for a ring of this size, from now on.
 */
static void exrnic_report_for(struct exrnic_cq *cq, uint32_t entries)
{
	exrnic_lock(&cq->lock);
	cq->smallest_ring = entries < cq->ring.num_entries ?
		entries : cq->ring.num_entries;
	exrnic_cq_report_taken(cq);
	exrnic_unlock(&cq->lock);
}

/* Whether so many hold what has not been polled. */
static bool exrnic_unread_fit(struct exrnic_cq *cq, uint32_t cqe)
{
	bool fit;

	exrnic_lock(&cq->lock);
	fit = cqe >= cq->ring.num_entries ||
	      !exrnic_cq_at(&cq->ring, cq->ring.consumer + cqe);
	exrnic_unlock(&cq->lock);
	return fit;
}

/*
 * Who polls meanwhile finds what is in the old ring, and nothing behind it
 * until the queue has the new one: the lock is not held over the command.
 */
static int exrnic_replace_ring(struct exrnic_cq *cq, uint32_t entries,
			       struct exrnic_memory *memory)
{
	struct exrnic_resize_cq_resp resp = {};
	struct exrnic_resize_cq cmd = {
		.ring = (uintptr_t)memory->data,
		.log_entries = ilog32(entries) - 1,
	};
	struct exrnic_memory old;
	int ret;

	exrnic_report_for(cq, entries);
	ret = ibv_cmd_resize_cq(&cq->vcq.cq, exrnic_cq_capacity(entries),
				&cmd.ibv_cmd, sizeof(cmd), &resp.ibv_resp,
				sizeof(resp));
	if (ret) {
		exrnic_report_for(cq, cq->ring.num_entries);
		return ret;
	}

	exrnic_lock(&cq->lock);
	exrnic_cq_change_ring(&cq->ring, memory->data, entries, resp.producer);
	cq->smallest_ring = entries;
	exrnic_cq_report_taken(cq);
	old = cq->memory;
	cq->memory = *memory;
	cq->vcq.cq.cqe = exrnic_cq_capacity(entries);
	exrnic_unlock(&cq->lock);
	*memory = old;
	return 0;
}

int exrnic_resize_cq(struct ibv_cq *ibcq, int cqe)
{
	struct exrnic_context *ctx = to_exrnic_ctx(ibcq->context);
	struct exrnic_memory memory;
	uint32_t entries;
	int ret;

	if (!exrnic_cqe_count_is_valid(ibcq->context, cqe) ||
	    !exrnic_unread_fit(to_exrnic_cq(ibcq), cqe))
		return EINVAL;

	entries = exrnic_cq_ring_for(cqe);
	ret = exrnic_memory_alloc(&memory, to_exrnic_cq(ibcq)->parent_domain,
				  EXRNIC_RESOURCE_CQ,
				  entries * sizeof(struct exrnic_cqe));
	if (ret)
		return ret;
	exrnic_cq_clear(memory.data, entries);

	pthread_mutex_lock(&ctx->control);
	ret = exrnic_replace_ring(to_exrnic_cq(ibcq), entries, &memory);
	pthread_mutex_unlock(&ctx->control);

	exrnic_memory_free(&memory); /* the old ring, or the one of no use */
	return ret;
}

int exrnic_destroy_cq(struct ibv_cq *ibcq)
{
	int ret;

	ret = ibv_cmd_destroy_cq(ibcq);
	if (ret)
		return ret;
	exrnic_free_cq(to_exrnic_cq(ibcq));
	return 0;
}
