// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Copies from memory of this node into windows, by the device: channels of the kernel's DMA engine, on a queue pair of the link. What
 * is asked for is a PUSH of bus addresses into the memory that the window shows; so it needs no store of a processor.
 *
 * Copies of all channels end in the order in which they were issued, those that fail or are terminated, too: cookies say how far all is. Other copies than into a window of this link are refused: who asks
 * has them done by a processor.
 */
#include <linux/dmaengine.h>
#include <linux/iommu.h>
#include <linux/slab.h>

#include "ntb.h"

/* ntb_transport asks for two: one to send and one, which then does nothing, to receive. */
#define EXRNIC_NTB_CHANNELS	4
/* Bytes of a work request. */
#define EXRNIC_NTB_COPY_MAX	SZ_1G
#define EXRNIC_NTB_QUIET_LIMIT	(2 * HZ)

struct exrnic_ntb_copy {
	struct dma_async_tx_descriptor tx;
	struct list_head entry;
	dma_addr_t from;
	u32 length;
	u32 window;
	u64 offset;
	bool silent;		/* its channel was terminated: nobody is told, and what the device does not have is not done */
	bool failed;
};

struct exrnic_ntb_channel {
	struct dma_chan chan;
	struct list_head submitted;
};

struct exrnic_ntb_dma {
	struct dma_device device;
	struct exrnic_ntb_link *link;
	struct completion released;
	struct exrnic_ntb_channel channels[EXRNIC_NTB_CHANNELS];
	struct exrnic_pbl pbl;	/* all memory that there was when this life of the device began, by bus addresses */
	u64 bytes;		/* of it, from address 0 on */
	struct exrnic_mr mr;

	spinlock_t lock;	/* of all that follows */
	bool open;		/* the queue pair is connected */
	struct exrnic_ntb_place places[EXRNIC_NTB_WINDOWS_MAX];
	struct list_head issued;
	struct list_head posted;
	struct list_head ended;	/* to be told by the tasklet */
	struct tasklet_struct tasklet;
	wait_queue_head_t quiet;
};

static struct exrnic_ntb_dma *exrnic_ntb_dma_of(struct dma_chan *chan)
{
	return container_of(chan->device, struct exrnic_ntb_dma, device);
}

static struct exrnic_ntb_channel *exrnic_ntb_channel_of(struct dma_chan *chan)
{
	return container_of(chan, struct exrnic_ntb_channel, chan);
}

/* ---- Work: with the lock */

static void exrnic_ntb_copy_end(struct exrnic_ntb_dma *dma, struct exrnic_ntb_copy *copy, bool failed)
{
	copy->failed = failed;
	list_move_tail(&copy->entry, &dma->ended);
}

static void exrnic_ntb_copy_put(struct exrnic_ntb_dma *dma, struct exrnic_ntb_copy *copy)
{
	const struct exrnic_ntb_place *place = &dma->places[copy->window];
	const struct exrnic_work work = {
		.head = {
			.opcode = EXRNIC_WQE_OPCODE_PUSH,
			.flags = EXRNIC_WQE_FLAGS_SIGNALED,
			.num_slots = 1,
			.num_sge = 1,
			.length = cpu_to_le32(copy->length),
			.remote_to = cpu_to_le64(copy->offset),
			.remote_stag = cpu_to_le32(place->stag),
			.sge0_address = cpu_to_le64(copy->from),
			.sge0_length = cpu_to_le32(copy->length),
			.sge0_stag = cpu_to_le32(dma->mr.stag),
		},
	};

	exrnic_work_queue_put(&dma->link->queues.copies.sq, &work, 1, (uintptr_t)copy);
	list_move_tail(&copy->entry, &dma->posted);
}

static bool exrnic_ntb_copy_can_be_put(const struct exrnic_ntb_dma *dma, const struct exrnic_ntb_copy *copy)
{
	const struct exrnic_ntb_place *place = &dma->places[copy->window];

	return dma->open && !copy->silent && copy->offset + copy->length <= (u64)place->pages << EXRNIC_PAGE_SHIFT;
}

/* Those that there is room for. What cannot be done fails, behind those that were before it. */
static void exrnic_ntb_dma_post(struct exrnic_ntb_dma *dma)
{
	struct exrnic_ntb_queues *queues = &dma->link->queues;
	struct exrnic_ntb_copy *copy, *next;
	bool put = false;

	list_for_each_entry_safe(copy, next, &dma->issued, entry) {
		if (!exrnic_ntb_copy_can_be_put(dma, copy)) {
			if (!list_empty(&dma->posted))
				break;
			exrnic_ntb_copy_end(dma, copy, true);
			continue;
		}
		if (!exrnic_work_queue_has_room(&queues->copies.sq, 1))
			break;
		exrnic_ntb_copy_put(dma, copy);
		put = true;
	}
	if (put)
		exrnic_ring_announce(&queues->copies.sq.ring, &queues->user_page, queues->copies.qp.qpn);
	if (!list_empty(&dma->ended))
		tasklet_schedule(&dma->tasklet);
}

static void exrnic_ntb_dma_poll(struct exrnic_ntb_dma *dma)
{
	struct exrnic_ntb_queues *queues = &dma->link->queues;
	struct exrnic_cq_ring *completions = &queues->copies.completions;
	const struct exrnic_cqe *cqe;
	u64 wr_id;

	while ((cqe = exrnic_cq_at(completions, completions->consumer))) {
		if (exrnic_work_queue_complete(&queues->copies.sq, le16_to_cpu(cqe->wqe_index), &wr_id))
			exrnic_ntb_copy_end(dma, (struct exrnic_ntb_copy *)(uintptr_t)wr_id,
					    cqe->status != EXRNIC_CQE_STATUS_SUCCESS);
		completions->consumer++;
		exrnic_cq_report_if_due(completions, &queues->user_page, completions->num_entries);
	}
	exrnic_cq_report(completions, &queues->user_page, EXRNIC_DOORBELL_CQ_ARM);
}

/* ---- The tasklet: who has asked is told */

static void exrnic_ntb_copy_tell(struct exrnic_ntb_copy *copy)
{
	const struct dmaengine_result result = {
		.result = copy->failed ? DMA_TRANS_ABORTED : DMA_TRANS_NOERROR,
	};
	struct dma_async_tx_descriptor *tx = &copy->tx;

	tx->chan->completed_cookie = tx->cookie;
	dma_descriptor_unmap(tx);
	if (!copy->silent && tx->callback_result)
		tx->callback_result(tx->callback_param, &result);
	else if (!copy->silent && tx->callback)
		tx->callback(tx->callback_param);
	kfree(copy);
}

static void exrnic_ntb_dma_tell(struct tasklet_struct *tasklet)
{
	struct exrnic_ntb_dma *dma = from_tasklet(dma, tasklet, tasklet);
	struct exrnic_ntb_copy *copy, *next;
	LIST_HEAD(ended);

	spin_lock_irq(&dma->lock);
	if (dma->open)
		exrnic_ntb_dma_poll(dma);
	exrnic_ntb_dma_post(dma);
	list_splice_init(&dma->ended, &ended);
	spin_unlock_irq(&dma->lock);
	list_for_each_entry_safe(copy, next, &ended, entry)
		exrnic_ntb_copy_tell(copy);
	wake_up_all(&dma->quiet);
}

static bool exrnic_ntb_dma_copied(struct exrnic_cq *cq)
{
	tasklet_schedule(&container_of(cq, struct exrnic_ntb_pair, cq)->link->dma->tasklet);
	return true;
}

/* ---- Channels */

static dma_cookie_t exrnic_ntb_copy_submit(struct dma_async_tx_descriptor *tx)
{
	struct exrnic_ntb_copy *copy = container_of(tx, struct exrnic_ntb_copy, tx);
	struct exrnic_ntb_dma *dma = exrnic_ntb_dma_of(tx->chan);
	unsigned long flags;

	spin_lock_irqsave(&dma->lock, flags);
	tx->chan->cookie = tx->chan->cookie < INT_MAX ? tx->chan->cookie + 1 : DMA_MIN_COOKIE;
	tx->cookie = tx->chan->cookie;
	list_add_tail(&copy->entry, &exrnic_ntb_channel_of(tx->chan)->submitted);
	spin_unlock_irqrestore(&dma->lock, flags);
	return tx->cookie;
}

/* Where a processor would store. */
static phys_addr_t exrnic_ntb_dma_address(struct exrnic_ntb_dma *dma, dma_addr_t bus)
{
	struct iommu_domain *domain = iommu_get_domain_for_dev(dma->device.dev);

	return domain && domain->type != IOMMU_DOMAIN_IDENTITY ? iommu_iova_to_phys(domain, bus) : bus;
}

/* False: it is not within one window. */
static bool exrnic_ntb_dma_find(struct exrnic_ntb_dma *dma, struct exrnic_ntb_copy *copy, dma_addr_t to)
{
	const struct exrnic_ntb_link *link = dma->link;
	const u64 size = exrnic_device_limits(link->edev)->window_size;
	const phys_addr_t address = exrnic_ntb_dma_address(dma, to);
	phys_addr_t begin;
	u32 i;

	for (i = 0; i < link->settings.windows; i++) {
		begin = exrnic_window_address(link->edev) + link->out[i].window.first * size;
		copy->window = i;
		copy->offset = address - begin;
		if (address >= begin && copy->offset < link->settings.window_bytes &&
		    copy->length <= link->settings.window_bytes - copy->offset)
			return true;
	}
	return false;
}

/* Not memory that was added later: the queue pair would fail of it, and the link go down. */
static bool exrnic_ntb_dma_reaches(const struct exrnic_ntb_dma *dma, dma_addr_t from, size_t length)
{
	const u64 bytes = READ_ONCE(dma->bytes);

	return from < bytes && length <= bytes - from;
}

static struct dma_async_tx_descriptor *exrnic_ntb_dma_prepare(struct dma_chan *chan, dma_addr_t to, dma_addr_t from,
							      size_t length, unsigned long flags)
{
	struct exrnic_ntb_dma *dma = exrnic_ntb_dma_of(chan);
	struct exrnic_ntb_copy *copy;

	if (!length || length > EXRNIC_NTB_COPY_MAX || !READ_ONCE(dma->open) || !exrnic_ntb_dma_reaches(dma, from, length))
		return NULL;
	copy = kzalloc(sizeof(*copy), GFP_NOWAIT);
	if (!copy)
		return NULL;
	copy->from = from;
	copy->length = length;
	if (!exrnic_ntb_dma_find(dma, copy, to)) {
		kfree(copy);
		return NULL;
	}
	dma_async_tx_descriptor_init(&copy->tx, chan);
	copy->tx.flags = flags;
	copy->tx.tx_submit = exrnic_ntb_copy_submit;
	return &copy->tx;
}

static void exrnic_ntb_dma_issue(struct dma_chan *chan)
{
	struct exrnic_ntb_dma *dma = exrnic_ntb_dma_of(chan);
	unsigned long flags;

	spin_lock_irqsave(&dma->lock, flags);
	list_splice_tail_init(&exrnic_ntb_channel_of(chan)->submitted, &dma->issued);
	exrnic_ntb_dma_post(dma);
	spin_unlock_irqrestore(&dma->lock, flags);
}

static enum dma_status exrnic_ntb_dma_status(struct dma_chan *chan, dma_cookie_t cookie, struct dma_tx_state *state)
{
	const dma_cookie_t used = chan->cookie;
	const dma_cookie_t complete = READ_ONCE(chan->completed_cookie);

	dma_set_tx_state(state, complete, used, 0);
	return dma_async_is_complete(cookie, complete, used);
}

/* What the device has not been told of is not done; all of them end in their turn, and nobody hears of it. */
static int exrnic_ntb_dma_terminate(struct dma_chan *chan)
{
	struct exrnic_ntb_dma *dma = exrnic_ntb_dma_of(chan);
	struct exrnic_ntb_copy *copy;
	unsigned long flags;

	spin_lock_irqsave(&dma->lock, flags);
	list_splice_tail_init(&exrnic_ntb_channel_of(chan)->submitted, &dma->issued);
	list_for_each_entry(copy, &dma->issued, entry)
		copy->silent |= copy->tx.chan == chan;
	list_for_each_entry(copy, &dma->posted, entry)
		copy->silent |= copy->tx.chan == chan;
	list_for_each_entry(copy, &dma->ended, entry)
		copy->silent |= copy->tx.chan == chan;
	spin_unlock_irqrestore(&dma->lock, flags);
	tasklet_schedule(&dma->tasklet);
	return 0;
}

static bool exrnic_ntb_dma_is_quiet(struct dma_chan *chan)
{
	struct exrnic_ntb_dma *dma = exrnic_ntb_dma_of(chan);
	struct exrnic_ntb_copy *copy;
	bool quiet = true;

	spin_lock_irq(&dma->lock);
	list_for_each_entry(copy, &dma->issued, entry)
		quiet = quiet && copy->tx.chan != chan;
	list_for_each_entry(copy, &dma->posted, entry)
		quiet = quiet && copy->tx.chan != chan;
	list_for_each_entry(copy, &dma->ended, entry)
		quiet = quiet && copy->tx.chan != chan;
	spin_unlock_irq(&dma->lock);
	return quiet;
}

/* The queue pair of a peer that does not answer begins anew. */
static void exrnic_ntb_dma_synchronize(struct dma_chan *chan)
{
	struct exrnic_ntb_dma *dma = exrnic_ntb_dma_of(chan);

	if (!wait_event_timeout(dma->quiet, exrnic_ntb_dma_is_quiet(chan), EXRNIC_NTB_QUIET_LIMIT)) {
		WRITE_ONCE(dma->link->broken, true);
		exrnic_ntb_kick(dma->link);
		wait_event(dma->quiet, exrnic_ntb_dma_is_quiet(chan));
	}
	tasklet_unlock_wait(&dma->tasklet);
}

static void exrnic_ntb_dma_free_channel(struct dma_chan *chan)
{
	exrnic_ntb_dma_terminate(chan);
	exrnic_ntb_dma_synchronize(chan);
}

/* ---- Sessions, with the link's lock */

void exrnic_ntb_dma_go(struct exrnic_ntb_link *link, const struct exrnic_ntb_place *places)
{
	struct exrnic_ntb_dma *dma = link->dma;
	bool begins;

	spin_lock_irq(&dma->lock);
	begins = !dma->open;
	memcpy(dma->places, places, sizeof(dma->places));
	WRITE_ONCE(dma->open, true);
	spin_unlock_irq(&dma->lock);
	if (begins)
		tasklet_schedule(&dma->tasklet);	/* which arms the completion queue */
}

/* Nobody touches the queues behind that. */
void exrnic_ntb_dma_stop(struct exrnic_ntb_link *link)
{
	struct exrnic_ntb_dma *dma = link->dma;

	spin_lock_irq(&dma->lock);
	WRITE_ONCE(dma->open, false);
	spin_unlock_irq(&dma->lock);
}

void exrnic_ntb_dma_flush(struct exrnic_ntb_link *link)
{
	struct exrnic_ntb_dma *dma = link->dma;
	struct exrnic_ntb_copy *copy, *next;

	spin_lock_irq(&dma->lock);
	list_for_each_entry_safe(copy, next, &dma->posted, entry)
		exrnic_ntb_copy_end(dma, copy, true);
	exrnic_ntb_dma_post(dma);
	spin_unlock_irq(&dma->lock);
}

/* ---- Lives of the device */

int exrnic_ntb_dma_begin(struct exrnic_ntb_link *link)
{
	struct exrnic_ntb_dma *dma = link->dma;
	struct exrnic_mr_attr attr = { .pbl = &dma->pbl, .pdn = link->queues.pdn };
	int err = exrnic_pbl_build_bus(link->edev, &dma->pbl, &attr.length);

	if (err)
		return err;
	err = exrnic_mr_create(link->edev, &dma->mr, &attr);
	if (err)
		exrnic_pbl_free(link->edev, &dma->pbl);
	else
		WRITE_ONCE(dma->bytes, attr.length);
	return err;
}

void exrnic_ntb_dma_end(struct exrnic_ntb_link *link)
{
	struct exrnic_ntb_dma *dma = link->dma;

	exrnic_mr_destroy(link->edev, &dma->mr);
	exrnic_pbl_free(link->edev, &dma->pbl);
}

/* ---- From its begin to its end */

static void exrnic_ntb_dma_release(struct dma_device *device)
{
	complete(&container_of(device, struct exrnic_ntb_dma, device)->released);
}

static void exrnic_ntb_dma_init(struct exrnic_ntb_dma *dma)
{
	struct dma_device *device = &dma->device;
	u32 i;

	spin_lock_init(&dma->lock);
	INIT_LIST_HEAD(&dma->issued);
	INIT_LIST_HEAD(&dma->posted);
	INIT_LIST_HEAD(&dma->ended);
	tasklet_setup(&dma->tasklet, exrnic_ntb_dma_tell);
	init_waitqueue_head(&dma->quiet);
	init_completion(&dma->released);
	INIT_LIST_HEAD(&device->channels);
	for (i = 0; i < EXRNIC_NTB_CHANNELS; i++) {
		dma->channels[i].chan.device = device;
		dma->channels[i].chan.cookie = DMA_MIN_COOKIE;
		dma->channels[i].chan.completed_cookie = DMA_MIN_COOKIE;
		INIT_LIST_HEAD(&dma->channels[i].submitted);
		list_add_tail(&dma->channels[i].chan.device_node, &device->channels);
	}
	/* Not for whoever wants any copy. */
	dma_cap_set(DMA_MEMCPY, device->cap_mask);
	dma_cap_set(DMA_PRIVATE, device->cap_mask);
	device->directions = BIT(DMA_MEM_TO_MEM);
	device->residue_granularity = DMA_RESIDUE_GRANULARITY_DESCRIPTOR;
	device->device_prep_dma_memcpy = exrnic_ntb_dma_prepare;
	device->device_issue_pending = exrnic_ntb_dma_issue;
	device->device_tx_status = exrnic_ntb_dma_status;
	device->device_terminate_all = exrnic_ntb_dma_terminate;
	device->device_synchronize = exrnic_ntb_dma_synchronize;
	device->device_free_chan_resources = exrnic_ntb_dma_free_channel;
	device->device_release = exrnic_ntb_dma_release;
}

int exrnic_ntb_dma_create(struct exrnic_ntb_link *link)
{
	struct exrnic_ntb_dma *dma = kzalloc(sizeof(*dma), GFP_KERNEL);
	int err;

	if (!dma)
		return -ENOMEM;
	exrnic_ntb_dma_init(dma);
	dma->link = link;
	dma->device.dev = exrnic_device_dma(link->edev);
	link->dma = dma;
	link->queues.copied = exrnic_ntb_dma_copied;
	err = dma_async_device_register(&dma->device);
	if (err) {
		link->dma = NULL;
		kfree(dma);
	}
	return err;
}

void exrnic_ntb_dma_destroy(struct exrnic_ntb_link *link)
{
	struct exrnic_ntb_dma *dma = link->dma;

	dma_async_device_unregister(&dma->device);
	wait_for_completion(&dma->released);
	tasklet_kill(&dma->tasklet);
	kfree(dma);
}
