// SPDX-License-Identifier: BSD-2-Clause
// What a node has written to a page since its twin was made: runs of words of 4 bytes. Nothing that
// it has not written is in them, so that others may have written the words between.
#ifndef EXRNIC_DSM_DIFF_H
#define EXRNIC_DSM_DIFF_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace exrnic {

struct DsmRun {
  uint32_t offset;  // in the page, bytes
  uint32_t bytes;
};

// Runs are added behind those that are there. bytes: a multiple of 8.
void FindDsmRuns(const void* page, const void* twin, size_t bytes, std::vector<DsmRun>* runs);

}  // namespace exrnic

#endif  // EXRNIC_DSM_DIFF_H
