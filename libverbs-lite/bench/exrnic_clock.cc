// SPDX-License-Identifier: BSD-2-Clause
// exrnic-clock: what a guest's own clock says when it loads from its RNIC, when the RNIC writes
// into its memory, of a loop that waits by PAUSE, of IN, and of string instructions. In
// synchronised time that clock, the TSC, is the simulator's, in nanoseconds;
// tests/guest/guest_clock_test.py compares both.
#include <sys/io.h>
#include <sys/mman.h>
#include <x86intrin.h>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <vector>

#include "device_file.h"
#include "exrnic_hw.h"
#include "output.h"
#include "verbs_objects.h"

namespace exrnic {
namespace {

constexpr unsigned kTimes = 50;
constexpr unsigned kBefore = 3;  // until all of the path is translated
constexpr unsigned kElements = 60001;

struct Interval {
  uint64_t begin;
  uint64_t end;
};

std::vector<Interval> Loads() {
  const DeviceFile device("exrnic0");
  void* memory =
      mmap(nullptr, EXRNIC_USER_PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, device.fd(), 0);
  if (memory == MAP_FAILED) ThrowErrno("the user page cannot be mapped");
  const auto* page = static_cast<volatile uint32_t*>(memory);
  std::vector<Interval> found;
  for (unsigned i = 0; i < kBefore + kTimes; ++i) {
    const uint64_t begin = __rdtsc();
    (void)*page;
    const uint64_t end = __rdtsc();
    if (i >= kBefore) found.push_back({begin, end});
  }
  munmap(memory, EXRNIC_USER_PAGE_SIZE);
  return found;
}

// From before a work request is posted until its completion is in memory. The queue pair is in the
// error state: the RNIC flushes what is posted, and needs no peer.
std::vector<Interval> Completions() {
  const Owned<vl_rnic> rnic = Own(OpenDevice("exrnic0"), "cannot open the RNIC");
  const Owned<vl_pd> pd = Own(vl_allocate_pd(rnic.get()), "vl_allocate_pd");
  const Owned<vl_cq> cq = Own(vl_create_cq(rnic.get(), 1, nullptr), "vl_create_cq");
  const Owned<vl_qp> qp = CreateQp(pd.get(), QpAttributes(cq.get(), 1));
  ModifyQp(qp.get(), VL_QPS_ERROR);
  vl_send_wr wr = {};
  wr.opcode = VL_OP_PUSH;
  wr.flags = VL_SEND_SIGNALED;
  std::vector<Interval> found;
  for (unsigned i = 0; i < kBefore + kTimes; ++i) {
    vl_wc wc;
    int count = 0;
    const uint64_t begin = __rdtsc();
    Check(vl_post_sq(qp.get(), &wr, nullptr), "vl_post_sq");
    while (count == 0) count = vl_poll_cq(cq.get(), 1, &wc);
    const uint64_t end = __rdtsc();
    Check(count, "vl_poll_cq");
    if (i >= kBefore) found.push_back({begin, end});
  }
  return found;
}

// IN from the port that machines show their boot's progress at: no device of ours.
std::vector<Interval> PortLoads() {
  constexpr unsigned short kProgress = 0x80;
  if (ioperm(kProgress, 1, 1) != 0) ThrowErrno("port 0x80 cannot be read");
  std::vector<Interval> found;
  for (unsigned i = 0; i < kBefore + kTimes; ++i) {
    const uint64_t begin = __rdtsc();
    (void)inb(kProgress);
    const uint64_t end = __rdtsc();
    if (i >= kBefore) found.push_back({begin, end});
  }
  return found;
}

struct Wait {
  uint64_t ticks;  // that it was to last
  uint64_t lasted;
  uint64_t turns;
};

Wait WaitFor(uint64_t ticks) {
  uint64_t turns = 0;
  const uint64_t begin = __rdtsc();
  uint64_t now = begin;
  for (; now - begin < ticks; now = __rdtsc(), ++turns) _mm_pause();
  return {ticks, now - begin, turns};
}

std::vector<Wait> Waits() {
  std::vector<Wait> found;
  for (unsigned i = 0; i < kBefore; ++i) {
    for (uint64_t ticks : {1000, 100000}) {
      for (volatile int other = 0; other < 1000;
           ++other) {  // a wait of its own, not part of the last
      }
      found.push_back(WaitFor(ticks));
    }
  }
  return found;
}

// An element takes an instruction, however the simulator does it.
std::vector<Interval> Fills() {
  std::vector<uint8_t> memory(kElements, 1);
  std::vector<Interval> found;
  for (unsigned i = 0; i < kBefore; ++i) {
    const auto value = static_cast<uint8_t>(i + 2);
    void* to = memory.data();
    uint64_t count = kElements;
    const uint64_t begin = __rdtsc();
    asm volatile("rep stosb" : "+D"(to), "+c"(count) : "a"(value) : "memory");
    found.push_back({begin, __rdtsc()});
    if (to != memory.data() + kElements || memory != std::vector<uint8_t>(kElements, value))
      throw std::runtime_error("REP STOSB stored something else");
  }
  return found;
}

std::vector<Interval> Copies() {
  std::vector<uint8_t> memory(kElements, 1);
  std::vector<uint8_t> source(kElements);
  std::vector<Interval> found;
  for (unsigned i = 0; i < kBefore; ++i) {
    for (unsigned k = 0; k < kElements; ++k) source[k] = static_cast<uint8_t>(k * 7 + k / 251 + i);
    void* to = memory.data();
    const void* from = source.data();
    uint64_t count = kElements;
    const uint64_t begin = __rdtsc();
    asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
    found.push_back({begin, __rdtsc()});
    if (from != source.data() + kElements || memory != source)
      throw std::runtime_error("REP MOVSB copied something else");
  }
  return found;
}

void Print(const char* what, const std::vector<Interval>& intervals) {
  for (const Interval& interval : intervals) {
    printf("@exrnic {\"what\":\"%s\",\"begin\":%llu,\"end\":%llu}\n", what,
           static_cast<unsigned long long>(interval.begin),
           static_cast<unsigned long long>(interval.end));
  }
}

}  // namespace
}  // namespace exrnic

int main() {
  try {
    const auto loads = exrnic::Loads();
    const auto completions = exrnic::Completions();
    const auto waits = exrnic::Waits();
    const auto port_loads = exrnic::PortLoads();
    const auto fills = exrnic::Fills();
    const auto copies = exrnic::Copies();
    exrnic::Print("fill", fills);
    exrnic::Print("copy", copies);
    exrnic::Print("load", loads);
    exrnic::Print("port", port_loads);
    exrnic::Print("completion", completions);
    for (const exrnic::Wait& wait : waits) {
      printf("@exrnic {\"what\":\"wait\",\"ticks\":%llu,\"lasted\":%llu,\"turns\":%llu}\n",
             static_cast<unsigned long long>(wait.ticks),
             static_cast<unsigned long long>(wait.lasted),
             static_cast<unsigned long long>(wait.turns));
    }
    exrnic::FinishOutput(stdout);
  } catch (const std::exception& error) {
    fprintf(stderr, "exrnic-clock: %s\n", error.what());
    return 1;
  }
  return 0;
}
