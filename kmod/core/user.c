// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What each user has of what a device has few of, by whichever driver on top: one leaves a share to the others. A new
 * share holds for what comes after it.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/jiffies.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>

#include "device.h"

static unsigned int max_user_percent = 50;
module_param(max_user_percent, uint, 0644);
MODULE_PARM_DESC(max_user_percent,
		 "Most that a user without CAP_SYS_RESOURCE may have of anything that a device has: user pages, objects of each kind, places for PULLs, percent");

struct exrnic_user {
	struct exrnic_device *edev;
	struct list_head entry;	/* of exrnic_device.users */
	kuid_t uid;
	u32 refs;		/* one for each that is held, too */
	u32 held[EXRNIC_KINDS];
	unsigned long hurried_until;	/* in jiffies: see exrnic_user_patience() */
};

static u32 exrnic_user_limit(const struct exrnic_device *edev, enum exrnic_kind kind)
{
	const struct exrnic_limits *limits = &edev->limits;
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

static struct exrnic_user *exrnic_user_find(struct exrnic_device *edev, kuid_t uid)
{
	struct exrnic_user *user;

	lockdep_assert_held(&edev->users_lock);
	list_for_each_entry(user, &edev->users, entry)
		if (uid_eq(user->uid, uid))
			return user;
	user = kzalloc(sizeof(*user), GFP_KERNEL_ACCOUNT);
	if (!user)
		return NULL;
	user->edev = edev;
	user->uid = uid;
	user->hurried_until = jiffies;
	list_add_tail(&user->entry, &edev->users);
	return user;
}

struct exrnic_user *exrnic_user_get(struct exrnic_device *edev)
{
	struct exrnic_user *user;

	mutex_lock(&edev->users_lock);
	user = exrnic_user_find(edev, current_uid());
	if (user)
		user->refs++;
	mutex_unlock(&edev->users_lock);
	return user;
}
EXRNIC_EXPORT(exrnic_user_get);

static void exrnic_user_release(struct exrnic_user *user, u32 refs)
{
	lockdep_assert_held(&user->edev->users_lock);
	user->refs -= refs;
	if (user->refs)
		return;
	list_del(&user->entry);
	kfree(user);
}

void exrnic_user_put(struct exrnic_user *user)
{
	struct exrnic_device *edev = user->edev;

	mutex_lock(&edev->users_lock);
	exrnic_user_release(user, 1);
	mutex_unlock(&edev->users_lock);
}
EXRNIC_EXPORT(exrnic_user_put);

int exrnic_user_take(struct exrnic_user *user, enum exrnic_kind kind, u32 count)
{
	struct exrnic_device *edev = user->edev;
	int err = 0;

	mutex_lock(&edev->users_lock);
	if (count && user->held[kind] + count > exrnic_user_limit(edev, kind) && !capable(CAP_SYS_RESOURCE)) {
		err = -EDQUOT;
	} else {
		user->held[kind] += count;
		user->refs += count;
	}
	mutex_unlock(&edev->users_lock);
	return err;
}
EXRNIC_EXPORT(exrnic_user_take);

void exrnic_user_give_back(struct exrnic_user *user, enum exrnic_kind kind, u32 count)
{
	struct exrnic_device *edev = user->edev;

	mutex_lock(&edev->users_lock);
	user->held[kind] -= count;
	exrnic_user_release(user, count);
	mutex_unlock(&edev->users_lock);
}
EXRNIC_EXPORT(exrnic_user_give_back);

unsigned long exrnic_user_patience(const struct exrnic_user *user, unsigned long most)
{
	return user && time_before(jiffies, READ_ONCE(user->hurried_until)) ? 0 : most;
}

void exrnic_user_used_up(struct exrnic_user *user, unsigned long most)
{
	if (user && exrnic_user_patience(user, most))
		WRITE_ONCE(user->hurried_until, jiffies + most);
}
