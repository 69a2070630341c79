// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Protection domains. To the device a domain is just a number that regions and queue pairs must
 * share, so it is unique among all contexts and no command makes it.
 */
#include <linux/err.h>

#include "exrnic_core.h"

#define EXRNIC_PD_MIN 1

int exrnic_pd_alloc(struct exrnic_ucontext *uctx, u32 *pdn)
{
	struct exrnic_pd *pd;
	int id, err;

	pd = exrnic_object_alloc(uctx, sizeof(*pd));
	if (IS_ERR(pd))
		return PTR_ERR(pd);
	id = ida_alloc_range(&uctx->edev->pds, EXRNIC_PD_MIN, EXRNIC_FW_PD - 1, GFP_KERNEL);
	if (id < 0) {
		err = id;
		goto err_free;
	}
	pd->pdn = id;
	err = xa_insert(&uctx->pds, pd->pdn, pd, GFP_KERNEL);
	if (err)
		goto err_number;
	*pdn = pd->pdn;
	return 0;

err_number:
	ida_free(&uctx->edev->pds, id);
err_free:
	exrnic_object_free(uctx, pd);
	return err;
}

static void exrnic_pd_release(struct exrnic_ucontext *uctx, struct exrnic_pd *pd)
{
	xa_erase(&uctx->pds, pd->pdn);
	ida_free(&uctx->edev->pds, pd->pdn);
	exrnic_object_free(uctx, pd);
}

struct exrnic_pd *exrnic_pd_find(struct exrnic_ucontext *uctx, u32 pdn)
{
	return xa_load(&uctx->pds, pdn);
}

int exrnic_pd_dealloc(struct exrnic_ucontext *uctx, u32 pdn)
{
	struct exrnic_pd *pd = exrnic_pd_find(uctx, pdn);

	if (!pd)
		return -ENOENT;
	if (pd->users)
		return -EBUSY;
	exrnic_pd_release(uctx, pd);
	return 0;
}

void exrnic_pd_release_all(struct exrnic_ucontext *uctx)
{
	struct exrnic_pd *pd;
	unsigned long i;

	xa_for_each(&uctx->pds, i, pd)
		exrnic_pd_release(uctx, pd);
	xa_destroy(&uctx->pds);
}
