// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <linux/err.h>

#include "ucontext.h"

int exrnic_upd_alloc(struct exrnic_ucontext *uctx, u32 *pdn)
{
	struct exrnic_upd *pd;
	int err;

	pd = exrnic_object_alloc(uctx, EXRNIC_KIND_PD, 1, sizeof(*pd));
	if (IS_ERR(pd))
		return PTR_ERR(pd);
	err = exrnic_pd_alloc(uctx->edev, &pd->pdn);
	if (err)
		goto err_free;
	err = xa_insert(&uctx->pds, pd->pdn, pd, GFP_KERNEL);
	if (err)
		goto err_number;
	*pdn = pd->pdn;
	return 0;

err_number:
	exrnic_pd_free(uctx->edev, pd->pdn);
err_free:
	exrnic_object_free(uctx, pd);
	return err;
}

static void exrnic_upd_release(struct exrnic_ucontext *uctx, struct exrnic_upd *pd)
{
	xa_erase(&uctx->pds, pd->pdn);
	exrnic_pd_free(uctx->edev, pd->pdn);
	exrnic_object_free(uctx, pd);
}

struct exrnic_upd *exrnic_upd_find(struct exrnic_ucontext *uctx, u32 pdn)
{
	return xa_load(&uctx->pds, pdn);
}

int exrnic_upd_dealloc(struct exrnic_ucontext *uctx, u32 pdn)
{
	struct exrnic_upd *pd = exrnic_upd_find(uctx, pdn);

	if (!pd)
		return -ENOENT;
	if (pd->users)
		return -EBUSY;
	exrnic_upd_release(uctx, pd);
	return 0;
}

void exrnic_upd_release_all(struct exrnic_ucontext *uctx)
{
	struct exrnic_upd *pd;
	unsigned long i;

	xa_for_each(&uctx->pds, i, pd)
		exrnic_upd_release(uctx, pd);
	xa_destroy(&uctx->pds);
}
