// SPDX-License-Identifier: BSD-2-Clause
// A process's side of a channel on an in-process host: the region, its rings, and the bell. It does
// in a test what the driver and libverbs-lite do in a guest, with every step within reach.
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/firmware.h"
#include "tests/support/pio.h"

namespace exrnic::testing {

struct ChannelOptions {
  uint32_t channel = 1;
  uint32_t page = 7;
  uint32_t log_work = 5;
  uint32_t log_events = 5;
  uint32_t slot_bytes = 8192;
  uint32_t num_slots = 8;
};

class ChannelEnd {
 public:
  static constexpr uint64_t kBase = 0x1234'5000;
  static constexpr uint32_t kStatus = 0;
  static constexpr uint32_t kSet = 64;  // of nodes, for reductions
  static constexpr uint32_t kWork = 4096;
  static constexpr uint32_t kEvents = 24576;
  static constexpr uint32_t kSlots = 40960;
  static constexpr uint32_t kBuffer = 65536;  // for what is sent, one for each place in the ring

  explicit ChannelEnd(RnicDriver& rnic, const ChannelOptions& options = {})
      : rnic(rnic), options_(options) {
    const uint32_t slots = (options.slot_bytes * options.num_slots + 4095) & ~4095u;
    buffers_ = kSlots + slots;
    region =
        rnic.create_region(stag(), EXRNIC_FW_PD, kBase, buffers_ + (kBuffer << options.log_work),
                           EXRNIC_ACCESS_LOCAL_WRITE | EXRNIC_ACCESS_REMOTE_WRITE);
    zero(0, kSlots);
  }

  uint32_t stag() const { return (200 + options_.channel) << EXRNIC_STAG_INDEX_SHIFT | 0x5a; }

  exrnic_channel_open open_words() const {
    exrnic_channel_open open{};
    open.channel = options_.channel;
    open.page = options_.page;
    open.stag = stag();
    open.incarnation = incarnation_;
    open.base = kBase;
    open.status = kStatus;
    open.work = kWork;
    open.log_work = options_.log_work;
    open.events = kEvents;
    open.log_events = options_.log_events;
    open.slots = kSlots;
    open.slot_bytes = options_.slot_bytes;
    open.num_slots = options_.num_slots;
    return open;
  }
  exrnic_fw_status command(uint32_t op, const void* words, size_t bytes) {
    for (size_t i = 0; i < bytes / 4; ++i) {
      uint32_t word = 0;
      std::memcpy(&word, static_cast<const uint8_t*>(words) + 4 * i, 4);
      rnic.write_register(EXRNIC_REG_FW_WORDS + 4 * i, word);
    }
    rnic.write_register(EXRNIC_REG_FW_COMMAND, op);
    wait_while_register(rnic, EXRNIC_REG_FW_COMMAND_STATUS, EXRNIC_FW_STATUS_BUSY);
    return static_cast<exrnic_fw_status>(rnic.read_register(EXRNIC_REG_FW_COMMAND_STATUS));
  }
  exrnic_fw_status open() {
    const exrnic_channel_open words = open_words();
    return command(EXRNIC_FW_OP_CHANNEL_OPEN, &words, sizeof words);
  }
  // As the channel of another process, in the same region: whatever was before is gone.
  exrnic_fw_status open_anew(const ChannelOptions& options) {
    if (options.channel != options_.channel || options.page != options_.page ||
        kSlots + options.slot_bytes * options.num_slots > buffers_)
      throw std::runtime_error("the channel anew has another number, page, or too many slots");
    close();
    options_ = options;
    ++incarnation_;
    posted = taken = awaited_ = 0;
    zero(0, kSlots);
    return open();
  }
  exrnic_fw_status close() {
    return command(EXRNIC_FW_OP_CHANNEL_CLOSE, &options_.channel, sizeof options_.channel);
  }

  // ---- Work; ring() makes it known.
  uint32_t put(exrnic_channel_work work) {
    work.id = posted;
    const uint32_t index = posted & ((1u << options_.log_work) - 1);
    rnic.write(region, kWork + index * sizeof work, bytes_of(work));
    last_ = work;
    return posted++;
  }
  uint32_t put_send(unsigned node, const Bytes& data, uint32_t timeout_us = 0) {
    exrnic_channel_work work{};
    const uint32_t index = posted & ((1u << options_.log_work) - 1);
    work.opcode = EXRNIC_CHANNEL_OPCODE_SEND;
    work.target = static_cast<uint16_t>(node);
    work.offset = buffers_ + index * kBuffer;
    work.length = static_cast<uint32_t>(data.size());
    work.timeout_us = timeout_us;
    if (data.size() > EXRNIC_CHANNEL_INLINE)
      rnic.write(region, work.offset, data);
    else
      std::copy(data.begin(), data.end(), reinterpret_cast<uint8_t*>(&work.data));
    return put(work);
  }
  uint32_t put_reduce(uint16_t group, const std::vector<unsigned>& nodes, uint32_t round,
                      exrnic_channel_operation operation, uint64_t value, uint32_t timeout_us = 0) {
    Bytes set(32);
    for (const unsigned node : nodes)
      set[node / 8] = static_cast<uint8_t>(set[node / 8] | 1u << node % 8);
    rnic.write(region, kSet, set);
    exrnic_channel_work work{};
    work.opcode = EXRNIC_CHANNEL_OPCODE_REDUCE;
    work.operation = operation;
    work.target = group;
    work.offset = kSet;
    work.value = value;
    work.round = round;
    work.timeout_us = timeout_us;
    return put(work);
  }
  void ring() { ring(number(), posted); }
  void ring(uint32_t number, uint32_t work_posted) {
    rnic.store_doorbell(options_.page, EXRNIC_DOORBELL_FIRMWARE, number, work_posted);
  }
  // From the next bell on: its process is to be woken by the next event.
  void await_event() {
    awaited_ = EXRNIC_CHANNEL_ARMED | ((taken + 1) & ((1u << EXRNIC_CHANNEL_AWAITED_BITS) - 1))
                                          << EXRNIC_CHANNEL_TAKEN_BITS;
  }

  // Makes the work put last known by a PIO block, a copy of it.
  void ring_by_pio() {
    rnic.host().store_block(EXRNIC_BAR_USER,
                            options_.page * EXRNIC_USER_PAGE_SIZE + EXRNIC_PIO_FIRMWARE,
                            bytes_of(block()).data());
  }
  void ring_by_pio(const PioStores& stores) {
    store_block_at(rnic, options_.page, EXRNIC_PIO_FIRMWARE, block(), stores);
  }

  // ---- What firmware says
  exrnic_channel_status status() { return get<exrnic_channel_status>(kStatus); }
  bool has_event() { return peek().serial == taken + 1; }
  // The next event, which must be there; with the bytes of a message.
  exrnic_channel_event take(Bytes* data = nullptr) {
    const exrnic_channel_event event = peek();
    if (event.serial != taken + 1) throw std::runtime_error("no event is there");
    if (data != nullptr) *data = bytes_of(event);
    if (data != nullptr && event.slot != EXRNIC_CHANNEL_NO_SLOT)
      *data = rnic.read(region, kSlots + event.slot * options_.slot_bytes, event.length);
    if (data != nullptr) data->resize(event.length);
    ++taken;
    return event;
  }
  // Waits for it, at most `limit_ns`.
  exrnic_channel_event wait(Bytes* data = nullptr, uint64_t limit_ns = 20'000'000) {
    until([this] { return has_event(); }, "an event of a channel", limit_ns);
    return take(data);
  }
  void wait_done(uint32_t work, uint64_t limit_ns = 20'000'000) {
    until([this, work] { return static_cast<int32_t>(status().work_done - work) >= 0; },
          "work of a channel", limit_ns);
  }
  void until(const std::function<bool()>& done, const char* what, uint64_t limit_ns) {
    const uint64_t end = rnic.testbed().now_ns() + limit_ns;
    while (!done() && rnic.testbed().now_ns() < end) rnic.testbed().run_for(look_ns);
    if (!done())
      throw std::runtime_error(std::string("waited in vain for ") + what + " at node " +
                               std::to_string(rnic.node()));
  }

  RnicDriver& rnic;
  Region region;
  uint32_t posted = 0;
  uint32_t taken = 0;
  uint64_t look_ns = 100;  // between two looks of a wait: memory is read each time

 private:
  template <typename Record>
  static Bytes bytes_of(const Record& record) {
    Bytes bytes(sizeof record);
    std::memcpy(bytes.data(), &record, sizeof record);
    return bytes;
  }
  template <typename Record>
  Record get(uint64_t offset) {
    Record record;
    std::memcpy(&record, rnic.read(region, offset, sizeof record).data(), sizeof record);
    return record;
  }
  uint32_t number() const { return awaited_ | (taken & ((1u << EXRNIC_CHANNEL_TAKEN_BITS) - 1)); }
  exrnic_channel_work block() const {
    exrnic_channel_work block = last_;
    block.number = number();
    block.index = posted;
    return block;
  }
  exrnic_channel_event peek() {
    const uint32_t index = taken & ((1u << options_.log_events) - 1);
    return get<exrnic_channel_event>(kEvents + index * sizeof(exrnic_channel_event));
  }
  void zero(uint64_t offset, uint64_t bytes) { rnic.write(region, offset, Bytes(bytes)); }

  ChannelOptions options_;
  uint32_t incarnation_ = 1000;
  uint32_t buffers_ = 0;
  uint32_t awaited_ = 0;
  exrnic_channel_work last_{};
};

}  // namespace exrnic::testing
