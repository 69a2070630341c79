/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Work that completes without a peer: local invalidations, which succeed; work requests that are
 * no such thing, which fail. For tests of what follows a completion.
 */
#ifndef EXRNIC_KMOD_TEST_WORK_H
#define EXRNIC_KMOD_TEST_WORK_H

#include "support.h"

/* A queue pair in RTS with a completion queue for both sides, on the file of a set. */
struct worker {
	int fd;
	uint32_t pd;
	volatile uint64_t *page;
	volatile struct exrnic_cqe *ring;
	struct exrnic_wqe *sq;
	struct exrnic_create_cq cq;
	uint32_t qpn;
	uint32_t posted;
};

enum { WORKER_ENTRIES = 8 };	/* of its completion queue */

/* A node that no test has, and every build can talk to: frames to it get no answer. */
enum { ABSENT_NODE = 15 };

/* A channel of this file; gives up if there is none. */
int create_channel(int fd);
/* Gives up on failure. comp_vector as in CREATE_CQ. */
struct worker make_worker(const struct set *s, int channel_fd, uint64_t cookie,
			  uint32_t comp_vector);
/* From RESET to RTS again; there is nothing in its send queue. */
void start_worker(struct worker *w);
/* Ends its queue pair and its completion queue; what the end of the latter tells. */
struct exrnic_destroy end_worker(const struct worker *w);
/* Fires at once if entries from `consumed` on are there already. */
void arm(const struct worker *w, uint32_t consumed);
void post_invalidate(struct worker *w, uint32_t stag);
/* Binds a memory window with all rights of peers to so many bytes of a region. */
void post_bind(struct worker *w, uint32_t window, uint32_t region, const void *address,
	       uint64_t length);
void post_success(struct worker *w);
void post_failure(struct worker *w);
/* To ABSENT_NODE: fails when that counts as dead. */
void post_to_nobody(struct worker *w);
/* Waits for the completion number `index`, counted from 0, of the first round; gives up. */
void wait_for_completion(const struct worker *w, uint32_t index);
/* The same without sleeping, and for as long as the test may take. */
void spin_for_completion(const struct worker *w, uint32_t index);

/* Waits for events; gives up after some seconds. */
void wait_for_input(int fd);
/* The next event, waited for. */
struct exrnic_event next_event(int fd);
/* What poll() says now. */
short poll_now(int fd);
/* Interrupts for completions since boot, those of all vectors. */
long long completion_interrupts(void);
long long control_interrupts(void);
uint64_t lost_completions(void);	/* the device's counter */
void wait_for_interrupts(long long count);

#endif
