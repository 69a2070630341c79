// SPDX-License-Identifier: BSD-2-Clause
// What org.exrnic.bench does, by SISCI itself: the same segments, interrupts and order of calls.
#ifndef EXRNIC_JAVA_BENCH_FILE_TRANSFER_H
#define EXRNIC_JAVA_BENCH_FILE_TRANSFER_H

#include <cstddef>
#include <string>

#include "sisci_api.h"

namespace exrnic {

// Of one size of files and buffers.
struct FileRun {
  sci_desc_t sd = nullptr;
  unsigned adapter = 0;
  unsigned peer = 0;  // of the end that sends: who receives
  unsigned port = 0;  // of this run; thread n has number 64 * port + n for all that it has
  unsigned threads = 0;
  size_t file = 0;
  size_t buffer = 0;
  unsigned warm = 0;   // short messages that are sent first, without being timed
  std::string folder;  // of files; empty: from memory
};
constexpr unsigned kFileThreadsMax = 64;

// Ends the process if a call fails, or what comes is something else.
double SendFiles(const FileRun& run);  // seconds
void ReceiveFiles(const FileRun& run);

}  // namespace exrnic

#endif  // EXRNIC_JAVA_BENCH_FILE_TRANSFER_H
