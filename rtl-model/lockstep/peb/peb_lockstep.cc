// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/lockstep/peb/peb_lockstep.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "rtl-model/lockstep/mismatch.h"
#include "rtl-model/lockstep/peb/peb_shadow.h"

namespace exrnic::lockstep {
namespace {

using peb::Answer;
using peb::Request;
using peb::Write;

class LockstepPeb;

// All PEBs of a simulation, by number.
struct Simulation {
  peb::PebFactory make_subject;
  peb::PebFactory make_reference;
  std::map<uint16_t, LockstepPeb*> pebs;
  uint64_t compared = 0;
};

std::string text(const Bytes& data) {
  constexpr size_t kMost = 16;
  std::string text;
  for (size_t i = 0; i < std::min(data.size(), kMost); ++i) text += fmt::format("{:02x}", data[i]);
  return fmt::format("{} bytes {}{}", data.size(), text, data.size() > kMost ? "..." : "");
}
std::string text(const Write& write) {
  return fmt::format("a write to {:#x} of {}", write.address, text(write.data));
}
std::string text(const Request& request) {
  return fmt::format("a request of kind {} at {:#x} of {} bytes, {}",
                     static_cast<unsigned>(request.kind), request.address, request.length,
                     text(request.data));
}
std::string text(const Answer& answer) {
  return fmt::format("status {}, {}", static_cast<unsigned>(answer.status), text(answer.data));
}

bool is_same(const Write& a, const Write& b) { return a.address == b.address && a.data == b.data; }
bool is_same(const Request& a, const Request& b) {
  return a.kind == b.kind && a.address == b.address && a.length == b.length && a.data == b.data;
}
bool is_same(const Answer& a, const Answer& b) { return a.status == b.status && a.data == b.data; }

class LockstepPeb final : public peb::PebCore, private peb::PebSink {
 public:
  LockstepPeb(std::shared_ptr<Simulation> simulation, const CoreConfig& config, peb::Side side,
              unsigned ports, peb::PebSink& sink)
      : simulation_(std::move(simulation)),
        config_(config),
        side_(side),
        sink_(sink),
        ports_(ports),
        subject_(simulation_->make_subject(config, side, ports, *this)) {
    follow_number();
  }
  ~LockstepPeb() override { leave(); }

  void assign(unsigned port, const std::optional<peb::Peer>& peer) override {
    forget(port);
    subject_->assign(port, peer);
  }
  std::optional<peb::Peer> peer(unsigned port) const override { return subject_->peer(port); }
  bool is_up(unsigned port) const override { return subject_->is_up(port); }
  bool has_room(unsigned port, peb::Flow flow) const override {
    return subject_->has_room(port, flow);
  }
  void write(unsigned port, uint64_t address, const Bytes& data) override {
    if (Port* judged = judged_of(port)) judged->shadow->write(judged->end, address, data);
    subject_->write(port, address, data);
  }
  void request(unsigned port, peb::BusRequest&& request) override {
    if (Port* judged = judged_of(port)) {
      peb::BusRequest same = request;
      same.id = judged->next_asked++;
      judged->asked[request.id] = {same.id, time_ns_};
      judged->shadow->request(judged->end, std::move(same));
    }
    subject_->request(port, std::move(request));
  }
  void complete(unsigned port, uint64_t name, exrnic_completion_status status,
                const Bytes& data) override {
    if (Port* judged = judged_of(port)) {
      const auto served = judged->served.find(name);
      if (served != judged->served.end()) {
        judged->shadow->complete(judged->end, served->second, status, data);
        judged->served.erase(served);
      }
    }
    subject_->complete(port, name, status, data);
  }
  void receive(Frame&& frame) override { subject_->receive(std::move(frame)); }
  void set_link(bool up) override { subject_->set_link(up); }
  uint16_t number() const override { return subject_->number(); }
  void step(uint64_t time_ns) override {
    time_ns_ = time_ns;
    subject_->step(time_ns);
    follow_number();
  }
  bool idle() const override { return subject_->idle(); }
  uint64_t wakes_at_ns() const override { return subject_->wakes_at_ns(); }
  const peb::Counters& counters() const override { return subject_->counters(); }
  uint64_t peek_counter(exrnic_counter which) const override {
    return subject_->peek_counter(which);
  }

  void check_rest() const {
    for (unsigned port = 0; port < ports_.size(); ++port) {
      const Port& each = ports_[port];
      if (!each.shadow || each.stale || !each.up) continue;
      const PebShadow::Reached& reached = each.shadow->reached(each.end);
      if (!reached.writes.empty()) missing(port, text(reached.writes.front()));
      if (!reached.requests.empty()) missing(port, text(reached.requests.front()));
      for (const auto& [id, asked] : each.asked)
        if (const auto answer = reached.answers.find(asked.shadows_id);
            answer != reached.answers.end())
          missing(port, "an answer, " + text(answer->second));
    }
  }

 private:
  // A bus may give an id again, when the shadow has not answered one that was given up: there
  // each has another one.
  struct Asked {
    uint64_t shadows_id = 0;
    uint64_t time_ns = 0;
  };
  struct Port {
    bool up = false;
    // It has not heard yet that its life is over, which its peer knows.
    bool stale = false;
    std::shared_ptr<PebShadow> shadow;    // of this life; null: it is not judged
    unsigned end = 0;                     // of that one
    LockstepPeb* peer = nullptr;          // at its other end...
    unsigned peers_port = 0;              // ...there
    uint64_t requests = 0;                // of the peer, that have come
    std::map<uint64_t, uint64_t> served;  // name to index
    uint64_t next_asked = 0;
    std::map<uint64_t, Asked> asked;  // by id
  };

  // ---- Of the subject
  bool can_transmit() override { return sink_.can_transmit(); }
  void transmit(Frame&& frame) override { sink_.transmit(std::move(frame)); }
  bool can_write(unsigned port) override { return sink_.can_write(port); }
  bool can_request(unsigned port) override { return sink_.can_request(port); }
  void assigned(unsigned port) override {
    forget(port);
    sink_.assigned(port);
  }
  void write(unsigned port, Write&& write) override {
    if (Port* judged = judged_of(port))
      compare(port, judged->shadow->reached(judged->end).writes, write);
    sink_.write(port, std::move(write));
  }
  void request(unsigned port, uint64_t name, Request&& request) override {
    if (Port* judged = judged_of(port)) {
      compare(port, judged->shadow->reached(judged->end).requests, request);
      judged->served[name] = judged->requests++;
    }
    sink_.request(port, name, std::move(request));
  }
  void answered(unsigned port, Answer&& answer) override {
    if (Port* judged = judged_of(port)) judge(port, *judged, answer);
    sink_.answered(port, std::move(answer));
  }
  void link(unsigned port, bool up) override {
    ports_[port].up = up;
    if (up) {
      if (!ports_[port].shadow) meet(port);
    } else if (!std::exchange(ports_[port].stale, false)) {
      forget(port);
    }
    sink_.link(port, up);
  }

  Port* judged_of(unsigned port) {
    Port& each = ports_.at(port);
    return each.shadow && each.up && !each.stale ? &each : nullptr;
  }

  [[noreturn]] void differ(unsigned port, const std::string& what) const {
    throw Mismatch(
        fmt::format("node {}, PEB port {}, {} ns: {}", registered_, port, time_ns_, what));
  }
  [[noreturn]] void missing(unsigned port, const std::string& what) const {
    differ(port, what + " has not come");
  }

  template <typename Tlp>
  void compare(unsigned port, std::deque<Tlp>& expected, const Tlp& came) {
    if (expected.empty()) differ(port, text(came) + " has come; nothing was expected");
    if (!is_same(expected.front(), came))
      differ(port, text(came) + " has come; expected was " + text(expected.front()));
    expected.pop_front();
    ++simulation_->compared;
  }

  // A time-out strikes in the subject alone.
  void judge(unsigned port, Port& judged, const Answer& came) {
    const auto asked = judged.asked.find(came.id);
    if (asked == judged.asked.end()) return differ(port, "an answer to nothing: " + text(came));
    const uint64_t interval = uint64_t{1} << config_.read_timeout_shift;
    const bool is_late = time_ns_ - asked->second.time_ns >= interval &&
                         came.status != EXRNIC_COMPLETION_STATUS_SUCCESSFUL;
    const uint64_t shadows_id = asked->second.shadows_id;
    judged.asked.erase(asked);
    auto& answers = judged.shadow->reached(judged.end).answers;
    const auto expected = answers.find(shadows_id);
    if (is_late) return;
    if (expected == answers.end())
      differ(port, "an answer has come that nobody has given: " + text(came));
    if (!is_same(expected->second, came))
      differ(port,
             "an answer with " + text(came) + " has come; expected was " + text(expected->second));
    answers.erase(expected);
    ++simulation_->compared;
  }

  // The first of the two that is up. The other one, if it seems to be, will hear that it is not.
  void meet(unsigned port) {
    const auto peer = subject_->peer(port);
    if (!peer) return;
    const auto found = simulation_->pebs.find(peer->node);
    if (found == simulation_->pebs.end()) return;
    LockstepPeb& other = *found->second;
    for (unsigned i = 0; i < other.ports_.size(); ++i) {
      const auto back = other.subject_->peer(i);
      if (!back || !(*back == peb::Peer{number(), peer->group})) continue;
      other.forget(i);
      auto shadow = std::make_shared<PebShadow>(simulation_->make_reference, place(), other.place(),
                                                peer->group);
      begin(port, shadow, 0, other, i);
      other.begin(i, shadow, 1, *this, port);
      other.ports_[i].stale = other.ports_[i].up;
      return;
    }
  }

  PebShadow::Place place() const {
    PebShadow::Place place{config_, side_};
    place.config.node_id = number();
    return place;
  }

  void begin(unsigned port, const std::shared_ptr<PebShadow>& shadow, unsigned end,
             LockstepPeb& peer, unsigned peers_port) {
    Port& each = ports_[port];
    const bool up = each.up;
    each = {};
    each.up = up;
    each.shadow = shadow;
    each.end = end;
    each.peer = &peer;
    each.peers_port = peers_port;
  }

  // Neither of the two is judged until one of them is up anew.
  void forget(unsigned port) {
    Port& each = ports_.at(port);
    if (!each.shadow) return;
    Port& other = each.peer->ports_[each.peers_port];
    for (Port* end : {&each, &other}) {
      const bool up = end->up;
      *end = {};
      end->up = up;
    }
  }

  void leave() {
    for (unsigned port = 0; port < ports_.size(); ++port) forget(port);
    const auto found = simulation_->pebs.find(registered_);
    if (found != simulation_->pebs.end() && found->second == this) simulation_->pebs.erase(found);
  }
  // A later one of the same number is another life of that node.
  void follow_number() {
    if (number() == registered_) return;
    leave();
    registered_ = number();
    if (registered_ == EXRNIC_NODE_NONE) return;
    LockstepPeb*& place = simulation_->pebs[registered_];
    if (place != nullptr)
      for (unsigned port = 0; port < place->ports_.size(); ++port) place->forget(port);
    place = this;
  }

  const std::shared_ptr<Simulation> simulation_;
  const CoreConfig config_;
  const peb::Side side_;
  peb::PebSink& sink_;
  std::vector<Port> ports_;
  uint64_t time_ns_ = 0;
  uint16_t registered_ = EXRNIC_NODE_NONE;
  std::unique_ptr<peb::PebCore> subject_;
};

}  // namespace

PebLockstep make_peb_lockstep(peb::PebFactory make_subject, peb::PebFactory make_reference) {
  auto simulation = std::make_shared<Simulation>();
  simulation->make_subject = std::move(make_subject);
  simulation->make_reference = std::move(make_reference);
  return {[simulation](const CoreConfig& config, peb::Side side, unsigned ports,
                       peb::PebSink& sink) -> std::unique_ptr<peb::PebCore> {
            return std::make_unique<LockstepPeb>(simulation, config, side, ports, sink);
          },
          [simulation] {
            for (const auto& [number, peb] : simulation->pebs) peb->check_rest();
          },
          [simulation] { return simulation->compared; }};
}

}  // namespace exrnic::lockstep
