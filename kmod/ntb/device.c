// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A link as Linux knows it: struct ntb_dev, and its operations. */
#include <linux/err.h>
#include <linux/pci.h>
#include <linux/slab.h>

#include "ntb.h"

static struct exrnic_ntb_link *exrnic_ntb_of(struct ntb_dev *ntb)
{
	return container_of(ntb, struct exrnic_ntb_link, ntb);
}

static bool exrnic_ntb_has_window(const struct exrnic_ntb_link *link, int pidx, int widx)
{
	return pidx == EXRNIC_NTB_PEER && widx >= 0 && widx < link->settings.windows;
}

/* ---- Ports: 0 is that of the lower node */

static int exrnic_ntb_port_number(struct ntb_dev *ntb)
{
	const struct exrnic_ntb_link *link = exrnic_ntb_of(ntb);

	return link->node > link->settings.peer_node;
}

static int exrnic_ntb_peer_port_count(struct ntb_dev *ntb)
{
	return NTB_DEF_PEER_CNT;
}

static int exrnic_ntb_peer_port_number(struct ntb_dev *ntb, int pidx)
{
	return pidx == EXRNIC_NTB_PEER ? !exrnic_ntb_port_number(ntb) : -EINVAL;
}

static int exrnic_ntb_peer_port_idx(struct ntb_dev *ntb, int port)
{
	return port == !exrnic_ntb_port_number(ntb) ? EXRNIC_NTB_PEER : -EINVAL;
}

/* ---- The link */

static u64 exrnic_ntb_link_is_up(struct ntb_dev *ntb, enum ntb_speed *speed, enum ntb_width *width)
{
	const bool up = READ_ONCE(exrnic_ntb_of(ntb)->up);

	if (speed)
		*speed = up ? NTB_SPEED_AUTO : NTB_SPEED_NONE;
	if (width)
		*width = up ? NTB_WIDTH_AUTO : NTB_WIDTH_NONE;
	return up ? BIT_ULL(EXRNIC_NTB_PEER) : 0;
}

static int exrnic_ntb_link_enable(struct ntb_dev *ntb, enum ntb_speed max_speed, enum ntb_width max_width)
{
	exrnic_ntb_session_enable(exrnic_ntb_of(ntb), true);
	return 0;
}

static int exrnic_ntb_link_disable(struct ntb_dev *ntb)
{
	exrnic_ntb_session_enable(exrnic_ntb_of(ntb), false);
	return 0;
}

/* ---- Memory windows */

static int exrnic_ntb_mw_count(struct ntb_dev *ntb, int pidx)
{
	return pidx == EXRNIC_NTB_PEER ? exrnic_ntb_of(ntb)->settings.windows : 0;
}

static int exrnic_ntb_mw_get_align(struct ntb_dev *ntb, int pidx, int widx, resource_size_t *addr_align,
				   resource_size_t *size_align, resource_size_t *size_max)
{
	const struct exrnic_ntb_link *link = exrnic_ntb_of(ntb);

	if (!exrnic_ntb_has_window(link, pidx, widx))
		return -EINVAL;
	if (addr_align)
		*addr_align = PAGE_SIZE;
	if (size_align)
		*size_align = PAGE_SIZE;
	if (size_max)
		*size_max = link->settings.window_bytes;
	return 0;
}

static int exrnic_ntb_mw_set_trans(struct ntb_dev *ntb, int pidx, int widx, dma_addr_t addr, resource_size_t size)
{
	struct exrnic_ntb_link *link = exrnic_ntb_of(ntb);

	if (!exrnic_ntb_has_window(link, pidx, widx) || !IS_ALIGNED(addr, PAGE_SIZE) || !IS_ALIGNED(size, PAGE_SIZE) ||
	    size > link->settings.window_bytes)
		return -EINVAL;
	return exrnic_ntb_session_set_window(link, widx, addr, size);
}

static int exrnic_ntb_mw_clear_trans(struct ntb_dev *ntb, int pidx, int widx)
{
	return exrnic_ntb_mw_set_trans(ntb, pidx, widx, 0, 0);
}

static int exrnic_ntb_peer_mw_count(struct ntb_dev *ntb)
{
	return exrnic_ntb_of(ntb)->settings.windows;
}

static int exrnic_ntb_peer_mw_get_addr(struct ntb_dev *ntb, int widx, phys_addr_t *base, resource_size_t *size)
{
	const struct exrnic_ntb_link *link = exrnic_ntb_of(ntb);

	if (!exrnic_ntb_has_window(link, EXRNIC_NTB_PEER, widx))
		return -EINVAL;
	if (base)
		*base = exrnic_window_address(link->edev) +
			(phys_addr_t)link->out[widx].window.first * exrnic_device_limits(link->edev)->window_size;
	if (size)
		*size = link->settings.window_bytes;
	return 0;
}

/* ---- Doorbells */

static u64 exrnic_ntb_db_valid_mask(struct ntb_dev *ntb)
{
	return GENMASK_ULL(EXRNIC_PORT_BELLS - 1, 0);
}

static u64 exrnic_ntb_db_read(struct ntb_dev *ntb)
{
	return exrnic_port_bells(&exrnic_ntb_of(ntb)->bells_port);
}

static int exrnic_ntb_db_clear(struct ntb_dev *ntb, u64 db_bits)
{
	exrnic_ntb_bells_clear(exrnic_ntb_of(ntb), db_bits);
	return 0;
}

static u64 exrnic_ntb_db_read_mask(struct ntb_dev *ntb)
{
	return READ_ONCE(exrnic_ntb_of(ntb)->bells_mask);
}

static int exrnic_ntb_db_set_mask(struct ntb_dev *ntb, u64 db_bits)
{
	return exrnic_ntb_bells_set_mask(exrnic_ntb_of(ntb), db_bits, 0);
}

static int exrnic_ntb_db_clear_mask(struct ntb_dev *ntb, u64 db_bits)
{
	return exrnic_ntb_bells_set_mask(exrnic_ntb_of(ntb), 0, db_bits);
}

/* Behind the stores into windows that this processor has made. */
static int exrnic_ntb_peer_db_set(struct ntb_dev *ntb, u64 db_bits)
{
	if (db_bits & ~exrnic_ntb_db_valid_mask(ntb))
		return -EINVAL;
	exrnic_wmb_flush_windows();
	return db_bits ? exrnic_ntb_peer_ring(exrnic_ntb_of(ntb), db_bits) : 0;
}

/* ---- Scratchpads */

static bool exrnic_ntb_has_spad(int pidx, int sidx)
{
	return pidx == EXRNIC_NTB_PEER && sidx >= 0 && sidx < EXRNIC_PORT_SPADS;
}

static int exrnic_ntb_spad_count(struct ntb_dev *ntb)
{
	return EXRNIC_PORT_SPADS;
}

static u32 exrnic_ntb_spad_read(struct ntb_dev *ntb, int sidx)
{
	return exrnic_ntb_has_spad(EXRNIC_NTB_PEER, sidx) ? exrnic_ntb_spad_get(exrnic_ntb_of(ntb), sidx) : 0;
}

static int exrnic_ntb_spad_write(struct ntb_dev *ntb, int sidx, u32 val)
{
	if (!exrnic_ntb_has_spad(EXRNIC_NTB_PEER, sidx))
		return -EINVAL;
	return exrnic_ntb_spad_set(exrnic_ntb_of(ntb), sidx, val);
}

static u32 exrnic_ntb_peer_spad_read(struct ntb_dev *ntb, int pidx, int sidx)
{
	return exrnic_ntb_has_spad(pidx, sidx) ? exrnic_ntb_peer_spad_get(exrnic_ntb_of(ntb), sidx) : 0;
}

static int exrnic_ntb_peer_spad_write(struct ntb_dev *ntb, int pidx, int sidx, u32 val)
{
	if (!exrnic_ntb_has_spad(pidx, sidx))
		return -EINVAL;
	exrnic_wmb_flush_windows();
	return exrnic_ntb_peer_spad_set(exrnic_ntb_of(ntb), sidx, val);
}

static const struct ntb_dev_ops exrnic_ntb_ops = {
	.port_number = exrnic_ntb_port_number,
	.peer_port_count = exrnic_ntb_peer_port_count,
	.peer_port_number = exrnic_ntb_peer_port_number,
	.peer_port_idx = exrnic_ntb_peer_port_idx,
	.link_is_up = exrnic_ntb_link_is_up,
	.link_enable = exrnic_ntb_link_enable,
	.link_disable = exrnic_ntb_link_disable,
	.mw_count = exrnic_ntb_mw_count,
	.mw_get_align = exrnic_ntb_mw_get_align,
	.mw_set_trans = exrnic_ntb_mw_set_trans,
	.mw_clear_trans = exrnic_ntb_mw_clear_trans,
	.peer_mw_count = exrnic_ntb_peer_mw_count,
	.peer_mw_get_addr = exrnic_ntb_peer_mw_get_addr,
	.db_valid_mask = exrnic_ntb_db_valid_mask,
	.db_read = exrnic_ntb_db_read,
	.db_clear = exrnic_ntb_db_clear,
	.db_read_mask = exrnic_ntb_db_read_mask,
	.db_set_mask = exrnic_ntb_db_set_mask,
	.db_clear_mask = exrnic_ntb_db_clear_mask,
	.peer_db_set = exrnic_ntb_peer_db_set,
	.spad_count = exrnic_ntb_spad_count,
	.spad_read = exrnic_ntb_spad_read,
	.spad_write = exrnic_ntb_spad_write,
	.peer_spad_read = exrnic_ntb_peer_spad_read,
	.peer_spad_write = exrnic_ntb_peer_spad_write,
};

/* ---- From its begin to its end */

static struct exrnic_ntb_link *exrnic_ntb_link_alloc(struct exrnic_device *edev,
						     const struct exrnic_ntb_settings *settings, u32 node)
{
	struct exrnic_ntb_link *link = kzalloc(sizeof(*link), GFP_KERNEL);

	if (!link)
		return NULL;
	link->edev = edev;
	link->settings = *settings;
	link->node = node;
	link->ntb.pdev = to_pci_dev(exrnic_device_dma(edev));
	link->ntb.topo = NTB_TOPO_SWITCH;
	link->ntb.ops = &exrnic_ntb_ops;
	exrnic_ntb_bells_init(link);
	exrnic_ntb_session_init(link);
	return link;
}

/* Clients find it with its link down; the device's life makes it come up. */
struct exrnic_ntb_link *exrnic_ntb_link_create(struct exrnic_device *edev, const struct exrnic_ntb_settings *settings)
{
	struct exrnic_identity identity;
	struct exrnic_ntb_link *link;
	int err = exrnic_device_identify(edev, &identity);

	if (err)
		return ERR_PTR(err);
	if (settings->peer_node == identity.node) {
		dev_err(exrnic_device_dma(edev), "join: the peer, node %u, is this node: a link has two ends\n",
			settings->peer_node);
		return ERR_PTR(-EINVAL);
	}
	link = exrnic_ntb_link_alloc(edev, settings, identity.node);
	if (!link)
		return ERR_PTR(-ENOMEM);
	err = exrnic_ports_reserve(edev, EXRNIC_NTB_PORTS(settings->link));
	if (err)
		goto err_free;
	err = exrnic_ntb_windows_reserve(link);
	if (err)
		goto err_ports;
	err = exrnic_ntb_dma_create(link);
	if (err)
		goto err_windows;
	err = ntb_register_device(&link->ntb);
	if (err)
		goto err_dma;
	exrnic_client_register(edev, &link->client);
	return link;

err_dma:
	exrnic_ntb_dma_destroy(link);
err_windows:
	exrnic_ntb_windows_give_back(link);
err_ports:
	exrnic_ports_give_back(edev, EXRNIC_NTB_PORTS(settings->link));
err_free:
	kfree(link);
	return ERR_PTR(err);
}

void exrnic_ntb_link_destroy(struct exrnic_ntb_link *link)
{
	exrnic_client_unregister(&link->client);
	ntb_unregister_device(&link->ntb);
	exrnic_ntb_dma_destroy(link);
	cancel_delayed_work_sync(&link->work);
	exrnic_ntb_windows_give_back(link);
	exrnic_ports_give_back(link->edev, EXRNIC_NTB_PORTS(link->settings.link));
	kfree(link);
}
