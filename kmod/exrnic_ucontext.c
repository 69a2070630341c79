// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "exrnic_core.h"

int exrnic_ucontext_init(struct exrnic_ucontext *uctx, struct exrnic_device *edev,
			 const struct exrnic_face_ops *face)
{
	int err;

	err = exrnic_page_alloc(edev, &uctx->page);
	if (err)
		return err;
	uctx->edev = edev;
	uctx->face = face;
	uctx->dead = false;
	mutex_init(&uctx->lock);
	xa_init(&uctx->pds);
	xa_init(&uctx->cqs);
	xa_init(&uctx->srqs);
	xa_init(&uctx->qps);
	xa_init(&uctx->mrs);

	mutex_lock(&edev->lock);
	if (edev->removed) {
		err = -ENODEV;
	} else {
		kref_get(&edev->ref);
		list_add_tail(&uctx->entry, &edev->ucontexts);
	}
	mutex_unlock(&edev->lock);
	if (err)
		exrnic_page_free(edev, uctx->page);
	return err;
}

/* Users before what they use: queue pairs hold queues, and all hold domains. */
static void exrnic_ucontext_release_objects(struct exrnic_ucontext *uctx)
{
	mutex_lock(&uctx->lock);
	exrnic_qp_release_all(uctx);
	exrnic_srq_release_all(uctx);
	exrnic_mr_release_all(uctx);
	exrnic_cq_release_all(uctx);
	exrnic_pd_release_all(uctx);
	uctx->dead = true;
	mutex_unlock(&uctx->lock);
}

void exrnic_ucontext_disassociate(struct exrnic_ucontext *uctx)
{
	lockdep_assert_held(&uctx->edev->lock);
	uctx->face->disassociate(uctx);
	exrnic_ucontext_release_objects(uctx);
}

/*
 * The objects go first: as long as the context is on the list, removal waits for them. Behind
 * the list the device may be gone.
 */
void exrnic_ucontext_destroy(struct exrnic_ucontext *uctx)
{
	struct exrnic_device *edev = uctx->edev;

	exrnic_ucontext_release_objects(uctx);
	mutex_lock(&edev->lock);
	list_del(&uctx->entry);
	mutex_unlock(&edev->lock);
	exrnic_page_free(edev, uctx->page);
	exrnic_device_put(edev);
}
