/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The commands of uverbs, each with the driver's part behind it. */
#ifndef EXRNIC_PROVIDER_ABI_H
#define EXRNIC_PROVIDER_ABI_H

#include <infiniband/kern-abi.h>
#include <rdma/exrnic-abi.h>
#include <kernel-abi/exrnic-abi.h>

DECLARE_DRV_CMD(exrnic_get_context, IB_USER_VERBS_CMD_GET_CONTEXT,
		empty, exrnic_ib_alloc_ucontext_resp);
DECLARE_DRV_CMD(exrnic_alloc_pd, IB_USER_VERBS_CMD_ALLOC_PD,
		empty, exrnic_ib_alloc_pd_resp);
DECLARE_DRV_CMD(exrnic_create_cq, IB_USER_VERBS_CMD_CREATE_CQ,
		exrnic_ib_create_cq, exrnic_ib_create_cq_resp);
DECLARE_DRV_CMD(exrnic_create_cq_ex, IB_USER_VERBS_EX_CMD_CREATE_CQ,
		exrnic_ib_create_cq, exrnic_ib_create_cq_resp);
DECLARE_DRV_CMD(exrnic_resize_cq, IB_USER_VERBS_CMD_RESIZE_CQ,
		exrnic_ib_resize_cq, exrnic_ib_resize_cq_resp);
DECLARE_DRV_CMD(exrnic_create_srq, IB_USER_VERBS_CMD_CREATE_SRQ,
		exrnic_ib_create_srq, exrnic_ib_create_srq_resp);
DECLARE_DRV_CMD(exrnic_create_qp, IB_USER_VERBS_EX_CMD_CREATE_QP,
		exrnic_ib_create_qp, exrnic_ib_create_qp_resp);
DECLARE_DRV_CMD(exrnic_create_ah, IB_USER_VERBS_CMD_CREATE_AH,
		empty, exrnic_ib_create_ah_resp);

#endif /* EXRNIC_PROVIDER_ABI_H */
