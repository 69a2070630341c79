// SPDX-License-Identifier: BSD-2-Clause
// The host's side of a port: a slot of the host's bus, in which the device of another node appears.
//
// Addresses are those that the host has written into the device's base address registers, or some
// of its own until it has. A write to where interrupts belong (msi.h) is one.
//
// A reset by the host begins a new life of the port, which resets the device; accesses wait until
// the link is up again, for a while. When the link is down otherwise, loads are all ones and stores
// are dropped.
//
// Threads: none of its own; one calls at a time, see "Several threads" in sim/README.md.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <variant>

#include "rtl-model/systemc/rnic_ports.h"
#include "rtl-model/systemc/scheduler.h"
#include "sim/pcie/config_space.h"
#include "sim/pcie/pcie_config.h"
#include "sim/peb/discovery.h"
#include "sim/peb/peb_module.h"

namespace exrnic::peb {

class HostSlot final : public Slot, public PcieEndpoint {
 public:
  HostSlot(PebModule& module, unsigned port, Scheduler& scheduler, const PcieConfig& config);

  // Before the first access.
  void connect(PciePort& pcie) { pcie_ = &pcie; }

  // Whose device it is that appears here, if anybody's.
  void assign(const std::optional<Peer>& peer);
  std::optional<Peer> peer() const { return module_.peb().peer(port_); }
  bool is_up() const { return state_ == State::kReady; }

  // What is in the slot. During a reset that the host has asked for it stays as it was.
  const std::optional<PciDescription>& description() const { return description_; }
  uint64_t changes() const { return changes_; }  // of it, so far

  // PcieEndpoint
  void mmio_write(const MmioAccess& access) override { access_later({access, true}); }
  void mmio_read(const MmioAccess& access) override { access_later({access, false}); }
  void read_completion(ReadCompletion&& completion) override;
  void reset() override;
  size_t backlog() override { return accesses_.size(); }

  // Slot
  bool can_write() override { return up_.size() < kMostUp; }
  void write(Write&& write) override;
  bool can_request() override;
  void request(uint64_t name, Request&& request) override;
  void answered(Answer&& answer) override;
  void link(bool up) override;
  void assigned() override;
  void step(uint64_t time_ns) override;
  bool idle() const override;
  uint64_t wakes_at_ns() const override;

 private:
  enum class State : uint8_t {
    kDown,
    kComing,       // reset by the host: it will be up soon
    kDiscovering,  // up, and nobody knows yet what is there
    kReady,
  };
  struct Access {
    MmioAccess access;
    bool is_write;
  };
  struct Load {
    uint64_t id;
    bool done;  // and what was written before it was is on the link
    uint64_t value;
  };
  // Of the peer, that waits for the host's memory.
  struct Gather {
    Bytes data;
    size_t pieces;  // that have not come
    bool failed;
  };
  using Gathers = std::map<uint64_t, Gather>;  // by name
  struct Piece {
    std::optional<uint64_t> name;  // nothing: of an earlier life
    size_t offset;
    size_t got;
  };
  struct Loaded {
    uint64_t id;
  };
  using Upward = std::variant<PostedWrite, ReadRequest, Loaded>;

  static constexpr size_t kMostUp = 16;  // what waits for the PCIe link
  static constexpr size_t kTags = 256;
  static constexpr size_t kMostPieces = EXRNIC_PEB_REQUEST_MAX / 128;  // by the least MRRS
  static constexpr uint64_t kAllOnes = ~uint64_t{0};
  // A device is there again after a reset well within this.
  static constexpr uint64_t kPatienceNs = uint64_t{1} << (EXRNIC_PEB_ASK_SHIFT + 2);

  void access_later(const Access& access);
  void discover();
  void discovered(const Answer& answer);
  void found(std::optional<PciDescription> description);
  void write_bars();
  void make_accesses();
  bool make(const Access& access);
  bool make_config_access(const Access& access);
  void note_bar(const MmioAccess& access);
  std::optional<uint64_t> address_of(const MmioAccess& access) const;
  BusRequest request_for(const MmioAccess& access, Request::Kind kind, uint64_t address);
  void finish_load(uint64_t id, uint64_t value);
  void answer_load(uint64_t id);
  void take(Piece& piece, Gather& gather, const ReadCompletion& completion);
  void finish_gather(Gathers::iterator gather);
  void free_tag(unsigned tag);
  void flush();
  bool give(Upward& upward);
  void forget();

  PebModule& module_;
  const unsigned port_;
  Scheduler& scheduler_;
  const PcieConfig config_;
  PciePort* pcie_ = nullptr;

  State state_ = State::kDown;
  uint64_t patient_until_ns_ = 0;  // of kComing
  std::optional<PciDescription> description_;
  uint64_t changes_ = 0;
  Discovery discovery_;
  uint64_t first_discovery_id_ = 0;
  BarRegisters bars_{};  // as the host wrote them

  std::deque<Access> accesses_;
  uint64_t last_id_ = 0;
  std::optional<uint64_t> config_write_;  // that the next access waits for
  std::deque<Load> loads_;

  std::deque<Upward> up_;
  std::array<std::optional<Piece>, kTags> tags_;
  size_t free_tags_ = kTags;
  unsigned next_tag_ = 0;
  Gathers gathers_;
};

}  // namespace exrnic::peb
