// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXRNIC_LIBVERBS_FAKE_FABRIC_H
#define EXRNIC_LIBVERBS_FAKE_FABRIC_H

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "exrnic/verbs.h"
#include "fake_device.h"
#include "transport/transport.h"

namespace exrnic {

// Devices that reach each other, and the user pages of their contexts, which are plain memory.
//
// Stepped (Step) it is deterministic: a doorbell stays in its page until then. Started (Start), a
// thread steps it. A page of memory keeps only the last store to a doorbell: of two queue pairs of
// a context that ring in the same moment, the first may go unheard until it rings again. A PIO
// block is whole when its last 8 bytes are not all ones.
class FakeFabric {
 public:
  explicit FakeFabric(uint32_t nodes);
  ~FakeFabric();

  vl_rnic* Open(uint32_t node);
  void Step();
  void Start();

  FakeDevice& device(uint32_t node) { return *devices_[node]; }
  // The next call through any transport fails with this errno.
  void FailNextCall(int error) { next_error_ = error; }
  // Of devices that are opened from now on: nodes that they can talk to.
  void LimitNodes(uint32_t nodes) { max_node_ = nodes; }
  // Called after each placement, with the bytes where they were placed: a device that errs.
  void Tamper(std::function<void(uint8_t* placed, uint32_t length)> tamper) {
    tamper_ = std::move(tamper);
  }
  // What the page of the context that was opened last holds at an offset; kIdle: no store since the
  // last step.
  uint64_t DoorbellAt(uint32_t offset) const;
  // As firmware that wakes its process: an event of the message channel of the context opened last.
  void TellOfMessage();
  // The one that was made last.
  const MessageChannelRequest& message_channel() const { return message_channel_; }

  static constexpr uint64_t kIdle = ~uint64_t{0};

 private:
  friend class FakeTransport;
  struct Context {
    uint32_t node;
    uint32_t page_number;
    uint64_t* page;
    bool open = true;
    int async[2] = {-1, -1};      // pipe: the end to read from, the end to write to
    std::map<int, int> channels;  // by the end to read from
  };

  void ServeDoorbells();
  void RaiseEvents();
  bool ServeBlocks(Context* context);
  uint32_t Deliver(const FakeDevice::Message& message);
  void Close(Context* context);
  void Loop();

  std::mutex mutex_;
  std::vector<std::unique_ptr<FakeDevice>> devices_;
  std::vector<std::unique_ptr<Context>> contexts_;
  uint32_t max_node_ = 256;
  std::atomic<int> next_error_{0};
  std::function<void(uint8_t*, uint32_t)> tamper_;
  uint32_t next_number_ = 1;
  MessageChannelRequest message_channel_ = {};
  std::atomic<bool> started_{false};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace exrnic

#endif  // EXRNIC_LIBVERBS_FAKE_FABRIC_H
