// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Queries, domains, memory regions, address handles: what is off the data path. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exrnic_verbs.h"

int exrnic_query_device_ex(struct ibv_context *ibctx,
			   const struct ibv_query_device_ex_input *input,
			   struct ibv_device_attr_ex *attr, size_t attr_size)
{
	struct ib_uverbs_ex_query_device_resp resp = {};
	size_t resp_size = sizeof(resp);
	uint64_t version;
	int ret;

	ret = ibv_cmd_query_device_any(ibctx, input, attr, attr_size, &resp,
				       &resp_size);
	if (ret)
		return ret;

	version = resp.base.fw_ver;
	snprintf(attr->orig_attr.fw_ver, sizeof(attr->orig_attr.fw_ver),
		 "%u.%u.%u", (unsigned int)(version >> 32),
		 (unsigned int)(version >> 16 & 0xffff),
		 (unsigned int)(version & 0xffff));
	return 0;
}

int exrnic_query_port(struct ibv_context *ibctx, uint8_t port,
		      struct ibv_port_attr *attr)
{
	struct ibv_query_port cmd;

	return ibv_cmd_query_port(ibctx, port, attr, &cmd, sizeof(cmd));
}

struct ibv_td *exrnic_alloc_td(struct ibv_context *ibctx,
			       struct ibv_td_init_attr *attr)
{
	struct exrnic_td *td;

	if (attr->comp_mask) {
		errno = EOPNOTSUPP;
		return NULL;
	}

	td = calloc(1, sizeof(*td));
	if (!td)
		return NULL;

	td->ibv_td.context = ibctx;
	atomic_init(&td->refcount, 0);
	return &td->ibv_td;
}

int exrnic_dealloc_td(struct ibv_td *ibtd)
{
	struct exrnic_td *td = to_exrnic_td(ibtd);

	if (atomic_load(&td->refcount) > 0)
		return EBUSY;
	free(td);
	return 0;
}

struct ibv_pd *exrnic_alloc_pd(struct ibv_context *ibctx)
{
	struct exrnic_alloc_pd_resp resp = {};
	struct ibv_alloc_pd cmd;
	struct exrnic_pd *pd;

	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return NULL;

	if (ibv_cmd_alloc_pd(ibctx, &pd->ibv_pd, &cmd, sizeof(cmd),
			     &resp.ibv_resp, sizeof(resp))) {
		free(pd);
		return NULL;
	}
	atomic_init(&pd->refcount, 0);
	return &pd->ibv_pd;
}

struct ibv_pd *
exrnic_alloc_parent_domain(struct ibv_context *ibctx,
			   struct ibv_parent_domain_init_attr *attr)
{
	struct exrnic_pd *pd;

	if (ibv_check_alloc_parent_domain(attr))
		return NULL;
	if (!check_comp_mask(attr->comp_mask,
			     IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
				     IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT)) {
		errno = EOPNOTSUPP;
		return NULL;
	}

	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return NULL;

	atomic_init(&pd->refcount, 0);
	pd->protection_domain = to_exrnic_pd(attr->pd);
	atomic_fetch_add(&pd->protection_domain->refcount, 1);
	if (attr->td) {
		pd->td = to_exrnic_td(attr->td);
		atomic_fetch_add(&pd->td->refcount, 1);
	}
	if (attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS) {
		pd->alloc = attr->alloc;
		pd->free = attr->free;
	}
	if (attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT)
		pd->pd_context = attr->pd_context;
	ibv_initialize_parent_domain(&pd->ibv_pd,
				     &pd->protection_domain->ibv_pd);
	return &pd->ibv_pd;
}

int exrnic_dealloc_pd(struct ibv_pd *ibpd)
{
	struct exrnic_pd *pd = to_exrnic_pd(ibpd);
	int ret;

	if (atomic_load(&pd->refcount) > 0)
		return EBUSY;

	if (pd->protection_domain) {
		atomic_fetch_sub(&pd->protection_domain->refcount, 1);
		if (pd->td)
			atomic_fetch_sub(&pd->td->refcount, 1);
	} else {
		ret = ibv_cmd_dealloc_pd(ibpd);
		if (ret)
			return ret;
	}
	free(pd);
	return 0;
}

struct ibv_mr *exrnic_reg_mr(struct ibv_pd *ibpd, void *addr, size_t length,
			     uint64_t hca_va, int access)
{
	struct ib_uverbs_reg_mr_resp resp;
	struct ibv_reg_mr cmd;
	struct verbs_mr *vmr;

	vmr = calloc(1, sizeof(*vmr));
	if (!vmr)
		return NULL;

	if (ibv_cmd_reg_mr(ibpd, addr, length, hca_va, access, vmr, &cmd,
			   sizeof(cmd), &resp, sizeof(resp))) {
		free(vmr);
		return NULL;
	}
	return &vmr->ibv_mr;
}

struct ibv_mr *exrnic_reg_dmabuf_mr(struct ibv_pd *ibpd, uint64_t offset,
				    size_t length, uint64_t iova, int fd,
				    int access)
{
	struct verbs_mr *vmr;

	vmr = calloc(1, sizeof(*vmr));
	if (!vmr)
		return NULL;

	if (ibv_cmd_reg_dmabuf_mr(ibpd, offset, length, iova, fd, access, vmr,
				  NULL)) {
		free(vmr);
		return NULL;
	}
	return &vmr->ibv_mr;
}

int exrnic_rereg_mr(struct verbs_mr *vmr, int flags, struct ibv_pd *ibpd,
		    void *addr, size_t length, int access)
{
	struct ib_uverbs_rereg_mr_resp resp;
	struct ibv_rereg_mr cmd;

	return ibv_cmd_rereg_mr(vmr, flags, addr, length, (uintptr_t)addr,
				access, ibpd, &cmd, sizeof(cmd), &resp,
				sizeof(resp));
}

int exrnic_dereg_mr(struct verbs_mr *vmr)
{
	int ret;

	ret = ibv_cmd_dereg_mr(vmr);
	if (ret)
		return ret;
	free(vmr);
	return 0;
}

/* The kernel knows which types there are. */
struct ibv_mw *exrnic_alloc_mw(struct ibv_pd *ibpd, enum ibv_mw_type type)
{
	struct ib_uverbs_alloc_mw_resp resp;
	struct ibv_alloc_mw cmd;
	struct ibv_mw *mw;

	mw = calloc(1, sizeof(*mw));
	if (!mw)
		return NULL;

	if (ibv_cmd_alloc_mw(ibpd, type, mw, &cmd, sizeof(cmd), &resp,
			     sizeof(resp))) {
		free(mw);
		return NULL;
	}
	return mw;
}

int exrnic_dealloc_mw(struct ibv_mw *ibmw)
{
	int ret;

	ret = ibv_cmd_dealloc_mw(ibmw);
	if (ret)
		return ret;
	free(ibmw);
	return 0;
}

struct ibv_ah *exrnic_create_ah(struct ibv_pd *ibpd, struct ibv_ah_attr *attr)
{
	struct exrnic_create_ah_resp resp = {};
	struct exrnic_ah *ah;

	ah = calloc(1, sizeof(*ah));
	if (!ah)
		return NULL;

	if (ibv_cmd_create_ah(ibpd, &ah->ibv_ah, attr, &resp.ibv_resp,
			      sizeof(resp))) {
		free(ah);
		return NULL;
	}
	ah->destination = (uint64_t)resp.destination_high << 32 |
			  resp.destination_low;
	ah->is_group = resp.is_group;
	memcpy(ah->grh, resp.grh, sizeof(ah->grh));
	return &ah->ibv_ah;
}

int exrnic_destroy_ah(struct ibv_ah *ibah)
{
	int ret;

	ret = ibv_cmd_destroy_ah(ibah);
	if (ret)
		return ret;
	free(to_exrnic_ah(ibah));
	return 0;
}
