// SPDX-License-Identifier: BSD-2-Clause
// Message channels: a process's side of what rtl-model/spec/channels.yaml describes.
#include "exrnic/messages.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <mutex>
#include <new>

#include "exrnic_data_path.h"
#include "ring_memory.h"
#include "rnic.h"
#include "spin_lock.h"
#include "transport/error_text.h"

using exrnic::BeginCall;
using exrnic::Fail;

static_assert(VL_MESSAGE_CHANNELS == EXRNIC_FW_CHANNELS &&
                  VL_MESSAGE_BYTES_MAX == EXRNIC_CHANNEL_SLOT_MAX &&
                  VL_MESSAGE_SENDS_MAX == 1 << EXRNIC_CHANNEL_RING_LOG_MAX &&
                  VL_MESSAGE_RECEIVES_MAX == EXRNIC_CHANNEL_SLOTS_MAX &&
                  VL_MESSAGE_SHORT == EXRNIC_CHANNEL_INLINE &&
                  VL_MESSAGE_NODES == EXRNIC_CHANNEL_NODES &&
                  VL_MESSAGE_TIMEOUT_MAX == EXRNIC_CHANNEL_TIMEOUT_MAX_US,
              "firmware's limits");
static_assert(static_cast<int>(VL_MESSAGE_RECEIVED) == EXRNIC_CHANNEL_EVENT_KIND_MESSAGE &&
                  static_cast<int>(VL_MESSAGE_REDUCED) == EXRNIC_CHANNEL_EVENT_KIND_REDUCTION &&
                  static_cast<int>(VL_MESSAGE_FAILED) == EXRNIC_CHANNEL_EVENT_KIND_FAILURE &&
                  static_cast<int>(VL_MESSAGE_MALFORMED) == EXRNIC_CHANNEL_EVENT_STATUS_MALFORMED &&
                  static_cast<int>(VL_MESSAGE_TIMEOUT) == EXRNIC_CHANNEL_EVENT_STATUS_TIMEOUT &&
                  static_cast<int>(VL_MESSAGE_TOO_LONG) == EXRNIC_CHANNEL_EVENT_STATUS_TOO_LONG,
              "firmware's values");
static_assert(static_cast<int>(VL_REDUCE_BARRIER) == EXRNIC_CHANNEL_OPERATION_NOTHING &&
                  static_cast<int>(VL_REDUCE_SUM) == EXRNIC_CHANNEL_OPERATION_SUM &&
                  static_cast<int>(VL_REDUCE_LEAST) == EXRNIC_CHANNEL_OPERATION_LEAST &&
                  static_cast<int>(VL_REDUCE_MOST) == EXRNIC_CHANNEL_OPERATION_MOST &&
                  static_cast<int>(VL_REDUCE_AND) == EXRNIC_CHANNEL_OPERATION_BOTH &&
                  static_cast<int>(VL_REDUCE_OR) == EXRNIC_CHANNEL_OPERATION_ANY &&
                  static_cast<int>(VL_REDUCE_XOR) == EXRNIC_CHANNEL_OPERATION_ODD,
              "firmware's values");

namespace exrnic {

namespace {

constexpr uint32_t kLeastEntries = 1u << EXRNIC_CHANNEL_RING_LOG_MIN;
constexpr uint32_t kEvents = 1u << EXRNIC_CHANNEL_RING_LOG_MAX;
constexpr uint32_t kLine = 64;
constexpr uint32_t kLeastSlots = 2;  // one node that is granted some never has the last one

uint32_t Aligned(uint32_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }
uint32_t Log2(uint32_t power) { return static_cast<uint32_t>(__builtin_ctz(power)); }

}  // namespace

// Where everything lies in the memory of a channel.
struct MessageLayout {
  explicit MessageLayout(const vl_message_channel_attr& attr)
      : works(RingSize(attr.sends, kLeastEntries)),
        buffer_bytes(Aligned(attr.message_bytes > kLine ? attr.message_bytes : kLine)),
        slot_bytes(attr.message_bytes > EXRNIC_CHANNEL_SLOT_MIN ? attr.message_bytes
                                                                : EXRNIC_CHANNEL_SLOT_MIN),
        num_slots(attr.receives > kLeastSlots ? attr.receives : kLeastSlots) {
    work = Aligned(sizeof(exrnic_channel_status));
    events = work + works * static_cast<uint32_t>(sizeof(exrnic_channel_work));
    slots = events + kEvents * static_cast<uint32_t>(sizeof(exrnic_channel_event));
    buffers = slots + Aligned(slot_bytes * num_slots);
    bytes = buffers + size_t{works} * buffer_bytes;
  }

  uint32_t works;
  uint32_t buffer_bytes;
  uint32_t slot_bytes;
  uint32_t num_slots;
  uint32_t work;
  uint32_t events;
  uint32_t slots;
  uint32_t buffers;
  size_t bytes;
};

}  // namespace exrnic

struct vl_message_channel {
  vl_message_channel(vl_rnic* of, const vl_message_channel_attr& from)
      : rnic(of), attr(from), layout(from), memory(layout.bytes) {}

  uint8_t* At(size_t offset) const { return static_cast<uint8_t*>(memory.data()) + offset; }
  const exrnic_channel_status* status() const {
    return reinterpret_cast<const exrnic_channel_status*>(At(0));
  }
  uint32_t ended() const { return __atomic_load_n(&status()->work_done, __ATOMIC_ACQUIRE); }
  bool has_room() const { return posted - ended() < attr.sends; }
  uint32_t BufferOffset() const {
    return layout.buffers + posted % layout.works * layout.buffer_bytes;
  }

  vl_rnic* const rnic;
  const vl_message_channel_attr attr;
  const exrnic::MessageLayout layout;
  exrnic::RingMemory memory;

  int fd = exrnic::kNoChannel;  // where it is told of events
  std::mutex waiting;           // over reading from it, and arming
  exrnic::SpinLock lock;        // of what follows
  uint32_t posted = 0;          // work
  uint32_t polled = 0;          // events that the caller has seen
  uint32_t released = 0;        // of these, those whose places are firmware's again
  bool armed = false;           // firmware is to wake the process...
  uint32_t awaited = 0;         // ...when so many events are there
  uint32_t epoch = 0;           // of the firmware that knows the above
};

namespace exrnic {

namespace {

// That a channel reaches: those that its RNIC can talk to, and firmware has memory for.
uint32_t NodesOf(const vl_message_channel& channel) {
  return std::min(channel.rnic->info.max_node, uint32_t{VL_MESSAGE_NODES});
}

// False with an error.
bool AttrIsValid(const vl_message_channel_attr& attr) {
  return IsWithin("number", attr.number, 0, VL_MESSAGE_CHANNELS - 1) &&
         IsWithin("message_bytes", attr.message_bytes, 0, VL_MESSAGE_BYTES_MAX) &&
         IsWithin("sends", attr.sends, 1, VL_MESSAGE_SENDS_MAX) &&
         IsWithin("receives", attr.receives, 1, VL_MESSAGE_RECEIVES_MAX);
}

MessageChannelRequest RequestOf(const vl_message_channel& channel) {
  const MessageLayout& layout = channel.layout;
  MessageChannelRequest request = {};
  request.memory = channel.memory.data();
  request.bytes = layout.bytes;
  request.number = channel.attr.number;
  request.status = 0;
  request.work = layout.work;
  request.log_work = Log2(layout.works);
  request.events = layout.events;
  request.log_events = Log2(kEvents);
  request.slots = layout.slots;
  request.slot_bytes = layout.slot_bytes;
  request.num_slots = layout.num_slots;
  request.channel_fd = channel.fd;
  return request;
}

constexpr uint32_t LowBits(uint32_t bits) { return (1u << bits) - 1; }

// doorbell.number. It says what was waited for until firmware has surely seen it: events behind
// that, as many as there is room for, were written because a later bell than that came there.
uint32_t BellNumber(vl_message_channel* channel) {
  const uint32_t taken = channel->released & LowBits(EXRNIC_CHANNEL_TAKEN_BITS);
  if (static_cast<int32_t>(channel->polled - channel->awaited) > static_cast<int32_t>(kEvents))
    channel->armed = false;
  if (!channel->armed) return taken;
  return EXRNIC_CHANNEL_ARMED |
         (channel->awaited & LowBits(EXRNIC_CHANNEL_AWAITED_BITS)) << EXRNIC_CHANNEL_TAKEN_BITS |
         taken;
}

void Ring(vl_message_channel* channel) {
  exrnic_wmb_wqe_before_doorbell();
  exrnic_ring_doorbell(channel->rnic->user_page.get(), EXRNIC_DOORBELL_FIRMWARE,
                       BellNumber(channel), channel->posted);
}

// Fills the next entry of the work ring and makes it known. Under the lock.
int Post(vl_message_channel* channel, exrnic_channel_work work, uint32_t* id) {
  if (!channel->rnic->user_page.usable()) return FailGone();
  work.id = channel->posted;
  memcpy(channel->At(channel->layout.work + channel->posted % channel->layout.works * sizeof(work)),
         &work, sizeof(work));
  if (id != nullptr) *id = channel->posted;
  ++channel->posted;
  vl_rnic* rnic = channel->rnic;
  if (!rnic->pio.TryFirmware(rnic->user_page, work, BellNumber(channel), channel->posted))
    Ring(channel);
  return 0;
}

Failure FailFull() {
  SetErrorText("as much work is under way as the message channel was made for");
  return Fail(EAGAIN);
}

// The event of that number, or null as long as there is none.
const exrnic_channel_event* EventAt(const vl_message_channel& channel, uint32_t number) {
  const auto* event = reinterpret_cast<const exrnic_channel_event*>(
      channel.At(channel.layout.events + number % kEvents * sizeof(exrnic_channel_event)));
  return __atomic_load_n(&event->serial, __ATOMIC_ACQUIRE) == number + 1 ? event : nullptr;
}

// What firmware wrote is taken for what it says only as far as it stays within the memory.
const void* DataOf(const vl_message_channel& channel, const exrnic_channel_event& event) {
  if (event.slot == EXRNIC_CHANNEL_NO_SLOT)
    return event.length <= VL_MESSAGE_SHORT ? &event.data : nullptr;
  if (event.slot >= channel.layout.num_slots || event.length > channel.layout.slot_bytes)
    return nullptr;
  return channel.At(channel.layout.slots + size_t{event.slot} * channel.layout.slot_bytes);
}

void Translate(const vl_message_channel& channel, const exrnic_channel_event& event,
               vl_message* message) {
  *message = {};
  message->kind = static_cast<vl_message_kind>(event.kind);
  message->status = static_cast<vl_message_status>(event.status);
  message->source = event.source;
  message->value = event.value;
  message->id = event.id;
  if (message->kind != VL_MESSAGE_RECEIVED) return;
  message->data = DataOf(channel, event);
  message->length = message->data != nullptr ? event.length : 0;
}

// Firmware that was started again has lost what only the bell told it.
void RingAnewAfterRestart(vl_message_channel* channel) {
  const uint32_t epoch = __atomic_load_n(&channel->status()->epoch, __ATOMIC_ACQUIRE);
  if (epoch == channel->epoch) return;
  channel->epoch = epoch;
  Ring(channel);
}

// False with errno: it will be told of no more.
bool TakeToldEvents(vl_message_channel* channel) {
  pollfd look = {channel->fd, POLLIN, 0};
  while (poll(&look, 1, 0) == 1) {
    Event event;
    if (channel->rnic->transport->ReadEvent(channel->fd, &event) != 0) return false;
  }
  return true;
}

}  // namespace

}  // namespace exrnic

vl_message_channel* vl_create_message_channel(vl_rnic* rnic, const vl_message_channel_attr* attr) {
  if (!BeginCall({{"rnic", rnic}, {"attr", attr}}) || !exrnic::AttrIsValid(*attr)) return nullptr;
  if (rnic->info.node_id >= VL_MESSAGE_NODES) {
    return Fail(EINVAL, "this is node %u: message channels are of nodes below %u",
                rnic->info.node_id, unsigned{VL_MESSAGE_NODES});
  }
  std::unique_ptr<vl_message_channel> channel(new (std::nothrow) vl_message_channel(rnic, *attr));
  if (channel == nullptr) return Fail(ENOMEM);
  if (channel->memory.data() == nullptr) return nullptr;
  std::lock_guard<std::mutex> guard(rnic->control);
  if (rnic->transport->CreateChannel(&channel->fd) != 0) return nullptr;
  if (rnic->transport->CreateMessageChannel(exrnic::RequestOf(*channel)) != 0) {
    const int error = errno;
    rnic->transport->CloseChannel(channel->fd);
    Fail(error);
    exrnic::Explain(EBUSY, "channel %u is another process's, or this RNIC has one already",
                    attr->number);
    return nullptr;
  }
  channel->epoch = channel->status()->epoch;
  ++rnic->users;
  return channel.release();
}

int vl_destroy_message_channel(vl_message_channel* channel) {
  if (!BeginCall({{"channel", channel}})) return -1;
  vl_rnic* rnic = channel->rnic;
  std::lock_guard<std::mutex> guard(rnic->control);
  if (!exrnic::IsGone(rnic->transport->DestroyMessageChannel(channel->attr.number))) return -1;
  rnic->transport->CloseChannel(channel->fd);
  --rnic->users;
  delete channel;
  return 0;
}

void* vl_message_buffer(vl_message_channel* channel) {
  if (!BeginCall({{"channel", channel}})) return nullptr;
  std::lock_guard<exrnic::SpinLock> guard(channel->lock);
  if (!channel->has_room()) return exrnic::FailFull();
  return channel->At(channel->BufferOffset());
}

int vl_send_message(vl_message_channel* channel, unsigned node, uint32_t length,
                    uint32_t timeout_us, uint32_t* id) {
  if (!BeginCall({{"channel", channel}}) ||
      !exrnic::IsWithin("node", node, 0, exrnic::NodesOf(*channel) - 1)) {
    return -1;
  }
  if (length > channel->attr.message_bytes) {
    return Fail(EINVAL, "length is %u: the channel was made for messages of %u bytes", length,
                channel->attr.message_bytes);
  }
  std::lock_guard<exrnic::SpinLock> guard(channel->lock);
  if (!channel->has_room()) return exrnic::FailFull();
  exrnic_channel_work work = {};
  work.opcode = EXRNIC_CHANNEL_OPCODE_SEND;
  work.target = static_cast<uint16_t>(node);
  work.offset = channel->BufferOffset();
  work.length = length;
  work.timeout_us = timeout_us;
  if (length <= VL_MESSAGE_SHORT) memcpy(&work.data, channel->At(work.offset), length);
  return exrnic::Post(channel, work, id);
}

int vl_reduce(vl_message_channel* channel, unsigned group, const uint8_t* nodes, uint32_t round,
              vl_reduction operation, uint64_t value, uint32_t timeout_us) {
  if (!BeginCall({{"channel", channel}, {"nodes", nodes}}) ||
      !exrnic::IsWithin("group", group, 0, UINT16_MAX)) {
    return -1;
  }
  for (uint32_t node = exrnic::NodesOf(*channel); node < VL_MESSAGE_NODES; ++node) {
    if (nodes[node / 8] >> node % 8 & 1)
      return Fail(EINVAL, "nodes has node %u: this RNIC has those below %u", node,
                  exrnic::NodesOf(*channel));
  }
  if (operation < 0 || operation > VL_REDUCE_XOR)
    return Fail(EINVAL, "operation is %d: no VL_REDUCE_*", static_cast<int>(operation));
  std::lock_guard<exrnic::SpinLock> guard(channel->lock);
  if (!channel->has_room()) return exrnic::FailFull();
  exrnic_channel_work work = {};
  work.opcode = EXRNIC_CHANNEL_OPCODE_REDUCE;
  work.operation = static_cast<uint8_t>(operation);
  work.target = static_cast<uint16_t>(group);
  work.offset = channel->BufferOffset();
  work.value = value;
  work.round = round;
  work.timeout_us = timeout_us;
  memcpy(channel->At(work.offset), nodes, VL_MESSAGE_NODES / 8);
  return exrnic::Post(channel, work, nullptr);
}

uint32_t vl_messages_ended(const vl_message_channel* channel) {
  return BeginCall({{"channel", channel}}) ? channel->ended() : 0;
}

int vl_poll_message(vl_message_channel* channel, vl_message* message) {
  if (!BeginCall({{"channel", channel}, {"message", message}})) return -1;
  {
    std::lock_guard<exrnic::SpinLock> guard(channel->lock);
    exrnic::RingAnewAfterRestart(channel);
    if (const exrnic_channel_event* event = exrnic::EventAt(*channel, channel->polled)) {
      exrnic::Translate(*channel, *event, message);
      ++channel->polled;
      return 1;
    }
  }
  return channel->rnic->user_page.WhileEmpty() ? 0 : exrnic::FailGone();
}

int vl_message_fd(const vl_message_channel* channel) {
  return BeginCall({{"channel", channel}}) ? channel->fd : -1;
}

int vl_arm_messages(vl_message_channel* channel) {
  if (!BeginCall({{"channel", channel}})) return -1;
  std::lock_guard<std::mutex> one(channel->waiting);
  if (!channel->rnic->user_page.usable()) return exrnic::FailGone();
  if (!exrnic::TakeToldEvents(channel)) return Fail(errno);
  // What it was told of is seen from here on, so nothing is lost with it.
  std::lock_guard<exrnic::SpinLock> guard(channel->lock);
  exrnic::RingAnewAfterRestart(channel);
  if (exrnic::EventAt(*channel, channel->polled) != nullptr) return 1;
  channel->armed = true;
  channel->awaited = channel->polled + 1;
  exrnic::Ring(channel);
  return 0;
}

int vl_await_message(vl_message_channel* channel, int timeout_ms) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::milliseconds(timeout_ms);
  for (;;) {
    const int there = vl_arm_messages(channel);
    if (there != 0) return there;
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(std::max(end - Clock::now(), {}));
    pollfd wait = {channel->fd, POLLIN, 0};
    const int told = poll(&wait, 1, timeout_ms < 0 ? -1 : static_cast<int>(left.count()));
    if (told < 0) return Fail(errno);
    if (told == 0) return 0;
    if ((wait.revents & POLLIN) == 0) return exrnic::FailGone();
  }
}

int vl_release_messages(vl_message_channel* channel, uint32_t count) {
  if (!BeginCall({{"channel", channel}})) return -1;
  std::lock_guard<exrnic::SpinLock> guard(channel->lock);
  const uint32_t held = channel->polled - channel->released;
  if (count > held) return Fail(EINVAL, "count is %u: %u messages are taken", count, held);
  if (count == 0) return 0;
  channel->released += count;
  exrnic::Ring(channel);
  return 0;
}
