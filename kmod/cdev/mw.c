// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Memory windows. What they are bound to is the device's business: it ends them with region and queue pair. */
#include <linux/err.h>

#include "ucontext.h"

int exrnic_umw_alloc(struct exrnic_ucontext *uctx, struct exrnic_alloc_mw *attr)
{
	struct exrnic_umw *mw;
	int err;

	mw = exrnic_object_alloc(uctx, EXRNIC_KIND_MR, 1, sizeof(*mw));
	if (IS_ERR(mw))
		return PTR_ERR(mw);
	mw->pd = exrnic_upd_find(uctx, attr->pd);
	if (!mw->pd) {
		err = -ENOENT;
		goto err_free;
	}
	err = exrnic_mw_create(uctx->edev, &mw->mw, mw->pd->pdn, false);
	if (err)
		goto err_free;
	err = xa_insert(&uctx->mws, mw->mw.stag, mw, GFP_KERNEL);
	if (err)
		goto err_device;
	mw->pd->users++;
	attr->stag = mw->mw.stag;
	return 0;

err_device:
	exrnic_mw_destroy(uctx->edev, &mw->mw);
err_free:
	exrnic_object_free(uctx, mw);
	return err;
}

static void exrnic_umw_release(struct exrnic_ucontext *uctx, struct exrnic_umw *mw)
{
	exrnic_mw_destroy(uctx->edev, &mw->mw);
	mw->pd->users--;
	xa_erase(&uctx->mws, mw->mw.stag);
	exrnic_object_free(uctx, mw);
}

int exrnic_umw_dealloc(struct exrnic_ucontext *uctx, u32 stag)
{
	struct exrnic_umw *mw = xa_load(&uctx->mws, stag);

	if (!mw)
		return -ENOENT;
	exrnic_umw_release(uctx, mw);
	return exrnic_device_error(uctx->edev);
}

void exrnic_umw_release_all(struct exrnic_ucontext *uctx)
{
	struct exrnic_umw *mw;
	unsigned long i;

	xa_for_each(&uctx->mws, i, mw)
		exrnic_umw_release(uctx, mw);
	xa_destroy(&uctx->mws);
}
