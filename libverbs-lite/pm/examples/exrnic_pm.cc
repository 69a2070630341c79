// SPDX-License-Identifier: BSD-2-Clause
// exrnic-pm: round trips and bandwidth of messages, and of remote write and read, between nodes 0
// and 1 of PM; every byte compared.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "exrnic/pm.h"
#include "output.h"
#include "verbs_objects.h"

namespace {

using PmBenchClock = std::chrono::steady_clock;

constexpr size_t kAreaBytes = size_t{1} << 20;

struct PmArguments {
  int node = 0;
  std::vector<std::string> addresses;
  std::string device;
  unsigned rounds = 200;
  unsigned messages = 500;
  unsigned transfers = 30;
};

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
    for (const size_t bytes : {size_t{4}, size_t{64}, size_t{1024}, size_t{8192}})
      RoundTrips(bytes);
    for (const size_t bytes : {size_t{1024}, size_t{4096}, size_t{8192}}) Stream(bytes);
    Transfers();
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

  void RoundTrips(size_t bytes) {
    std::vector<double> took;
    for (unsigned round = 0; round < arguments_.rounds; ++round) {
      const auto begin = PmBenchClock::now();
      if (first()) SendMarked(bytes, round);
      ReceiveMarked(bytes, round);
      if (!first()) SendMarked(bytes, round);
      took.push_back(MicrosecondsSince(begin));
    }
    std::nth_element(took.begin(), took.begin() + took.size() / 2, took.end());
    if (first()) Report("rtt_us", bytes, took[took.size() / 2]);
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

int RunPmProgram(const PmArguments& arguments) {
  try {
    exrnic::RaiseMemlockLimit();
    if (arguments.addresses.size() != 2) throw std::runtime_error("--addresses: two are needed");
    PmProgram(arguments).Run();
    exrnic::FinishOutput(stdout);
  } catch (const std::exception& error) {
    fprintf(stderr, "exrnic-pm: %s\n", error.what());
    return 1;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  PmArguments arguments;
  CLI::App app(
      "Measures PM between two nodes: round trips and bandwidth of messages, and of remote write "
      "and\n"
      "read. The time is the host's: in guests with TIME=sync it is simulated time, else that "
      "which\n"
      "the simulation took.");
  app.add_option("--node", arguments.node, "0 or 1")->check(CLI::Range(0, 1))->required();
  app.add_option("--addresses", arguments.addresses, "HOST:PORT of both")
      ->delimiter(',')
      ->required();
  app.add_option("--rounds", arguments.rounds, "Round trips of each length")
      ->check(CLI::Range(1u, 1000000u))
      ->capture_default_str();
  app.add_option("--messages", arguments.messages, "Messages of each length in one direction")
      ->check(CLI::Range(1u, 1000000u))
      ->capture_default_str();
  app.add_option("--transfers", arguments.transfers, "Writes, and reads, of each length")
      ->check(CLI::Range(1u, 1000000u))
      ->capture_default_str();
  app.add_option("--device", arguments.device, exrnic::kDeviceHelp);
  CLI11_PARSE(app, argc, argv);
  return RunPmProgram(arguments);
}
