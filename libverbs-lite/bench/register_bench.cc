// SPDX-License-Identifier: BSD-2-Clause
#include <sys/mman.h>

#include "device_file.h"
#include "exrnic_hw.h"
#include "local_bench.h"
#include "stopwatch.h"

namespace exrnic {

namespace {

class MappedPage {
 public:
  explicit MappedPage(const DeviceFile& device)
      : memory_(mmap(nullptr, EXRNIC_USER_PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED,
                     device.fd(), 0)) {
    if (memory_ == MAP_FAILED) ThrowErrno("the user page cannot be mapped");
  }
  ~MappedPage() { munmap(memory_, EXRNIC_USER_PAGE_SIZE); }
  MappedPage(const MappedPage&) = delete;
  MappedPage& operator=(const MappedPage&) = delete;

  uint32_t Load() const { return *static_cast<volatile uint32_t*>(memory_); }

 private:
  void* memory_;
};

constexpr unsigned kTurns = 10;

}  // namespace

void MeasureRegisterReads(const LocalOptions& options, Report* report) {
  const DeviceFile device(options.device);
  const MappedPage page(device);
  (void)page.Load();  // the page fault is not part of it
  // In turns, so that what changes on the host meanwhile changes both.
  Mean user = {0, 0};
  Mean system = {0, 0};
  for (unsigned turn = 0; turn < kTurns; ++turn) {
    user = Together(user, MeasureMean(options.count / kTurns, options.seconds / kTurns,
                                      [&] { (void)page.Load(); }));
    system = Together(system, MeasureMean(options.count / kTurns, options.seconds / kTurns, [&] {
                        exrnic_get_status status;
                        device.Call(EXRNIC_IOCTL_GET_STATUS, &status, "GET_STATUS");
                      }));
  }
  report->Add("mmio.user_ns", user.ns, "ns", {{"count", user.count}}, "580 ns, 1,000,000 reads");
  report->Add("mmio.ioctl_ns", system.ns, "ns", {{"count", system.count}},
              "1270 ns, 1,000,000 reads");
  report->Add("mmio.saving_percent", 100 * (1 - user.ns / system.ns), "%", Report::Keys::object(),
              "54.3 %");
}

}  // namespace exrnic
