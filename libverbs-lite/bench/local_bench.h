// SPDX-License-Identifier: BSD-2-Clause
// The measurements that take one host. Each adds its rows to the report, and throws
// std::runtime_error with a text for the user.
#ifndef EXRNIC_BENCH_LOCAL_BENCH_H
#define EXRNIC_BENCH_LOCAL_BENCH_H

#include <cstdint>
#include <string>

#include "report.h"

namespace exrnic {

struct LocalOptions {
  std::string device = "exrnic0";
  uint64_t count = 1'000'000;  // of register reads, and of other single calls
  double seconds = 5;          // at most, for each measurement that repeats
  uint64_t max_size = uint64_t{1} << 30;
};

// mmio.user_ns, mmio.ioctl_ns, mmio.saving_percent: 32-bit reads of the device, by a load from the
// mapped user page, and by an ioctl that reads a register.
void MeasureRegisterReads(const LocalOptions& options, Report* report);

// mlock.us, pbl.us (key size), pbl.ratio_percent: pinning of fresh memory, and the list of its
// pages by one ioctl.
void MeasurePbl(const LocalOptions& options, Report* report);

// reg.us_per_mib, dereg.us_per_mib (keys page, size): memory that is there already. In turns with
// what MeasurePin measures, and reg.of_pin_percent: the share in one run says more than a clock
// that varies.
void MeasureRegistration(const LocalOptions& options, Report* report);

// pin.us_per_mib, unpin.us_per_mib (keys page, size): the same memory, of 4 KiB pages, pinned by
// this host's kernel alone (kernel_pin.h). Takes no RNIC: it compares hosts, as a guest and its
// emulator's.
void MeasurePin(const LocalOptions& options, Report* report);

// post_sq.ns, poll_cq.ns, poll_cq.empty_ns: per call with one work request or completion. The queue
// pair is in the error state: the library does the same work as in any other, and every work
// request comes back, flushed, without a peer.
void MeasureWork(const LocalOptions& options, Report* report);

// data_path.syscalls: counted by ptrace in a child that posts and polls; calibrated with calls that
// the child is known to make.
void CountSystemCalls(const LocalOptions& options, Report* report);

}  // namespace exrnic

#endif  // EXRNIC_BENCH_LOCAL_BENCH_H
