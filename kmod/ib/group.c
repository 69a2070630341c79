// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Groups to which a queue pair is attached: GIDs may share one. */
#include <linux/slab.h>

#include "ib.h"

struct exrnic_ib_group {
	struct list_head entry;
	u32 group;
	unsigned int gids;
};

static struct exrnic_ib_group *exrnic_ib_group_find(struct exrnic_ib_qp *qp, u32 group)
{
	struct exrnic_ib_group *of;

	list_for_each_entry(of, &qp->groups, entry)
		if (of->group == group)
			return of;
	return NULL;
}

void exrnic_ib_groups_init(struct exrnic_ib_qp *qp)
{
	mutex_init(&qp->groups_lock);
	INIT_LIST_HEAD(&qp->groups);
}

void exrnic_ib_groups_free(struct exrnic_ib_qp *qp)
{
	struct exrnic_ib_group *of, *next;

	list_for_each_entry_safe(of, next, &qp->groups, entry) {
		exrnic_ib_uncharge(qp->user, EXRNIC_KIND_ATTACHMENT, 1);
		kfree(of);
	}
}

static int exrnic_ib_group_add(struct exrnic_ib_qp *qp, u32 group)
{
	struct exrnic_ib_group *of = exrnic_ib_group_find(qp, group);
	int err;

	if (of) {
		of->gids++;
		return 0;
	}
	of = kzalloc(sizeof(*of), GFP_KERNEL_ACCOUNT);
	if (!of)
		return -ENOMEM;
	err = exrnic_ib_charge(qp->user, EXRNIC_KIND_ATTACHMENT, 1);
	if (err)
		goto err_memory;
	err = exrnic_qp_attach_group(exrnic_ib_edev(qp->ibqp.device), &qp->qp, group);
	if (err)
		goto err_charge;
	of->group = group;
	of->gids = 1;
	list_add_tail(&of->entry, &qp->groups);
	return 0;

err_charge:
	exrnic_ib_uncharge(qp->user, EXRNIC_KIND_ATTACHMENT, 1);
err_memory:
	kfree(of);
	return err;
}

static int exrnic_ib_group_remove(struct exrnic_ib_qp *qp, u32 group)
{
	struct exrnic_ib_group *of = exrnic_ib_group_find(qp, group);

	if (!of)
		return -EINVAL;
	if (--of->gids)
		return 0;
	list_del(&of->entry);
	kfree(of);
	/* What fails here ends with the queue pair, which the RDMA core would keep for ever if it were told. */
	exrnic_qp_detach_group(exrnic_ib_edev(qp->ibqp.device), &qp->qp, group);
	exrnic_ib_uncharge(qp->user, EXRNIC_KIND_ATTACHMENT, 1);
	return 0;
}

/* The core lets nobody attach to a GID twice. */
int exrnic_ib_attach_mcast(struct ib_qp *ibqp, union ib_gid *mgid, u16 lid)
{
	struct exrnic_ib_qp *qp = exrnic_ib_qp(ibqp);
	int err;

	mutex_lock(&qp->groups_lock);
	err = exrnic_ib_group_add(qp, exrnic_ib_group_of(mgid));
	mutex_unlock(&qp->groups_lock);
	return err;
}

int exrnic_ib_detach_mcast(struct ib_qp *ibqp, union ib_gid *mgid, u16 lid)
{
	struct exrnic_ib_qp *qp = exrnic_ib_qp(ibqp);
	int err;

	mutex_lock(&qp->groups_lock);
	err = exrnic_ib_group_remove(qp, exrnic_ib_group_of(mgid));
	mutex_unlock(&qp->groups_lock);
	return err;
}
