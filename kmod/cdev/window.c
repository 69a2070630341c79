// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Remote windows, on a queue pair of the same context. */
#include <linux/err.h>

#include "ucontext.h"

#define EXRNIC_WINDOW_ACCESS_ALL (EXRNIC_WINDOW_ACCESS_STORE | EXRNIC_WINDOW_ACCESS_LOAD)

static bool exrnic_window_is_valid(const struct exrnic_create_window *attr)
{
	return attr->access && !(attr->access & ~EXRNIC_WINDOW_ACCESS_ALL) &&
	       attr->remote + (attr->length - 1) >= attr->remote;
}

/*
 * Its send queue is the windows' alone. The device counts slots modulo 2^16: it refuses by itself what
 * would do harm, work that is under way and PULLs, whose numbers loads would have again. A process that
 * posts past libverbs-lite, later, ends its own queue pair with an error.
 */
static int exrnic_window_check_unused(struct exrnic_device *edev, const struct exrnic_uqp *qp)
{
	struct exrnic_qp_status status;
	int err;

	if (qp->windows)
		return 0;
	err = exrnic_qp_query(edev, &qp->qp, &status);
	if (err)
		return err;
	return status.sq_producer ? -EBUSY : 0;
}

static int exrnic_uwindow_open(struct exrnic_ucontext *uctx, struct exrnic_uwindow *window,
			       const struct exrnic_create_window *create)
{
	const struct exrnic_window_attr attr = {
		.qp = &window->qp->qp,
		.remote = create->remote,
		.length = create->length,
		.stag = create->stag,
		.access = create->access,
	};
	int err = exrnic_window_open(uctx->edev, &window->window, &attr);

	if (err)
		return err;
	err = xa_insert(&uctx->windows, window->window.first, window, GFP_KERNEL);
	if (err)
		exrnic_window_close(uctx->edev, &window->window);
	return err;
}

int exrnic_uwindow_create(struct exrnic_ucontext *uctx, struct exrnic_create_window *attr)
{
	struct exrnic_uwindow *window;
	u32 count;
	int err;

	if (!exrnic_window_is_valid(attr))
		return -EINVAL;
	count = exrnic_windows_for(uctx->edev, attr->length);
	if (!count)
		return -EINVAL;
	window = exrnic_object_alloc(uctx, EXRNIC_KIND_WINDOW, count, sizeof(*window));
	if (IS_ERR(window))
		return PTR_ERR(window);
	window->qp = exrnic_uqp_find(uctx, attr->qpn);
	if (!window->qp) {
		err = -ENOENT;
		goto err_free;
	}
	if (window->qp->service != EXRNIC_SERVICE_RC) {
		err = -EINVAL;
		goto err_free;
	}
	err = exrnic_window_check_unused(uctx->edev, window->qp);
	if (err)
		goto err_free;
	err = exrnic_uwindow_open(uctx, window, attr);
	if (err)
		goto err_free;
	window->qp->windows++;
	attr->window = window->window.first;
	return 0;

err_free:
	exrnic_object_free(uctx, window);
	return err;
}

static void exrnic_uwindow_release(struct exrnic_ucontext *uctx, struct exrnic_uwindow *window)
{
	xa_erase(&uctx->windows, window->window.first);
	exrnic_window_close(uctx->edev, &window->window);
	window->qp->windows--;
	exrnic_object_free(uctx, window);
}

struct exrnic_uwindow *exrnic_uwindow_find(struct exrnic_ucontext *uctx, u32 first)
{
	return xa_load(&uctx->windows, first);
}

int exrnic_uwindow_destroy(struct exrnic_ucontext *uctx, u32 first)
{
	struct exrnic_uwindow *window = exrnic_uwindow_find(uctx, first);

	if (!window)
		return -ENOENT;
	exrnic_uwindow_release(uctx, window);
	return exrnic_device_error(uctx->edev);
}

void exrnic_uwindow_release_all(struct exrnic_ucontext *uctx)
{
	struct exrnic_uwindow *window;
	unsigned long i;

	xa_for_each(&uctx->windows, i, window)
		exrnic_uwindow_release(uctx, window);
	xa_destroy(&uctx->windows);
}
