// SPDX-License-Identifier: BSD-2-Clause
// Remote windows and ports, between two guests.
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "child_connection.h"
#include "connection.h"
#include "exrnic/ntb.h"

namespace exrnic {

namespace {

constexpr size_t kBytes = 3u << 20;  // three windows of the device
constexpr int kWaitMs = 20'000;

Owned<vl_window> MapPeer(const Connection& connection, int access) {
  const Hello& peer = connection.peer();
  return MapWindow(connection.qp(), peer.stag, peer.address, peer.bytes, access);
}

template <typename Word>
volatile Word* At(const Owned<vl_window>& window, size_t offset) {
  return WindowAt<Word>(window.get(), offset);
}

// ---- Windows

// Where and what: both ends draw the same.
template <typename Use>
void ForStores(uint64_t seed, Use use) {
  std::mt19937_64 random(seed);
  for (int i = 0; i < 300; ++i) {
    const size_t size = size_t{1} << random() % 4;
    const size_t offset = random() % (kBytes / size) * size;
    use(offset, size, random());
  }
}

void Store(const Owned<vl_window>& window, size_t offset, size_t size, uint64_t value) {
  switch (size) {
    case 1:
      *At<uint8_t>(window, offset) = static_cast<uint8_t>(value);
      break;
    case 2:
      *At<uint16_t>(window, offset) = static_cast<uint16_t>(value);
      break;
    case 4:
      *At<uint32_t>(window, offset) = static_cast<uint32_t>(value);
      break;
    default:
      *At<uint64_t>(window, offset) = value;
  }
}

void StoreAndLoad(Bench* bench) {
  Side side(*bench);
  Connection connection(&side, kBytes);
  connection.Meet(bench);
  Owned<vl_window> window = MapPeer(connection, VL_WINDOW_STORE | VL_WINDOW_LOAD);
  ForStores(bench->NextSeed(), [&](size_t offset, size_t size, uint64_t value) {
    Store(window, offset, size, value);
    vl_window_flush();
  });
  for (uint64_t i = 0; i < 16; ++i) {
    const size_t offset = i * (kBytes / 16);
    *At<uint64_t>(window, offset) = i;
    vl_window_flush();
    bench->ExpectEqual(*At<uint64_t>(window, offset), i, "what a load gave behind a store");
  }
  bench->Meet();
}

void CompareStores(Bench* bench) {
  Side side(*bench);
  Connection connection(&side, kBytes);
  connection.Meet(bench);
  std::vector<uint8_t> expected(kBytes, Connection::kPoison);
  const auto put = [&](size_t offset, size_t size, uint64_t value) {
    for (size_t i = 0; i < size; ++i) expected[offset + i] = static_cast<uint8_t>(value >> 8 * i);
  };
  ForStores(bench->NextSeed(), put);
  for (uint64_t i = 0; i < 16; ++i) put(i * (kBytes / 16), 8, i);
  bench->Meet();
  for (size_t i = 0; i < kBytes; ++i) {
    if (connection.target()[i] == expected[i]) continue;
    bench->Expect(false, "byte " + std::to_string(i) + " of the target is wrong");
    return;
  }
}

// The longest window there is, at whose end the peer's region lies.
constexpr uint64_t kLastWords = 8;

void StoreAtTheEnd(Bench* bench) {
  Side side(*bench);
  Connection connection(&side);
  connection.Meet(bench);
  vl_rnic_attr rnic;
  bench->Expect(vl_query_rnic(side.rnic.get(), &rnic) == 0, "the RNIC cannot be queried");
  const Hello& peer = connection.peer();
  const uint64_t length = rnic.max_window;
  const Owned<vl_window> window =
      MapWindow(connection.qp(), peer.stag, peer.address + peer.bytes - length, length,
                VL_WINDOW_STORE | VL_WINDOW_LOAD);
  bench->Expect(vl_map_window(connection.qp(), peer.stag, peer.address, length + 1,
                              VL_WINDOW_LOAD) == nullptr &&
                    errno == EINVAL,
                "a window is longer than the longest");
  for (uint64_t i = 0; i < kLastWords; ++i) {
    const uint64_t offset = length - sizeof(uint64_t) * (kLastWords - i);
    *At<uint64_t>(window, offset) = i + 1;
    vl_window_flush();
    bench->ExpectEqual(*At<uint64_t>(window, offset), i + 1, "what a load gave behind a store");
  }
  bench->Meet();
}

void LookAtTheEnd(Bench* bench) {
  Side side(*bench);
  Connection connection(&side);
  connection.Meet(bench);
  bench->Meet();
  for (uint64_t i = 0; i < kLastWords; ++i) {
    uint64_t word;
    memcpy(&word, connection.target() + connection.bytes() - sizeof word * (kLastWords - i),
           sizeof word);
    bench->ExpectEqual(word, i + 1, "a word at the end of the region");
  }
}

void MeetOnly(Bench* bench) {
  Side side(*bench);
  Connection connection(&side);
  connection.Meet(bench);
  bench->Meet();
  bool poison = true;
  for (size_t i = 0; i < connection.bytes(); ++i)
    poison = poison && connection.target()[i] == Connection::kPoison;
  bench->Expect(poison, "a store that was not allowed has reached the target");
}

void UseWithoutRights(Bench* bench) {
  Side side(*bench);
  Connection connection(&side);
  connection.Meet(bench);
  {
    Owned<vl_window> window = MapPeer(connection, VL_WINDOW_STORE);
    bench->ExpectEqual(*At<uint64_t>(window, 0), UINT64_MAX, "a load without the right");
    bench->Expect(vl_destroy_qp(connection.qp()) == -1 && errno == EBUSY,
                  "a queue pair with a window could be destroyed");
  }
  const Hello& peer = connection.peer();
  bench->Expect(
      vl_map_window(connection.qp(), peer.stag, peer.address, 0, VL_WINDOW_LOAD) == nullptr &&
          errno == EINVAL,
      "a window of no bytes");
  bench->Expect(
      vl_map_window(connection.qp(), peer.stag, UINT64_MAX - 3, 8, VL_WINDOW_LOAD) == nullptr &&
          errno == EINVAL,
      "a window that wraps");
  bench->Expect(
      vl_map_window(connection.qp(), peer.stag, peer.address, 8, 4) == nullptr && errno == EINVAL,
      "a window with an unknown right");
  // The peer refuses its STag: the load ends, and the window with its queue pair.
  vl_window* window = vl_map_window(connection.qp(), peer.stag + 1, peer.address, 4096,
                                    VL_WINDOW_STORE | VL_WINDOW_LOAD);
  bench->Expect(window != nullptr, "no window on an STag of nobody");
  const Owned<vl_window> owned(window);
  bench->ExpectEqual(*At<uint32_t>(owned, 0), UINT32_MAX, "a load that the peer refuses");
  *At<uint32_t>(owned, 0) = 1;
  vl_window_flush();
  bench->Meet();
}

// Loads of windows are numbered apart from posted work.
void PostAndMap(Bench* bench) {
  Side side(*bench);
  Connection connection(&side);
  connection.Meet(bench);
  const Push push = MakePush(connection, 1, 0, 0, 8);
  const Hello& peer = connection.peer();
  {
    const Owned<vl_window> window = MapPeer(connection, VL_WINDOW_STORE);
    vl_send_wr wr = {};
    wr.opcode = VL_OP_PUSH;
    const vl_send_wr* bad = nullptr;
    bench->Expect(vl_post_sq(connection.qp(), &wr, &bad) == -1 && errno == EBUSY && bad == &wr &&
                      strstr(vl_error_text(), "windows") != nullptr,
                  "work could be posted to a queue pair with a window");
  }
  Post(connection, {push});
  ExpectCompletion(bench, connection.cq(), 1, VL_WC_SUCCESS);
  bench->Expect(
      vl_map_window(connection.qp(), peer.stag, peer.address, 8, VL_WINDOW_LOAD) == nullptr &&
          errno == EBUSY && strstr(vl_error_text(), "posted") != nullptr,
      "a queue pair with posted work got a window");
  bench->Meet();
}

void AwaitPush(Bench* bench) {
  Side side(*bench);
  Connection connection(&side);
  connection.Meet(bench);
  bench->Meet();
}

// ---- Ends

constexpr size_t kWords = 512;

// Word after word, round after round: the number of each store.
void StoreForever(const Owned<vl_window>& window) {
  for (uint64_t i = 0;; ++i) {
    *At<uint64_t>(window, i % kWords * sizeof(i)) = i;
    if (i % 8 == 7) vl_window_flush();
  }
}

void KillStorer(Bench* bench) {
  Side side(*bench);
  Connection next(&side);
  next.Meet(bench);
  Child child([bench](int in, int out) {
    Side own_side(*bench);
    Connection connection(&own_side);
    MeetThroughParent(&connection, in, out);
    StoreForever(MapPeer(connection, VL_WINDOW_STORE));
  });
  MeetForChild(bench, &child);
  bench->Meet();  // stores have arrived
  child.Kill();
  bench->Meet();
  const Owned<vl_window> window = MapPeer(next, VL_WINDOW_STORE | VL_WINDOW_LOAD);
  *At<uint64_t>(window, 0) = 7;
  bench->ExpectEqual(*At<uint64_t>(window, 0), uint64_t{7}, "what the next window reads");
  bench->Meet();
}

std::vector<uint64_t> WordsOf(const Connection& connection) {
  std::vector<uint64_t> words(kWords);
  memcpy(words.data(), connection.target(), kWords * sizeof(uint64_t));
  return words;
}

// What is left when the stores ended somewhere.
bool IsBeginning(const std::vector<uint64_t>& words, uint64_t poison) {
  uint64_t last = 0;
  for (const uint64_t word : words) last = word == poison ? last : std::max(last, word);
  for (uint64_t i = 0; i < kWords; ++i) {
    const uint64_t back = (last - i) % kWords;
    const uint64_t expected = last < i ? poison : last - back;
    if (words[i] != expected) return false;
  }
  return true;
}

void OutliveStorer(Bench* bench) {
  constexpr uint64_t kPoisoned = 0x0101'0101'0101'0101 * Connection::kPoison;
  Side side(*bench);
  Connection next(&side);
  next.Meet(bench);
  Connection connection(&side);
  connection.Meet(bench);
  bool arrived = false;
  for (int i = 0; i < kWaitMs / 10 && !arrived; ++i) {
    usleep(10'000);
    arrived = WordsOf(connection).front() != kPoisoned;
  }
  bench->Expect(arrived, "no store of the child arrived within 20 s");
  bench->Meet();
  bench->Meet();  // it is dead
  const std::vector<uint64_t> left = WordsOf(connection);
  bench->Expect(IsBeginning(left, kPoisoned), "its stores are not there in order");
  bench->Meet();
  bench->Expect(WordsOf(connection) == left, "something was stored behind its end");
  for (size_t i = kWords * sizeof(uint64_t); i < connection.bytes(); ++i) {
    if (connection.target()[i] == Connection::kPoison) continue;
    bench->Expect(false, "byte " + std::to_string(i) + " was stored by nobody");
    return;
  }
}

void LosePeer(Bench* bench) {
  Side side(*bench);
  Connection connection(&side);
  connection.Meet(bench);
  const Owned<vl_window> window = MapPeer(connection, VL_WINDOW_STORE | VL_WINDOW_LOAD);
  *At<uint64_t>(window, 0) = 1;
  bench->ExpectEqual(*At<uint64_t>(window, 0), uint64_t{1}, "what a load gave behind a store");
  bench->Meet();
  bench->Meet();  // its queue pair is gone
  bench->ExpectEqual(*At<uint64_t>(window, 8), UINT64_MAX, "a load from a peer that is gone");
  *At<uint64_t>(window, 8) = 2;
  vl_window_flush();
  vl_qp_attr attr = {};
  bench->Expect(vl_query_qp(connection.qp(), &attr) == 0 && attr.state == VL_QPS_ERROR,
                "the queue pair of the window does not say that its peer is gone");
  bench->Meet();
}

void Leave(Bench* bench) {
  Side side(*bench);
  Connection connection(&side);
  connection.Meet(bench);
  bench->Meet();
  connection.DestroyQp();
  bench->Meet();
  bench->Meet();
  uint64_t word;
  memcpy(&word, connection.target() + 8, sizeof(word));
  bench->ExpectEqual(word, 0x0101'0101'0101'0101 * Connection::kPoison, "a word behind the end");
}

// ---- Ports

Owned<vl_port> OpenPort(Bench* bench, const Side& side, unsigned port, unsigned peer) {
  return vl::OpenPort(side.rnic.get(), port, bench->requester() ? 1 : 0, peer);
}

vl_port_event Await(const Owned<vl_port>& port, const char* what) {
  pollfd wait = {vl_port_fd(port.get()), POLLIN, 0};
  vl_port_event event = {};
  if (poll(&wait, 1, kWaitMs) != 1 || vl_get_port_event(port.get(), &event) != 0)
    throw std::runtime_error(std::string("waited in vain for ") + what);
  return event;
}

void Await(Bench* bench, const Owned<vl_port>& port, uint32_t bells, const char* what) {
  bench->ExpectEqual(Await(port, what).bells, bells, what);
}

// The bells that came with it.
uint32_t AwaitUp(Bench* bench, const Owned<vl_port>& port) {
  const vl_port_event event = Await(port, "the link of a port");
  bench->Expect((event.events & VL_PORT_LINK_UP) && event.link_up, "the link is not up");
  return event.bells;
}

void ExpectScratchpads(Bench* bench, const Owned<vl_port>& port,
                       int (*get)(vl_port*, unsigned, uint32_t*), uint32_t first) {
  for (unsigned i = 0; i < VL_PORT_SPADS; ++i) {
    uint32_t value = 0;
    bench->Expect(get(port.get(), i, &value) == 0, "a scratchpad cannot be read");
    bench->ExpectEqual(value, first + i, "scratchpad");
  }
}

void RingAndWait(Bench* bench) {
  Side side(*bench);
  Owned<vl_port> port = OpenPort(bench, side, 3, 5);
  bench->Expect(vl_open_port(side.rnic.get(), 3, 1, 5) == nullptr && errno == EBUSY,
                "a port could be opened twice");
  bench->Expect(vl_ring_port(port.get(), 1) == -1 && errno == ENOTCONN,
                "a port without a peer could be rung");
  bench->Meet();
  AwaitUp(bench, port);
  for (unsigned i = 0; i < VL_PORT_SPADS; ++i) {
    bench->Expect(vl_set_scratchpad(port.get(), i, 100 + i) == 0, "a scratchpad cannot be set");
    bench->Expect(vl_set_own_scratchpad(port.get(), i, 200 + i) == 0, "an own one cannot be set");
  }
  bench->Expect(vl_ring_port(port.get(), 0x8000'0001) == 0, "a port cannot be rung");
  Await(bench, port, 0x10, "the answer to a bell");
  ExpectScratchpads(bench, port, vl_get_peer_scratchpad, 300);
  ExpectScratchpads(bench, port, vl_get_scratchpad, 200);
  bench->Meet();  // bits 1 and 2 are masked there
  bench->Expect(vl_ring_port(port.get(), 0x6) == 0, "a port cannot be rung");
  bench->Expect(vl_ring_port(port.get(), 0x8) == 0, "a port cannot be rung");
  bench->Meet();
  const vl_port_event down = Await(port, "the end of the link");
  bench->Expect((down.events & VL_PORT_LINK_DOWN) && !down.link_up, "the link is not down");
  bench->Meet();
}

void WaitAndRing(Bench* bench) {
  Side side(*bench);
  bench->Meet();
  Owned<vl_port> port = OpenPort(bench, side, 5, 3);
  uint32_t rung = AwaitUp(bench, port);
  while (rung != 0x8000'0001) rung |= Await(port, "a bell").bells;
  ExpectScratchpads(bench, port, vl_get_scratchpad, 100);
  ExpectScratchpads(bench, port, vl_get_peer_scratchpad, 200);
  for (unsigned i = 0; i < VL_PORT_SPADS; ++i)
    bench->Expect(vl_set_own_scratchpad(port.get(), i, 300 + i) == 0, "an own one cannot be set");
  bench->Expect(vl_mask_port(port.get(), 0x6) == 0, "bells cannot be masked");
  bench->Expect(vl_ring_port(port.get(), 0x10) == 0, "a port cannot be rung");
  bench->Meet();
  Await(bench, port, 0x8, "the bell that is not masked");
  bench->Expect(vl_mask_port(port.get(), 0) == 0, "bells cannot be unmasked");
  Await(bench, port, 0x6, "the bells that were masked");
  bench->Meet();
  port.reset();
  bench
      ->Meet();  // the RNIC stays until the peer has been told: a simulator resets one that is left
}

// ---- Ports that are rung by a peer that does not care

constexpr int kStorm = 2000;
constexpr uint64_t kFewInterrupts = 20;

// Those of vectors with this in their names, as the kernel counts them.
uint64_t Interrupts(const std::string& kind) {
  std::ifstream file("/proc/interrupts");
  uint64_t total = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.find("exrnic-") == std::string::npos || line.find(kind) == std::string::npos) continue;
    std::istringstream words(line.substr(line.find(':') + 1));
    for (uint64_t count; words >> count;) total += count;
  }
  return total;
}

// One end of a link between port 6 of the requester, which opens it first, and port 7 of the
// responder. Behind the constructor both have seen it up.
struct LinkedPort {
  explicit LinkedPort(Bench* bench) : side(*bench), port(Open(bench, side)) {
    AwaitUp(bench, port);
    bench->Meet();
  }
  static Owned<vl_port> Open(Bench* bench, const Side& side) {
    if (!bench->requester()) bench->Meet();
    Owned<vl_port> port =
        bench->requester() ? OpenPort(bench, side, 6, 7) : OpenPort(bench, side, 7, 6);
    if (bench->requester()) bench->Meet();
    return port;
  }

  const Side side;
  const Owned<vl_port> port;
};

void Ring(Bench* bench, const Owned<vl_port>& port, uint32_t bells) {
  bench->Expect(vl_ring_port(port.get(), bells) == 0, "a port cannot be rung");
}

void BeRungWithoutEnd(Bench* bench) {
  const LinkedPort end(bench);
  const uint64_t control = Interrupts("-control"), before = Interrupts("-comp");
  bench->Meet();
  bench->Meet();  // it has been rung
  const uint64_t interrupts = Interrupts("-comp") - before;
  bench->Expect(interrupts > 0 && interrupts < kFewInterrupts,
                "a bell that nobody reads interrupted " + std::to_string(interrupts) + " times");
  bench->Expect(Interrupts("-control") == control, "a bell interrupted by the control vector");
  Await(bench, end.port, 1, "a bell that was rung often");
  bench->Meet();
  Await(bench, end.port, 1, "a bell that was read, and rung again");
  bench->Meet();
}

void RingWithoutEnd(Bench* bench) {
  const LinkedPort end(bench);
  bench->Meet();  // who is rung has counted its interrupts
  for (int i = 0; i < kStorm; ++i) Ring(bench, end.port, 1);
  bench->Meet();
  bench->Meet();
  Ring(bench, end.port, 1);
  bench->Meet();
}

// Who reads where nothing can be written has been told nothing.
void ReadNowhere(Bench* bench) {
  const LinkedPort end(bench);
  pollfd wait = {vl_port_fd(end.port.get()), POLLIN, 0};
  bench->Expect(poll(&wait, 1, kWaitMs) == 1, "a bell is not told");
  void* const read_only = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  bench->Expect(read(vl_port_fd(end.port.get()), read_only, 4096) == -1 && errno == EFAULT,
                "a bell was written where nothing can be");
  munmap(read_only, 4096);
  Await(bench, end.port, 4, "the bell that could not be told");
  bench->Meet();
}

void RingOnce(Bench* bench) {
  const LinkedPort end(bench);
  Ring(bench, end.port, 4);
  bench->Meet();
}

// The bell is there, and unread, when it is masked.
void MaskWhatWasRung(Bench* bench) {
  const LinkedPort end(bench);
  pollfd wait = {vl_port_fd(end.port.get()), POLLIN, 0};
  bench->Expect(poll(&wait, 1, kWaitMs) == 1, "a bell is not told");
  bench->Expect(vl_mask_port(end.port.get(), 1) == 0, "bells cannot be masked");
  bench->Expect(poll(&wait, 1, 0) == 0, "a bell is told that is masked");
  bench->Meet();
  Await(bench, end.port, 2, "a bell beside one that is masked");
  bench->Expect(vl_mask_port(end.port.get(), 0) == 0, "bells cannot be unmasked");
  Await(bench, end.port, 1, "the bell that was masked");
  bench->Meet();
}

void RingBeforeAndBehind(Bench* bench) {
  const LinkedPort end(bench);
  Ring(bench, end.port, 1);
  bench->Meet();
  Ring(bench, end.port, 2);
  bench->Meet();
}

}  // namespace

std::vector<GuestCheck> NtbChecks() {
  GuestCheck storm = {"a port that is rung without end interrupts once, until its owner reads",
                      BeRungWithoutEnd, RingWithoutEnd};
  storm.needs_kernel = true;
  GuestCheck nowhere = {"a bell that cannot be written to who reads is told to who reads next",
                        ReadNowhere, RingOnce};
  nowhere.needs_kernel = true;
  GuestCheck mask = {"a bell that was rung before it was masked is told when it is unmasked",
                     MaskWhatWasRung, RingBeforeAndBehind};
  mask.needs_rnic = true;
  GuestCheck port = {
      "a port rings its peer, shows scratchpads, and tells when the link comes and goes",
      RingAndWait, WaitAndRing};
  port.needs_rnic = true;
  return {{"stores into a remote window reach the peer's memory, and loads read it", StoreAndLoad,
           CompareStores, true},
          {"the longest window shows what is at its end", StoreAtTheEnd, LookAtTheEnd, true},
          {"a window gives no right that it or the peer's region has not", UseWithoutRights,
           MeetOnly, true},
          {"a queue pair has windows or posted work, never both", PostAndMap, AwaitPush, true},
          {"a process killed while it stores leaves a beginning of what it stored, and its windows",
           KillStorer, OutliveStorer, true},
          {"a window to a peer that is gone reads all ones, and its queue pair says so", LosePeer,
           Leave, true},
          port,
          storm,
          nowhere,
          mask};
}

}  // namespace exrnic
