// SPDX-License-Identifier: BSD-2-Clause
#include <sys/mman.h>

#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>

#include "device_file.h"
#include "exrnic_debug.h"
#include "exrnic_hw.h"
#include "kernel_pin.h"
#include "local_bench.h"
#include "stopwatch.h"

namespace exrnic {

namespace {

constexpr size_t kPage = 4096;
constexpr size_t kHugePage = size_t{1} << EXRNIC_HUGE_PAGE_SHIFT;
constexpr uint64_t kMiB = 1 << 20;
constexpr uint64_t kReserve = 64 * kMiB;  // what the system shall keep

// Anonymous memory that begins at a huge page, and is made of pages of one size as far as the
// kernel follows the advice.
class Buffer {
 public:
  Buffer(uint64_t size, size_t page) : length_(size + kHugePage) {
    void* memory =
        mmap(nullptr, length_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) ThrowErrno("no memory for " + SizeText(size));
    start_ = static_cast<uint8_t*>(memory);
    data_ = reinterpret_cast<uint8_t*>((AddressOf(memory) + kHugePage - 1) / kHugePage * kHugePage);
    // A kernel without huge pages refuses: then there are none, which is looked at later.
    (void)madvise(data_, size, page == kPage ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
  }
  ~Buffer() { munmap(start_, length_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  uint8_t* data() const { return data_; }

 private:
  uint64_t length_;
  uint8_t* start_;
  uint8_t* data_;
};

uint64_t AvailableMemory() {
  std::ifstream file("/proc/meminfo");
  std::string name;
  uint64_t kib;
  for (std::string rest; file >> name >> kib; std::getline(file, rest)) {
    if (name == "MemAvailable:") return kib * 1024;
  }
  throw std::runtime_error("/proc/meminfo does not tell MemAvailable");
}

// Why there is no room for `size` bytes and what is noted of each page of them; nothing if there
// is.
std::optional<std::string> NoRoomFor(uint64_t size) {
  const uint64_t needed = size + size / kPage * 3 * sizeof(uint64_t) + kReserve;
  const uint64_t available = AvailableMemory();
  if (needed <= available) return std::nullopt;
  return "needs " + std::to_string(needed / kMiB) + " MiB, " + std::to_string(available / kMiB) +
         " MiB are available";
}

// Often enough for a median (the first ones warm an emulator up), large ones not for ever.
unsigned Repetitions(uint64_t size) {
  return static_cast<unsigned>(std::clamp<uint64_t>(1024 * kMiB / size, 3, 101));
}

struct PblTimes {
  std::vector<double> lock_us;
  std::vector<double> list_us;
};

struct NoDebugFile : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The driver's file for benchmarks, for root where debugfs is mounted.
class DebugFile {
 public:
  DebugFile() : fd_(open(EXRNIC_DEBUG_MEMORY, O_RDWR | O_CLOEXEC)) {
    if (fd_ < 0) {
      throw NoDebugFile("cannot open " EXRNIC_DEBUG_MEMORY
                        " (as root: mount -t debugfs debugfs /sys/kernel/debug)");
    }
  }
  ~DebugFile() { close(fd_); }
  DebugFile(const DebugFile&) = delete;
  DebugFile& operator=(const DebugFile&) = delete;

  void FindPages(exrnic_find_pages* find) const {
    if (ioctl(fd_, EXRNIC_DEBUG_IOCTL_FIND_PAGES, find) != 0) ThrowErrno("FIND_PAGES");
  }

 private:
  const int fd_;
};

void ListOnce(const DebugFile& file, uint64_t size, std::vector<uint64_t>* list, PblTimes* times) {
  const Buffer buffer(size, kPage);
  const Stopwatch lock;
  if (mlock(buffer.data(), size) != 0) ThrowErrno("mlock of " + SizeText(size));
  times->lock_us.push_back(lock.Ns() / 1e3);
  exrnic_find_pages find = {};
  find.address = AddressOf(buffer.data());
  find.length = size;
  find.buffer = AddressOf(list->data());
  find.pages = static_cast<uint32_t>(list->size());
  const Stopwatch make_list;
  file.FindPages(&find);
  times->list_us.push_back(make_list.Ns() / 1e3);
}

struct PaperPin {
  const char* lock;
  const char* list;
  const char* ratio;
};

const std::map<uint64_t, PaperPin>& PaperPins() {
  static const std::map<uint64_t, PaperPin> pins = {
      {kMiB, {"15.1 us", "8.35 us", "55.3 %"}},
      {kMiB << 10, {"624000 us", "8580 us", "1.4 %"}},
  };
  return pins;
}

void MeasurePblOf(const DebugFile& file, uint64_t size, Report* report) {
  const Report::Keys key = {{"size", size}};
  if (const auto reason = NoRoomFor(size)) {
    report->Skip("mlock.us", key, *reason);
    report->Skip("pbl.us", key, *reason);
    return;
  }
  std::vector<uint64_t> list(size / kPage, 1);  // touched here: its page faults are not the list's
  PblTimes times;
  for (unsigned i = Repetitions(size); i > 0; --i) ListOnce(file, size, &list, &times);
  const auto paper = PaperPins().find(size);
  const PaperPin in_paper = paper == PaperPins().end() ? PaperPin{"", "", ""} : paper->second;
  const double lock_us = Median(times.lock_us);
  const double list_us = Median(times.list_us);
  report->Add("mlock.us", lock_us, "us", key, in_paper.lock);
  report->Add("pbl.us", list_us, "us", key, in_paper.list);
  report->Add("pbl.ratio_percent", 100 * list_us / lock_us, "%", key, in_paper.ratio);
}

// What a registration of this memory got; the library tells by the region's list.
size_t PageOf(vl_mr* mr) {
  uint32_t pages = 0;
  uint32_t shift = 0;
  Check(vl_get_pbl(mr, nullptr, &pages, &shift), "vl_get_pbl");
  return size_t{1} << shift;
}

// A buffer's pages held for a device and given back, again and again; us per MiB.
struct HoldTimes {
  std::vector<double> hold;
  std::vector<double> release;
};

double UsPerMiB(const Stopwatch& watch, uint64_t size) {
  return watch.Ns() / 1e3 * static_cast<double>(kMiB) / static_cast<double>(size);
}

// False if the kernel gave the buffer pages of another size.
bool RegisterOnce(vl_pd* pd, const Buffer& buffer, uint64_t size, size_t page, HoldTimes* times) {
  const Stopwatch registration;
  Owned<vl_mr> mr =
      Own(vl_allocate_mr(pd, buffer.data(), size, VL_ACCESS_LOCAL_WRITE), "vl_allocate_mr");
  times->hold.push_back(UsPerMiB(registration, size));
  if (PageOf(mr.get()) != page) return false;
  const Stopwatch deregistration;
  Check(vl_deallocate_mr(mr.release()), "vl_deallocate_mr");
  times->release.push_back(UsPerMiB(deregistration, size));
  return true;
}

void PinOnceByKernel(const KernelPin& kernel, const Buffer& buffer, uint64_t size,
                     HoldTimes* times) {
  const Stopwatch pin;
  kernel.Pin(buffer.data(), size);
  times->hold.push_back(UsPerMiB(pin, size));
  const Stopwatch unpin;
  kernel.Unpin();
  times->release.push_back(UsPerMiB(unpin, size));
}

void AddPin(const HoldTimes& times, const Report::Keys& keys, Report* report) {
  report->Add("pin.us_per_mib", Median(times.hold), "us/MiB", keys);
  report->Add("unpin.us_per_mib", Median(times.release), "us/MiB", keys);
}

void MeasurePinOf(const KernelPin& kernel, uint64_t size, Report* report) {
  const Report::Keys keys = {{"page", kPage}, {"size", size}};
  if (const auto reason = NoRoomFor(size)) return report->Skip("pin.us_per_mib", keys, *reason);
  const Buffer buffer(size, kPage);
  memset(buffer.data(), 1, size);
  HoldTimes times;
  for (unsigned i = Repetitions(size); i > 0; --i) PinOnceByKernel(kernel, buffer, size, &times);
  AddPin(times, keys, report);
}

// Why a buffer has other pages than these, and what to do.
const char* OtherPages(size_t page) {
  if (page == kPage) return "the kernel gave larger pages, against its advice";
  return "the kernel gave 4 KiB pages: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled "
         "(below 512 MiB of memory it begins with never), and provide free memory";
}

// Registration beside what the kernel alone needs for the same pages, in turns, so that what
// changes on the host meanwhile changes both.
void MeasureRegistrationOf(vl_pd* pd, const KernelPin* kernel, uint64_t size, size_t page,
                           Report* report) {
  const Report::Keys keys = {{"page", page}, {"size", size}};
  if (const auto reason = NoRoomFor(size)) return report->Skip("reg.us_per_mib", keys, *reason);
  const Buffer buffer(size, page);
  memset(buffer.data(), 1, size);
  HoldTimes rnic;
  HoldTimes alone;
  for (unsigned i = Repetitions(size); i > 0; --i) {
    if (!RegisterOnce(pd, buffer, size, page, &rnic)) {
      return report->Skip("reg.us_per_mib", keys, OtherPages(page));
    }
    if (kernel != nullptr) PinOnceByKernel(*kernel, buffer, size, &alone);
  }
  report->Add("reg.us_per_mib", Median(rnic.hold), "us/MiB", keys,
              page == kPage ? "ibv_reg_mr, reported: 76 to 98" : "");
  report->Add("dereg.us_per_mib", Median(rnic.release), "us/MiB", keys);
  if (kernel == nullptr) return;
  AddPin(alone, keys, report);
  report->Add("reg.of_pin_percent", 100 * Median(rnic.hold) / Median(alone.hold), "%", keys);
}

// Nothing, and the reason as a row, on a host that does not let this process use io_uring.
std::unique_ptr<KernelPin> OpenKernelPin(Report* report) {
  try {
    return std::make_unique<KernelPin>();
  } catch (const std::runtime_error& error) {
    report->Skip("pin.us_per_mib", Report::Keys::object(), error.what());
    return nullptr;
  }
}

constexpr uint64_t kHeldSizes[] = {2 * kMiB, 64 * kMiB, 1024 * kMiB};

}  // namespace

void MeasurePbl(const LocalOptions& options, Report* report) {
  try {
    const DebugFile file;
    for (uint64_t size = kPage; size <= options.max_size; size *= 4)
      MeasurePblOf(file, size, report);
  } catch (const NoDebugFile& error) {
    report->Skip("pbl.us", Report::Keys::object(), error.what());
  }
}

void MeasureRegistration(const LocalOptions& options, Report* report) {
  const Owned<vl_rnic> rnic = Own(OpenDevice(options.device), "cannot open the RNIC");
  const Owned<vl_pd> pd = Own(vl_allocate_pd(rnic.get()), "vl_allocate_pd");
  const std::unique_ptr<KernelPin> kernel = OpenKernelPin(report);
  for (const uint64_t size : kHeldSizes) {
    if (size > options.max_size) continue;
    MeasureRegistrationOf(pd.get(), kernel.get(), size, kPage, report);
    // Not beside the kernel: to count a huge page once, io_uring looks through all pages before it.
    MeasureRegistrationOf(pd.get(), nullptr, size, kHugePage, report);
  }
}

void MeasurePin(const LocalOptions& options, Report* report) {
  const std::unique_ptr<KernelPin> kernel = OpenKernelPin(report);
  if (kernel == nullptr) return;
  for (const uint64_t size : kHeldSizes) {
    if (size <= options.max_size) MeasurePinOf(*kernel, size, report);
  }
}

}  // namespace exrnic
