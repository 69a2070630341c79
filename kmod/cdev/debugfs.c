// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What only benchmarks need: where the pages of a buffer lie, which exrnic-bench compares with mlock. It concerns no
 * device.
 */
#include <linux/capability.h>
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "exrnic_debug.h"
#include "file.h"

/* Pages found between two looks for a fatal signal. */
#define EXRNIC_FIND_BATCH 512

struct exrnic_find_batch {
	struct page *pages[EXRNIC_FIND_BATCH];
	__u64 addresses[EXRNIC_FIND_BATCH];
};

/* Pinned while they are looked at only, so that nothing is charged. Returns how many were found. */
static int exrnic_find_some(struct exrnic_find_batch *batch, unsigned long start,
			    unsigned int wanted, bool tell)
{
	int found = pin_user_pages_fast(start, wanted, 0, batch->pages);
	int i;

	for (i = 0; i < found; i++)
		batch->addresses[i] = tell ? page_to_phys(batch->pages[i]) : 0;
	if (found > 0)
		unpin_user_pages(batch->pages, found);
	return found ? found : -EFAULT;
}

static int exrnic_find_all(struct exrnic_find_batch *batch, const struct exrnic_find_pages *find)
{
	/* For others the addresses read as zero: see struct exrnic_get_pbl. */
	bool tell = capable(CAP_SYS_ADMIN);
	__u64 __user *to = u64_to_user_ptr(find->buffer);
	unsigned long start = find->address & PAGE_MASK;
	u32 done = 0;
	int n;

	while (done < find->pages) {
		cond_resched();
		if (fatal_signal_pending(current))
			return -EINTR;
		n = exrnic_find_some(batch, start + ((unsigned long)done << PAGE_SHIFT),
				     min_t(u32, find->pages - done, EXRNIC_FIND_BATCH), tell);
		if (n < 0)
			return n;
		if (copy_to_user(to + done, batch->addresses, n * sizeof(*to)))
			return -EFAULT;
		done += n;
	}
	return 0;
}

static int exrnic_find_pages(struct exrnic_find_pages *find)
{
	struct exrnic_find_batch *batch;
	u64 end, pages;
	int err;

	if (find->rsvd || !find->length ||
	    check_add_overflow(find->address, find->length, &end) || end > ULONG_MAX - PAGE_SIZE)
		return -EINVAL;
	pages = PHYS_PFN(PAGE_ALIGN(end)) - PHYS_PFN(find->address);
	if (pages > find->pages)
		return -EINVAL;
	find->pages = pages;
	batch = kmalloc(sizeof(*batch), GFP_KERNEL_ACCOUNT);
	if (!batch)
		return -ENOMEM;
	err = exrnic_find_all(batch, find);
	kfree(batch);
	return err;
}

static long exrnic_debugfs_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	struct exrnic_find_pages __user *user = (void __user *)arg;
	struct exrnic_find_pages find;
	int err;

	if (cmd != EXRNIC_DEBUG_IOCTL_FIND_PAGES)
		return -ENOTTY;
	if (copy_from_user(&find, user, sizeof(find)))
		return -EFAULT;
	err = exrnic_find_pages(&find);
	if (err)
		return err;
	return copy_to_user(user, &find, sizeof(find)) ? -EFAULT : 0;
}

static const struct file_operations exrnic_debugfs_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.unlocked_ioctl = exrnic_debugfs_ioctl,
	.llseek = noop_llseek,
};

static struct dentry *exrnic_debugfs;

void exrnic_debugfs_init(void)
{
	BUILD_BUG_ON(sizeof(struct exrnic_find_pages) != 32);
	exrnic_debugfs = debugfs_create_dir(EXRNIC_NAME, NULL);
	debugfs_create_file("memory", 0600, exrnic_debugfs, NULL, &exrnic_debugfs_fops);
}

void exrnic_debugfs_exit(void)
{
	debugfs_remove(exrnic_debugfs);
}
