// SPDX-License-Identifier: BSD-2-Clause
// Processes that are killed at any moment while a peer writes to them or reads from them, or they
// write to the peer or read from it. What they had pinned is unpinned, and none of it is written
// later: neither pages that the dead one shared with its parent, which are poisoned as soon as it
// is gone, nor those that it gave back to the system.
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>
#include <deque>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <utility>

#include "child_connection.h"
#include "pattern.h"
#include "stream.h"

namespace exrnic {

namespace {

constexpr uint32_t kAtOnce = 4;
constexpr size_t kBytes = 16 * 1024;  // that a stream goes over
constexpr size_t kFreedBytes = 512 * 1024;
constexpr uint32_t kInFlight = 2;
constexpr useconds_t kLongestUs = 3000;  // from one death to the next
constexpr uint8_t kGrave = 0xc7;
constexpr auto kTimeLimit = std::chrono::seconds(30);

enum class Traffic { kPeerPushes, kPeerPulls, kPushesToPeer, kPullsFromPeer, kKinds };

enum Message : uint32_t { kHellos = 320 };

// Both ends draw the same.
Traffic DrawTraffic(Bench* bench) {
  return static_cast<Traffic>(bench->NextSeed() % static_cast<uint64_t>(Traffic::kKinds));
}

using Hellos = std::array<Hello, kAtOnce>;

// ---- The end whose processes are killed

// Memory that parent and child share.
class SharedPages {
 public:
  explicit SharedPages(size_t bytes)
      : bytes_(bytes),
        data_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    if (data_ == MAP_FAILED) ThrowErrno("mmap of shared memory");
  }
  ~SharedPages() { munmap(data_, bytes_); }
  SharedPages(const SharedPages&) = delete;
  SharedPages& operator=(const SharedPages&) = delete;

  uint8_t* data() const { return static_cast<uint8_t*>(data_); }
  size_t size() const { return bytes_; }

 private:
  size_t bytes_;
  void* data_;
};

// Pages pinned in this system now. The kernel adds up what its CPUs have counted when a file is
// read.
long long PinnedPages() {
  std::ifstream("/proc/sys/vm/stat_refresh").get();
  std::ifstream vmstat("/proc/vmstat");
  long long pinned = 0;
  int found = 0;
  std::string name;
  for (long long value; vmstat >> name >> value;) {
    if (name == "nr_foll_pin_acquired") pinned += value, ++found;
    if (name == "nr_foll_pin_released") pinned -= value, ++found;
  }
  if (found != 2) throw std::runtime_error("/proc/vmstat does not count pinned pages");
  return pinned;
}

void KeepUp(const Connection& connection, Stream::PostOne post) {
  Stream stream(connection, std::move(post), kInFlight);
  while (!stream.Step()) {
  }
  throw std::runtime_error("the work of a process failed before its death");
}

// In the child: the peer reaches `shared`, and this end writes there what it PULLs.
void LiveUntilKilled(const Bench& bench, const SharedPages& shared, Traffic traffic, int in,
                     int out) {
  Side side(bench);
  Connection connection(&side, shared.data(), shared.size());
  MeetThroughParent(&connection, in, out);
  if (traffic == Traffic::kPushesToPeer) KeepUp(connection, Pushes(connection));
  if (traffic == Traffic::kPullsFromPeer) {
    KeepUp(connection, Pulls(connection, connection.Target(0, 0)));
  }
  uint8_t byte;
  Child::ReadAll(in, &byte, sizeof(byte));  // never comes
}

struct Victim {
  Victim(const Bench& bench, Traffic traffic)
      : shared(kBytes), child([&bench, traffic, this](int in, int out) {
          LiveUntilKilled(bench, shared, traffic, in, out);
        }) {}

  SharedPages shared;
  Child child;
};

void ConnectVictims(Bench* bench, std::deque<Victim>* victims) {
  Hellos mine = {};
  for (size_t i = 0; i < kAtOnce; ++i)
    mine[i] = (*victims)[i].child.Receive<Hello>("its queue pair");
  const Hellos peers = bench->oob()->Exchange(kHellos, mine);
  for (size_t i = 0; i < kAtOnce; ++i) (*victims)[i].child.Send(peers[i]);
  for (Victim& victim : *victims) victim.child.Receive<uint8_t>("that it is connected");
  Connection::AwaitJoined(bench);
  for (Victim& victim : *victims) victim.child.Send(uint8_t{1});
}

void KillSome(Bench* bench) {
  const long long pinned = PinnedPages();
  std::deque<Victim> victims;
  for (uint32_t i = 0; i < kAtOnce; ++i) victims.emplace_back(*bench, DrawTraffic(bench));
  ConnectVictims(bench, &victims);
  for (Victim& victim : victims) {
    usleep(bench->NextSeed() % kLongestUs);
    bench->Expect(victim.child.Kill(), "a process had ended by itself");
    memset(victim.shared.data(), kGrave, victim.shared.size());
  }
  const Pages freed(kFreedBytes);  // what the dead gave back is given out first
  memset(freed.data(), kGrave, freed.size());
  bench->ExpectEqual(PinnedPages() - pinned, 0, "pages that stay pinned");
  bench->Meet();  // no stream goes on
  for (const Victim& victim : victims) {
    bench->Expect(!CompareByte(kGrave, victim.shared.data(), victim.shared.size()),
                  "memory of a process was written after its death");
  }
  bench->Expect(!CompareByte(kGrave, freed.data(), freed.size()),
                "memory that the dead gave back was written");
}

void Die(Bench* bench) {
  Side side(*bench);
  Connection other(&side);
  other.Meet(bench);
  for (uint32_t deaths = 0; deaths < bench->deaths(); deaths += kAtOnce) KillSome(bench);
  ReceiveChecked(bench, other);
}

// ---- The end that loses its peers

// Keeps up its part of the traffic until all of it has ended.
void StreamToTheDying(Bench* bench, const std::deque<Connection>& connections,
                      const std::array<Traffic, kAtOnce>& traffic) {
  std::deque<Stream> streams;
  for (size_t i = 0; i < kAtOnce; ++i) {
    const Connection& to = connections[i];
    if (traffic[i] == Traffic::kPeerPushes) streams.emplace_back(to, Pushes(to), kInFlight);
    if (traffic[i] == Traffic::kPeerPulls)
      streams.emplace_back(to, Pulls(to, to.Target(0, 0)), kInFlight);
  }
  std::vector<bool> over(streams.size());
  const auto until = std::chrono::steady_clock::now() + kTimeLimit;
  for (size_t left = streams.size(); left > 0;) {
    if (std::chrono::steady_clock::now() > until) {
      throw std::runtime_error("streams to dead processes did not end within 30 s");
    }
    for (size_t i = 0; i < streams.size(); ++i) {
      const auto end = over[i] ? std::nullopt : streams[i].Step();
      if (!end) continue;
      over[i] = true;
      --left;
      // Whether the queue pair or the region went first is for the kernel to say.
      bench->Expect(end->status == VL_WC_REM_OP_ERR || end->status == VL_WC_REM_ACCESS_ERR,
                    std::string("a stream ended with \"") + vl_status_string(end->status) + "\"");
    }
  }
}

void LoseSome(Bench* bench, Side* side) {
  std::array<Traffic, kAtOnce> traffic;
  for (Traffic& one : traffic) one = DrawTraffic(bench);
  std::deque<Pages> memory;
  std::deque<Connection> connections;
  Hellos mine = {};
  for (Hello& hello : mine) {
    hello = connections.emplace_back(side, memory.emplace_back(kBytes).data(), kBytes).hello();
  }
  const Hellos peers = bench->oob()->Exchange(kHellos, mine);
  for (size_t i = 0; i < kAtOnce; ++i) connections[i].Join(peers[i]);
  Connection::AwaitJoined(bench);
  StreamToTheDying(bench, connections, traffic);
  for (uint32_t i = 0; i < kAtOnce; ++i) bench->NextSeed();  // of the moments of death
  bench->Meet();
}

void LosePeers(Bench* bench) {
  Side side(*bench);
  Connection other(&side);
  other.Meet(bench);
  for (uint32_t deaths = 0; deaths < bench->deaths(); deaths += kAtOnce) LoseSome(bench, &side);
  SendChecked(bench, other);
}

}  // namespace

std::vector<GuestCheck> KillChecks() {
  return {
      {"processes killed at any moment under traffic with a peer leave no page pinned, and none "
       "of theirs is written later",
       LosePeers, Die, true}};
}

}  // namespace exrnic
