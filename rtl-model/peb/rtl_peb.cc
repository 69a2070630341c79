// SPDX-License-Identifier: BSD-2-Clause
// Turns transactions and frames into beats and back, one of each kind a cycle. TLPs of a bus wait
// here, in PCIe's order, until the RTL has room for them, as in the port of a bridge.
#include "rtl-model/peb/rtl_peb.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "Vexrnic_peb.h"
#include "Vexrnic_peb_256.h"
#include "exrnic_records.h"
#include "rtl-model/ref/cut.h"
#include "rtl-model/ref/peb/order_queue.h"

namespace exrnic::peb {
namespace {

constexpr size_t kRoom = 64;  // TLPs of a flow that wait
constexpr unsigned kPorts = records::kNPebPort;

// What a bus asked for: it ends when all its pieces have.
struct Whole {
  Answer answer;
  uint64_t address = 0;
  size_t pieces = 0;
};
struct Piece {
  std::shared_ptr<Whole> whole;
  Request request;
};
struct Ended {  // of the peer's request of this name
  uint16_t name = 0;
  exrnic_completion_status status = EXRNIC_COMPLETION_STATUS_SUCCESSFUL;
  uint64_t address = 0;
  Bytes data;
};
using Outward = std::variant<Write, Piece, Ended>;  // in the order of enum Flow

struct Port {
  std::optional<Peer> peer;
  bool up = false;
  bool voided = false;  // what comes until the link is down is of a life that was ended here
  OrderQueue<Outward> out;
  std::map<uint16_t, Piece> pieces;  // under way, by name
  uint16_t last_name = 0;
  std::map<uint64_t, uint64_t> served;  // addresses of the peer's requests, by name
};

// A TLP that is handed over beat by beat: its bytes stand in the lanes of their addresses.
struct Sending {
  exrnic_peb_bus kind = EXRNIC_PEB_BUS_WRITE;
  unsigned port = 0;
  uint64_t address = 0;
  size_t length = 0;
  uint16_t name = 0;
  exrnic_completion_status status = EXRNIC_COMPLETION_STATUS_SUCCESSFUL;
  Bytes lanes;  // from the first beat on
  size_t at = 0;
};

template <typename Model>
class RtlPeb final : public PebCore {
  static constexpr size_t kBeat = sizeof(Model::rx_data_i);

 public:
  RtlPeb(const CoreConfig& config, Side side, unsigned ports, PebSink& sink)
      : config_(config), sink_(sink), ports_(ports) {
    context()->fatalOnError(false);
    top_.cfg_node_i = config.node_id;
    top_.cfg_guid_i = config.guid;
    top_.cfg_ports_i = static_cast<uint8_t>(ports);
    top_.link_up_i = config.link_up;
    top_.cfg_host_i = side == Side::kHost;
    top_.cfg_max_payload_i = config.max_payload;
    top_.cfg_read_timeout_i = config.read_timeout_shift;
    top_.out_ready_i = 1;
    top_.rst_ni = 1;
    clock();
    top_.rst_ni = 0;
    for (int i = 0; i < 4; ++i) clock();
    top_.rst_ni = 1;
    while (!top_.init_done_o) clock();
    works_ = top_.works_o;
  }
  ~RtlPeb() override { top_.final(); }

  void assign(unsigned port, const std::optional<Peer>& peer) override {
    Port& changed = ports_.at(port);
    const auto has_it = [&](const Port& other) { return other.peer == peer; };
    if (peer)
      check_peer(*peer, number(),
                 !(changed.peer == peer) && std::any_of(ports_.begin(), ports_.end(), has_it));
    begin_life(port, peer);
    if (number() != EXRNIC_NODE_NONE) assigns_.push_back({port, peer});
  }
  std::optional<Peer> peer(unsigned port) const override { return ports_.at(port).peer; }
  bool is_up(unsigned port) const override { return ports_.at(port).up; }
  bool has_room(unsigned port, Flow flow) const override {
    return ports_.at(port).out.count(flow) < kRoom;
  }

  void write(unsigned port, uint64_t address, const Bytes& data) override {
    if (!ports_.at(port).up) {
      ++counters_.dropped;
      return;
    }
    ref::for_each_cut(address, data.size(), config_.max_payload, [&](size_t offset, size_t bytes) {
      const auto first = data.begin() + static_cast<std::ptrdiff_t>(offset);
      ports_[port].out.push(
          Write{address + offset, {first, first + static_cast<std::ptrdiff_t>(bytes)}});
    });
  }

  void request(unsigned port, BusRequest&& request) override {
    if (!ports_.at(port).up)
      return sink_.answered(port, {request.id, EXRNIC_COMPLETION_STATUS_UNSUPPORTED, {}});
    auto whole = std::make_shared<Whole>();
    whole->answer.id = request.id;
    whole->address = request.address;
    if (request.kind != Request::Kind::kConfigWrite) whole->answer.data.resize(request.length);
    const size_t most = request.kind == Request::Kind::kRead ? config_.max_read : request.length;
    ref::for_each_cut(request.address, request.length, most, [&](size_t offset, size_t bytes) {
      ++whole->pieces;
      ports_[port].out.push(Piece{
          whole,
          {request.kind, 0, request.address + offset, static_cast<uint32_t>(bytes), request.data}});
    });
  }

  void complete(unsigned port, uint64_t name, exrnic_completion_status status,
                const Bytes& data) override {
    const auto served = ports_.at(port).served.find(name);
    if (served == ports_[port].served.end()) return;
    ports_[port].out.push(Ended{static_cast<uint16_t>(name), status, served->second, data});
    ports_[port].served.erase(served);
  }

  void receive(Frame&& frame) override {
    if (!frame.data.empty()) frames_.push_back({std::move(frame), 0});
  }

  // Is seen with the next step.
  void set_link(bool up) override {
    top_.link_up_i = up;
    idle_ = false;
  }
  uint16_t number() const override { return top_.node_o; }

  void step(uint64_t time_ns) override {
    top_.time_i = time_ns;
    drive_assign();
    drive_frame();
    drive_bus();
    drive_ready();
    top_.clk_i = 0;
    top_.eval();
    take_counters();
    take_assigned();
    if (top_.in_valid_i && top_.in_ready_o) take_sent();
    if (top_.out_valid_o) take_beat();
    if (top_.tx_valid_o && top_.tx_ready_i) take_frame();
    top_.clk_i = 1;
    top_.eval();
    check();
    follow_number();
    idle_ = top_.idle_o;
  }

  bool idle() const override {
    return idle_ && frames_.empty() && assigns_.empty() && !sending_ &&
           std::all_of(ports_.begin(), ports_.end(),
                       [](const Port& port) { return port.out.empty(); });
  }
  uint64_t wakes_at_ns() const override {
    uint64_t wakes = Core::kNever;
    if (top_.asks_o) wakes = Core::next_interval_ns(top_.time_i, EXRNIC_PEB_ASK_SHIFT);
    if (top_.watches_o)
      wakes = std::min(wakes, Core::next_interval_ns(top_.time_i, config_.read_timeout_shift));
    return wakes;
  }

  const Counters& counters() const override { return counters_; }
  uint64_t peek_counter(exrnic_counter which) const override { return events_.at(which); }

 private:
  struct Receiving {
    Frame frame;
    size_t at;
  };

  static VerilatedContext* context() { return Verilated::defaultContextp(); }

  // Only a checked model has errors.
  static void check() {
    if (!context()->gotError()) return;
    context()->gotError(false);
    throw std::runtime_error("what the RTL of the PEB asserts does not hold: see above");
  }

  void clock() {
    top_.clk_i = 0;
    top_.eval();
    top_.clk_i = 1;
    top_.eval();
  }

  void begin_life(unsigned port, const std::optional<Peer>& peer) {
    Port& changed = ports_[port];
    if (changed.peer) {
      go_down(port);
      changed.voided = true;
    }
    changed.peer = peer;
  }

  // Another number, or none, takes all peers away. Then all but the agent is reset, as soon as a
  // frame that leaves has ended; what it says until then does not count.
  void follow_number() {
    if (works_ && !resets_ && number() == EXRNIC_NODE_NONE) {
      resets_ = true;
      lose_peers();
    }
    if (works_ && !top_.works_o) {
      resets_ = false;
      sending_.reset();
    }
    works_ = top_.works_o;
  }

  void lose_peers() {
    assigns_.clear();
    for (unsigned port = 0; port < ports_.size(); ++port) {
      if (ports_[port].peer) ++counters_.lives;
      go_down(port);
      ports_[port].peer.reset();
      ports_[port].voided = false;
    }
    for (unsigned port = 0; port < ports_.size(); ++port) sink_.assigned(port);
  }

  // By a manager. What the bus has said of the port before does not count any more.
  void take_assigned() {
    if (!top_.assigned_o) return;
    const unsigned port = top_.assigned_port_o;
    std::optional<Peer> peer;
    if (top_.assigned_peer_o) peer = Peer{top_.assigned_node_o, top_.assigned_group_o};
    assigns_.erase(std::remove_if(assigns_.begin(), assigns_.end(),
                                  [&](const auto& each) { return each.first == port; }),
                   assigns_.end());
    begin_life(port, peer);
    sink_.assigned(port);
  }

  void drive_assign() {
    top_.assign_valid_i = works_ && !resets_ && !assigns_.empty();
    if (!top_.assign_valid_i) return;
    const auto [port, peer] = assigns_.front();
    assigns_.pop_front();
    top_.assign_port_i = port;
    top_.assign_peer_i = peer.has_value();
    top_.assign_node_i = peer ? peer->node : 0;
    top_.assign_group_i = peer ? peer->group : 0;
    idle_ = false;
  }

  void drive_frame() {
    top_.rx_valid_i = !frames_.empty();
    if (frames_.empty()) return;
    auto& [frame, at] = frames_.front();
    const size_t bytes = std::min(kBeat, frame.data.size() - at);
    top_.rx_sop_i = at == 0;
    top_.rx_eop_i = at + bytes == frame.data.size();
    top_.rx_bytes_i = static_cast<uint8_t>(bytes);
    top_.rx_error_i = top_.rx_eop_i && frame.fcs_error;
    std::memset(&top_.rx_data_i, 0, kBeat);
    std::memcpy(&top_.rx_data_i, frame.data.data() + at, bytes);
    at += bytes;
    if (at == frame.data.size()) frames_.pop_front();
  }

  // ---- From the buses

  // False: the RTL has no room for it.
  bool may_go(unsigned port, const Outward& outward) const {
    const auto rooms = std::holds_alternative<Ended>(outward)   ? top_.completion_room_o
                       : std::holds_alternative<Write>(outward) ? top_.write_room_o
                                                                : top_.request_room_o;
    return (rooms >> port & 1) != 0;
  }

  void begin_sending() {
    for (unsigned i = 0; i < ports_.size() && !sending_; ++i) {
      turn_ = (turn_ + 1) % static_cast<unsigned>(ports_.size());
      Outward taken;
      if (ports_[turn_].out.take([this](const Outward& each) { return may_go(turn_, each); },
                                 taken))
        sending_ = sending_of(turn_, std::move(taken));
    }
  }

  Sending sending_of(unsigned port, Outward&& outward) {
    Sending sending;
    sending.port = port;
    Bytes data;
    if (auto* write = std::get_if<Write>(&outward)) {
      sending.address = write->address;
      sending.length = write->data.size();
      data = std::move(write->data);
    } else if (auto* ended = std::get_if<Ended>(&outward)) {
      sending.kind = EXRNIC_PEB_BUS_COMPLETION;
      sending.address = ended->address;
      sending.name = ended->name;
      sending.status = ended->status;
      if (ended->status == EXRNIC_COMPLETION_STATUS_SUCCESSFUL) data = std::move(ended->data);
      sending.length = data.size();
    } else {
      Piece& piece = std::get<Piece>(outward);
      using Kind = Request::Kind;
      sending.kind = piece.request.kind == Kind::kRead         ? EXRNIC_PEB_BUS_READ
                     : piece.request.kind == Kind::kConfigRead ? EXRNIC_PEB_BUS_CONFIG_READ
                                                               : EXRNIC_PEB_BUS_CONFIG_WRITE;
      sending.address = piece.request.address;
      sending.length = piece.request.length;
      data = piece.request.data;
      Port& asking = ports_[port];
      do {
        sending.name = ++asking.last_name;
      } while (asking.pieces.count(sending.name) != 0);
      asking.pieces.emplace(sending.name, std::move(piece));
    }
    sending.lanes.assign(data.empty() ? 0 : sending.address % kBeat, 0);
    sending.lanes.insert(sending.lanes.end(), data.begin(), data.end());
    sending.lanes.resize(std::max<size_t>(1, (sending.lanes.size() + kBeat - 1) / kBeat) * kBeat);
    return sending;
  }

  void drive_bus() {
    if (!sending_) begin_sending();
    top_.in_valid_i = sending_.has_value();
    if (!sending_) return;
    top_.in_kind_i = sending_->kind;
    top_.in_port_i = sending_->port;
    top_.in_address_i = sending_->address;
    top_.in_length_i = static_cast<uint16_t>(sending_->length);
    top_.in_name_i = sending_->name;
    top_.in_status_i = sending_->status;
    top_.in_sop_i = sending_->at == 0;
    top_.in_eop_i = sending_->at + kBeat == sending_->lanes.size();
    std::memcpy(&top_.in_data_i, sending_->lanes.data() + sending_->at, kBeat);
  }

  void take_sent() {
    sending_->at += kBeat;
    if (sending_->at == sending_->lanes.size()) sending_.reset();
  }

  void drive_ready() {
    top_.write_ready_i = top_.request_ready_i = top_.request_waits_i = 0;
    for (unsigned port = 0; port < ports_.size(); ++port) {
      const Port& each = ports_[port];
      if (!each.peer) continue;
      if (sink_.can_write(port)) top_.write_ready_i |= 1u << port;
      if (sink_.can_request(port)) top_.request_ready_i |= 1u << port;
      if (each.out.count(kNonPosted) != 0) top_.request_waits_i |= 1u << port;
    }
    top_.tx_ready_i = open_ || sink_.can_transmit();
  }

  // ---- To the buses

  void take_beat() {
    const auto* lanes = reinterpret_cast<const uint8_t*>(&top_.out_data_o);
    if (top_.out_sop_o) came_.clear();
    came_.insert(came_.end(), lanes, lanes + kBeat);
    if (top_.out_eop_o) hand(top_.out_port_o);
  }

  Bytes came(size_t length) const {
    const auto first = came_.begin() + static_cast<std::ptrdiff_t>(top_.out_address_o % kBeat);
    return {first, first + static_cast<std::ptrdiff_t>(length)};
  }

  void hand(unsigned port) {
    if (resets_) return;
    Port& to = ports_[port];
    const auto kind = static_cast<exrnic_peb_bus>(top_.out_kind_o);
    if (kind == EXRNIC_PEB_BUS_LINK_DOWN) {
      to.voided = false;
      return go_down(port);
    }
    if (to.voided) return;
    if (kind == EXRNIC_PEB_BUS_LINK_UP) {
      to.up = true;
      return sink_.link(port, true);
    }
    if (kind == EXRNIC_PEB_BUS_WRITE)
      return sink_.write(port, {top_.out_address_o, came(top_.out_length_o)});
    if (kind == EXRNIC_PEB_BUS_COMPLETION) return end_piece(port);
    Request request;
    request.kind = kind == EXRNIC_PEB_BUS_READ          ? Request::Kind::kRead
                   : kind == EXRNIC_PEB_BUS_CONFIG_READ ? Request::Kind::kConfigRead
                                                        : Request::Kind::kConfigWrite;
    request.address = top_.out_address_o;
    request.length = top_.out_length_o;
    if (kind == EXRNIC_PEB_BUS_CONFIG_WRITE) request.data = came(request.length);
    to.served[top_.out_name_o] = request.address;
    sink_.request(port, top_.out_name_o, std::move(request));
  }

  void end_piece(unsigned port) {
    const auto found = ports_[port].pieces.find(top_.out_name_o);
    if (found == ports_[port].pieces.end()) throw std::logic_error("a name that nothing has");
    const Piece piece = std::move(found->second);
    ports_[port].pieces.erase(found);
    Whole& whole = *piece.whole;
    const auto status = static_cast<exrnic_completion_status>(top_.out_status_o);
    if (status != EXRNIC_COMPLETION_STATUS_SUCCESSFUL) {
      whole.answer.status = status;
    } else if (piece.request.kind != Request::Kind::kConfigWrite) {
      const Bytes data = came(piece.request.length);
      std::copy(data.begin(), data.end(),
                whole.answer.data.begin() +
                    static_cast<std::ptrdiff_t>(piece.request.address - whole.address));
    }
    finish(port, whole);
  }

  void finish(unsigned port, Whole& whole) {
    if (--whole.pieces != 0) return;
    if (whole.answer.status != EXRNIC_COMPLETION_STATUS_SUCCESSFUL) whole.answer.data.clear();
    sink_.answered(port, std::move(whole.answer));
  }

  // All that was under way ends.
  void go_down(unsigned port) {
    Port& down = ports_[port];
    std::vector<Piece> pieces;
    for (auto& [name, piece] : std::exchange(down.pieces, {})) pieces.push_back(std::move(piece));
    for (Outward left; down.out.take([](const Outward&) { return true; }, left);)
      if (auto* piece = std::get_if<Piece>(&left)) pieces.push_back(std::move(*piece));
    down.out.clear();
    down.served.clear();
    if (std::exchange(down.up, false)) sink_.link(port, false);
    for (Piece& piece : pieces) {
      piece.whole->answer.status = EXRNIC_COMPLETION_STATUS_UNSUPPORTED;
      finish(port, *piece.whole);
    }
  }

  // ---- To the MAC, and what is counted

  void take_frame() {
    const auto* bytes = reinterpret_cast<const uint8_t*>(&top_.tx_data_o);
    const size_t count = top_.tx_eop_o ? top_.tx_bytes_o : kBeat;
    open_ = !top_.tx_eop_o;
    leaving_.insert(leaving_.end(), bytes, bytes + count);
    if (open_) return;
    Frame frame;
    frame.data = std::exchange(leaving_, {});
    sink_.transmit(std::move(frame));
  }

  void take_counters() {
    const auto* words = reinterpret_cast<const uint32_t*>(&top_.event_o);
    for (unsigned word = 0; word < sizeof top_.event_o / sizeof *words; ++word)
      for (uint32_t left = words[word]; left != 0; left &= left - 1)
        ++events_[32 * word + static_cast<unsigned>(__builtin_ctz(left))];
    counters_.lives += static_cast<unsigned>(__builtin_popcount(top_.life_ends_o));
    counters_.foreign += top_.foreign_o;
    counters_.malformed += top_.malformed_o;
    counters_.timeouts += top_.timeout_o;
  }

  const CoreConfig config_;
  PebSink& sink_;
  Counters counters_;
  std::array<uint64_t, 32 * ((EXRNIC_COUNTERS + 31) / 32)> events_{};
  std::vector<Port> ports_;
  std::deque<std::pair<unsigned, std::optional<Peer>>> assigns_;
  std::deque<Receiving> frames_;
  std::optional<Sending> sending_;
  unsigned turn_ = 0;
  Bytes came_;
  Bytes leaving_;
  bool open_ = false;  // a frame has begun to leave
  bool idle_ = false;
  bool works_ = false;   // see the pin
  bool resets_ = false;  // it will not work, or begin anew
  Model top_{context()};
};

}  // namespace

unsigned rtl_peb_ports() { return kPorts; }

std::unique_ptr<PebCore> make_rtl_peb(const CoreConfig& config, Side side, unsigned ports,
                                      PebSink& sink) {
  check_config(config, ports);
  if (ports > kPorts)
    throw std::invalid_argument(std::to_string(ports) + " ports: the RTL of this build has " +
                                std::to_string(kPorts));
  if (config.node_id >= records::kNNode && config.node_id != EXRNIC_NODE_NONE)
    throw std::invalid_argument("node id " + std::to_string(config.node_id) +
                                ": this build has those below " + std::to_string(records::kNNode));
  if (config.data_bits == 256)
    return std::make_unique<RtlPeb<Vexrnic_peb_256>>(config, side, ports, sink);
  return std::make_unique<RtlPeb<Vexrnic_peb>>(config, side, ports, sink);
}

}  // namespace exrnic::peb
