// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * STags that a peer cannot guess: index and key are random (RFC 5042, 5.3.1). An index never
 * comes back with the key that it had last, so that a stale STag is not soon valid again.
 */
#include <linux/bitmap.h>
#include <linux/mm.h>
#include <linux/random.h>

#include "device.h"
#include "exrnic_driver.h"

int exrnic_stags_init(struct exrnic_stags *stags, u32 size)
{
	stags->size = size;
	stags->used = bitmap_zalloc(size, GFP_KERNEL);
	stags->keys = kvzalloc(size, GFP_KERNEL);
	/* exrnic_stags_fini() comes with the device's end, also after a failure here. */
	return stags->used && stags->keys ? 0 : -ENOMEM;
}

void exrnic_stags_fini(struct exrnic_stags *stags)
{
	kvfree(stags->keys);
	bitmap_free(stags->used);
}

/* A free index, searched for from a random one on; stags->size if there is none. */
static u32 exrnic_stag_find_index(struct exrnic_stags *stags)
{
	u32 start = EXRNIC_STAG_INDEX_MIN +
		    get_random_u32() % (stags->size - EXRNIC_STAG_INDEX_MIN);
	u32 index = find_next_zero_bit(stags->used, stags->size, start);

	if (index < stags->size)
		return index;
	index = find_next_zero_bit(stags->used, start, EXRNIC_STAG_INDEX_MIN);
	return index < start ? index : stags->size;
}

int exrnic_stag_alloc(struct exrnic_stags *stags, u32 *stag)
{
	int err = 0;
	u32 index;

	mutex_lock(&stags->lock);
	index = exrnic_stag_find_index(stags);
	if (index == stags->size) {
		err = -ENOSPC;
	} else {
		__set_bit(index, stags->used);
		*stag = exrnic_next_stag(index, stags->keys[index], get_random_u32());
		stags->keys[index] = *stag;
	}
	mutex_unlock(&stags->lock);
	return err;
}

void exrnic_stag_free(struct exrnic_stags *stags, u32 stag)
{
	mutex_lock(&stags->lock);
	__clear_bit(stag >> EXRNIC_STAG_INDEX_SHIFT, stags->used);
	mutex_unlock(&stags->lock);
}
