// SPDX-License-Identifier: BSD-2-Clause
#include "tests/support/random_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include "sim/topology/topology.h"
#include "tests/support/rnic_driver.h"

namespace exrnic::testing {
namespace {

constexpr uint32_t kPage = 3, kPd = 7, kSendCqn = 5, kRecvCqn = 6, kCqLog = 12;
constexpr uint32_t kQkey = 0x2517;
constexpr uint32_t kFirstQpn = 20;
constexpr unsigned kQueues = 6;  // of a node; the last one is of UD, without a peer
constexpr unsigned kDatagrams = kQueues - 1;
constexpr unsigned kNoQueue = kQueues;
constexpr size_t kMostWork = 20, kMostReceives = 24;  // under way, of a queue pair
constexpr uint64_t kArrivalNs = 2'000;                // of what is on its way to host memory
constexpr uint64_t kPatienceNs = 50'000'000;
constexpr unsigned kPatiences = 12;  // with new receives before each
constexpr unsigned kMostProblems = 20;
constexpr uint32_t kHeader = sizeof(uint64_t);  // of a message: its number
constexpr unsigned kBits = 60;                  // of a counter, each for one atomic

using Random = std::mt19937_64;

uint8_t byte_of(uint64_t number, uint64_t at) {
  uint64_t mixed = (number + 1) * 0x9e3779b97f4a7c15 + at * 0xbf58476d1ce4e5b9;
  mixed ^= mixed >> 29;
  mixed *= 0x94d049bb133111eb;
  return static_cast<uint8_t>(mixed >> 56);
}

Bytes bytes_of(uint64_t number, uint64_t from, uint64_t count) {
  Bytes bytes(count);
  for (uint64_t i = 0; i < count; ++i) bytes[i] = byte_of(number, from + i);
  return bytes;
}

Bytes message_of(uint64_t number, uint32_t length) {
  Bytes bytes = bytes_of(number, 0, length);
  std::memcpy(bytes.data(), &number, std::min<size_t>(length, kHeader));
  return bytes;
}

// Memory of a node that is handed out in slices, each to one message at a time.
struct Area {
  struct Slice {
    bool taken = false;
    Bytes before;
    uint32_t offset = 0;
    Bytes message;                // that may be at `offset`
    std::optional<Bytes> frozen;  // what it must stay until it thaws
    unsigned frozen_by = 0;       // queue pair that was reset; kNoQueue: its region was invalidated
  };
  Region region;
  uint32_t access = 0;
  uint32_t bytes = 0;  // of a slice
  std::vector<Slice> slices;
};
enum Which : unsigned { kSink, kLargeSink, kLanding, kInbox, kOutbox, kAreas };
struct Kind {
  uint32_t stag, access, bytes, slices;
};
constexpr Kind kKinds[kAreas] = {
    {0x10'00, EXRNIC_ACCESS_LOCAL_WRITE | EXRNIC_ACCESS_REMOTE_WRITE, 300, 200},
    {0x11'00, EXRNIC_ACCESS_LOCAL_WRITE | EXRNIC_ACCESS_REMOTE_WRITE, 7000, 12},
    {0x12'00, EXRNIC_ACCESS_LOCAL_WRITE, 500, 200},
    {0x13'00, EXRNIC_ACCESS_LOCAL_WRITE, 1700, 200},
    {0x14'00, 0, 7000, 150},
};
constexpr uint32_t kSourceStag = 0x15'00, kCountersStag = 0x16'00;
constexpr uint64_t kSourceBytes = 16'000;
constexpr unsigned kCounters = 64;
constexpr uint64_t kBase =
    0x5500'0000'0000;  // of all regions, so that a wrong STag meets a right offset

struct Place {
  unsigned node = 0;
  Which area = kSink;
  size_t slice = 0;
};

struct Counter {
  unsigned next = 0;
  uint64_t posted = 0, done = 0;  // bits
};

struct Endpoint {
  unsigned node = 0, queue = 0;
};

struct Posted {
  uint64_t number = 0;
  uint16_t index = 0;
  uint8_t opcode = 0;
  std::optional<Place> from, to;  // its slice of the outbox, and that which it fills
  uint64_t to_life = 0;           // of the peer's queue pair
  unsigned resets = 0;            // of the peer, before it was posted
  unsigned counter = 0, bit = 0;  // of an atomic, at the peer
};
struct Receive {
  uint16_t index = 0;
  Place place;
};

struct End {
  QueuePair qp;
  Endpoint peer;
  bool paired = false, connected = false;
  uint64_t life = 1;
  std::deque<Posted> posted;
  std::deque<Receive> receives;
  uint64_t last_message = 0;          // that it received in this life
  std::map<uint64_t, uint64_t> sent;  // SENDs that ended well: number, and life of the peer
};

struct Member {
  Member(Testbed& testbed, unsigned node) : rnic(testbed, node) {}
  RnicDriver rnic;
  Queue send_cq, recv_cq;
  std::array<Area, kAreas> areas;
  Region source, counters;
  std::array<Counter, kCounters> counts;
  std::array<End, kQueues> ends;
  unsigned resets = 0;  // what was on its way to memory then is lost, be it acknowledged or not
};

// A driver that does anything, of which nothing is expected.
class Hostile {
 public:
  Hostile(Testbed& testbed, unsigned node, Random& random)
      : testbed_(testbed), random_(random), rnic_(testbed, node) {
    begin();
  }

  // Towards a queue pair of `victim`, which has such regions.
  void act(Endpoint victim, const std::vector<uint32_t>& stags) {
    try {
      switch (random_() % 8) {
        case 0:
          return connect(victim);
        case 1:
          return command();
        case 2:
          return store();
        case 3:
          if (random_() % 10 != 0) return;
          testbed_.node(rnic_.node()).device().reset();
          rnic_.start();
          return begin();
        default:
          return post(stags);
      }
    } catch (const std::runtime_error&) {  // its device may have got lost
      testbed_.node(rnic_.node()).device().reset();
      rnic_.start();
      begin();
    }
  }

 private:
  static constexpr unsigned kOwn = 3;

  void begin() {
    cq_ = rnic_.create_cq(kSendCqn, kPage, 6);
    region_ = rnic_.create_region(
        0x21'00, kPd, kBase, 8000,
        EXRNIC_ACCESS_LOCAL_WRITE | EXRNIC_ACCESS_REMOTE_WRITE | EXRNIC_ACCESS_REMOTE_READ);
    for (unsigned i = 0; i < kOwn; ++i)
      qps_[i] = rnic_.create_qp(kFirstQpn + i, kPage, kPd, cq_, QueuePairOptions{});
  }
  void connect(Endpoint victim) {
    QueuePair& qp = qps_[random_() % kOwn];
    rnic_.modify(qp.qpn, EXRNIC_QP_STATE_RESET);
    qp.sq.index = qp.rq.index = 0;
    rnic_.connect(qp, victim.node, kFirstQpn + victim.queue);
  }
  void command() {
    std::array<uint32_t, 16> words;
    for (uint32_t& word : words)
      word = static_cast<uint32_t>(random_() % 3 ? random_() % 32 : random_());
    const unsigned most = EXRNIC_MBOX_OP_RESIZE_CQ + 2;
    rnic_.command(static_cast<exrnic_mbox_op>(random_() % most), words.data(), sizeof words);
  }
  void store() {
    const unsigned size = 1u << random_() % 4;
    const uint64_t place = random_() % (8 * EXRNIC_USER_PAGE_SIZE) / size * size;
    const uint64_t value =
        random_() % 2 ? random_() : (random_() % 64) << 32 | (kFirstQpn + random_() % 4);
    rnic_.host().store(EXRNIC_BAR_USER, place, size, value);
  }
  void post(const std::vector<uint32_t>& stags) {
    QueuePair& qp = qps_[random_() % kOwn];
    Work work;
    const auto length = static_cast<uint32_t>(random_() % 4000);
    work.elements = {element(region_, random_() % 4000, length)};
    work.opcode = static_cast<uint8_t>(1 + random_() % EXRNIC_WQE_OPCODE_BIND_MW);
    work.remote_stag = stags[random_() % stags.size()];
    work.remote_to = kBase + random_() % 20'000;
    work.imm_data = work.remote_stag;
    rnic_.post(qp, work);
    rnic_.post_receive(qp, {element(region_, 0, 4000)});
    while (rnic_.poll(cq_, kPage)) continue;
  }

  Testbed& testbed_;
  Random& random_;
  RnicDriver rnic_;
  Queue cq_;
  Region region_;
  std::array<QueuePair, kOwn> qps_;
};

TestbedOptions network_of(Random& random) {
  constexpr std::array<const char*, 3> kProfiles = {"dc-25g", "ntb-gen3x8", "expether-gbe"};
  const auto nodes = static_cast<unsigned>(2 + random() % 5);
  const std::array<std::string, 4> topologies = {"star", "ring", "two-levels", "star"};
  TestbedOptions options;
  options.profile = load_profile(kProfiles[random() % kProfiles.size()]);
  options.topology =
      load_topology(topologies[random() % topologies.size()] + ":" + std::to_string(nodes), nodes);
  options.seed = random();
  const auto rate = [&random](unsigned per_mille) {
    return static_cast<double>(random() % per_mille) / 1000;
  };
  if (random() % 4 != 0) {
    options.faults.rates = {rate(20), rate(10), rate(40), rate(40), rate(40)};
    options.faults.delay_ns = static_cast<uint32_t>(1000 + random() % 100'000);
    options.faults.reorder_frames = static_cast<unsigned>(1 + random() % 7);
  }
  return options;
}

class Network {
 public:
  Network(uint64_t seed, const CoreFactory& make_core)
      : random_(seed),
        options_(network_of(random_)),
        lines_double_(options_.faults.rates.duplicate > 0),
        testbed_(options_, make_core) {
    const unsigned hostile = random_() % 2 ? 0 : below(testbed_.nodes() - 1);
    const unsigned good = testbed_.nodes() - hostile;
    for (unsigned node = 0; node < good; ++node) {
      members_.push_back(std::make_unique<Member>(testbed_, node));
      open(node);
    }
    for (unsigned node = good; node < testbed_.nodes(); ++node)
      hostile_.push_back(std::make_unique<Hostile>(testbed_, node, random_));
    pair_up();
    for (const Endpoint& end : all_ends()) create(end);
  }

  std::string run(unsigned steps) {
    const unsigned churn = 10 + below(60);
    for (unsigned step = 0; step < steps && problems_.size() < kMostProblems; ++step) {
      happen(churn);
      if (below(2)) advance(below(8'000));
      collect();
    }
    calm_down();
    last_life();
    return text();
  }

 private:
  // ---- Small things

  unsigned below(uint64_t limit) { return static_cast<unsigned>(random_() % limit); }
  Member& member(unsigned node) { return *members_.at(node); }
  End& at(const Endpoint& end) { return member(end.node).ends.at(end.queue); }
  Endpoint any_end() { return {below(members_.size()), below(kQueues)}; }
  std::vector<Endpoint> all_ends() {
    std::vector<Endpoint> ends;
    for (unsigned node = 0; node < members_.size(); ++node)
      for (unsigned queue = 0; queue < kQueues; ++queue)
        if (queue == kDatagrams || member(node).ends[queue].paired) ends.push_back({node, queue});
    return ends;
  }
  bool is_reliable(const Endpoint& end) { return at(end).qp.service == EXRNIC_SERVICE_RC; }

  template <typename... Parts>
  void problem(fmt::format_string<Parts...> form, Parts&&... parts) {
    problems_.push_back(fmt::format("at {} ns: ", testbed_.now_ns()) +
                        fmt::format(form, std::forward<Parts>(parts)...));
  }
  std::string text() {
    std::string all;
    for (const std::string& line : problems_) all += line + '\n';
    return all;
  }

  // What is to be looked at when that is due.
  void later(std::function<void()> action) {
    later_.emplace_back(testbed_.now_ns() + kArrivalNs, std::move(action));
  }
  // Each look at its own time.
  void advance(uint64_t ns) {
    const uint64_t end = testbed_.now_ns() + ns;
    while (!later_.empty() && later_.front().first < end) {
      testbed_.run_for(later_.front().first - std::min(later_.front().first, testbed_.now_ns()));
      look();
    }
    testbed_.run_for(end - testbed_.now_ns());
    look();
  }
  void look() {
    while (!later_.empty() && later_.front().first <= testbed_.now_ns()) {
      const auto action = std::move(later_.front().second);
      later_.pop_front();
      action();
    }
  }

  // ---- Memory

  Area::Slice& slice(const Place& place) {
    return member(place.node).areas[place.area].slices[place.slice];
  }
  Bytes content(const Place& place) {
    const Area& area = member(place.node).areas[place.area];
    return member(place.node).rnic.read(area.region, place.slice * area.bytes, area.bytes);
  }
  std::string name(const Place& place) {
    return fmt::format("node {} area {} slice {}", place.node, static_cast<unsigned>(place.area),
                       place.slice);
  }

  // A free one, that still is as it was left.
  std::optional<Place> take(unsigned node, Which which) {
    Area& area = member(node).areas[which];
    const size_t first = below(area.slices.size());
    for (size_t i = 0; i < area.slices.size(); ++i) {
      const Place place{node, which, (first + i) % area.slices.size()};
      if (slice(place).taken) continue;
      expect(place, slice(place).before, "nobody may write it");
      slice(place).taken = true;
      slice(place).message.clear();
      slice(place).frozen.reset();
      return place;
    }
    return std::nullopt;
  }
  void expect(const Place& place, const Bytes& expected, const char* why) {
    const Bytes now = content(place);
    const auto [a, b] = std::mismatch(now.begin(), now.end(), expected.begin());
    if (a != now.end())
      problem("{}, byte {}: is 0x{:x}, was 0x{:x}: {}", name(place), a - now.begin(), *a, *b, why);
    slice(place).before = now;
  }
  // Its message has ended: `whole`, or nobody knows.
  void settle(const Place& place, bool whole) {
    thaw(place);
    Area::Slice& one = slice(place);
    const Bytes now = content(place);
    for (size_t i = 0; i < now.size(); ++i) {
      const bool inside = i >= one.offset && i - one.offset < one.message.size();
      const bool old = now[i] == one.before[i];
      const bool fresh = inside && now[i] == one.message[i - one.offset];
      if (fresh || (old && !(inside && whole))) continue;
      problem("{}, byte {}: is 0x{:x}, was 0x{:x}; the message at {} of {} bytes {}", name(place),
              i, now[i], one.before[i], one.offset, one.message.size(),
              whole ? "ended well" : "may be there");
      break;
    }
    release(place);
  }
  void release(const Place& place) {
    slice(place).before = content(place);
    slice(place).taken = false;
    slice(place).frozen.reset();
  }
  // Nothing may change in it any more, from when what is under way to memory is there.
  void freeze(const Place& place, unsigned queue, std::function<bool()> still) {
    later([this, place, queue, still = std::move(still), message = slice(place).message] {
      Area::Slice& one = slice(place);
      if (!one.taken || one.message != message || !still()) return;
      one.frozen = content(place);
      one.frozen_by = queue;
    });
  }
  void thaw(const Place& place) {
    Area::Slice& one = slice(place);
    if (!one.taken || !one.frozen) return;
    const Bytes before = one.before;
    expect(place, *one.frozen,
           one.frozen_by == kNoQueue ? "its region is invalidated" : "its queue pair was reset");
    one.before = before;
    one.frozen.reset();
  }
  void thaw_all(unsigned node, Which which, unsigned queue) {
    for (size_t i = 0; i < kKinds[which].slices; ++i)
      if (slice({node, which, i}).frozen_by == queue) thaw({node, which, i});
  }

  // ---- Nodes

  void open(unsigned node) {
    Member& one = member(node);
    for (unsigned which = 0; which < kAreas; ++which) {
      const Kind& kind = kKinds[which];
      Area& area = one.areas[which];
      area.bytes = kind.bytes;
      area.access = kind.access;
      area.slices.resize(kind.slices);
      area.region = one.rnic.create_region(kind.stag, kPd, kBase,
                                           uint64_t{kind.bytes} * kind.slices, kind.access);
      one.rnic.write(area.region, 0, bytes_of(random_(), 0, area.region.length));
      for (size_t i = 0; i < area.slices.size(); ++i)
        area.slices[i].before = content({node, static_cast<Which>(which), i});
    }
    one.source =
        one.rnic.create_region(kSourceStag, kPd, kBase, kSourceBytes, EXRNIC_ACCESS_REMOTE_READ);
    one.rnic.write(one.source, 0, bytes_of(node, 0, kSourceBytes));
    one.counters = one.rnic.create_region(kCountersStag, kPd, kBase, kCounters * sizeof(uint64_t),
                                          EXRNIC_ACCESS_LOCAL_WRITE | EXRNIC_ACCESS_REMOTE_ATOMIC);
    equip(node);
  }
  // What the device knows of it, but for regions and queue pairs.
  void equip(unsigned node) {
    Member& one = member(node);
    one.rnic.set_pkey(0, EXRNIC_PKEY_FULL | 1);
    one.send_cq = one.rnic.create_cq(kSendCqn, kPage, kCqLog);
    one.recv_cq = one.rnic.create_cq(kRecvCqn, kPage, kCqLog, 2);
  }

  void pair_up() {
    std::vector<Endpoint> ends;
    for (unsigned node = 0; node < members_.size(); ++node)
      for (unsigned queue = 0; queue < kDatagrams; ++queue) ends.push_back({node, queue});
    std::shuffle(ends.begin(), ends.end(), random_);
    for (size_t i = 0; i + 1 < ends.size(); i += 2) {
      const exrnic_service service = below(5) ? EXRNIC_SERVICE_RC : EXRNIC_SERVICE_UC;
      for (const auto& [own, peer] :
           {std::pair(ends[i], ends[i + 1]), std::pair(ends[i + 1], ends[i])}) {
        at(own).peer = peer;
        at(own).paired = true;
        at(own).qp.service = service;
      }
    }
  }
  QueuePairOptions options_of(const Endpoint& end) {
    QueuePairOptions options;
    options.recv_cq = &member(end.node).recv_cq;
    options.service = end.queue == kDatagrams ? EXRNIC_SERVICE_UD : at(end).qp.service;
    return options;
  }
  void create(const Endpoint& end) {
    Member& one = member(end.node);
    at(end).qp =
        one.rnic.create_qp(kFirstQpn + end.queue, kPage, kPd, one.send_cq, options_of(end));
  }

  void reset_node(unsigned node) {
    Member& one = member(node);
    collect();
    testbed_.node(node).device().reset();
    ++one.resets;
    one.rnic.start();
    equip(node);
    for (unsigned which = 0; which < kAreas; ++which)
      register_anew(node, static_cast<Which>(which));
    one.rnic.register_again(one.source, kPd, EXRNIC_ACCESS_REMOTE_READ);
    one.rnic.register_again(one.counters, kPd,
                            EXRNIC_ACCESS_LOCAL_WRITE | EXRNIC_ACCESS_REMOTE_ATOMIC);
    for (const Endpoint& end : all_ends()) {
      if (end.node != node) continue;
      end_work(end);
      one.rnic.create_again(at(end).qp, one.send_cq, options_of(end));
    }
  }

  // Messages for it may be there in part, and come no more.
  void end_region(unsigned node, Which which) {
    for (size_t i = 0; i < kKinds[which].slices; ++i) {
      const Place place{node, which, i};
      if (slice(place).taken)
        freeze(place, kNoQueue, [this, place, key = member(node).areas[which].region.stag] {
          return member(place.node).areas[place.area].region.stag == key;
        });
    }
  }
  void register_anew(unsigned node, Which which) {
    Area& area = member(node).areas[which];
    area.region.stag = (area.region.stag & ~0xffu) | ((area.region.stag + 1) & 0xff);
    member(node).rnic.register_again(area.region, kPd, area.access);
  }
  // While messages for it are under way.
  void invalidate(unsigned node, Which which) {
    Member& one = member(node);
    for (const Endpoint& end : all_ends())
      if (end.queue != kDatagrams && at(end).peer.node == node && at(end).connected &&
          at(end).posted.size() < kMostWork)
        push(end, false);
    advance(below(3'000));
    one.rnic.must(EXRNIC_MBOX_OP_INVALIDATE_MR, exrnic_mbox_object{one.areas[which].region.stag});
    end_region(node, which);
    advance(below(4) ? kArrivalNs + below(20'000) : 0);
    for (unsigned queue = 0; queue <= kNoQueue; ++queue) thaw_all(node, which, queue);
    register_anew(node, which);
  }

  // ---- Lives

  void connect(const Endpoint& end) {
    End& one = at(end);
    if (one.connected) return;
    for (const Which which : {kSink, kLargeSink}) thaw_all(end.node, which, end.queue);
    RnicDriver& rnic = member(end.node).rnic;
    Rnr patience{1, EXRNIC_RNR_RETRY_ENDLESS};
    if (!last_ && below(2)) {
      patience.timeout = static_cast<uint8_t>(1 + below(7));
      patience.retry_count = static_cast<uint8_t>(below(3));
    }
    if (end.queue == kDatagrams)
      rnic.open_datagrams(one.qp, kQkey);
    else
      rnic.connect(one.qp, one.peer.node, kFirstQpn + one.peer.queue, patience);
    one.connected = true;
  }
  bool is_at(const Endpoint& own, const Endpoint& peer) {
    return own.queue != kDatagrams && at(own).peer.node == peer.node &&
           at(own).peer.queue == peer.queue;
  }

  void end_life(const Endpoint& end) {
    Member& one = member(end.node);
    const bool destroys = below(3) == 0;
    if (destroys)
      one.rnic.must(EXRNIC_MBOX_OP_DESTROY_QP, exrnic_mbox_object{at(end).qp.qpn});
    else if (one.rnic.modify(at(end).qp.qpn, EXRNIC_QP_STATE_RESET) != EXRNIC_MBOX_STATUS_OK)
      problem("node {} queue {}: RESET is refused", end.node, end.queue);
    collect();
    end_work(end);
    if (destroys) one.rnic.create_again(at(end).qp, one.send_cq, options_of(end));
  }
  // Nobody will say how it ended.
  void end_work(const Endpoint& end) {
    End& one = at(end);
    one.qp.sq.index = one.qp.rq.index = 0;
    one.connected = false;
    ++one.life;
    one.last_message = 0;
    one.sent.clear();
    for (const Posted& posted : one.posted) {
      if (posted.from) later([this, place = *posted.from] { release(place); });
      if (posted.to) doubtful_.push_back(*posted.to);
    }
    one.posted.clear();
    for (const Receive& receive : one.receives)
      later([this, place = receive.place] { release(place); });
    one.receives.clear();
    // What peers have under way to it stays as it is until it is connected anew.
    for (const Endpoint& other : all_ends())
      for (const Posted& posted : at(other).posted)
        if (posted.to && posted.to->area != kLanding && is_at(other, end))
          freeze(*posted.to, end.queue, [this, end, life = one.life] {
            return at(end).life == life && !at(end).connected;
          });
  }

  // Half of them while messages for it are under way.
  void begin_anew(const Endpoint& end) {
    if (end.queue != kDatagrams && at(at(end).peer).connected && below(2)) {
      for (size_t i = at(at(end).peer).posted.size(); i < kMostWork / 2; ++i)
        push(at(end).peer, false);
      advance(below(3'000));
    }
    end_life(end);
    if (end.queue == kDatagrams || below(4) == 0) return;
    const Endpoint peer = at(end).peer;
    if (below(3) == 0) return connect(end);
    if (below(2)) advance(below(20'000));
    const bool early = below(2);
    if (early) connect(end);
    end_life(peer);
    if (!early) connect(end);
    if (below(2)) post(end);
    connect(peer);
  }

  // ---- Work

  void put(const Endpoint& end, Posted posted, const Work& work) {
    End& one = at(end);
    member(end.node).rnic.post(one.qp, work);
    posted.index = static_cast<uint16_t>(one.qp.sq.index - 1);
    posted.opcode = work.opcode;
    posted.resets = member(one.peer.node).resets;
    one.posted.push_back(std::move(posted));
  }

  void post(const Endpoint& end) {
    End& one = at(end);
    if (!one.connected || one.posted.size() >= kMostWork) return;
    const unsigned kinds = one.qp.service == EXRNIC_SERVICE_RC ? 9 : 5;
    const unsigned kind = end.queue == kDatagrams ? 0 : below(kinds);
    if (kind < 2) return send(end);
    if (kind < 5) return push(end, kind == 4);
    if (kind < 8) return pull(end);
    fetch_add(end);
  }
  // A slice of the outbox with the message; nothing if there is none.
  std::optional<Place> outgoing(unsigned node, const Bytes& message) {
    const auto place = take(node, kOutbox);
    if (!place) return std::nullopt;
    const Area& area = member(node).areas[kOutbox];
    member(node).rnic.write(area.region, place->slice * area.bytes, message);
    slice(*place).before = content(*place);
    return place;
  }
  exrnic_sge element_of(const Place& place, uint32_t offset, uint32_t length) {
    const Area& area = member(place.node).areas[place.area];
    return element(area.region, place.slice * area.bytes + offset, length);
  }

  void send(const Endpoint& end) {
    const bool datagram = end.queue == kDatagrams;
    const auto length = static_cast<uint32_t>(kHeader + below(datagram ? 1000 : 1600));
    Posted posted;
    posted.number = ++numbers_;
    const Bytes message = message_of(posted.number, length);
    posted.from = outgoing(end.node, message);
    if (!posted.from) return;
    messages_[posted.number] = {end, length};
    Work work;
    work.elements = {element_of(*posted.from, 0, length)};
    if (datagram) {
      const unsigned to = below(testbed_.nodes());  // hostile ones, too
      work.remote_to = uint64_t{to} << EXRNIC_DATAGRAM_NODE_SHIFT | (kFirstQpn + kDatagrams);
      work.remote_stag = kQkey;
    } else {
      posted.to_life = at(at(end).peer).life;
    }
    put(end, std::move(posted), work);
  }

  void push(const Endpoint& end, bool with_imm) {
    const Endpoint peer = at(end).peer;
    const Which which = below(4) ? kSink : kLargeSink;
    const auto to = take(peer.node, which);
    if (!to) return;
    const uint32_t room = kKinds[which].bytes;
    Posted posted;
    posted.number = ++numbers_;
    const auto offset = static_cast<uint32_t>(below(room / 2));
    const auto length = static_cast<uint32_t>(1 + below(room - offset));
    slice(*to).offset = offset;
    slice(*to).message = message_of(posted.number, length);
    posted.from = outgoing(end.node, slice(*to).message);
    if (!posted.from) return release(*to);
    posted.to = to;
    posted.to_life = at(peer).life;
    messages_[posted.number] = {end, 0};
    Work work;
    work.elements = {element_of(*posted.from, 0, length)};
    work.opcode = with_imm ? EXRNIC_WQE_OPCODE_PUSH_IMM : EXRNIC_WQE_OPCODE_PUSH;
    work.imm_data = with_imm ? static_cast<uint32_t>(posted.number) : 0;
    const exrnic_sge target = element_of(*to, offset, length);
    work.remote_stag = target.stag;
    work.remote_to = target.address;
    put(end, std::move(posted), work);
  }

  void pull(const Endpoint& end) {
    const Endpoint peer = at(end).peer;
    const auto to = take(end.node, kLanding);
    if (!to) return;
    const auto length = static_cast<uint32_t>(1 + below(kKinds[kLanding].bytes));
    const uint64_t from = below(kSourceBytes - length);
    slice(*to).offset = 0;
    slice(*to).message = bytes_of(peer.node, from, length);
    Posted posted;
    posted.number = ++numbers_;
    posted.to = to;
    posted.to_life = at(peer).life;
    Work work;
    work.opcode = EXRNIC_WQE_OPCODE_PULL;
    work.elements = {element_of(*to, 0, length)};
    work.remote_stag = kSourceStag;
    work.remote_to = kBase + from;
    put(end, std::move(posted), work);
  }

  void fetch_add(const Endpoint& end) {
    const Endpoint peer = at(end).peer;
    const unsigned counter = below(kCounters);
    Counter& count = member(peer.node).counts[counter];
    if (count.next == kBits) return;
    const auto to = take(end.node, kLanding);
    if (!to) return;
    Posted posted;
    posted.number = ++numbers_;
    posted.to = to;
    posted.counter = counter;
    posted.bit = count.next++;
    count.posted |= uint64_t{1} << posted.bit;
    Work work;
    work.opcode = EXRNIC_WQE_OPCODE_FETCH_ADD;
    work.elements = {element_of(*to, 0, sizeof(uint64_t))};
    work.atomic_data = uint64_t{1} << posted.bit;
    work.remote_stag = kCountersStag;
    work.remote_to = kBase + counter * sizeof(uint64_t);
    put(end, std::move(posted), work);
  }

  void receive(const Endpoint& end) {
    End& one = at(end);
    if (!one.connected || one.receives.size() >= kMostReceives) return;
    const auto place = take(end.node, kInbox);
    if (!place) return;
    member(end.node).rnic.post_receive(one.qp, {element_of(*place, 0, kKinds[kInbox].bytes)});
    one.receives.push_back({static_cast<uint16_t>(one.qp.rq.index - 1), *place});
  }

  // ---- Completions

  void collect() {
    for (unsigned node = 0; node < members_.size(); ++node) {
      Member& one = member(node);
      while (const auto cqe = one.rnic.poll(one.send_cq, kPage)) ended(node, *cqe);
      while (const auto cqe = one.rnic.poll(one.recv_cq, kPage)) received(node, *cqe);
    }
  }
  std::optional<Endpoint> end_of(unsigned node, const exrnic_cqe& cqe) {
    if (cqe.qpn >= kFirstQpn && cqe.qpn < kFirstQpn + kQueues)
      return Endpoint{node, uint32_t{cqe.qpn} - kFirstQpn};
    problem("node {}: a completion of queue pair {}", node, uint32_t{cqe.qpn});
    return std::nullopt;
  }

  void ended(unsigned node, const exrnic_cqe& cqe) {
    const auto end = end_of(node, cqe);
    if (!end) return;
    End& one = at(*end);
    if (one.posted.empty() || one.posted.front().index != cqe.wqe_index)
      return problem("node {} queue {}: work request {} ends; {}", node, end->queue,
                     uint32_t{cqe.wqe_index},
                     one.posted.empty() ? "nothing is posted"
                                        : fmt::format("the next is {}", one.posted.front().index));
    const Posted posted = std::move(one.posted.front());
    one.posted.pop_front();
    const bool well = cqe.status == EXRNIC_CQE_STATUS_SUCCESS;
    if (!well && last_)
      problem("node {} queue {}: in its last life opcode {} ends with status {}, detail 0x{:x}",
              node, end->queue, posted.opcode, static_cast<unsigned>(cqe.status),
              uint32_t{cqe.detail});
    if (posted.from) later([this, place = *posted.from] { release(place); });
    if (well && is_reliable(*end) && posted.opcode == EXRNIC_WQE_OPCODE_SEND)
      one.sent[posted.number] = posted.to_life;
    if (!posted.to) return;
    if (posted.opcode == EXRNIC_WQE_OPCODE_FETCH_ADD) return counted(*end, posted, well);
    if (well && is_reliable(*end))
      later([this, place = *posted.to, resets = posted.resets] {
        settle(place, place.area == kLanding || member(place.node).resets == resets);
      });
    else
      doubtful_.push_back(*posted.to);
  }
  void counted(const Endpoint& end, const Posted& posted, bool well) {
    Member& peer = member(at(end).peer.node);
    Counter& count = peer.counts[posted.counter];
    const uint64_t bit = uint64_t{1} << posted.bit;
    if (well) {
      later([&peer, &count, bit, resets = posted.resets] {
        if (peer.resets == resets) count.done |= bit;
      });
      uint64_t old = 0;
      const Bytes bytes = content(*posted.to);
      std::memcpy(&old, bytes.data(), sizeof old);
      if ((old & bit) != 0 || (old & ~count.posted) != 0)
        problem("node {} queue {}: an atomic of 0x{:x} finds 0x{:x}, posted were 0x{:x}", end.node,
                end.queue, bit, old, count.posted);
    }
    // What it leaves there is known to the peer alone.
    later([this, place = *posted.to] { release(place); });
  }

  void received(unsigned node, const exrnic_cqe& cqe) {
    const auto end = end_of(node, cqe);
    if (!end) return;
    End& one = at(*end);
    if (one.receives.empty() || one.receives.front().index != cqe.wqe_index)
      return problem(
          "node {} queue {}: receive {} ends; {}", node, end->queue, uint32_t{cqe.wqe_index},
          one.receives.empty() ? "none is posted"
                               : fmt::format("the next is {}", one.receives.front().index));
    const Place place = one.receives.front().place;
    one.receives.pop_front();
    if (cqe.status == EXRNIC_CQE_STATUS_SUCCESS) arrived(*end, place, cqe);
    later([this, place] { release(place); });
  }
  void arrived(const Endpoint& end, const Place& place, const exrnic_cqe& cqe) {
    End& one = at(end);
    const Bytes bytes = content(place);
    uint64_t number = 0;
    const bool pushed = (cqe.flags & EXRNIC_CQE_FLAGS_WRITTEN) != 0;
    if (pushed)
      number = cqe.imm_data;
    else
      std::memcpy(&number, bytes.data(), sizeof number);
    const auto message = messages_.find(number);
    const auto what = [&] {
      return fmt::format("node {} queue {}: message 0x{:x}", end.node, end.queue, number);
    };
    if (message == messages_.end()) return problem("{} was never sent", what());
    const auto& [from, length] = message->second;
    const bool expected = end.queue == kDatagrams ? from.queue == kDatagrams : is_at(from, end);
    if (!expected) return problem("{} is of node {} queue {}", what(), from.node, from.queue);
    // Datagrams of different nodes have no order.
    if (end.queue != kDatagrams && number <= one.last_message)
      problem("{} comes after 0x{:x}", what(), one.last_message);
    one.last_message = number;
    const bool first = datagrams_.insert({number, end.node}).second;
    if (end.queue == kDatagrams && !first && !lines_double_) problem("{} comes twice", what());
    const bool has_end = cqe.byte_length == length || pushed;
    const Bytes whole = message_of(number, length);
    if (!has_end || (!pushed && !std::equal(whole.begin(), whole.end(), bytes.begin())))
      problem("{} is not whole: {} bytes, sent were {}", what(), uint32_t{cqe.byte_length}, length);
    if (is_reliable(end)) one_life(end, number);
  }
  // Of a sender whose SENDs ended well in one life of both, none may be missing before this one.
  void one_life(const Endpoint& end, uint64_t number) { received_.insert({number, at(end).life}); }

  // ---- What happens

  void happen(unsigned churn) {
    const Endpoint end = any_end();
    if (!at(end).paired && end.queue != kDatagrams) return;
    if (below(churn) == 0) return begin_anew(end);
    if (below(6 * churn) == 0) return reset_node(end.node);
    if (below(4 * churn) == 0) return invalidate(end.node, below(2) ? kSink : kLargeSink);
    if (below(3 * churn) == 0) return cut();
    if (!hostile_.empty() && below(3) == 0) {
      std::vector<uint32_t> stags = {kSourceStag, kCountersStag};
      for (const Area& area : member(end.node).areas) stags.push_back(area.region.stag);
      return hostile_[below(hostile_.size())]->act(end, stags);
    }
    if (!at(end).connected) {
      if (below(2)) connect(end);
    } else if (below(3) == 0) {
      receive(end);
    } else {
      post(end);
    }
  }

  void cut() {
    const auto& links = testbed_.fabric().topology().links;
    const TopologyLink& cable = links[below(links.size())];
    testbed_.fabric().set_up(cable, false);
    advance(below(2) ? below(100'000) : below(20'000'000));
    testbed_.fabric().set_up(cable, true);
  }

  void calm_down() {
    for (const TopologyLink& link : testbed_.fabric().topology().links)
      for (const LinkEnd& end : link.ends) testbed_.fabric().set_faults(end, {}, 1);
    expect_all_ends();
  }
  bool all_ended() {
    collect();
    for (const auto& one : members_)
      for (const End& end : one->ends)
        if (!end.posted.empty()) return false;
    return true;
  }
  void expect_all_ends() {
    for (unsigned round = 0; round < kPatiences && !all_ended(); ++round) {
      for (const Endpoint& end : all_ends())
        for (unsigned i = 0; i < 10; ++i) receive(end);
      testbed_.run_until([this] { return all_ended(); }, kPatienceNs);
      look();
    }
    for (const Endpoint& end : all_ends())
      if (const size_t left = at(end).posted.size())
        problem("node {} queue {}: {} work requests have not ended, in state {}", end.node,
                end.queue, left,
                static_cast<unsigned>(member(end.node).rnic.query(at(end).qp.qpn).state));
  }

  void last_life() {
    if (!problems_.empty()) return;
    last_ = true;
    advance(kArrivalNs);
    expect_nothing_missing();
    for (const Endpoint& end : all_ends()) end_life(end);
    for (const Endpoint& end : all_ends()) connect(end);
    advance(1'000'000);
    for (const Place& place : doubtful_) settle(place, false);
    doubtful_.clear();
    for (const Endpoint& end : all_ends()) {
      for (unsigned i = 0; i < 4; ++i) receive(end);
      if (end.queue == kDatagrams) continue;
      send(end);
      push(end, false);
      if (is_reliable(end)) pull(end);
      if (is_reliable(end)) fetch_add(end);
    }
    expect_all_ends();
    advance(1'000'000);
    expect_nothing_missing();
    for (const Place& place : doubtful_) settle(place, false);
    expect_memory();
  }
  // A SEND that ended well in a life of its receiver that still goes on was received.
  void expect_nothing_missing() {
    for (const Endpoint& end : all_ends())
      for (const auto& [number, life] : at(end).sent)
        if (at(at(end).peer).life == life && received_.count({number, life}) == 0)
          problem("node {} queue {}: SEND 0x{:x} ended well, and was not received", end.node,
                  end.queue, number);
  }
  void expect_memory() {
    for (unsigned node = 0; node < members_.size(); ++node) {
      Member& one = member(node);
      for (unsigned which = 0; which < kAreas; ++which)
        for (size_t i = 0; i < kKinds[which].slices; ++i) {
          const Place place{node, static_cast<Which>(which), i};
          if (!slice(place).taken) expect(place, slice(place).before, "nobody may write it");
        }
      for (unsigned i = 0; i < kCounters; ++i) {
        uint64_t value = 0;
        const Bytes bytes = one.rnic.read(one.counters, i * sizeof value, sizeof value);
        std::memcpy(&value, bytes.data(), sizeof value);
        const Counter& count = one.counts[i];
        if ((value & ~count.posted) != 0 || (count.done & ~value) != 0)
          problem("node {} counter {}: 0x{:x}; posted 0x{:x}, done 0x{:x}", node, i, value,
                  count.posted, count.done);
      }
      if (one.rnic.host().refused_reads() != 0 || !one.rnic.host().refused_writes().empty())
        problem("node {}: {} reads and {} writes of memory that it was not granted", node,
                one.rnic.host().refused_reads(), one.rnic.host().refused_writes().size());
    }
  }

  Random random_;
  const TestbedOptions options_;
  const bool lines_double_;  // so a datagram may come twice
  Testbed testbed_;
  std::vector<std::unique_ptr<Member>> members_;
  std::vector<std::unique_ptr<Hostile>> hostile_;
  std::deque<std::pair<uint64_t, std::function<void()>>> later_;
  std::vector<Place> doubtful_;  // whose message may be there
  uint64_t numbers_ = 0;
  std::map<uint64_t, std::pair<Endpoint, uint32_t>> messages_;  // by number: from, and length
  std::set<std::pair<uint64_t, uint64_t>> received_;            // number, and life of the receiver
  std::set<std::pair<uint64_t, unsigned>> datagrams_;           // number, and receiving node
  bool last_ = false;  // the last lives have no time-outs of their own
  std::vector<std::string> problems_;
};

}  // namespace

std::string run_random_network(uint64_t seed, unsigned steps, const CoreFactory& make_core) {
  return Network(seed, make_core).run(steps);
}

}  // namespace exrnic::testing
