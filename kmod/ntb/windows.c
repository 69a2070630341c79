// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Memory windows: slices of BAR 4 that show memory of the peer, and memory here that the peer's slices show. */
#include "ntb.h"

static void exrnic_ntb_slices_give_back(struct exrnic_ntb_link *link, u32 count)
{
	while (count--)
		exrnic_window_give_back(link->edev, &link->out[count].window);
}

int exrnic_ntb_windows_reserve(struct exrnic_ntb_link *link)
{
	u32 i;
	int err;

	for (i = 0; i < link->settings.windows; i++) {
		err = exrnic_window_reserve(link->edev, &link->out[i].window, link->settings.window_bytes);
		if (err) {
			exrnic_ntb_slices_give_back(link, i);
			return err;
		}
	}
	return 0;
}

void exrnic_ntb_windows_give_back(struct exrnic_ntb_link *link)
{
	exrnic_ntb_slices_give_back(link, link->settings.windows);
}

/* ---- Outbound */

static void exrnic_ntb_outbound_hide(struct exrnic_ntb_link *link, struct exrnic_ntb_outbound *out)
{
	if (out->place.pages)
		exrnic_window_hide(link->edev, &out->window);
	out->place.pages = 0;
}

static bool exrnic_ntb_outbound_is(const struct exrnic_ntb_outbound *out, const struct exrnic_ntb_place *place)
{
	return out->place.pages == place->pages && (!place->pages || out->place.stag == place->stag);
}

bool exrnic_ntb_windows_are(const struct exrnic_ntb_link *link, const struct exrnic_ntb_place *places)
{
	u32 i;

	for (i = 0; i < link->settings.windows; i++)
		if (!exrnic_ntb_outbound_is(&link->out[i], &places[i]))
			return false;
	return true;
}

/* Whatever a peer says: it is memory of the peer's, by this queue pair, and no more of it than the slice has room for. */
static int exrnic_ntb_outbound_show(struct exrnic_ntb_link *link, struct exrnic_ntb_outbound *out,
				    const struct exrnic_ntb_place *place)
{
	const struct exrnic_window_attr attr = {
		.qp = &link->queues.windows.qp,
		.length = min((u64)place->pages << EXRNIC_PAGE_SHIFT, link->settings.window_bytes),
		.stag = place->stag,
		.access = EXRNIC_WINDOW_ACCESS_STORE | EXRNIC_WINDOW_ACCESS_LOAD,
	};
	int err;

	if (exrnic_ntb_outbound_is(out, place))
		return 0;
	exrnic_ntb_outbound_hide(link, out);
	if (!place->pages)
		return 0;
	err = exrnic_window_show(link->edev, &out->window, &attr);
	if (!err)
		out->place = *place;
	return err;
}

int exrnic_ntb_windows_show(struct exrnic_ntb_link *link, const struct exrnic_ntb_place *places)
{
	int err = 0;
	u32 i;

	for (i = 0; i < link->settings.windows && !err; i++)
		err = exrnic_ntb_outbound_show(link, &link->out[i], &places[i]);
	return err;
}

void exrnic_ntb_windows_hide(struct exrnic_ntb_link *link)
{
	u32 i;

	for (i = 0; i < link->settings.windows; i++)
		exrnic_ntb_outbound_hide(link, &link->out[i]);
}

/* ---- Inbound */

int exrnic_ntb_inbound_register(struct exrnic_ntb_link *link, struct exrnic_ntb_inbound *in)
{
	const struct exrnic_mr_attr attr = {
		.pbl = &in->pbl,
		.length = in->bytes,
		.pdn = link->queues.pdn,
		.access = EXRNIC_ACCESS_LOCAL_WRITE | EXRNIC_ACCESS_REMOTE_WRITE | EXRNIC_ACCESS_REMOTE_READ,
	};
	int err;

	if (!in->bytes || in->registered)
		return 0;
	err = exrnic_pbl_build_kernel(link->edev, &in->pbl, in->bus, attr.address, in->bytes);
	if (err)
		return err;
	err = exrnic_mr_create(link->edev, &in->mr, &attr);
	if (err)
		exrnic_pbl_free(link->edev, &in->pbl);
	else
		in->registered = true;
	return err;
}

void exrnic_ntb_inbound_forget(struct exrnic_ntb_link *link, struct exrnic_ntb_inbound *in)
{
	if (!in->registered)
		return;
	in->registered = false;
	exrnic_mr_destroy(link->edev, &in->mr);
	exrnic_pbl_free(link->edev, &in->pbl);
}
