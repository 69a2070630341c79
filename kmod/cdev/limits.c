// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What one context, and all of them together, may hold: beyond what the tables of the device, the share of a user
 * (core/user.c) and RLIMIT_MEMLOCK allow, as the administrator says. New limits hold for what comes after them. The
 * rdma cgroup counts contexts as handles, and objects as objects, of the process that makes them.
 */
#include <linux/err.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "ucontext.h"

#define EXRNIC_PAGES_PER_MIB (1UL << (20 - PAGE_SHIFT))

static unsigned int max_objects;
module_param(max_objects, uint, 0644);
MODULE_PARM_DESC(max_objects, "Most objects of an open file; 0: as many as the device has");

static unsigned int max_pinned_mib;
module_param(max_pinned_mib, uint, 0644);
MODULE_PARM_DESC(max_pinned_mib, "Most memory that an open file may pin, MiB; 0: no limit");

static unsigned int max_device_pinned_mib;
module_param(max_device_pinned_mib, uint, 0644);
MODULE_PARM_DESC(max_device_pinned_mib, "Most memory pinned for a device, MiB; 0: no limit");

/* Those of the last link of exrnic_ntb. */
static unsigned int privileged_ports = 3U << (EXRNIC_PORTS - 2);
module_param(privileged_ports, uint, 0644);
MODULE_PARM_DESC(privileged_ports, "Bits of the ports that only who has CAP_NET_RAW may open");

bool exrnic_limits_permit_port(u32 port)
{
	return port >= EXRNIC_PORTS || !(READ_ONCE(privileged_ports) & BIT(port)) || capable(CAP_NET_RAW);
}

/* ---- The rdma cgroup. Its try_charge says -EAGAIN for what is a quota here. */

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

/* ---- Users */

static int exrnic_limits_take_page(struct exrnic_ucontext *uctx)
{
	int err;

	uctx->user = exrnic_user_get(uctx->edev);
	if (!uctx->user)
		return -ENOMEM;
	err = exrnic_user_take(uctx->user, EXRNIC_KIND_PAGE, 1);
	if (err)
		exrnic_user_put(uctx->user);
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
	exrnic_user_give_back(uctx->user, EXRNIC_KIND_PAGE, 1);
	exrnic_user_put(uctx->user);
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
	err = exrnic_user_take(uctx->user, charge->kind, charge->count);
	if (err)
		return err;
	err = exrnic_cgroup_charge(uctx->chardev, &charge->cgroup, RDMACG_RESOURCE_HCA_OBJECT);
	if (err)
		exrnic_user_give_back(uctx->user, charge->kind, charge->count);
	else
		uctx->objects++;
	return err;
}

static void exrnic_object_uncharge(struct exrnic_ucontext *uctx, const struct exrnic_charge *charge)
{
	uctx->objects--;
	rdmacg_uncharge(charge->cgroup, &uctx->chardev->cgroup_device, RDMACG_RESOURCE_HCA_OBJECT);
	exrnic_user_give_back(uctx->user, charge->kind, charge->count);
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
	int err = exrnic_user_take(uctx->user, EXRNIC_KIND_READ_OUT, exrnic_read_places(out));

	if (err)
		return err;
	err = exrnic_user_take(uctx->user, EXRNIC_KIND_READ_IN, exrnic_read_places(in));
	if (err)
		exrnic_user_give_back(uctx->user, EXRNIC_KIND_READ_OUT, exrnic_read_places(out));
	return err;
}

void exrnic_limits_uncharge_reads(struct exrnic_ucontext *uctx, u32 out, u32 in)
{
	exrnic_user_give_back(uctx->user, EXRNIC_KIND_READ_OUT, exrnic_read_places(out));
	exrnic_user_give_back(uctx->user, EXRNIC_KIND_READ_IN, exrnic_read_places(in));
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
