// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Remote windows: entries of the device in a row, on one queue pair. */
#include <linux/bitmap.h>

#include "mbox.h"

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
static void exrnic_windows_close(struct exrnic_device *edev, const struct exrnic_window *window,
				 u32 count)
{
	u32 i;

	for (i = 0; i < count; i++)
		exrnic_mbox_close_window(edev, window->first + i);
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
			      const struct exrnic_window_attr *attr)
{
	u64 left = attr->length;
	u64 base = attr->remote;
	u32 i;
	int err;

	for (i = 0; i < window->count; i++) {
		const u32 length = min_t(u64, left, edev->limits.window_size);
		const struct exrnic_mbox_set_window in = {
			.qpn = cpu_to_le32(attr->qp->qpn),
			.window = cpu_to_le32(window->first + i),
			.base = cpu_to_le64(base),
			.stag = cpu_to_le32(attr->stag),
			.length = cpu_to_le32(length),
			.access = cpu_to_le32(attr->access),
		};

		err = exrnic_mbox_set_window(edev, &in);
		if (err) {
			exrnic_windows_close(edev, window, i);
			return err == -EPERM ? exrnic_window_refusal(edev, attr->qp) : err;
		}
		base += length;
		left -= length;
	}
	return 0;
}

u32 exrnic_windows_for(const struct exrnic_device *edev, u64 length)
{
	const struct exrnic_limits *limits = &edev->limits;

	if (!length || length > (u64)limits->windows * limits->window_size)
		return 0;
	return DIV_ROUND_UP_ULL(length, limits->window_size);
}
EXRNIC_EXPORT(exrnic_windows_for);

int exrnic_window_reserve(struct exrnic_device *edev, struct exrnic_window *window, u64 length)
{
	window->count = exrnic_windows_for(edev, length);
	return window->count ? exrnic_windows_alloc(edev, window) : -EINVAL;
}
EXRNIC_EXPORT(exrnic_window_reserve);

void exrnic_window_give_back(struct exrnic_device *edev, struct exrnic_window *window)
{
	exrnic_windows_free(edev, window);
}
EXRNIC_EXPORT(exrnic_window_give_back);

int exrnic_window_show(struct exrnic_device *edev, const struct exrnic_window *window,
		       const struct exrnic_window_attr *attr)
{
	const struct exrnic_window shown = {
		.first = window->first,
		.count = exrnic_windows_for(edev, attr->length),
	};

	if (!shown.count || shown.count > window->count)
		return -EINVAL;
	return exrnic_windows_set(edev, &shown, attr);
}
EXRNIC_EXPORT(exrnic_window_show);

/* Behind the device's answer nothing goes by these entries any more. */
void exrnic_window_hide(struct exrnic_device *edev, const struct exrnic_window *window)
{
	exrnic_windows_close(edev, window, window->count);
}
EXRNIC_EXPORT(exrnic_window_hide);

int exrnic_window_open(struct exrnic_device *edev, struct exrnic_window *window,
		       const struct exrnic_window_attr *attr)
{
	int err = exrnic_window_reserve(edev, window, attr->length);

	if (err)
		return err;
	err = exrnic_window_show(edev, window, attr);
	if (err)
		exrnic_window_give_back(edev, window);
	return err;
}
EXRNIC_EXPORT(exrnic_window_open);

void exrnic_window_close(struct exrnic_device *edev, struct exrnic_window *window)
{
	exrnic_window_hide(edev, window);
	exrnic_window_give_back(edev, window);
}
EXRNIC_EXPORT(exrnic_window_close);

phys_addr_t exrnic_window_address(const struct exrnic_device *edev)
{
	return edev->window_base;
}
EXRNIC_EXPORT(exrnic_window_address);
