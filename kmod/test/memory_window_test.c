// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Memory windows: whose they are, and what the work requests of a process may bind them to. */
#include <errno.h>

#include "support.h"
#include "work.h"

enum { BINDABLE = EXRNIC_ACCESS_LOCAL_WRITE | EXRNIC_ACCESS_MW_BIND };

static void windows_hold_their_domain(void)
{
	struct set s = make_set();
	uint32_t pd, first, second;

	CHECK_ERR(alloc_pd(s.fd, &pd), 0);
	CHECK_ERR(alloc_mw(s.fd, pd, &first), 0);
	CHECK_ERR(alloc_mw(s.fd, pd, &second), 0);
	CHECK(first != second);
	CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DEALLOC_PD, pd), EBUSY);
	CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DEREG_MR, first), ENOENT);
	CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DEALLOC_MW, first), 0);
	CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DEALLOC_MW, first), ENOENT);
	CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DEALLOC_PD, pd), EBUSY);
	CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DEALLOC_MW, s.stag), ENOENT);
	CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DEALLOC_MW, second), 0);
	CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DEALLOC_PD, pd), 0);
	destroy_set(&s);
}

/* Posts, and compares how it ends; behind an error the queue pair starts again. */
static void check_bind(struct worker *w, uint32_t *done, uint32_t window, uint32_t region,
		       const void *address, uint64_t length, uint8_t status)
{
	post_bind(w, window, region, address, length);
	wait_for_completion(w, *done);
	CHECK_EQ(w->ring[*done].status, status);
	CHECK_EQ(w->ring[*done].opcode, EXRNIC_WQE_OPCODE_BIND_MW);
	++*done;
	if (status == EXRNIC_CQE_STATUS_SUCCESS)
		return;
	CHECK_ERR(modify_qp(w->fd, w->qpn, EXRNIC_QP_STATE_RESET, 0, 0), 0);
	start_worker(w);
}

static void binds_are_checked(void)
{
	struct set s = make_set(), other = make_set();
	struct worker w = make_worker(&s, EXRNIC_NO_CHANNEL, 0, 0);
	const uint64_t length = BUFFER_PAGES * PAGE;
	uint32_t done = 0, window, region, foreign_window, foreign_region;

	CHECK_ERR(alloc_mw(s.fd, s.pd, &window), 0);
	CHECK_ERR(alloc_mw(other.fd, other.pd, &foreign_window), 0);
	CHECK_ERR(reg_mr(s.fd, s.pd, s.buffer, length, BINDABLE, &region), 0);
	CHECK_ERR(reg_mr(other.fd, other.pd, other.buffer, length, BINDABLE, &foreign_region), 0);
	check_bind(&w, &done, window, s.stag, s.buffer, length, EXRNIC_CQE_STATUS_MW_BIND_ERR);
	check_bind(&w, &done, window, region, s.buffer, length + 1, EXRNIC_CQE_STATUS_MW_BIND_ERR);
	check_bind(&w, &done, window, foreign_region, other.buffer, length,
		   EXRNIC_CQE_STATUS_MW_BIND_ERR);
	check_bind(&w, &done, foreign_window, region, s.buffer, length,
		   EXRNIC_CQE_STATUS_MW_BIND_ERR);
	check_bind(&w, &done, window, region, s.buffer, 0, EXRNIC_CQE_STATUS_LOC_QP_OP_ERR);
	check_bind(&w, &done, window ^ 0x55, region, s.buffer, length, EXRNIC_CQE_STATUS_SUCCESS);
	/* Bound, it goes with its file, or before; its region and its queue pair need not wait. */
	CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DEREG_MR, region), 0);
	end_worker(&w);
	CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DEALLOC_MW, window), 0);
	destroy_set(&s);
}

const struct test memory_window_tests[] = {
	{ "a memory window holds its domain until it is given back", windows_hold_their_domain, 0 },
	{ "a process binds its memory windows to its regions that say so, and to no others",
	  binds_are_checked, 0 },
	{ NULL, NULL, 0 },
};
