// SPDX-License-Identifier: BSD-2-Clause
#include "pm_program.h"

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "exrnic/pm.h"

namespace exrnic {

namespace {

using PmBenchClock = std::chrono::steady_clock;

constexpr size_t kAreaBytes = size_t{1} << 20;

[[noreturn]] void FailCall(const char* call) {
  throw std::runtime_error(std::string(call) + ": " + pmErrorText());
}
void CheckCall(int error, const char* call) {
  if (error != 0) FailCall(call);
}

class PmProgram {
 public:
  explicit PmProgram(const PmArguments& arguments)
      : arguments_(arguments), peer_(1 - arguments.node) {
    std::vector<const char*> list;
    for (const std::string& address : arguments_.addresses) list.push_back(address.c_str());
    pm_attr attr = {};
    attr.nodes = static_cast<int>(list.size());
    attr.self = arguments.node;
    attr.addresses = list.data();
    attr.device = arguments_.device.empty() ? nullptr : arguments_.device.c_str();
    CheckCall(pmOpenContext(&attr, &context_), "pmOpenContext");
  }

  void Run() {
    for (const std::string& part : arguments_.parts) {
      if (part == "rtt") {
        for (const size_t bytes : {size_t{4}, size_t{64}, size_t{1024}, size_t{8192}})
          RoundTrips(bytes);
      } else if (part == "messages") {
        for (const size_t bytes : {size_t{1024}, size_t{4096}, size_t{8192}}) Stream(bytes);
      } else {
        Transfers();
      }
    }
    CheckCall(pmCloseContext(context_), "pmCloseContext");
  }

 private:
  bool first() const { return arguments_.node == 0; }

  uint8_t* Buffer(size_t bytes) {
    void* buffer;
    int error;
    while ((error = pmGetSendBuffer(context_, peer_, &buffer, bytes)) == ENOBUFS) {
    }
    CheckCall(error, "pmGetSendBuffer");
    return static_cast<uint8_t*>(buffer);
  }
  const uint8_t* Receive(size_t bytes) {
    void* buffer;
    size_t length;
    int error;
    while ((error = pmReceive(context_, &buffer, &length)) == ENOBUFS) {
    }
    CheckCall(error, "pmReceive");
    if (length != bytes) throw std::runtime_error("a message of another length");
    return static_cast<const uint8_t*>(buffer);
  }
  void SendMarked(size_t bytes, unsigned mark) {
    uint8_t* const buffer = Buffer(bytes);
    buffer[0] = buffer[bytes - 1] = static_cast<uint8_t>(mark);
    CheckCall(pmSend(context_), "pmSend");
  }
  void ReceiveMarked(size_t bytes, unsigned mark) {
    const uint8_t* const buffer = Receive(bytes);
    if (buffer[0] != static_cast<uint8_t>(mark) || buffer[bytes - 1] != buffer[0])
      throw std::runtime_error("a message is not what was sent");
    CheckCall(pmReleaseReceiveBuffer(context_), "pmReleaseReceiveBuffer");
  }
  static double MicrosecondsSince(PmBenchClock::time_point begin) {
    return std::chrono::duration<double, std::micro>(PmBenchClock::now() - begin).count();
  }

  // The mean, without a look at the clock between; the first round only brings both ends together.
  void RoundTrips(size_t bytes) {
    PmBenchClock::time_point begin;
    for (unsigned round = 0; round <= arguments_.rounds; ++round) {
      if (round == 1) begin = PmBenchClock::now();
      if (first()) SendMarked(bytes, round);
      ReceiveMarked(bytes, round);
      if (!first()) SendMarked(bytes, round);
    }
    if (first()) Report("rtt_us", bytes, MicrosecondsSince(begin) / arguments_.rounds);
  }

  // To node 1, which answers behind the last.
  void Stream(size_t bytes) {
    const auto begin = PmBenchClock::now();
    for (unsigned n = 0; n < arguments_.messages; ++n) {
      if (first()) {
        SendMarked(bytes, n);
      } else {
        ReceiveMarked(bytes, n);
      }
    }
    if (first()) {
      ReceiveMarked(1, 1);
      Report("message_mb_per_s", bytes,
             static_cast<double>(bytes * arguments_.messages) / MicrosecondsSince(begin));
    } else {
      SendMarked(1, 1);
    }
  }

  void Transfers() {
    std::vector<uint8_t> area(kAreaBytes), mine(kAreaBytes);
    for (size_t i = 0; i < kAreaBytes; ++i) mine[i] = static_cast<uint8_t>(i + (i >> 8) * 3);
    pm_handle handle, local, remote;
    CheckCall(pmMLock(context_, peer_, area.data(), kAreaBytes, &handle), "pmMLock");
    CheckCall(pmMLock(context_, PM_NODE_ANY, mine.data(), kAreaBytes, &local), "pmMLock");
    memcpy(Buffer(sizeof(handle)), &handle, sizeof(handle));
    CheckCall(pmSend(context_), "pmSend");
    memcpy(&remote, Receive(sizeof(remote)), sizeof(remote));
    CheckCall(pmReleaseReceiveBuffer(context_), "pmReleaseReceiveBuffer");
    if (first()) {
      for (const size_t bytes : {size_t{4096}, size_t{65536}, kAreaBytes}) {
        Move("write_mb_per_s", pmWrite, bytes, remote, local);
        Move("read_mb_per_s", pmRead, bytes, remote, handle);
      }
      if (area != mine) throw std::runtime_error("what was read is not what was written");
      SendMarked(1, 2);
    } else {
      ReceiveMarked(1, 2);
    }
  }

  void Move(const char* name, decltype(&pmWrite) call, size_t bytes, pm_handle remote,
            pm_handle local) {
    CheckCall(call(context_, peer_, remote, local, bytes),
              name);  // where its area is, to begin with
    CheckCall(pmWaitDone(context_), "pmWaitDone");
    const auto begin = PmBenchClock::now();
    for (unsigned n = 0; n < arguments_.transfers; ++n) {
      int error;
      while ((error = call(context_, peer_, remote, local, bytes)) == ENOBUFS) {
      }
      CheckCall(error, name);
    }
    CheckCall(pmWaitDone(context_), "pmWaitDone");
    Report(name, bytes,
           static_cast<double>(bytes * arguments_.transfers) / MicrosecondsSince(begin));
  }

  static void Report(const char* name, size_t bytes, double value) {
    printf("@exrnic {\"pm\":\"%s\",\"bytes\":%zu,\"value\":%.3f}\n", name, bytes, value);
    fflush(stdout);
  }

  const PmArguments arguments_;
  const int peer_;
  pm_context* context_ = nullptr;
};

}  // namespace

void RunPmProgram(const PmArguments& arguments) { PmProgram(arguments).Run(); }

}  // namespace exrnic
