/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A process that has everything it can have, and what it must find when the device goes. */
#ifndef EXRNIC_KMOD_TEST_TENANT_H
#define EXRNIC_KMOD_TEST_TENANT_H

#include <pthread.h>

#include "work.h"

#define DRIVER "/sys/bus/pci/drivers/exrnic"

/* Objects, mappings, a channel, a thread that waits. */
struct tenant {
	struct set s;
	int channel;
	struct worker worker;
	volatile uint64_t *untouched;
	const volatile struct exrnic_state_page *state;
	pthread_t reader;
};

void move_in(struct tenant *t);
/* The device is gone for it: nothing works any more, and all who wait are told. */
void check_evicted(struct tenant *t);
/* The last reference to the file goes with its mappings. */
void move_out(struct tenant *t);

/* For a new file the device works: objects, work, a completion and its event. */
void check_life_goes_on(void);

/* Both give up if it cannot be mapped. */
void *map_user_page(int fd);
const void *map_state_page(int fd);

#endif
