// SPDX-License-Identifier: BSD-2-Clause
// A device of a test's own behind a vfio-user socket, served by a thread.
#ifndef EXRNIC_LIBVERBS_OTHER_DEVICE_H
#define EXRNIC_LIBVERBS_OTHER_DEVICE_H

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <utility>

#include "sim/vfio_user/server.h"

namespace exrnic {

// Its registers read as `load` says, and `store` hears what is written to them; both in that
// thread.
class OtherDevice : public DevicePort {
 public:
  using Load = std::function<uint64_t(uint64_t offset)>;
  using Store = std::function<void(uint64_t offset, uint64_t value)>;

  OtherDevice(
      const std::string& path, const PciDescription& description, Load load,
      Store store = [](uint64_t, uint64_t) {})
      : load_(std::move(load)), store_(std::move(store)), server_(path, description, {}) {
    server_.attach(*this);
    thread_ = std::thread([this] {
      while (!stop_) {
        if (!server_.service()) std::this_thread::yield();
      }
    });
  }
  ~OtherDevice() override {
    stop_ = true;
    thread_.join();
  }
  void mmio_write(unsigned, uint64_t offset, unsigned, uint64_t value) override {
    store_(offset, value);
  }
  void mmio_read(unsigned, uint64_t offset, unsigned, ReadDone done) override {
    done(load_(offset));
  }
  void reset() override {}

 private:
  const Load load_;
  const Store store_;
  vfio_user::VfioUserServer server_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace exrnic

#endif  // EXRNIC_LIBVERBS_OTHER_DEVICE_H
