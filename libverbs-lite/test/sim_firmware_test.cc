// SPDX-License-Identifier: BSD-2-Clause
// The library as a driver in user space: firmware, and what it serves.
#include "sim/sim_firmware.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <future>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "collective_program.h"
#include "exrnic/messages.h"
#include "exrnic/ntb.h"
#include "exrnic_hw.h"
#include "other_device.h"
#include "sim/posix/unix_socket.h"
#include "sim/sim_error.h"
#include "sim/vfio_user/rnic_pci.h"
#include "sim_fixture.h"

namespace exrnic {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kWait(20);
constexpr vl_message_channel_attr kChannel = {1, 100, 4, 4};

// What VL_FIRMWARE says, for as long as it lives.
class NamedFirmware {
 public:
  explicit NamedFirmware(const std::string& path) { setenv("VL_FIRMWARE", path.c_str(), 1); }
  ~NamedFirmware() { unsetenv("VL_FIRMWARE"); }
};

void ExpectText(const std::string& what) {
  INFO(vl_error_text());
  CHECK(std::string(vl_error_text()).find(what) != std::string::npos);
}

int FreeDescriptor() { return UniqueFd(dup(STDIN_FILENO)).get(); }

void ExpectNoChannel(vl_rnic* rnic, const std::string& why) {
  const int free = FreeDescriptor();
  CHECK(vl_create_message_channel(rnic, &kChannel) == nullptr);
  CHECK(errno == EOPNOTSUPP);
  CHECK(FreeDescriptor() == free);
  ExpectText(why);
}

std::string BytesOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_CASE("without a processor there is no message channel, and the text says why") {
  Fixture fixture;
  const Owned<vl_rnic> rnic = fixture.Open(0);
  ExpectNoChannel(rnic.get(), "no on-chip processor");
}

TEST_CASE("without a guest there is no remote window, and the text says why") {
  SimPair pair;
  CHECK(vl_map_window(pair.ends[0].qp.get(), 1, 0, 8, VL_WINDOW_STORE) == nullptr);
  CHECK(errno == EOPNOTSUPP);
  ExpectText("without a guest");
}

TEST_CASE("firmware that is named and is none keeps the RNIC from being opened, and says why") {
  Fixture fixture;
  TempDir folder;
  std::string damaged = BytesOf(EXRNIC_FIRMWARE);
  damaged.back() ^= 1;
  std::string other = BytesOf(EXRNIC_FIRMWARE);
  other[offsetof(exrnic_fw_image, abi_version)] ^= 0x40;
  const struct {
    std::string name, bytes;
    int error;
    const char* text;
  } images[] = {{"missing", "", ENOENT, "No such file"},
                {"short", "XRFW", EINVAL, "too short"},
                {"damaged", damaged, EINVAL, "is damaged: checksum"},
                {"other", other, EINVAL, "version " /* of the processor's interface */}};
  for (const auto& image : images) {
    const std::string path = folder / image.name;
    if (image.error != ENOENT) std::ofstream(path, std::ios::binary) << image.bytes;
    const NamedFirmware named(path);
    CHECK(vl_open_rnic(fixture.Name(0).c_str()) == nullptr);
    CHECK(errno == image.error);
    ExpectText("VL_FIRMWARE: " + path);
    ExpectText(image.text);
  }
  CHECK(fixture.Open(0) != nullptr);
}

TEST_CASE("without firmware all works but what it does", "[rtl]") {
  const NamedFirmware none("");
  SimPair pair("rtl");
  ExpectNoChannel(pair.ends[0].rnic.get(), "VL_FIRMWARE is empty");
  uint64_t numbers[] = {41, 0};
  const auto mr = [&](int node, int access) {
    return Own(vl_allocate_mr(pair.ends[node].pd.get(), &numbers[node], 8, access), "region");
  };
  const auto source = mr(0, VL_ACCESS_LOCAL_WRITE);
  const auto target = mr(1, VL_ACCESS_REMOTE_WRITE | VL_ACCESS_REMOTE_ATOMIC);
  vl_sge from = {AddressOf(numbers), 8, vl_mr_stag(source.get())};
  pair.ends[0].Push(1, from, AddressOf(&numbers[1]), vl_mr_stag(target.get()));
  CHECK(AwaitCompletion(pair.ends[0].cq.get(), "a PUSH").status == VL_WC_SUCCESS);
  CHECK(numbers[1] == 41);
}

// One that fails when a channel is closed: faulty_main.c takes that for another command.
TEST_CASE("firmware that fails is started again three times, and then its failure is told",
          "[rtl]") {
  const NamedFirmware faulty(EXRNIC_FAULTY_FIRMWARE);
  Fixture fixture("rtl");
  const Owned<vl_rnic> rnic = fixture.Open(0);
  int opened = 0, error = 0;
  const auto until = Clock::now() + kWait;
  while (error != EOPNOTSUPP && Clock::now() < until) {
    Owned<vl_message_channel> channel(vl_create_message_channel(rnic.get(), &kChannel));
    error = channel == nullptr ? errno : 0;
    if (channel != nullptr) ++opened;
  }
  CHECK(opened == 4);
  CHECK(error == EOPNOTSUPP);
  ExpectText("exception 7 at 0x8000");  // a load from an address where nothing is
  ExpectText("for the 4th time");
}

// A processor whose firmware does what the test says. `answer` tells the status of each command.
class ScriptedFirmware {
 public:
  using Commands = std::vector<std::pair<uint32_t, uint32_t>>;  // op, first word
  using Answer = std::function<exrnic_fw_status(uint32_t op, uint32_t channel)>;

  ScriptedFirmware()
      : device_(
            folder_ / "rnic", rnic_pci_description({}), [this](uint64_t at) { return Load(at); },
            [this](uint64_t at, uint64_t value) { Store(at, static_cast<uint32_t>(value)); }),
        link_(folder_ / "rnic", kPatience),
        firmware(&link_) {}

  void Fail() {
    const std::lock_guard<std::mutex> guard(mutex_);
    registers_[EXRNIC_REG_FW_STATE] = EXRNIC_FW_STATE_FAILED;
  }
  void AnswerBy(Answer answer) {
    const std::lock_guard<std::mutex> guard(mutex_);
    answer_ = std::move(answer);
  }
  // Since it has been asked before.
  Commands TakeCommands() {
    const std::lock_guard<std::mutex> guard(mutex_);
    return std::exchange(commands_, {});
  }

 private:
  static constexpr std::chrono::milliseconds kPatience{100};

  uint64_t Load(uint64_t at) {
    const std::lock_guard<std::mutex> guard(mutex_);
    return registers_[at];
  }
  void Store(uint64_t at, uint32_t value) {
    const std::lock_guard<std::mutex> guard(mutex_);
    registers_[at] = value;
    if (at == EXRNIC_REG_FW_CONTROL && value == EXRNIC_FW_CONTROL_RUN)
      registers_[EXRNIC_REG_FW_STATE] = EXRNIC_FW_STATE_READY;
    if (at != EXRNIC_REG_FW_COMMAND) return;
    const auto channel = static_cast<uint32_t>(registers_[EXRNIC_REG_FW_WORDS]);
    commands_.emplace_back(value, channel);
    registers_[EXRNIC_REG_FW_COMMAND_STATUS] = answer_(value, channel);
  }

  std::mutex mutex_;  // guards what follows
  std::map<uint64_t, uint64_t> registers_ = {{EXRNIC_REG_ID, EXRNIC_DEVICE_MAGIC},
                                             {EXRNIC_REG_ABI_VERSION, EXRNIC_ABI_VERSION},
                                             {EXRNIC_REG_STATUS, EXRNIC_DEVICE_STATUS_READY},
                                             {EXRNIC_REG_FW_MEMORY, EXRNIC_FW_MEMORY_BYTES}};
  Answer answer_ = [](uint32_t, uint32_t) { return EXRNIC_FW_STATUS_OK; };
  Commands commands_;

  TempDir folder_;
  OtherDevice device_;
  SimLink link_;

 public:
  SimFirmware firmware;
};

constexpr uint32_t kOpen = EXRNIC_FW_OP_CHANNEL_OPEN;

struct ThreeChannels {
  ThreeChannels() {
    for (uint32_t i = 0; i < 3; ++i) channels[i].channel = i;
  }
  exrnic_channel_open channels[3] = {};
};

TEST_CASE("firmware that is started again is told of each channel, though it refuses one") {
  ThreeChannels three;
  ScriptedFirmware scripted;
  for (const exrnic_channel_open& open : three.channels) scripted.firmware.OpenChannel(&open);
  scripted.TakeCommands();
  scripted.AnswerBy([](uint32_t, uint32_t channel) {
    return channel == 0 ? EXRNIC_FW_STATUS_BAD_PARAMETER : EXRNIC_FW_STATUS_OK;
  });
  scripted.Fail();
  scripted.firmware.Recover();
  CHECK(scripted.TakeCommands() == ScriptedFirmware::Commands{{kOpen, 0}, {kOpen, 1}, {kOpen, 2}});
}

TEST_CASE("firmware that does not answer is started again, and has forgotten what it was told") {
  ThreeChannels three;
  ScriptedFirmware scripted;
  for (const uint32_t i : {0, 1}) scripted.firmware.OpenChannel(&three.channels[i]);
  scripted.TakeCommands();
  const auto silent_once_at = [&scripted](uint32_t number) {
    scripted.AnswerBy([number, silent = true](uint32_t, uint32_t channel) mutable {
      return channel == number && std::exchange(silent, false) ? EXRNIC_FW_STATUS_BUSY
                                                               : EXRNIC_FW_STATUS_OK;
    });
  };
  const auto expect = [&scripted](const ScriptedFirmware::Commands& commands) {
    CHECK(scripted.TakeCommands() == commands);
  };
  silent_once_at(2);
  try {
    scripted.firmware.OpenChannel(&three.channels[2]);
    FAIL("it did not answer");
  } catch (const SimError& error) {
    CHECK(error.error() == EIO);
    CHECK(std::string(error.what()).find("no answer to command CHANNEL_OPEN") != std::string::npos);
  }
  expect({{kOpen, 2}, {kOpen, 0}, {kOpen, 1}});
  scripted.firmware.OpenChannel(&three.channels[2]);
  expect({{kOpen, 2}});

  silent_once_at(1);  // while it is told of those that are open
  scripted.Fail();
  scripted.firmware.Recover();
  expect({{kOpen, 0}, {kOpen, 1}, {kOpen, 0}, {kOpen, 1}, {kOpen, 2}});
}

// ---- Message channels

struct Sender {
  explicit Sender(Owned<vl_rnic> opened)
      : rnic(std::move(opened)), channel(CreateMessageChannel(rnic.get(), kChannel)) {}

  // Throws: Catch2's macros are for one thread at a time.
  void Send(unsigned node, uint32_t number) {
    void* buffer = vl_message_buffer(channel.get());
    Check(buffer == nullptr ? -1 : 0, "vl_message_buffer");
    memcpy(buffer, &number, sizeof(number));
    Check(vl_send_message(channel.get(), node, sizeof(number), 0, nullptr), "vl_send_message");
  }
  // Who sends polls, too.
  uint32_t TakeFrom(Sender* other) {
    std::optional<vl_message> message;
    const auto until = Clock::now() + kWait;
    while (!(message = PollMessage(channel.get()))) {
      if (PollMessage(other->channel.get())) throw std::runtime_error("who sends got an event");
      if (Clock::now() > until) throw std::runtime_error("no message came within 20 s");
    }
    CHECK(message->kind == VL_MESSAGE_RECEIVED);
    uint32_t number = 0;
    CHECK(message->length == sizeof(number));
    memcpy(&number, message->data, sizeof(number));
    Check(vl_release_messages(channel.get(), 1), "vl_release_messages");
    return number;
  }

  Owned<vl_rnic> rnic;
  Owned<vl_message_channel> channel;
};

// As GDB: the next instruction of node 0's firmware is where there is no memory.
void LeadFirmwareAstray(const Fixture& fixture) {
  const UniqueFd socket = connect_unix(fixture.folder / "gdb");
  const timeval limit = {10, 0};
  REQUIRE(setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) == 0);
  const std::pair<std::string, std::string> requests[] = {
      {"$?#3f", "+$S05#b8"},            // has the processor halted?
      {"$P25=0000ff9f#1f", "+$OK#9a"},  // its pc becomes 0x9fff0000
      {"$c#63", "+"}};                  // it goes on
  for (const auto& [request, expected] : requests) {
    REQUIRE(write(socket.get(), request.data(), request.size()) ==
            static_cast<ssize_t>(request.size()));
    std::string answer(expected.size(), 0);
    REQUIRE(recv(socket.get(), answer.data(), answer.size(), MSG_WAITALL) ==
            static_cast<ssize_t>(answer.size()));
    CHECK(answer == expected);
  }
}

TEST_CASE("messages arrive once each and in order when firmware fails between them", "[rtl]") {
  Fixture fixture("rtl");
  Sender sender(fixture.Open(0)), receiver(fixture.Open(1));
  for (const uint32_t number : {10, 11}) sender.Send(1, number);
  CHECK(receiver.TakeFrom(&sender) == 10);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // the simulator has come to rest
  LeadFirmwareAstray(fixture);
  sender.Send(1, 12);
  for (const uint32_t number : {11, 12}) CHECK(receiver.TakeFrom(&sender) == number);
  receiver.Send(0, 13);
  CHECK(sender.TakeFrom(&receiver) == 13);
}

// Both ends sleep: who sends as who receives.
TEST_CASE("who sleeps for a message is woken by it, whatever firmware does meanwhile", "[rtl]") {
  Fixture fixture("rtl", 3);
  Sender sender(fixture.Open(0)), receiver(fixture.Open(1));
  const auto awaits = [](Sender& end, Sender& from, uint32_t number) {
    CHECK(vl_await_message(end.channel.get(), 20000) == 1);
    CHECK(end.TakeFrom(&from) == number);
  };
  CHECK(vl_await_message(receiver.channel.get(), 20) == 0);
  for (uint32_t number = 0; number < 8; ++number) {
    std::future<void> later = std::async(std::launch::async, [&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(number % 4 * 10));
      sender.Send(1, number);
    });
    awaits(receiver, sender, number);
    later.get();
    receiver.Send(0, number + 100);
    awaits(sender, receiver, number + 100);
  }
  sender.Send(2, 0);  // where nobody is: so its firmware goes on trying
  CHECK(vl_arm_messages(sender.channel.get()) == 0);
  pollfd told = {vl_message_fd(sender.channel.get()), POLLIN, 0};
  CHECK(poll(&told, 1, 20) == 0);
  LeadFirmwareAstray(fixture);  // that of the sender: what it knew of who waits is gone
  REQUIRE(poll(&told, 1, 20000) == 1);
  CHECK(told.revents == POLLIN);
  CHECK(vl_arm_messages(sender.channel.get()) == 0);
  CHECK(poll(&told, 1, 0) == 0);
  receiver.Send(0, 7);
  REQUIRE(poll(&told, 1, 20000) == 1);
  CHECK(sender.TakeFrom(&receiver) == 7);
}

TEST_CASE("a message channel that goes takes its file descriptor and what was told along",
          "[rtl]") {
  Fixture fixture("rtl");
  Sender sender(fixture.Open(0)), receiver(fixture.Open(1));
  for (uint32_t times = 0; times < 3; ++times) {
    CHECK(vl_arm_messages(receiver.channel.get()) == 0);
    sender.Send(1, times);
    pollfd told = {vl_message_fd(receiver.channel.get()), POLLIN, 0};
    REQUIRE(poll(&told, 1, 20000) == 1);
    receiver.channel.reset();
    receiver.channel = CreateMessageChannel(receiver.rnic.get(), kChannel);
    CHECK(vl_await_message(receiver.channel.get(), 20) == 0);
    CHECK(vl_message_fd(receiver.channel.get()) == told.fd);  // it was closed
  }
}

TEST_CASE("three nodes meet in barriers and reductions, and each sends to each", "[rtl]") {
  const bool sleep = GENERATE(false, true);
  constexpr uint32_t kNodes = 3;
  Fixture fixture("rtl", kNodes);
  std::string errors[kNodes];
  const auto run = [&](uint32_t node) {
    CollectiveOptions options;
    options.node = node;
    options.nodes = kNodes;
    options.rounds = 1;
    options.events = sleep;
    try {
      FILE* none = fopen("/dev/null", "we");
      RunCollective(options, [&] { return OpenDevice(fixture.Name(node)); }, none);
      fclose(none);
    } catch (const std::exception& error) {
      errors[node] = error.what();
    }
  };
  std::thread others[] = {std::thread(run, 1), std::thread(run, 2)};
  run(0);
  for (std::thread& other : others) other.join();
  for (const std::string& error : errors) CHECK(error.empty());
}

TEST_CASE("when the simulator is killed, channels and ports say so, and go away", "[rtl]") {
  Fixture fixture("rtl");
  Sender end(fixture.Open(0));
  Owned<vl_port> port = OpenPort(end.rnic.get(), 0, 1, 0);
  vl_port_event event;
  int waited = 0, error = 0;
  std::thread waiter([&] {
    waited = vl_get_port_event(port.get(), &event);
    error = errno;
  });
  int slept = 0, why = 0;
  std::thread sleeper([&] {
    slept = vl_await_message(end.channel.get(), -1);
    why = errno;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  fixture.simulator.signal(SIGKILL);
  waiter.join();  // without a time limit of its own
  sleeper.join();
  CHECK(slept == -1);
  CHECK(why == ENODEV);
  CHECK(vl_arm_messages(end.channel.get()) == -1);
  CHECK(errno == ENODEV);
  CHECK(waited == -1);
  CHECK(error == ENODEV);
  CHECK(vl_ring_port(port.get(), 1) == -1);
  CHECK(errno == ENODEV);
  CHECK(vl_mask_port(port.get(), 1) == -1);
  CHECK(errno == ENODEV);
  CHECK(vl_open_port(end.rnic.get(), 1, 1, 1) == nullptr);
  CHECK(errno == ENODEV);
  vl_message message;
  CHECK(vl_poll_message(end.channel.get(), &message) == -1);
  CHECK(errno == ENODEV);
  CHECK(vl_send_message(end.channel.get(), 1, 0, 0, nullptr) == -1);
  CHECK(errno == ENODEV);
  CHECK(vl_close_port(port.release()) == 0);
  CHECK(vl_destroy_message_channel(end.channel.release()) == 0);
  CHECK(vl_close_rnic(end.rnic.release()) == 0);
}

TEST_CASE("ports and nodes that there are not are refused, and named") {
  Fixture fixture;
  const Owned<vl_rnic> rnic = fixture.Open(0);
  const struct {
    unsigned port, node, peer;
    const char* text;
  } wrong[] = {{VL_PORTS, 1, 0, "port is 16, not 0 to 15"},
               {0, 1, VL_PORTS + 1, "peer_port is 17"},
               {0, 0, 0, "peer_node is 0"},
               {0, 1u << 16, 0, "peer_node is 65536"}};
  for (const auto& [port, node, peer, text] : wrong) {
    CHECK(vl_open_port(rnic.get(), port, node, peer) == nullptr);
    CHECK(errno == EINVAL);
    ExpectText(text);
  }
}

}  // namespace
}  // namespace exrnic
