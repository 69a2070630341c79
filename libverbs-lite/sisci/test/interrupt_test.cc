// SPDX-License-Identifier: BSD-2-Clause
#include <thread>

#include "two_nodes.h"

namespace exrnic {
namespace {

struct Pulse {
  Pulse(sci_desc_t sd, unsigned flags = 0) {
    SCI(SCI_ERR_OK, SCICreateInterrupt, sd, &local, 1, &number, nullptr, nullptr, flags);
    SCI(SCI_ERR_OK, SCIConnectInterrupt, sd, &remote, 1, 0, number, kSeconds, 0);
  }
  void Remove() {
    SCI(SCI_ERR_OK, SCIDisconnectInterrupt, remote, 0);
    SCI(SCI_ERR_OK, SCIRemoveInterrupt, local, 0);
  }
  sci_error_t Wait(unsigned timeout) {
    sci_error_t error;
    SCIWaitForInterrupt(local, timeout, 0, &error);
    return error;
  }

  sci_local_interrupt_t local = nullptr;
  sci_remote_interrupt_t remote = nullptr;
  unsigned number = 0;
};

TEST_CASE("an interrupt wakes who waits for it, and nobody else") {
  TwoNodes nodes;
  Pulse pulse(nodes.sd), other(nodes.sd);
  CHECK(pulse.number != other.number);
  CHECK(pulse.Wait(0) == SCI_ERR_TIMEOUT);
  CHECK(pulse.Wait(10) == SCI_ERR_TIMEOUT);
  SCI(SCI_ERR_OK, SCITriggerInterrupt, pulse.remote, 0);
  CHECK(pulse.Wait(kSeconds) == SCI_ERR_OK);
  CHECK(pulse.Wait(1) == SCI_ERR_TIMEOUT);
  CHECK(other.Wait(1) == SCI_ERR_TIMEOUT);
  pulse.Remove();
  other.Remove();
  SCI(SCI_ERR_OK, SCIClose, nodes.sd, 0);
}

TEST_CASE("many threads wait each for its own interrupt") {
  constexpr unsigned kThreads = 16, kRounds = 50;
  TwoNodes nodes;
  std::vector<Pulse> pulses;
  for (unsigned i = 0; i < kThreads; ++i) pulses.emplace_back(nodes.sd);
  std::atomic<unsigned> woken{0}, failed{0};
  std::vector<std::thread> threads;
  for (Pulse& pulse : pulses) {
    threads.emplace_back([&] {
      for (unsigned i = 0; i < kRounds; ++i) {
        sci_error_t error;
        SCITriggerInterrupt(pulse.remote, 0, &error);
        if (error != SCI_ERR_OK || pulse.Wait(kSeconds) != SCI_ERR_OK) ++failed;
        ++woken;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(woken == kThreads * kRounds);
  CHECK(failed == 0);
  for (Pulse& pulse : pulses) pulse.Remove();
  SCI(SCI_ERR_OK, SCIClose, nodes.sd, 0);
}

// The other end takes no more than it can: the trigger says so, and is tried again.
void TriggerOften(const Pulse& pulse, int times) {
  for (int i = 0; i < times; ++i) {
    REQUIRE(Eventually([&] {
      sci_error_t error;
      SCITriggerInterrupt(pulse.remote, 0, &error);
      REQUIRE((error == SCI_ERR_OK || error == SCI_ERR_NOSPC));
      return error == SCI_ERR_OK;
    }));
  }
}

TEST_CASE("10,000 interrupts that nobody waits for are one, or 10,000 if they are counted") {
  constexpr int kTimes = 10'000;
  TwoNodes nodes;
  Pulse plain(nodes.sd), counting(nodes.sd, SCI_FLAG_COUNTING_INT);
  TriggerOften(plain, kTimes);
  TriggerOften(counting, kTimes);
  int counted = 0;
  while (counted < kTimes && counting.Wait(kSeconds) == SCI_ERR_OK) ++counted;
  CHECK(counted == kTimes);
  CHECK(counting.Wait(10) == SCI_ERR_TIMEOUT);
  CHECK(plain.Wait(0) == SCI_ERR_OK);
  CHECK(plain.Wait(0) == SCI_ERR_TIMEOUT);
  plain.Remove();
  counting.Remove();
  SCI(SCI_ERR_OK, SCIClose, nodes.sd, 0);
}

TEST_CASE("numbers of interrupts are each one's own, and those of nobody are told") {
  TwoNodes nodes;
  sci_local_interrupt_t first = nullptr, second = nullptr;
  sci_local_data_interrupt_t data = nullptr;
  sci_remote_interrupt_t remote = nullptr;
  unsigned number = 77;
  SCI(SCI_ERR_OK, SCICreateInterrupt, nodes.sd, &first, 1, &number, nullptr, nullptr,
      SCI_FLAG_FIXED_INTNO);
  SCI(SCI_ERR_INTNO_USED, SCICreateInterrupt, nodes.sd, &second, 1, &number, nullptr, nullptr,
      SCI_FLAG_FIXED_INTNO);
  SCI(SCI_ERR_OK, SCICreateInterrupt, nodes.sd, &second, 0, &number, nullptr, nullptr,
      SCI_FLAG_FIXED_INTNO);
  SCI(SCI_ERR_OK, SCICreateDataInterrupt, nodes.sd, &data, 1, &number, nullptr, nullptr,
      SCI_FLAG_FIXED_INTNO);
  SCI(SCI_ERR_NO_SUCH_INTNO, SCIConnectInterrupt, nodes.sd, &remote, 1, 0, 78, kSeconds, 0);
  SCI(SCI_ERR_OK, SCIConnectInterrupt, nodes.sd, &remote, 1, 0, 77, kSeconds, 0);
  // It is removed at the other end: who triggers it interrupts nobody.
  SCI(SCI_ERR_OK, SCIRemoveInterrupt, first, 0);
  SCI(SCI_ERR_OK, SCITriggerInterrupt, remote, 0);
  SCI(SCI_ERR_ILLEGAL_PARAMETER, SCIWaitForInterrupt, first, 0, 0);
  SCI(SCI_ERR_OK, SCIDisconnectInterrupt, remote, 0);
  SCI(SCI_ERR_ILLEGAL_PARAMETER, SCITriggerInterrupt, remote, 0);
  SCI(SCI_ERR_OK, SCIRemoveInterrupt, second, 0);
  SCI(SCI_ERR_OK, SCIRemoveDataInterrupt, data, 0);
  SCI(SCI_ERR_OK, SCIClose, nodes.sd, 0);
}

TEST_CASE("who waits for an interrupt that is removed is told") {
  TwoNodes nodes;
  Pulse pulse(nodes.sd);
  sci_error_t waited = SCI_ERR_SYSTEM;
  std::thread waiter([&] {
    pulse.Wait(SCI_INFINITE_TIMEOUT);
    waited = pulse.Wait(SCI_INFINITE_TIMEOUT);
  });
  SCI(SCI_ERR_OK, SCITriggerInterrupt, pulse.remote, 0);  // so it has begun
  usleep(200'000);
  pulse.Remove();
  waiter.join();
  CHECK(waited == SCI_ERR_CANCELLED);
  SCI(SCI_ERR_OK, SCIClose, nodes.sd, 0);
}

struct DataPulse {
  explicit DataPulse(sci_desc_t sd) {
    SCI(SCI_ERR_OK, SCICreateDataInterrupt, sd, &local, 1, &number, nullptr, nullptr, 0);
    SCI(SCI_ERR_OK, SCIConnectDataInterrupt, sd, &remote, 1, 0, number, kSeconds, 0);
  }
  void Remove() {
    SCI(SCI_ERR_OK, SCIDisconnectDataInterrupt, remote, 0);
    SCI(SCI_ERR_OK, SCIRemoveDataInterrupt, local, 0);
  }

  sci_local_data_interrupt_t local = nullptr;
  sci_remote_data_interrupt_t remote = nullptr;
  unsigned number = 0;
};

TEST_CASE("an interrupt brings its bytes") {
  TwoNodes nodes;
  DataPulse pulse(nodes.sd);
  std::vector<uint8_t> sent(SCI_MAX_INTERRUPT_DATA), got(SCI_MAX_INTERRUPT_DATA);
  unsigned seed = 0;
  for (const unsigned length : {1u, 24u, 56u, 57u, 1000u, unsigned{SCI_MAX_INTERRUPT_DATA}}) {
    FillBytes(sent.data(), length, ++seed);
    SCI(SCI_ERR_OK, SCITriggerDataInterrupt, pulse.remote, sent.data(), length, 0);
    unsigned room = length - 1;
    SCI(SCI_ERR_NOSPC, SCIWaitForDataInterrupt, pulse.local, got.data(), &room, kSeconds, 0);
    CHECK(room == length);  // it has stayed
    SCI(SCI_ERR_OK, SCIWaitForDataInterrupt, pulse.local, got.data(), &room, kSeconds, 0);
    CHECK(room == length);
    CHECK(memcmp(sent.data(), got.data(), length) == 0);
  }
  SCI(SCI_ERR_SIZE_ALIGNMENT, SCITriggerDataInterrupt, pulse.remote, sent.data(), 0, 0);
  SCI(SCI_ERR_OUT_OF_RANGE, SCITriggerDataInterrupt, pulse.remote, sent.data(),
      SCI_MAX_INTERRUPT_DATA + 1, 0);
  SCI(SCI_ERR_ILLEGAL_PARAMETER, SCITriggerDataInterrupt, pulse.remote, nullptr, 1, 0);
  pulse.Remove();
  SCI(SCI_ERR_OK, SCIClose, nodes.sd, 0);
}

TEST_CASE("interrupts with data that nobody takes fill their queue, and no more") {
  TwoNodes nodes;
  DataPulse pulse(nodes.sd);
  unsigned sent = 0;
  sci_error_t error = SCI_ERR_OK;
  for (; sent < 10'000; ++sent) {
    SCITriggerDataInterrupt(pulse.remote, &sent, sizeof(sent), 0, &error);
    if (error != SCI_ERR_OK) break;
  }
  CHECK(error == SCI_ERR_NOSPC);
  CHECK(sent >= 32);
  CHECK(sent < 1000);
  for (unsigned i = 0; i < sent; ++i) {
    unsigned got = 0, room = sizeof(got);
    SCI(SCI_ERR_OK, SCIWaitForDataInterrupt, pulse.local, &got, &room, kSeconds, 0);
    CHECK(got == i);
  }
  SCI(SCI_ERR_OK, SCITriggerDataInterrupt, pulse.remote, &sent, sizeof(sent), 0);
  pulse.Remove();
  SCI(SCI_ERR_OK, SCIClose, nodes.sd, 0);
}

TEST_CASE("who triggers an interrupt with data that was removed goes on, as often as it likes") {
  TwoNodes nodes;
  DataPulse pulse(nodes.sd);
  const auto trigger = [&](unsigned times) {
    for (unsigned i = 0; i < times; ++i) {
      REQUIRE(Eventually(
          [&] {
            sci_error_t error;
            SCITriggerDataInterrupt(pulse.remote, &i, sizeof(i), 0, &error);
            REQUIRE((error == SCI_ERR_OK || error == SCI_ERR_NOSPC));
            return error == SCI_ERR_OK;
          },
          2000));
    }
  };
  trigger(50);  // which stay in its queue
  SCI(SCI_ERR_OK, SCIRemoveDataInterrupt, pulse.local, 0);
  trigger(300);
  SCI(SCI_ERR_OK, SCIDisconnectDataInterrupt, pulse.remote, 0);
  SCI(SCI_ERR_OK, SCIClose, nodes.sd, 0);
}

struct Counted {
  std::atomic<int> count{0};
  sci_remote_interrupt_t answer = nullptr;
};

TEST_CASE("callbacks of interrupts run for each, and may trigger others") {
  TwoNodes nodes;
  Counted counted;
  Pulse answer(nodes.sd, SCI_FLAG_COUNTING_INT);
  counted.answer = answer.remote;
  const sci_cb_interrupt_t callback = [](void* arg, sci_local_interrupt_t, sci_error_t) {
    auto* const self = static_cast<Counted*>(arg);
    sci_error_t error;
    SCITriggerInterrupt(self->answer, 0, &error);
    return ++self->count == 5 ? SCI_CALLBACK_CANCEL : SCI_CALLBACK_CONTINUE;
  };
  sci_local_interrupt_t local;
  sci_remote_interrupt_t remote;
  unsigned number = 0;
  SCI(SCI_ERR_OK, SCICreateInterrupt, nodes.sd, &local, 1, &number, callback, &counted,
      SCI_FLAG_USE_CALLBACK | SCI_FLAG_COUNTING_INT);
  SCI(SCI_ERR_OK, SCIConnectInterrupt, nodes.sd, &remote, 1, 0, number, kSeconds, 0);
  SCI(SCI_ERR_ILLEGAL_OPERATION, SCIWaitForInterrupt, local, 0, 0);
  for (int i = 0; i < 8; ++i) SCI(SCI_ERR_OK, SCITriggerInterrupt, remote, 0);
  for (int i = 0; i < 5; ++i) CHECK(answer.Wait(kSeconds) == SCI_ERR_OK);
  CHECK(answer.Wait(10) == SCI_ERR_TIMEOUT);
  CHECK(counted.count == 5);
  SCI(SCI_ERR_OK, SCIDisconnectInterrupt, remote, 0);
  SCI(SCI_ERR_OK, SCIRemoveInterrupt, local, 0);
  answer.Remove();
  SCI(SCI_ERR_OK, SCIClose, nodes.sd, 0);
}

}  // namespace
}  // namespace exrnic
