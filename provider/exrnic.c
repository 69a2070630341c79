// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The provider of exrnic: its device, its context, and which functions do
 * what. The data path is exrnic_data_path.h, which libverbs-lite is built on,
 * too.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "exrnic_verbs.h"

static void exrnic_free_context(struct ibv_context *ibctx)
{
	struct exrnic_context *ctx = to_exrnic_ctx(ibctx);

	munmap((void *)ctx->page.mapped, EXRNIC_USER_PAGE_SIZE);
	free(ctx->qps);
	pthread_mutex_destroy(&ctx->control);
	pthread_spin_destroy(&ctx->pio_lock);
	verbs_uninit_context(&ctx->ibv_ctx);
	free(ctx);
}

static const struct verbs_context_ops exrnic_context_ops = {
	.alloc_mw = exrnic_alloc_mw,
	.alloc_parent_domain = exrnic_alloc_parent_domain,
	.alloc_pd = exrnic_alloc_pd,
	.alloc_td = exrnic_alloc_td,
	.attach_mcast = ibv_cmd_attach_mcast,
	.bind_mw = exrnic_bind_mw,
	.create_ah = exrnic_create_ah,
	.create_cq = exrnic_create_cq,
	.create_cq_ex = exrnic_create_cq_ex,
	.create_qp = exrnic_create_qp,
	.create_qp_ex = exrnic_create_qp_ex,
	.create_srq = exrnic_create_srq,
	.create_srq_ex = exrnic_create_srq_ex,
	.dealloc_mw = exrnic_dealloc_mw,
	.dealloc_pd = exrnic_dealloc_pd,
	.dealloc_td = exrnic_dealloc_td,
	.dereg_mr = exrnic_dereg_mr,
	.destroy_ah = exrnic_destroy_ah,
	.destroy_cq = exrnic_destroy_cq,
	.destroy_qp = exrnic_destroy_qp,
	.destroy_srq = exrnic_destroy_srq,
	.detach_mcast = ibv_cmd_detach_mcast,
	.free_context = exrnic_free_context,
	.modify_qp = exrnic_modify_qp,
	.modify_srq = exrnic_modify_srq,
	.poll_cq = exrnic_poll_cq,
	.post_recv = exrnic_post_recv,
	.post_send = exrnic_post_send,
	.post_srq_recv = exrnic_post_srq_recv,
	.query_device_ex = exrnic_query_device_ex,
	.query_port = exrnic_query_port,
	.query_qp = exrnic_query_qp,
	.query_srq = exrnic_query_srq,
	.reg_dmabuf_mr = exrnic_reg_dmabuf_mr,
	.reg_mr = exrnic_reg_mr,
	.req_notify_cq = exrnic_req_notify_cq,
	.rereg_mr = exrnic_rereg_mr,
	.resize_cq = exrnic_resize_cq,
};

/* 0, or an errno. */
static int exrnic_set_up(struct exrnic_context *ctx, int cmd_fd,
			 const struct exrnic_ib_alloc_ucontext_resp *resp)
{
	void *page;

	if (resp->device_abi != EXRNIC_ABI_VERSION) {
		fprintf(stderr,
			"libexrnic: Warning: %s has ABI %u, this provider is for %u: build it from the device's sources\n",
			ctx->ibv_ctx.context.device->name, resp->device_abi,
			EXRNIC_ABI_VERSION);
		return EPROTONOSUPPORT;
	}

	ctx->max_qp = resp->max_qp;
	ctx->qps = calloc(ctx->max_qp, sizeof(*ctx->qps));
	if (!ctx->qps)
		return ENOMEM;

	page = mmap(NULL, EXRNIC_USER_PAGE_SIZE, PROT_READ | PROT_WRITE,
		    MAP_SHARED, cmd_fd, resp->page_offset);
	if (page == MAP_FAILED) {
		const int ret = errno;

		free(ctx->qps);
		return ret;
	}
	ctx->page.mapped = page;
	pthread_spin_init(&ctx->pio_lock, PTHREAD_PROCESS_PRIVATE);
	pthread_mutex_init(&ctx->control, NULL);
	return 0;
}

static struct verbs_context *exrnic_alloc_context(struct ibv_device *ibdev,
						  int cmd_fd,
						  void *private_data)
{
	struct exrnic_get_context_resp resp = {};
	struct ibv_get_context cmd = {};
	struct exrnic_context *ctx;
	int ret;

	ctx = verbs_init_and_alloc_context(ibdev, cmd_fd, ctx, ibv_ctx,
					   RDMA_DRIVER_UNKNOWN);
	if (!ctx)
		return NULL;

	ret = ibv_cmd_get_context(&ctx->ibv_ctx, &cmd, sizeof(cmd),
				  &resp.ibv_resp, sizeof(resp));
	if (ret)
		goto err;

	ret = exrnic_set_up(ctx, cmd_fd, &resp.drv_payload);
	if (ret)
		goto err;

	verbs_set_ops(&ctx->ibv_ctx, &exrnic_context_ops);
	return &ctx->ibv_ctx;

err:
	verbs_uninit_context(&ctx->ibv_ctx);
	free(ctx);
	errno = ret;
	return NULL;
}

static struct verbs_device *
exrnic_device_alloc(struct verbs_sysfs_dev *sysfs_dev)
{
	return calloc(1, sizeof(struct verbs_device));
}

static void exrnic_uninit_device(struct verbs_device *vdev)
{
	free(vdev);
}

/* The kernel knows no number of this driver: RDMA_DRIVER_UNKNOWN. */
static const struct verbs_match_ent exrnic_match_table[] = {
	VERBS_PCI_MATCH(EXRNIC_PCI_VENDOR_ID, EXRNIC_PCI_DEVICE_ID, NULL),
	{},
};

/* libibverbs says so if the driver's ABI is another one. */
static const struct verbs_device_ops exrnic_dev_ops = {
	.name = "exrnic",
	.match_min_abi_version = EXRNIC_IB_ABI_VERSION,
	.match_max_abi_version = EXRNIC_IB_ABI_VERSION,
	.match_table = exrnic_match_table,
	.alloc_device = exrnic_device_alloc,
	.uninit_device = exrnic_uninit_device,
	.alloc_context = exrnic_alloc_context,
};

PROVIDER_DRIVER(exrnic, exrnic_dev_ops);
