// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What one context, one user, and all of them together, may hold: beyond what the tables of the device and
 * RLIMIT_MEMLOCK allow, as the administrator says. New limits hold for what comes after them. The rdma
 * cgroup counts contexts as handles, and objects as objects, of the process that makes them.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "ucontext.h"

#define EXRNIC_PAGES_PER_MIB (1UL << (20 - PAGE_SHIFT))

static unsigned int max_objects;
module_param(max_objects, uint, 0644);
MODULE_PARM_DESC(max_objects, "Most objects of an open file; 0: as many as the device has");

static unsigned int max_user_percent = 50;
module_param(max_user_percent, uint, 0644);
MODULE_PARM_DESC(max_user_percent,
		 "Most that a user without CAP_SYS_RESOURCE may have of anything that a device has: user pages, objects of each kind, places for PULLs, percent");

static unsigned int max_pinned_mib;
module_param(max_pinned_mib, uint, 0644);
MODULE_PARM_DESC(max_pinned_mib, "Most memory that an open file may pin, MiB; 0: no limit");

static unsigned int max_device_pinned_mib;
module_param(max_device_pinned_mib, uint, 0644);
MODULE_PARM_DESC(max_device_pinned_mib, "Most memory pinned for a device, MiB; 0: no limit");

/* ---- The rdma cgroup. Its try_charge says -EAGAIN for what is a quota here. */

void exrnic_limits_init(struct exrnic_chardev *chardev)
{
	mutex_init(&chardev->users_lock);
	INIT_LIST_HEAD(&chardev->users);
}

int exrnic_limits_publish(struct exrnic_chardev *chardev, const char *name)
{
	chardev->cgroup_device.name = kstrdup(name, GFP_KERNEL);
	if (!chardev->cgroup_device.name)
		return -ENOMEM;
	rdmacg_register_device(&chardev->cgroup_device);
	return 0;
}

void exrnic_limits_fini(struct exrnic_chardev *chardev)
{
	if (!chardev->cgroup_device.name)
		return;
	rdmacg_unregister_device(&chardev->cgroup_device);
	kfree(chardev->cgroup_device.name);
}

static int exrnic_cgroup_charge(struct exrnic_chardev *chardev, struct rdma_cgroup **cgroup,
				enum rdmacg_resource_type type)
{
	int err = rdmacg_try_charge(cgroup, &chardev->cgroup_device, type);

	return err == -EAGAIN ? -EDQUOT : err;
}

/* ---- What a device has, and who has how much of it */

/* There as long as it has anything. */
struct exrnic_user {
	struct list_head entry;	/* of exrnic_chardev.users */
	kuid_t uid;
	u32 held[EXRNIC_KINDS];
	u32 total;
};

static u32 exrnic_user_limit(const struct exrnic_chardev *chardev, enum exrnic_kind kind)
{
	const struct exrnic_limits *limits = exrnic_device_limits(chardev->edev);
	const u32 all[EXRNIC_KINDS] = {
		[EXRNIC_KIND_PAGE] = limits->user_pages,
		[EXRNIC_KIND_PD] = EXRNIC_FW_PD,
		[EXRNIC_KIND_CQ] = limits->cq,
		[EXRNIC_KIND_SRQ] = limits->srq,
		[EXRNIC_KIND_QP] = limits->qp,
		[EXRNIC_KIND_MR] = limits->stag,
		[EXRNIC_KIND_WINDOW] = limits->windows,
		[EXRNIC_KIND_PORT] = EXRNIC_PORTS,
		[EXRNIC_KIND_MSG_CHANNEL] = EXRNIC_FW_CHANNELS,
		[EXRNIC_KIND_ATTACHMENT] = EXRNIC_MAX_ATTACHED,
		[EXRNIC_KIND_READ_OUT] = limits->read_pool,
		[EXRNIC_KIND_READ_IN] = limits->read_pool,
	};

	return max(all[kind] * min(READ_ONCE(max_user_percent), 100u) / 100, 1u);
}

static struct exrnic_user *exrnic_user_find(struct exrnic_chardev *chardev, kuid_t uid)
{
	struct exrnic_user *user;

	lockdep_assert_held(&chardev->users_lock);
	list_for_each_entry(user, &chardev->users, entry)
		if (uid_eq(user->uid, uid))
			return user;
	user = kzalloc(sizeof(*user), GFP_KERNEL_ACCOUNT);
	if (!user)
		return NULL;
	user->uid = uid;
	list_add_tail(&user->entry, &chardev->users);
	return user;
}

static void exrnic_user_forget(struct exrnic_user *user)
{
	if (user->total)
		return;
	list_del(&user->entry);
	kfree(user);
}

static int exrnic_user_take(struct exrnic_chardev *chardev, struct exrnic_user *user,
			    enum exrnic_kind kind, u32 count)
{
	lockdep_assert_held(&chardev->users_lock);
	if (count && user->held[kind] + count > exrnic_user_limit(chardev, kind) &&
	    !capable(CAP_SYS_RESOURCE))
		return -EDQUOT;
	user->held[kind] += count;
	user->total += count;
	return 0;
}

static int exrnic_limits_take(struct exrnic_ucontext *uctx, enum exrnic_kind kind, u32 count)
{
	struct exrnic_chardev *chardev = uctx->chardev;
	int err;

	mutex_lock(&chardev->users_lock);
	err = exrnic_user_take(chardev, uctx->user, kind, count);
	mutex_unlock(&chardev->users_lock);
	return err;
}

static void exrnic_limits_give_back(struct exrnic_ucontext *uctx, enum exrnic_kind kind, u32 count)
{
	struct exrnic_chardev *chardev = uctx->chardev;
	struct exrnic_user *user = uctx->user;

	mutex_lock(&chardev->users_lock);
	user->held[kind] -= count;
	user->total -= count;
	exrnic_user_forget(user);
	mutex_unlock(&chardev->users_lock);
}

static int exrnic_limits_take_page(struct exrnic_ucontext *uctx)
{
	struct exrnic_chardev *chardev = uctx->chardev;
	int err = -ENOMEM;

	mutex_lock(&chardev->users_lock);
	uctx->user = exrnic_user_find(chardev, current_uid());
	if (uctx->user) {
		err = exrnic_user_take(chardev, uctx->user, EXRNIC_KIND_PAGE, 1);
		exrnic_user_forget(uctx->user);
	}
	mutex_unlock(&chardev->users_lock);
	return err;
}

int exrnic_limits_open(struct exrnic_ucontext *uctx)
{
	int err = exrnic_cgroup_charge(uctx->chardev, &uctx->cgroup, RDMACG_RESOURCE_HCA_HANDLE);

	if (err)
		return err;
	err = exrnic_limits_take_page(uctx);
	if (err)
		rdmacg_uncharge(uctx->cgroup, &uctx->chardev->cgroup_device,
				RDMACG_RESOURCE_HCA_HANDLE);
	return err;
}

void exrnic_limits_close(struct exrnic_ucontext *uctx)
{
	exrnic_limits_give_back(uctx, EXRNIC_KIND_PAGE, 1);
	rdmacg_uncharge(uctx->cgroup, &uctx->chardev->cgroup_device, RDMACG_RESOURCE_HCA_HANDLE);
}

/* ---- Objects. In front of each is whom it is charged to, and how much. */

struct exrnic_charge {
	struct rdma_cgroup *cgroup;
	enum exrnic_kind kind;
	u32 count;
};

struct exrnic_object_head {
	struct exrnic_charge charge;
	u64 object[];
};

static struct exrnic_object_head *exrnic_object_head_of(void *object)
{
	return container_of(object, struct exrnic_object_head, object);
}

static int exrnic_object_charge(struct exrnic_ucontext *uctx, struct exrnic_charge *charge)
{
	unsigned int limit = READ_ONCE(max_objects);
	int err;

	if (limit && uctx->objects >= limit)
		return -EDQUOT;
	err = exrnic_limits_take(uctx, charge->kind, charge->count);
	if (err)
		return err;
	err = exrnic_cgroup_charge(uctx->chardev, &charge->cgroup, RDMACG_RESOURCE_HCA_OBJECT);
	if (err)
		exrnic_limits_give_back(uctx, charge->kind, charge->count);
	else
		uctx->objects++;
	return err;
}

static void exrnic_object_uncharge(struct exrnic_ucontext *uctx, const struct exrnic_charge *charge)
{
	uctx->objects--;
	rdmacg_uncharge(charge->cgroup, &uctx->chardev->cgroup_device, RDMACG_RESOURCE_HCA_OBJECT);
	exrnic_limits_give_back(uctx, charge->kind, charge->count);
}

void *exrnic_object_alloc_free_of_charge(size_t bytes)
{
	struct exrnic_object_head *head = kzalloc(sizeof(*head) + bytes, GFP_KERNEL_ACCOUNT);

	return head ? head->object : ERR_PTR(-ENOMEM);
}

void exrnic_object_free_uncharged(void *object)
{
	kfree(exrnic_object_head_of(object));
}

void *exrnic_object_alloc(struct exrnic_ucontext *uctx, enum exrnic_kind kind, u32 count,
			  size_t bytes)
{
	void *object = exrnic_object_alloc_free_of_charge(bytes);
	struct exrnic_charge *charge;
	int err;

	if (IS_ERR(object))
		return object;
	charge = &exrnic_object_head_of(object)->charge;
	charge->kind = kind;
	charge->count = count;
	err = exrnic_object_charge(uctx, charge);
	if (!err)
		return object;
	exrnic_object_free_uncharged(object);
	return ERR_PTR(err);
}

void exrnic_object_hand_over(void *from, void *to)
{
	swap(exrnic_object_head_of(from)->charge, exrnic_object_head_of(to)->charge);
}

void exrnic_object_free(struct exrnic_ucontext *uctx, void *object)
{
	exrnic_object_uncharge(uctx, &exrnic_object_head_of(object)->charge);
	exrnic_object_free_uncharged(object);
}

/* ---- Places for PULLs under way */

int exrnic_limits_charge_reads(struct exrnic_ucontext *uctx, u32 out, u32 in)
{
	int err = exrnic_limits_take(uctx, EXRNIC_KIND_READ_OUT, exrnic_read_places(out));

	if (err)
		return err;
	err = exrnic_limits_take(uctx, EXRNIC_KIND_READ_IN, exrnic_read_places(in));
	if (err)
		exrnic_limits_give_back(uctx, EXRNIC_KIND_READ_OUT, exrnic_read_places(out));
	return err;
}

void exrnic_limits_uncharge_reads(struct exrnic_ucontext *uctx, u32 out, u32 in)
{
	exrnic_limits_give_back(uctx, EXRNIC_KIND_READ_OUT, exrnic_read_places(out));
	exrnic_limits_give_back(uctx, EXRNIC_KIND_READ_IN, exrnic_read_places(in));
}

/* ---- Memory */

static bool exrnic_limits_exceeded(u64 pages, unsigned int mib)
{
	return mib && pages > (u64)mib * EXRNIC_PAGES_PER_MIB;
}

int exrnic_limits_charge_pages(struct exrnic_ucontext *uctx, unsigned long pages)
{
	u64 total;

	if (exrnic_limits_exceeded(uctx->pinned + pages, READ_ONCE(max_pinned_mib)))
		return -EDQUOT;
	total = atomic64_add_return(pages, &uctx->chardev->pinned);
	if (exrnic_limits_exceeded(total, READ_ONCE(max_device_pinned_mib))) {
		atomic64_sub(pages, &uctx->chardev->pinned);
		return -EDQUOT;
	}
	uctx->pinned += pages;
	return 0;
}

void exrnic_limits_uncharge_pages(struct exrnic_ucontext *uctx, unsigned long pages)
{
	uctx->pinned -= pages;
	atomic64_sub(pages, &uctx->chardev->pinned);
}
