// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Remote windows: entries of the device in a row, on a queue pair of the same context. */
#include <linux/bitmap.h>
#include <linux/err.h>

#include "exrnic_core.h"
#include "exrnic_mbox.h"

#define EXRNIC_WINDOW_ACCESS_ALL (EXRNIC_WINDOW_ACCESS_STORE | EXRNIC_WINDOW_ACCESS_LOAD)

static int exrnic_windows_alloc(struct exrnic_device *edev, struct exrnic_window *window)
{
	unsigned long first;

	mutex_lock(&edev->windows_lock);
	first = bitmap_find_next_zero_area(edev->windows, edev->limits.windows, 0, window->count,
					   0);
	if (first < edev->limits.windows)
		bitmap_set(edev->windows, first, window->count);
	mutex_unlock(&edev->windows_lock);
	if (first >= edev->limits.windows)
		return -ENOSPC;
	window->first = first;
	return 0;
}

static void exrnic_windows_free(struct exrnic_device *edev, const struct exrnic_window *window)
{
	mutex_lock(&edev->windows_lock);
	bitmap_clear(edev->windows, window->first, window->count);
	mutex_unlock(&edev->windows_lock);
}

/* So many, from the first one on. */
static int exrnic_windows_close(struct exrnic_device *edev, const struct exrnic_window *window,
				u32 count)
{
	int err, first_err = 0;
	u32 i;

	for (i = 0; i < count; i++) {
		err = exrnic_mbox_close_window(edev, window->first + i);
		if (!first_err)
			first_err = err;
	}
	return first_err;
}

/* It is in another state than RTS, maybe since a moment ago; or it was used. */
static int exrnic_window_refusal(struct exrnic_device *edev, const struct exrnic_qp *qp)
{
	struct exrnic_mbox_query_qp out;
	int err = exrnic_mbox_query_qp(edev, qp->qpn, &out);

	if (err)
		return err;
	return le32_to_cpu(out.state) == EXRNIC_QP_STATE_RTS ? -EBUSY : -EINVAL;
}

static int exrnic_windows_set(struct exrnic_device *edev, const struct exrnic_window *window,
			      const struct exrnic_create_window *attr)
{
	u64 left = attr->length;
	u64 base = attr->remote;
	u32 i;
	int err;

	for (i = 0; i < window->count; i++) {
		const u32 length = min_t(u64, left, EXRNIC_WINDOW_SIZE);
		const struct exrnic_mbox_set_window in = {
			.qpn = cpu_to_le32(attr->qpn),
			.window = cpu_to_le32(window->first + i),
			.base = cpu_to_le64(base),
			.stag = cpu_to_le32(attr->stag),
			.length = cpu_to_le32(length),
			.access = cpu_to_le32(attr->access),
		};

		err = exrnic_mbox_set_window(edev, &in);
		if (err) {
			exrnic_windows_close(edev, window, i);
			return err == -EPERM ? exrnic_window_refusal(edev, window->qp) : err;
		}
		base += length;
		left -= length;
	}
	return 0;
}

static bool exrnic_window_is_valid(const struct exrnic_create_window *attr)
{
	return attr->length && attr->length <= EXRNIC_BAR4_SIZE && attr->access &&
	       !(attr->access & ~EXRNIC_WINDOW_ACCESS_ALL) &&
	       attr->remote + (attr->length - 1) >= attr->remote;
}

/*
 * Its send queue is the windows' alone. The device counts slots modulo 2^16: it refuses by itself what
 * would do harm, work that is under way and PULLs, whose numbers loads would have again. A process that
 * posts past libverbs-lite, later, ends its own queue pair with an error.
 */
static int exrnic_window_check_unused(struct exrnic_device *edev, const struct exrnic_qp *qp)
{
	struct exrnic_mbox_query_qp out;
	int err;

	if (qp->windows)
		return 0;
	err = exrnic_mbox_query_qp(edev, qp->qpn, &out);
	if (err)
		return err;
	return out.sq_producer ? -EBUSY : 0;
}

int exrnic_window_create(struct exrnic_ucontext *uctx, struct exrnic_create_window *attr)
{
	struct exrnic_device *edev = uctx->edev;
	struct exrnic_window *window;
	int err;

	if (!exrnic_window_is_valid(attr))
		return -EINVAL;
	window = exrnic_object_alloc(uctx, sizeof(*window));
	if (IS_ERR(window))
		return PTR_ERR(window);
	window->count = DIV_ROUND_UP_ULL(attr->length, EXRNIC_WINDOW_SIZE);
	window->qp = exrnic_qp_find(uctx, attr->qpn);
	if (!window->qp) {
		err = -ENOENT;
		goto err_free;
	}
	if (window->qp->service != EXRNIC_SERVICE_RC) {
		err = -EINVAL;
		goto err_free;
	}
	err = exrnic_window_check_unused(edev, window->qp);
	if (err)
		goto err_free;
	err = exrnic_limits_take(uctx, EXRNIC_SCARCE_WINDOWS, window->count);
	if (err)
		goto err_free;
	err = exrnic_windows_alloc(edev, window);
	if (err)
		goto err_limits;
	err = xa_insert(&uctx->windows, window->first, window, GFP_KERNEL);
	if (err)
		goto err_entries;
	err = exrnic_windows_set(edev, window, attr);
	if (err)
		goto err_handle;
	window->qp->windows++;
	attr->window = window->first;
	return 0;

err_handle:
	xa_erase(&uctx->windows, window->first);
err_entries:
	exrnic_windows_free(edev, window);
err_limits:
	exrnic_limits_give_back(uctx, EXRNIC_SCARCE_WINDOWS, window->count);
err_free:
	exrnic_object_free(uctx, window);
	return err;
}

/* Behind the device's answer nothing goes by these entries any more. */
static int exrnic_window_release(struct exrnic_ucontext *uctx, struct exrnic_window *window)
{
	int err = exrnic_windows_close(uctx->edev, window, window->count);

	window->qp->windows--;
	xa_erase(&uctx->windows, window->first);
	exrnic_windows_free(uctx->edev, window);
	exrnic_limits_give_back(uctx, EXRNIC_SCARCE_WINDOWS, window->count);
	exrnic_object_free(uctx, window);
	return err;
}

struct exrnic_window *exrnic_window_find(struct exrnic_ucontext *uctx, u32 first)
{
	return xa_load(&uctx->windows, first);
}

int exrnic_window_destroy(struct exrnic_ucontext *uctx, u32 first)
{
	struct exrnic_window *window = exrnic_window_find(uctx, first);

	return window ? exrnic_window_release(uctx, window) : -ENOENT;
}

void exrnic_window_release_all(struct exrnic_ucontext *uctx)
{
	struct exrnic_window *window;
	unsigned long i;

	xa_for_each(&uctx->windows, i, window)
		exrnic_window_release(uctx, window);
	xa_destroy(&uctx->windows);
}
