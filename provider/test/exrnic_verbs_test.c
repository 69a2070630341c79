// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * exrnic-verbs-test: what the provider promises, by the calls of libibverbs, on
 * one node whose queue pairs are each other's peers.
 *
 *   exrnic-verbs-test [DEVICE [GID_INDEX [TEXT]]]   TEXT: checks whose sentence has it
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#define HOLDS(condition)                                                       \
	do {                                                                   \
		if (!(condition)) {                                            \
			printf("  line %d: %s (errno: %s)\n", __LINE__,        \
			       #condition, strerror(errno));                   \
			return false;                                          \
		}                                                              \
	} while (0)

enum {
	BYTES = 8192,
	GRH = 40,
	DEPTH = 16,
	QKEY = 0x1234,
	PATIENCE_SECONDS = 20,
	THREADS = 4,
	ROUNDS = 100,
	ALL_ACCESS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
		     IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
	RC_OPS = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_SEND |
		 IBV_QP_EX_WITH_RDMA_READ,
};

static struct ibv_context *context;
static struct ibv_pd *pd;
static uint8_t gid_index;
static union ibv_gid gid;

/* ---- What checks are made of */

struct end {
	struct ibv_qp *qp;
	struct ibv_qp_cap cap;
};

/* Two queue pairs, with memory. */
struct pair {
	struct ibv_cq *cq;
	struct end a, b;
	uint8_t *bytes; /* a's, and behind BYTES b's */
	struct ibv_mr *mr;
};

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

/* The next completion, within PATIENCE_SECONDS. */
static bool await(struct ibv_cq *cq, struct ibv_wc *wc)
{
	const double start = now();
	int taken;

	do
		taken = ibv_poll_cq(cq, 1, wc);
	while (taken == 0 && now() - start < PATIENCE_SECONDS);
	HOLDS(taken == 1);
	return true;
}

/* Likewise, of that work request, and good. */
static bool await_good(struct ibv_cq *cq, uint64_t wr_id, struct ibv_wc *wc)
{
	HOLDS(await(cq, wc));
	if (wc->status)
		printf("  %s, vendor_err 0x%x\n", ibv_wc_status_str(wc->status),
		       wc->vendor_err);
	HOLDS(wc->status == IBV_WC_SUCCESS && wc->wr_id == wr_id);
	return true;
}

static bool make_end(struct end *end, enum ibv_qp_type type, struct ibv_pd *of,
		     struct ibv_cq *cq, struct ibv_srq *srq, uint64_t ops)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.srq = srq,
		.cap = {
			.max_send_wr = DEPTH,
			.max_recv_wr = srq ? 0 : DEPTH,
			.max_send_sge = 4,
			.max_recv_sge = srq ? 0 : 4,
			.max_inline_data = 64,
		},
		.qp_type = type,
		.comp_mask = IBV_QP_INIT_ATTR_PD |
			     (ops ? IBV_QP_INIT_ATTR_SEND_OPS_FLAGS : 0),
		.pd = of,
		.send_ops_flags = ops,
	};

	end->qp = ibv_create_qp_ex(context, &attr);
	HOLDS(end->qp);
	end->cap = attr.cap;
	HOLDS(end->cap.max_send_wr >= DEPTH && end->cap.max_send_sge >= 4 &&
	      end->cap.max_inline_data >= 64);
	return true;
}

static bool to_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qkey = QKEY,
		.qp_access_flags = ALL_ACCESS,
	};

	HOLDS(!ibv_modify_qp(qp, &attr,
			     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				     (qp->qp_type == IBV_QPT_UD ?
					      IBV_QP_QKEY :
					      IBV_QP_ACCESS_FLAGS)));
	return true;
}

static bool to_rts(struct ibv_qp *qp, uint32_t peer)
{
	const bool rc = qp->qp_type == IBV_QPT_RC;
	const bool ud = qp->qp_type == IBV_QPT_UD;
	struct ibv_qp_attr rtr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_512,
		.dest_qp_num = peer,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 12,
		.ah_attr = {
			.grh = { .dgid = gid, .sgid_index = gid_index,
				 .hop_limit = 1 },
			.is_global = 1,
			.port_num = 1,
		},
	};
	struct ibv_qp_attr rts = {
		.qp_state = IBV_QPS_RTS,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 4,
	};
	int rtr_mask = IBV_QP_STATE, rts_mask = IBV_QP_STATE | IBV_QP_SQ_PSN;

	if (!ud)
		rtr_mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			    IBV_QP_RQ_PSN;
	if (rc) {
		rtr_mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
		rts_mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			    IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
	}
	HOLDS(!ibv_modify_qp(qp, &rtr, rtr_mask));
	HOLDS(!ibv_modify_qp(qp, &rts, rts_mask));
	return true;
}

static bool connect_ends(struct end *a, struct end *b)
{
	return to_init(a->qp) && to_init(b->qp) &&
	       to_rts(a->qp, b->qp->qp_num) && to_rts(b->qp, a->qp->qp_num);
}

static bool make_memory(struct pair *pair)
{
	pair->bytes = aligned_alloc(4096, 2 * BYTES);
	HOLDS(pair->bytes);
	memset(pair->bytes, 0, 2 * BYTES);
	pair->mr = ibv_reg_mr(pd, pair->bytes, 2 * BYTES, ALL_ACCESS);
	HOLDS(pair->mr);
	return true;
}

/* cq: of the pair; or NULL, it gets one of its own. */
static bool make_pair(struct pair *pair, enum ibv_qp_type type, uint64_t ops,
		      struct ibv_cq *cq)
{
	memset(pair, 0, sizeof(*pair));
	pair->cq = cq ? cq : ibv_create_cq(context, 4 * DEPTH, NULL, NULL, 0);
	HOLDS(pair->cq);
	return make_memory(pair) &&
	       make_end(&pair->a, type, pd, pair->cq, NULL, ops) &&
	       make_end(&pair->b, type, pd, pair->cq, NULL, ops) &&
	       connect_ends(&pair->a, &pair->b);
}

static bool end_pair(struct pair *pair, bool with_cq)
{
	HOLDS(!ibv_destroy_qp(pair->a.qp));
	HOLDS(!ibv_destroy_qp(pair->b.qp));
	if (with_cq)
		HOLDS(!ibv_destroy_cq(pair->cq));
	HOLDS(!ibv_dereg_mr(pair->mr));
	free(pair->bytes);
	return true;
}

static struct ibv_sge piece(struct pair *pair, uint32_t offset, uint32_t length)
{
	return (struct ibv_sge){
		.addr = (uintptr_t)pair->bytes + offset,
		.length = length,
		.lkey = pair->mr->lkey,
	};
}

static bool post_recv(struct pair *pair, struct end *end, uint64_t wr_id,
		      uint32_t offset, uint32_t length)
{
	struct ibv_sge sge = piece(pair, offset, length);
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge,
				  .num_sge = 1 };
	struct ibv_recv_wr *bad;

	HOLDS(!ibv_post_recv(end->qp, &wr, &bad));
	return true;
}

static struct ibv_send_wr write_wr(struct pair *pair, uint64_t wr_id,
				   struct ibv_sge *sge, uint32_t to)
{
	struct ibv_send_wr wr = {
		.wr_id = wr_id,
		.sg_list = sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
	};

	wr.wr.rdma.remote_addr = (uintptr_t)pair->bytes + BYTES + to;
	wr.wr.rdma.rkey = pair->mr->rkey;
	return wr;
}

static bool post(struct end *end, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	HOLDS(!ibv_post_send(end->qp, wr, &bad));
	return true;
}

static void fill(uint8_t *bytes, uint32_t length, uint8_t seed)
{
	uint32_t i;

	for (i = 0; i < length; i++)
		bytes[i] = seed + 7 * i;
}

static bool is_filled(const uint8_t *bytes, uint32_t length, uint8_t seed)
{
	uint32_t i;

	for (i = 0; i < length; i++)
		if (bytes[i] != (uint8_t)(seed + 7 * i))
			return false;
	return true;
}

/* ---- Checks */

static void build_write(struct pair *pair, struct ibv_qp_ex *qp, uint64_t wr_id,
			uint32_t offset, uint32_t length)
{
	qp->wr_id = wr_id;
	qp->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(qp, pair->mr->rkey,
			  (uintptr_t)pair->bytes + BYTES + offset);
	ibv_wr_set_sge(qp, pair->mr->lkey, (uintptr_t)pair->bytes + offset,
		       length);
}

static bool check_builders(void)
{
	struct ibv_qp_ex *qp;
	struct pair pair;
	struct ibv_wc wc;
	uint64_t i;

	HOLDS(make_pair(&pair, IBV_QPT_RC, RC_OPS, NULL));
	qp = ibv_qp_to_qp_ex(pair.a.qp);
	HOLDS(qp);
	fill(pair.bytes, BYTES, 1);
	ibv_wr_start(qp);
	for (i = 0; i < 4; i++)
		build_write(&pair, qp, 10 + i, i * 100, 100);
	HOLDS(!ibv_wr_complete(qp));
	for (i = 0; i < 4; i++)
		HOLDS(await_good(pair.cq, 10 + i, &wc) &&
		      wc.opcode == IBV_WC_RDMA_WRITE);
	HOLDS(is_filled(pair.bytes + BYTES, 400, 1));

	/* One alone, inline. */
	ibv_wr_start(qp);
	qp->wr_id = 20;
	qp->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(qp, pair.mr->rkey, (uintptr_t)pair.bytes + BYTES);
	fill(pair.bytes, 30, 9);
	ibv_wr_set_inline_data(qp, pair.bytes, 30);
	HOLDS(!ibv_wr_complete(qp));
	HOLDS(await_good(pair.cq, 20, &wc));
	HOLDS(is_filled(pair.bytes + BYTES, 30, 9));
	return end_pair(&pair, true);
}

static bool check_abort(void)
{
	struct ibv_qp_ex *qp;
	struct pair pair;
	struct ibv_wc wc;
	int i;

	HOLDS(make_pair(&pair, IBV_QPT_RC, RC_OPS, NULL));
	qp = ibv_qp_to_qp_ex(pair.a.qp);
	fill(pair.bytes, BYTES, 1);
	for (i = 0; i < 3 * DEPTH; i++) {
		ibv_wr_start(qp);
		build_write(&pair, qp, 1, 0, 100);
		build_write(&pair, qp, 2, 100, 100);
		ibv_wr_abort(qp);
		ibv_wr_start(qp);
		build_write(&pair, qp, 3, 0, 100);
		qp->wr_id = 4;
		ibv_wr_rdma_write(qp, pair.mr->rkey, (uintptr_t)pair.bytes);
		ibv_wr_set_inline_data(qp, pair.bytes, 1000);
		HOLDS(ibv_wr_complete(qp) == EINVAL);
	}
	HOLDS(ibv_poll_cq(pair.cq, 1, &wc) == 0);
	ibv_wr_start(qp);
	build_write(&pair, qp, 5, 200, 100);
	HOLDS(!ibv_wr_complete(qp));
	HOLDS(await_good(pair.cq, 5, &wc));
	HOLDS(!memcmp(pair.bytes + BYTES + 200, pair.bytes + 200, 100));
	for (i = 0; i < 200; i++)
		HOLDS(pair.bytes[BYTES + i] == 0);
	return end_pair(&pair, true);
}

static bool check_inline(void)
{
	struct pair pair;
	struct ibv_wc wc;
	uint32_t length;

	HOLDS(make_pair(&pair, IBV_QPT_RC, 0, NULL));
	for (length = 0; length <= pair.a.cap.max_inline_data; length++) {
		struct ibv_sge half[2] = {
			piece(&pair, 0, length / 2),
			piece(&pair, length / 2, length - length / 2),
		};
		struct ibv_send_wr second = write_wr(&pair, 2, half, 1000);
		struct ibv_send_wr first = write_wr(&pair, 1, half, 0);

		first.send_flags |= IBV_SEND_INLINE;
		first.num_sge = second.num_sge = 2;
		second.send_flags |= IBV_SEND_INLINE;
		fill(pair.bytes, length, length);
		HOLDS(post(&pair.a, &first)); /* alone */
		memset(pair.bytes, 0xff, length);
		HOLDS(await_good(pair.cq, 1, &wc));
		HOLDS(is_filled(pair.bytes + BYTES, length, length));
		fill(pair.bytes, length, length + 1);
		first.next = &second;
		HOLDS(post(&pair.a, &first));
		memset(pair.bytes, 0xff, length);
		HOLDS(await_good(pair.cq, 1, &wc));
		HOLDS(await_good(pair.cq, 2, &wc));
		HOLDS(is_filled(pair.bytes + BYTES, length, length + 1));
		HOLDS(is_filled(pair.bytes + BYTES + 1000, length, length + 1));
	}
	return end_pair(&pair, true);
}

static bool check_datagrams(void)
{
	struct ibv_ah_attr attr = {
		.grh = { .dgid = gid, .sgid_index = gid_index, .hop_limit = 1 },
		.is_global = 1,
		.port_num = 1,
	};
	uint32_t round, length;
	struct ibv_ah *ah;
	struct pair pair;
	struct ibv_wc wc;

	HOLDS(make_pair(&pair, IBV_QPT_UD, 0, NULL));
	ah = ibv_create_ah(pd, &attr);
	HOLDS(ah);
	for (round = 0; round < 2; round++) {
		const uint32_t most = round ? 400 : pair.a.cap.max_inline_data;

		for (length = 0; length <= most; length += round ? 37 : 1) {
			struct ibv_sge sge = piece(&pair, 0, length);
			struct ibv_send_wr wr = {
				.wr_id = length,
				.sg_list = &sge,
				.num_sge = 1,
				.opcode = IBV_WR_SEND_WITH_IMM,
				.imm_data = htonl(length + 5),
				.send_flags = round ? 0 : IBV_SEND_INLINE,
			};
			int i;

			wr.wr.ud.ah = ah;
			wr.wr.ud.remote_qpn = pair.b.qp->qp_num;
			wr.wr.ud.remote_qkey = QKEY;
			wr.send_flags |= IBV_SEND_SIGNALED;
			fill(pair.bytes, length, length);
			HOLDS(post_recv(&pair, &pair.b, 99, BYTES, 1024));
			HOLDS(post(&pair.a, &wr));
			for (i = 0; i < 2; i++) {
				HOLDS(await(pair.cq, &wc));
				HOLDS(wc.status == IBV_WC_SUCCESS);
				if (wc.opcode == IBV_WC_SEND)
					continue;
				HOLDS(wc.wr_id == 99);
				HOLDS(wc.byte_len == GRH + length);
				HOLDS(wc.wc_flags ==
				      (IBV_WC_GRH | IBV_WC_WITH_IMM));
				HOLDS(ntohl(wc.imm_data) == length + 5);
				HOLDS(wc.src_qp == pair.a.qp->qp_num);
			}
			HOLDS(is_filled(pair.bytes + BYTES + GRH, length,
					length));
		}
	}
	HOLDS(!ibv_destroy_ah(ah));
	return end_pair(&pair, true);
}

static bool check_full_queue(void)
{
	struct ibv_send_wr *bad = NULL;
	struct pair pair;
	struct ibv_wc wc;
	uint32_t most, i;
	int ret = 0;

	HOLDS(make_pair(&pair, IBV_QPT_RC, 0, NULL));
	most = pair.a.cap.max_send_wr;
	for (i = 0; i < 8 * most && !ret; i++) {
		struct ibv_sge sge[4] = { piece(&pair, 0, 1), piece(&pair, 1, 1),
					  piece(&pair, 2, 1), piece(&pair, 3, 1) };
		struct ibv_send_wr wr = write_wr(&pair, i, sge, 0);

		wr.num_sge = 4;
		ret = ibv_post_send(pair.a.qp, &wr, &bad);
		HOLDS(!ret || bad == &wr);
	}
	HOLDS(ret == ENOMEM && i - 1 >= most);
	for (most = i - 1, i = 0; i < most; i++)
		HOLDS(await_good(pair.cq, i, &wc));
	return end_pair(&pair, true);
}

static bool check_states(void)
{
	struct ibv_qp_attr error = { .qp_state = IBV_QPS_ERR };
	struct ibv_send_wr *bad_send = NULL;
	struct ibv_recv_wr *bad_recv = NULL;
	struct ibv_recv_wr recv = { .wr_id = 1 };
	struct ibv_send_wr send;
	struct ibv_sge sge;
	struct pair pair;
	struct ibv_wc wc;
	struct end idle;

	HOLDS(make_pair(&pair, IBV_QPT_RC, 0, NULL));
	HOLDS(make_end(&idle, IBV_QPT_RC, pd, pair.cq, NULL, 0));
	sge = piece(&pair, 0, 8);
	send = write_wr(&pair, 2, &sge, 0);
	HOLDS(ibv_post_recv(idle.qp, &recv, &bad_recv) == EINVAL);
	HOLDS(bad_recv == &recv);
	HOLDS(to_init(idle.qp));
	HOLDS(ibv_post_send(idle.qp, &send, &bad_send) == EINVAL);
	HOLDS(bad_send == &send);
	HOLDS(!ibv_post_recv(idle.qp, &recv, &bad_recv));
	HOLDS(!ibv_modify_qp(idle.qp, &error, IBV_QP_STATE));
	HOLDS(await(pair.cq, &wc));
	HOLDS(wc.status == IBV_WC_WR_FLUSH_ERR && wc.wr_id == 1 &&
	      wc.qp_num == idle.qp->qp_num);
	HOLDS(!ibv_post_send(idle.qp, &send, &bad_send));
	HOLDS(await(pair.cq, &wc));
	HOLDS(wc.status == IBV_WC_WR_FLUSH_ERR && wc.wr_id == 2);
	HOLDS(!ibv_destroy_qp(idle.qp));
	return end_pair(&pair, true);
}

/*
 * Programs allow a queue pair what they know of (so do pyverbs' tests of rdma-core 56.1).
 * Memory to be flushed is promised by a region, and no region does.
 */
static bool check_unknown_rights(void)
{
	const int flush = 1 << 8 | 1 << 9; /* IBV_ACCESS_FLUSH_*, in libraries since rdma-core 46 */
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = ALL_ACCESS | flush,
	};
	struct ibv_qp_init_attr init;
	struct pair pair;

	HOLDS(make_pair(&pair, IBV_QPT_RC, 0, NULL));
	HOLDS(!ibv_modify_qp(pair.a.qp,
			     &(struct ibv_qp_attr){ .qp_state = IBV_QPS_RESET },
			     IBV_QP_STATE));
	HOLDS(!ibv_modify_qp(pair.a.qp, &attr,
			     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				     IBV_QP_ACCESS_FLAGS));
	HOLDS(!ibv_query_qp(pair.a.qp, &attr, IBV_QP_ACCESS_FLAGS, &init));
	HOLDS(attr.qp_access_flags ==
	      (ALL_ACCESS & ~IBV_ACCESS_LOCAL_WRITE));
	HOLDS(!ibv_reg_mr(pd, pair.bytes, BYTES, ALL_ACCESS | 1 << 8));
	HOLDS(!ibv_reg_mr(pd, pair.bytes, BYTES, ALL_ACCESS | 1 << 9));
	return end_pair(&pair, true);
}

static bool check_forgets(void)
{
	struct ibv_qp_attr reset = { .qp_state = IBV_QPS_RESET };
	struct pair goes, stays;
	struct ibv_wc wc;
	int round;
	uint64_t i;

	HOLDS(make_pair(&stays, IBV_QPT_RC, 0, NULL));
	for (round = 0; round < 6; round++) {
		HOLDS(make_pair(&goes, IBV_QPT_RC, 0, stays.cq));
		for (i = 0; i < 8; i++) {
			struct pair *pair = i % 2 ? &stays : &goes;
			struct ibv_sge sge = piece(pair, 0, 8);
			struct ibv_send_wr wr = write_wr(pair, i, &sge, 0);

			HOLDS(post(&pair->a, &wr));
		}
		usleep(100000);
		if (round % 2) {
			HOLDS(!ibv_modify_qp(goes.a.qp, &reset, IBV_QP_STATE));
			/* Its queues begin anew. */
			HOLDS(!ibv_modify_qp(goes.b.qp, &reset, IBV_QP_STATE));
			HOLDS(connect_ends(&goes.a, &goes.b));
		} else {
			HOLDS(end_pair(&goes, false));
		}
		for (i = 1; i < 8; i += 2) {
			HOLDS(await_good(stays.cq, i, &wc));
			HOLDS(wc.qp_num == stays.a.qp->qp_num);
		}
		HOLDS(ibv_poll_cq(stays.cq, 1, &wc) == 0);
		if (round % 2) {
			struct ibv_sge sge = piece(&goes, 0, 8);
			struct ibv_send_wr wr = write_wr(&goes, 77, &sge, 0);

			HOLDS(post(&goes.a, &wr));
			HOLDS(await_good(stays.cq, 77, &wc));
			HOLDS(end_pair(&goes, false));
		}
	}
	return end_pair(&stays, true);
}

/* Receives and what was sent complete in any order. */
static bool await_recv(struct ibv_cq *cq, struct ibv_wc *wc)
{
	struct ibv_wc one;
	bool found = false;
	int i;

	for (i = 0; i < 2; i++) {
		HOLDS(await(cq, &one));
		HOLDS(one.status == IBV_WC_SUCCESS);
		if (one.opcode & IBV_WC_RECV) {
			*wc = one;
			found = true;
		}
	}
	HOLDS(found);
	return true;
}

static bool check_immediate(void)
{
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct pair pair;
	struct ibv_wc wc;

	HOLDS(make_pair(&pair, IBV_QPT_RC, 0, NULL));
	sge = piece(&pair, 0, 24);
	wr = write_wr(&pair, 1, &sge, 0);
	wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
	wr.imm_data = htonl(0x12345678);
	HOLDS(post_recv(&pair, &pair.b, 2, BYTES, 8));
	HOLDS(post(&pair.a, &wr));
	HOLDS(await_recv(pair.cq, &wc));
	HOLDS(wc.wr_id == 2 && wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM);
	HOLDS(wc.byte_len == 24 && wc.wc_flags == IBV_WC_WITH_IMM);
	HOLDS(ntohl(wc.imm_data) == 0x12345678);

	wr.opcode = IBV_WR_SEND_WITH_IMM;
	HOLDS(post_recv(&pair, &pair.b, 3, BYTES, 24));
	HOLDS(post(&pair.a, &wr));
	HOLDS(await_recv(pair.cq, &wc));
	HOLDS(wc.wr_id == 3 && wc.opcode == IBV_WC_RECV);
	HOLDS(ntohl(wc.imm_data) == 0x12345678);
	return end_pair(&pair, true);
}

static bool check_invalidation(void)
{
	struct ibv_mr *mr;
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct pair pair;
	struct ibv_wc wc;

	HOLDS(make_pair(&pair, IBV_QPT_RC, 0, NULL));
	mr = ibv_reg_mr(pd, pair.bytes, BYTES, ALL_ACCESS);
	HOLDS(mr);
	sge = piece(&pair, 0, 8);
	wr = write_wr(&pair, 1, &sge, 0);
	wr.opcode = IBV_WR_SEND_WITH_INV;
	wr.invalidate_rkey = mr->rkey;
	HOLDS(post_recv(&pair, &pair.b, 2, BYTES, 8));
	HOLDS(post(&pair.a, &wr));
	HOLDS(await_recv(pair.cq, &wc));
	HOLDS(wc.wc_flags == IBV_WC_WITH_INV &&
	      wc.invalidated_rkey == mr->rkey);

	wr = write_wr(&pair, 3, &sge, 0);
	wr.wr.rdma.rkey = mr->rkey;
	wr.wr.rdma.remote_addr = (uintptr_t)pair.bytes;
	HOLDS(post(&pair.a, &wr));
	HOLDS(await(pair.cq, &wc));
	HOLDS(wc.status == IBV_WC_REM_ACCESS_ERR && wc.wr_id == 3);
	HOLDS(wc.vendor_err != 0);
	HOLDS(!ibv_dereg_mr(mr));
	return end_pair(&pair, true);
}

/*
 * A process says by which addresses its region is named. Up to the end of all of them there is none:
 * they would wrap where the driver makes its list of pages.
 */
static bool check_far_addresses(void)
{
	static const uint64_t far[] = {0xfffffffffffff000, 0xffffffffffffd000, 0xffffffffffe00000};
	struct ibv_mr *mr;
	uint8_t *bytes = aligned_alloc(4096, 4 * 4096);
	unsigned int i;

	HOLDS(bytes);
	memset(bytes, 0, 4 * 4096);
	for (i = 0; i < sizeof(far) / sizeof(far[0]); i++) {
		HOLDS(!ibv_reg_mr_iova(pd, bytes, 2048, far[i], ALL_ACCESS));
		HOLDS(errno == EINVAL);
		HOLDS(!ibv_reg_mr_iova(pd, bytes, 3 * 4096, far[i], ALL_ACCESS));
	}
	mr = ibv_reg_mr_iova(pd, bytes, 3 * 4096, 0xfffffffffff00000 - 0x1000000, ALL_ACCESS);
	HOLDS(mr);
	HOLDS(!ibv_dereg_mr(mr));
	free(bytes);
	return true;
}

/* As long as its memory does for its new rights. One that was pinned to be read gets another key with other pins. */
static bool check_changed_region(void)
{
	const int writable = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct pair pair;
	struct ibv_wc wc;
	struct ibv_mr *mr;
	struct ibv_pd *other;
	uint32_t key;

	HOLDS(make_pair(&pair, IBV_QPT_RC, 0, NULL));
	mr = ibv_reg_mr(pd, pair.bytes + BYTES, BYTES, 0);
	HOLDS(mr);
	HOLDS(!ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, writable));
	key = mr->rkey;
	other = ibv_alloc_pd(context);
	HOLDS(other);
	HOLDS(!ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, other, NULL, 0, 0));
	HOLDS(!ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD | IBV_REREG_MR_CHANGE_ACCESS, pd, NULL, 0,
			    IBV_ACCESS_LOCAL_WRITE));
	HOLDS(!ibv_dealloc_pd(other));
	HOLDS(!ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, writable));
	HOLDS(mr->rkey == key && mr->lkey == key);

	fill(pair.bytes, 50, 5);
	sge = piece(&pair, 0, 50);
	wr = write_wr(&pair, 1, &sge, 100);
	wr.wr.rdma.rkey = key;
	HOLDS(post(&pair.a, &wr));
	HOLDS(await_good(pair.cq, 1, &wc));
	HOLDS(is_filled(pair.bytes + BYTES + 100, 50, 5));
	HOLDS(!ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, IBV_ACCESS_LOCAL_WRITE));
	HOLDS(mr->rkey == key);
	HOLDS(post(&pair.a, &wr));
	HOLDS(await(pair.cq, &wc));
	HOLDS(wc.status == IBV_WC_REM_ACCESS_ERR);
	HOLDS(end_pair(&pair, true));
	HOLDS(!ibv_dereg_mr(mr));
	return true;
}

/* For the peer's own queue pair, and the bytes that were bound. */
static bool check_memory_window(void)
{
	struct ibv_send_wr bind = {
		.wr_id = 1,
		.opcode = IBV_WR_BIND_MW,
		.send_flags = IBV_SEND_SIGNALED,
	};
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct ibv_mr *mr;
	struct ibv_mw *mw;
	struct pair pair;
	struct ibv_wc wc;

	mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
	HOLDS(mw);
	HOLDS(make_pair(&pair, IBV_QPT_RC, 0, NULL));
	mr = ibv_reg_mr(pd, pair.bytes + BYTES, BYTES,
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	HOLDS(mr);
	bind.bind_mw.mw = mw;
	bind.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
	bind.bind_mw.bind_info.mr = mr;
	bind.bind_mw.bind_info.addr = (uintptr_t)pair.bytes + BYTES + 100;
	bind.bind_mw.bind_info.length = 50;
	bind.bind_mw.bind_info.mw_access_flags = IBV_ACCESS_REMOTE_WRITE;
	HOLDS(post(&pair.b, &bind));
	HOLDS(await_good(pair.cq, 1, &wc) && wc.opcode == IBV_WC_BIND_MW);

	fill(pair.bytes, 50, 3);
	sge = piece(&pair, 0, 50);
	wr = write_wr(&pair, 2, &sge, 100);
	wr.wr.rdma.rkey = bind.bind_mw.rkey;
	HOLDS(post(&pair.a, &wr));
	HOLDS(await_good(pair.cq, 2, &wc));
	HOLDS(is_filled(pair.bytes + BYTES + 100, 50, 3));
	wr.wr.rdma.remote_addr++;
	HOLDS(post(&pair.a, &wr));
	HOLDS(await(pair.cq, &wc));
	HOLDS(wc.status == IBV_WC_REM_ACCESS_ERR);
	HOLDS(end_pair(&pair, true));
	HOLDS(!ibv_dealloc_mw(mw));
	HOLDS(!ibv_dereg_mr(mr));
	return true;
}

/* By b, to that many bytes of mr. */
static bool bind_1(struct pair *pair, struct ibv_mw *mw, struct ibv_mr *mr,
		   uint32_t offset, uint32_t length)
{
	struct ibv_mw_bind bind = {
		.wr_id = 1,
		.send_flags = IBV_SEND_SIGNALED,
		.bind_info = {
			.mr = length ? mr : NULL,
			.addr = length ? (uintptr_t)mr->addr + offset : 0,
			.length = length,
			.mw_access_flags = length ? IBV_ACCESS_REMOTE_WRITE : 0,
		},
	};
	struct ibv_wc wc;

	HOLDS(!ibv_bind_mw(pair->b.qp, mw, &bind));
	HOLDS(await_good(pair->cq, 1, &wc) && wc.opcode == IBV_WC_BIND_MW);
	return true;
}

/* By a, of 8 bytes; the status that it ends with. */
static enum ibv_wc_status write_by(struct pair *pair, uint32_t rkey,
				   struct ibv_mr *mr, uint32_t offset)
{
	struct ibv_sge sge = piece(pair, 0, 8);
	struct ibv_send_wr wr = write_wr(pair, 2, &sge, 0);
	struct ibv_wc wc;

	wr.wr.rdma.rkey = rkey;
	wr.wr.rdma.remote_addr = (uintptr_t)mr->addr + offset;
	if (!post(&pair->a, &wr) || !await(pair->cq, &wc))
		return IBV_WC_GENERAL_ERR;
	return wc.status;
}

static bool reconnect(struct pair *pair)
{
	struct ibv_qp_attr reset = { .qp_state = IBV_QPS_RESET };

	HOLDS(!ibv_modify_qp(pair->a.qp, &reset, IBV_QP_STATE));
	HOLDS(!ibv_modify_qp(pair->b.qp, &reset, IBV_QP_STATE));
	return connect_ends(&pair->a, &pair->b);
}

/* Of type 1: for peers of all queue pairs of the domain. */
static bool check_domain_window(void)
{
	struct ibv_send_wr bind = { .opcode = IBV_WR_BIND_MW };
	struct ibv_send_wr *bad;
	struct pair pair, other;
	struct ibv_mr *mr;
	struct ibv_mw *mw;
	uint32_t before;

	mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
	HOLDS(mw);
	HOLDS(make_pair(&pair, IBV_QPT_RC, 0, NULL));
	HOLDS(make_pair(&other, IBV_QPT_RC, 0, NULL));
	mr = ibv_reg_mr(pd, pair.bytes + BYTES, BYTES,
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	HOLDS(mr);
	bind.bind_mw.mw = mw;
	bind.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
	bind.bind_mw.bind_info.mr = mr;
	bind.bind_mw.bind_info.addr = (uintptr_t)mr->addr;
	bind.bind_mw.bind_info.length = 8;
	HOLDS(ibv_post_send(pair.b.qp, &bind, &bad) == EINVAL);

	HOLDS(bind_1(&pair, mw, mr, 0, 0));
	HOLDS(bind_1(&pair, mw, mr, 64, 8));
	before = mw->rkey;
	HOLDS(write_by(&pair, before, mr, 64) == IBV_WC_SUCCESS);
	HOLDS(write_by(&other, before, mr, 64) == IBV_WC_SUCCESS);

	/* The last one counts, whoever has posted it. */
	HOLDS(bind_1(&other, mw, mr, 128, 8));
	HOLDS(mw->rkey != before);
	HOLDS(write_by(&pair, mw->rkey, mr, 128) == IBV_WC_SUCCESS);
	HOLDS(write_by(&pair, before, mr, 64) == IBV_WC_REM_ACCESS_ERR);
	HOLDS(reconnect(&pair));

	/* Its queue pair may go; with no bytes it ends. */
	HOLDS(end_pair(&other, true));
	HOLDS(write_by(&pair, mw->rkey, mr, 128) == IBV_WC_SUCCESS);
	HOLDS(bind_1(&pair, mw, mr, 0, 0));
	HOLDS(write_by(&pair, mw->rkey, mr, 128) == IBV_WC_REM_ACCESS_ERR);
	HOLDS(end_pair(&pair, true));
	HOLDS(!ibv_dealloc_mw(mw));
	HOLDS(!ibv_dereg_mr(mr));
	return true;
}

static bool check_atomics(void)
{
	struct ibv_send_wr wr;
	uint64_t *there, *back;
	struct ibv_sge sge;
	struct pair pair;
	struct ibv_wc wc;

	HOLDS(make_pair(&pair, IBV_QPT_RC, 0, NULL));
	back = (uint64_t *)pair.bytes;
	there = (uint64_t *)(pair.bytes + BYTES);
	*there = 0x123456789;
	sge = piece(&pair, 0, 8);
	wr = write_wr(&pair, 1, &sge, 0);
	wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	wr.wr.atomic.remote_addr = (uintptr_t)there;
	wr.wr.atomic.rkey = pair.mr->rkey;
	wr.wr.atomic.compare_add = 0x100000001;
	HOLDS(post(&pair.a, &wr));
	HOLDS(await_good(pair.cq, 1, &wc) && wc.opcode == IBV_WC_FETCH_ADD);
	HOLDS(*back == 0x123456789 && *there == 0x22345678a);

	wr.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
	wr.wr.atomic.compare_add = 0x22345678a;
	wr.wr.atomic.swap = 5;
	HOLDS(post(&pair.a, &wr));
	HOLDS(await_good(pair.cq, 1, &wc) && wc.opcode == IBV_WC_COMP_SWAP);
	HOLDS(*back == 0x22345678a && *there == 5);
	HOLDS(post(&pair.a, &wr));
	HOLDS(await_good(pair.cq, 1, &wc));
	HOLDS(*back == 5 && *there == 5);
	return end_pair(&pair, true);
}

static bool check_shared_receives(void)
{
	struct ibv_srq_init_attr init = {
		.attr = { .max_wr = DEPTH, .max_sge = 2 },
	};
	struct ibv_srq_attr limit = { .srq_limit = 3 };
	struct ibv_async_event event;
	struct ibv_srq *srq;
	struct end c, d;
	struct pair pair;
	struct ibv_wc wc;
	int i;

	HOLDS(make_pair(&pair, IBV_QPT_RC, 0, NULL));
	srq = ibv_create_srq(pd, &init);
	HOLDS(srq && init.attr.max_wr >= DEPTH);
	HOLDS(make_end(&c, IBV_QPT_RC, pd, pair.cq, srq, 0));
	HOLDS(make_end(&d, IBV_QPT_RC, pd, pair.cq, srq, 0));
	HOLDS(connect_ends(&c, &d));
	for (i = 0; i < 4; i++) {
		struct ibv_sge sge = piece(&pair, BYTES + 100 * i, 100);
		struct ibv_recv_wr wr = { .wr_id = 50 + i, .sg_list = &sge,
					  .num_sge = 1 };
		struct ibv_recv_wr *bad;

		HOLDS(!ibv_post_srq_recv(srq, &wr, &bad));
	}
	HOLDS(!ibv_modify_srq(srq, &limit, IBV_SRQ_LIMIT));
	for (i = 0; i < 4; i++) {
		struct ibv_sge sge = piece(&pair, 0, 100);
		struct ibv_send_wr wr = {
			.wr_id = 1, .sg_list = &sge, .num_sge = 1,
			.opcode = IBV_WR_SEND,
			.send_flags = IBV_SEND_SIGNALED,
		};

		fill(pair.bytes, 100, i);
		HOLDS(post(i % 2 ? &c : &d, &wr));
		HOLDS(await_recv(pair.cq, &wc));
		HOLDS(wc.wr_id == 50 + i && wc.byte_len == 100);
		HOLDS(is_filled(pair.bytes + BYTES + 100 * i, 100, i));
	}
	HOLDS(!ibv_get_async_event(context, &event));
	HOLDS(event.event_type == IBV_EVENT_SRQ_LIMIT_REACHED &&
	      event.element.srq == srq);
	ibv_ack_async_event(&event);
	HOLDS(!ibv_destroy_qp(c.qp) && !ibv_destroy_qp(d.qp));
	HOLDS(!ibv_destroy_srq(srq));
	return end_pair(&pair, true);
}

/* In a thread domain's objects, too, which have no locks. */
static bool check_one_by_one(void)
{
	struct ibv_td_init_attr td_attr = {};
	struct ibv_td *td = ibv_alloc_td(context, &td_attr);
	struct ibv_parent_domain_init_attr domain_attr = { .pd = pd, .td = td };
	struct ibv_poll_cq_attr poll_attr = {};
	struct ibv_cq_init_attr_ex attr = {
		.cqe = DEPTH,
		.wc_flags = IBV_WC_STANDARD_FLAGS |
			    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD,
	};
	struct ibv_pd *domain;
	struct ibv_cq_ex *cq;
	struct pair pair;
	struct end end;
	uint64_t last = 0;
	uint32_t i;

	HOLDS(td);
	domain = ibv_alloc_parent_domain(context, &domain_attr);
	HOLDS(domain && ibv_dealloc_td(td) == EBUSY);
	attr.parent_domain = domain;
	cq = ibv_create_cq_ex(context, &attr);
	HOLDS(cq);
	HOLDS(make_pair(&pair, IBV_QPT_RC, 0, NULL));
	HOLDS(make_end(&end, IBV_QPT_RC, domain, ibv_cq_ex_to_cq(cq), NULL, 0));
	HOLDS(to_init(end.qp) && to_rts(end.qp, end.qp->qp_num));
	for (i = 0; i < 5 * DEPTH; i++) {
		struct ibv_sge sge = piece(&pair, 0, 8);
		struct ibv_send_wr wr = write_wr(&pair, i, &sge, 0);
		const double start = now();
		int ret;

		HOLDS(post(&end, &wr));
		do
			ret = ibv_start_poll(cq, &poll_attr);
		while (ret == ENOENT && now() - start < PATIENCE_SECONDS);
		HOLDS(!ret);
		HOLDS(cq->status == IBV_WC_SUCCESS && cq->wr_id == i);
		HOLDS(ibv_wc_read_opcode(cq) == IBV_WC_RDMA_WRITE);
		HOLDS(ibv_wc_read_qp_num(cq) == end.qp->qp_num);
		HOLDS(ibv_wc_read_completion_ts(cq) > last);
		last = ibv_wc_read_completion_ts(cq);
		HOLDS(ibv_next_poll(cq) == ENOENT);
		ibv_end_poll(cq);
	}
	HOLDS(!ibv_destroy_qp(end.qp));
	HOLDS(!ibv_destroy_cq(ibv_cq_ex_to_cq(cq)));
	HOLDS(!ibv_dealloc_pd(domain));
	HOLDS(!ibv_dealloc_td(td));
	return end_pair(&pair, true);
}

static bool check_resize(void)
{
	struct pair pair;
	struct ibv_wc wc;
	uint64_t posted = 0, taken = 0;
	int round;

	HOLDS(make_pair(&pair, IBV_QPT_RC, 0, NULL));
	for (round = 0; round < 20; round++) {
		const uint64_t until = posted + 6;

		for (; posted < until; posted++) {
			struct ibv_sge sge = piece(&pair, 0, 8);
			struct ibv_send_wr wr = write_wr(&pair, posted, &sge,
							 0);

			HOLDS(post(&pair.a, &wr));
			HOLDS(posted % 2 ||
			      await_good(pair.cq, taken++, &wc));
		}
		HOLDS(!ibv_resize_cq(pair.cq, round % 2 ? 20 : 200));
		for (; taken < posted; taken++)
			HOLDS(await_good(pair.cq, taken, &wc));
	}
	return end_pair(&pair, true);
}

struct worker {
	pthread_t thread;
	struct pair pair;
	bool good;
};

static bool work(struct worker *worker)
{
	struct pair *pair = &worker->pair;
	struct ibv_wc wc;
	uint64_t i;

	for (i = 0; i < ROUNDS; i++) {
		struct ibv_sge sge = piece(pair, 0, 16);
		struct ibv_send_wr wr = write_wr(pair, i, &sge, 16 * (i % 64));

		wr.send_flags |= IBV_SEND_INLINE;
		fill(pair->bytes, 16, i);
		HOLDS(post(&pair->a, &wr));
		HOLDS(await_good(pair->cq, i, &wc));
		HOLDS(is_filled(pair->bytes + BYTES + 16 * (i % 64), 16, i));
	}
	return true;
}

static void *run_worker(void *argument)
{
	struct worker *worker = argument;

	worker->good = work(worker);
	return NULL;
}

static bool check_threads(void)
{
	struct worker workers[THREADS];
	int i;

	for (i = 0; i < THREADS; i++)
		HOLDS(make_pair(&workers[i].pair, IBV_QPT_RC, 0, NULL));
	for (i = 0; i < THREADS; i++)
		pthread_create(&workers[i].thread, NULL, run_worker,
			       &workers[i]);
	for (i = 0; i < THREADS; i++)
		pthread_join(workers[i].thread, NULL);
	for (i = 0; i < THREADS; i++) {
		HOLDS(workers[i].good);
		HOLDS(end_pair(&workers[i].pair, true));
	}
	return true;
}

/* ---- Users */

enum {
	FIRST_USER = 60001,
	SHARE = 2, /* percent */
	MANY = 4096, /* more than that of any kind */
};

/* What a user has got of each kind. */
struct share {
	int pds, cqs, srqs, qps, windows, groups;
	int pages; /* contexts beside the first, and files of the other device */
};

/* Makes one after the other, until that fails for want of memory. */
#define COUNT(make)                                                            \
	({                                                                     \
		int count_ = 0;                                                \
		while (count_ < MANY && (make))                                \
			count_++;                                              \
		count_ < MANY && errno == ENOMEM ? count_ : -1;                \
	})

static struct ibv_srq *make_srq(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 1, .max_sge = 1 } };

	return ibv_create_srq(pd, &init);
}

static struct ibv_qp *make_qp(struct ibv_cq *cq, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = type,
	};

	return ibv_create_qp(pd, &init);
}

static bool attach(struct ibv_qp *qp, uint8_t number)
{
	union ibv_gid group = { .raw = { 0xff, 0x0e, [15] = number } };

	return !(errno = ibv_attach_mcast(qp, &group, 0));
}

/* By both ways into the device. */
static bool open_another(struct ibv_device *device)
{
	const int fd = open("/dev/exrnic0", O_RDWR);

	if (fd >= 0)
		return true;
	if (errno != EDQUOT)
		return false;
	return ibv_open_device(device);
}

static bool take_all(struct ibv_device *device, struct share *share)
{
	static uint8_t bytes[4096];
	struct ibv_qp *qp;
	struct ibv_cq *cq;
	uint8_t number = 0;

	context = ibv_open_device(device);
	HOLDS(context);
	pd = ibv_alloc_pd(context);
	cq = ibv_create_cq(context, 8, NULL, NULL, 0);
	HOLDS(pd && cq);
	qp = make_qp(cq, IBV_QPT_UD);
	HOLDS(qp);
	share->groups = COUNT(attach(qp, number++));
	share->qps = COUNT(make_qp(cq, IBV_QPT_RC));
	share->cqs = COUNT(ibv_create_cq(context, 8, NULL, NULL, 0));
	share->srqs = COUNT(make_srq());
	share->pds = COUNT(ibv_alloc_pd(context));
	share->windows = COUNT(number++ % 2 ? !!ibv_alloc_mw(pd, IBV_MW_TYPE_2) :
					     !!ibv_reg_mr(pd, bytes, sizeof(bytes), 0));
	share->pages = COUNT(open_another(device));
	return true;
}

/* A process of that user, which tells what it has got, and keeps it until it is killed. */
static pid_t start_user(uid_t uid, struct share *share)
{
	const struct rlimit no_limit = { RLIM_INFINITY, RLIM_INFINITY };
	struct share got = {};
	int fds[2], status;
	pid_t child;

	if (pipe(fds))
		return -1;
	fflush(stdout);
	child = fork();
	if (!child) {
		setrlimit(RLIMIT_MEMLOCK, &no_limit);
		if (setgid(uid) || setuid(uid) ||
		    prctl(PR_SET_PDEATHSIG, SIGKILL) ||
		    !take_all(context->device, &got))
			_exit(1);
		if (write(fds[1], &got, sizeof(got)) == sizeof(got))
			pause();
		_exit(1);
	}
	close(fds[1]);
	if (child > 0 && read(fds[0], share, sizeof(*share)) != sizeof(*share)) {
		waitpid(child, &status, 0);
		child = -1;
	}
	close(fds[0]);
	return child;
}

static void end_user(pid_t child)
{
	int status;

	kill(child, SIGKILL);
	waitpid(child, &status, 0);
}

static bool is_share(const struct share *share,
		     const struct ibv_device_attr *of)
{
	printf("  a user has got %d domains, %d completion queues, %d shared receive queues, %d queue pairs, %d regions and windows, %d groups, %d pages\n",
	       share->pds, share->cqs, share->srqs, share->qps, share->windows,
	       share->groups, share->pages);
	/* With what it had made before: a domain, a queue, a queue pair with a region. */
	HOLDS(share->cqs + 1 == of->max_cq * SHARE / 100);
	HOLDS(share->srqs == of->max_srq * SHARE / 100);
	HOLDS(share->qps + 1 == (of->max_qp + 2) * SHARE / 100);
	HOLDS(share->windows + 1 == (of->max_mr + 1) * SHARE / 100);
	HOLDS(share->groups == of->max_mcast_grp * SHARE / 100);
	HOLDS(share->pds > 0 && share->pages > 0);
	return true;
}

static bool set_share(int percent)
{
	FILE *file = fopen("/sys/module/exrnic/parameters/max_user_percent", "w");
	bool good;

	HOLDS(file);
	good = fprintf(file, "%d", percent) > 0;
	HOLDS(!fclose(file) && good);
	return true;
}

static bool let_all_open(void)
{
	char path[300];

	snprintf(path, sizeof(path), "/dev/infiniband/%s",
		 context->device->dev_name);
	HOLDS(!chmod(path, 0666));
	HOLDS(!chmod("/dev/exrnic0", 0666));
	return true;
}

static bool check_users(void)
{
	struct share first, second, again;
	struct ibv_device_attr attr;
	pid_t a, b;

	if (getuid())
		return true; /* who is not root has a share, too */
	HOLDS(!ibv_query_device(context, &attr));
	HOLDS(let_all_open() && set_share(SHARE));
	a = start_user(FIRST_USER, &first);
	HOLDS(a > 0);
	b = start_user(FIRST_USER + 1, &second);
	HOLDS(b > 0);
	HOLDS(is_share(&first, &attr));
	HOLDS(!memcmp(&first, &second, sizeof(first)));
	end_user(a);
	a = start_user(FIRST_USER, &again);
	HOLDS(a > 0 && !memcmp(&first, &again, sizeof(first)));
	end_user(a);
	end_user(b);
	return set_share(50);
}

static void *ask(void *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	for (;;)
		ibv_query_qp(qp, &attr, IBV_QP_STATE, &init);
	return NULL;
}

/* Its threads are in the kernel at any time, and wait for each other there. */
static void change_until_killed(struct ibv_device *device)
{
	const int few = IBV_ACCESS_LOCAL_WRITE;
	const int all = few | IBV_ACCESS_REMOTE_WRITE;
	static char bytes[BYTES];
	pthread_t thread;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	int i;

	context = ibv_open_device(device);
	pd = context ? ibv_alloc_pd(context) : NULL;
	cq = pd ? ibv_create_cq(context, 8, NULL, NULL, 0) : NULL;
	qp = cq ? make_qp(cq, IBV_QPT_RC) : NULL;
	mr = qp ? ibv_reg_mr(pd, bytes, sizeof(bytes), all) : NULL;
	for (i = 0; mr && i < 3; i++)
		pthread_create(&thread, NULL, ask, qp);
	for (i = 0; mr; i++)
		if (ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
				 i % 2 ? few : all))
			break;
	_exit(1);
}

static bool check_killed_in_change(void)
{
	const int rounds = 20;
	struct ibv_pd *other;
	int i, status;
	pid_t child;

	for (i = 0; i < rounds; i++) {
		fflush(stdout);
		child = fork();
		HOLDS(child >= 0);
		if (!child)
			change_until_killed(context->device);
		usleep(30000 + i * 397);
		kill(child, SIGKILL);
		HOLDS(waitpid(child, &status, 0) == child);
		HOLDS(WIFSIGNALED(status));
		other = ibv_alloc_pd(context);
		HOLDS(other && !ibv_dealloc_pd(other));
	}
	return true;
}

static const struct {
	const char *what;
	bool (*run)(void);
} checks[] = {
	{ "a batch of builders does what it says, once", check_builders },
	{ "a batch that is aborted, or has a bad request, leaves nothing",
	  check_abort },
	{ "inline data of any length are copied at the call", check_inline },
	{ "a datagram comes with a GRH, its sender and all bytes",
	  check_datagrams },
	{ "a full queue takes no more, and says of which request",
	  check_full_queue },
	{ "a queue pair takes work in its states, and flushes it in error",
	  check_states },
	{ "a queue pair may be allowed what the device has not, a region not",
	  check_unknown_rights },
	{ "a queue pair that is reset or destroyed leaves no completion",
	  check_forgets },
	{ "immediate data are the same number to the peer", check_immediate },
	{ "a region that the peer has invalidated is refused from then on",
	  check_invalidation },
	{ "a region whose rights or domain change keeps its key, and does what they say",
	  check_changed_region },
	{ "the peer writes where a memory window is bound, and nowhere else",
	  check_memory_window },
	{ "all peers of a domain write where its memory window of type 1 is bound last",
	  check_domain_window },
	{ "atomics say what was there before", check_atomics },
	{ "queue pairs share receives, whose limit is told",
	  check_shared_receives },
	{ "without locks, completions come one by one, each with a later time",
	  check_one_by_one },
	{ "no region is named by the last addresses of all", check_far_addresses },
	{ "a queue that is resized loses no completion", check_resize },
	{ "one user leaves what the device has few of to others, and all when it is killed",
	  check_users },
	{ "a process that is killed while it changes a region harms no other",
	  check_killed_in_change },
	{ "threads do not disturb each other", check_threads },
};

static bool open_device(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	int i;

	for (i = 0; list && list[i]; i++)
		if (!name || !strcmp(ibv_get_device_name(list[i]), name))
			context = ibv_open_device(list[i]);
	HOLDS(context);
	pd = ibv_alloc_pd(context);
	HOLDS(pd);
	HOLDS(!ibv_query_gid(context, 1, gid_index, &gid));
	return true;
}

int main(int argc, char **argv)
{
	unsigned int i, failed = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	gid_index = argc > 2 ? atoi(argv[2]) : 0;
	if (!open_device(argc > 1 ? argv[1] : NULL))
		return 1;
	for (i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		if (argc > 3 && !strstr(checks[i].what, argv[3]))
			continue;
		if (checks[i].run()) {
			printf("ok      %s\n", checks[i].what);
		} else {
			printf("FAILED  %s\n", checks[i].what);
			failed++;
		}
	}
	return failed ? 1 : 0;
}
