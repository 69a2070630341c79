// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* STags that a peer cannot guess (RFC 5042, 5.3.1): how many it would have to try. */
#include "support.h"

/*
 * Draws of n among as many as have b bits meet in n^2 / 2^(b+1) pairs. With all 22 bits that there
 * are these meet in two; with 18 they would in 32. Distances from one to the next likewise.
 */
enum { DRAWS = 4096, MOST_PAIRS = 24, STAG_VALUES = EXRNIC_MAX_STAG << EXRNIC_STAG_INDEX_SHIFT };

static unsigned int equal_pairs(const uint32_t *values)
{
	unsigned int pairs = 0;

	for (int i = 0; i < DRAWS; i++)
		for (int k = 0; k < i; k++)
			pairs += values[i] == values[k];
	return pairs;
}

static void stags_are_hard_to_guess(void)
{
	static uint32_t stags[DRAWS], distances[DRAWS];
	struct set s = make_set();
	uint32_t last = s.stag;

	for (int i = 0; i < DRAWS; i++) {
		CHECK_ERR(reg_mr(s.fd, s.pd, s.buffer, PAGE, 0, &stags[i]), 0);
		CHECK_ERR(object_ioctl(s.fd, EXRNIC_IOCTL_DEREG_MR, stags[i]), 0);
		distances[i] = (stags[i] - last) % STAG_VALUES;
		last = stags[i];
		if (has_failed())
			break;
	}
	CHECK(equal_pairs(stags) <= MOST_PAIRS);
	CHECK(equal_pairs(distances) <= MOST_PAIRS);
	destroy_set(&s);
}

const struct test stag_tests[] = {
	{ "of thousands of STags, and of their distances, hardly any two are equal",
	  stags_are_hard_to_guess, 0 },
	{ NULL, NULL, 0 },
};
