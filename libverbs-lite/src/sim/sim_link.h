// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXRNIC_LIBVERBS_SIM_LINK_H
#define EXRNIC_LIBVERBS_SIM_LINK_H

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "sim/vfio_user/client.h"
#include "transport/user_page.h"

namespace exrnic {

// A node of exrnic-sim by its vfio-user socket: the registers of its RNIC, its user page, the
// memory that it may reach, and its interrupts.
//
// Throws SimError. A link that has failed once, for whatever reason, is cut: the simulator then
// reaches no memory of this process any more, and all further calls throw ENODEV.
//
// Threads: every call may be made from any thread. One request waits for its reply at a time; the
// stores into the user page go out between.
class SimLink final : public UserPageProxy {
 public:
  struct RegisterWrite {
    uint32_t reg;  // EXRNIC_REG_*
    uint32_t value;
  };

  // Connects, and finds out whether an RNIC is there. patience: for each reply.
  SimLink(const std::string& path, std::chrono::milliseconds patience);
  ~SimLink() override;

  uint32_t Read(uint32_t reg);
  // Posted, in order.
  void Write(const std::vector<RegisterWrite>& writes);
  // For it: the words of a command, in the registers from `reg` on.
  static std::vector<RegisterWrite> WordsAt(uint32_t reg, const void* words, size_t bytes);
  // What the register reads when it does not read `busy` any more, or the patience is over.
  uint32_t AwaitChange(uint32_t reg, uint32_t busy);

  // Lets the device reach `size` bytes at a bus address: those of `file` from `offset` on.
  void Grant(uint64_t bus, uint64_t size, int file, uint64_t offset);

  uint32_t vectors() const { return vectors_; }
  // Vector i signals eventfds[i].
  void ConnectVectors(const std::vector<int>& eventfds);

  // Cuts the link. `why` goes to whoever calls next.
  void Cut(const std::string& why);
  // Readable, with nothing to read, when the simulator is gone.
  int fd() const { return fd_; }
  std::chrono::milliseconds patience() const { return patience_; }
  const std::string& path() const { return path_; }

  // UserPageProxy
  void Store(uint32_t offset, const uint64_t* words, size_t count) override;
  bool WhileEmpty() override;
  bool usable() const override { return usable_.load(std::memory_order_relaxed); }

 private:
  template <typename Call>
  void Request(const std::string& what, Call call);
  template <typename Call>
  void Post(Call call);
  void WaitForReply();
  void Drain();
  void CutLocked(const std::string& why);
  [[noreturn]] void ThrowCut();

  void Negotiate();
  void CheckFunction();
  void CheckRegions();
  void EnableFunction();

  const std::string path_;
  const std::chrono::milliseconds patience_;
  std::mutex requests_;  // held from a request to its reply
  std::mutex io_;        // guards what follows; free while a reply is awaited
  std::unique_ptr<vfio_user::VfioUserClient> client_;
  std::string why_cut_;
  int fd_ = -1;
  uint32_t vectors_ = 0;
  std::atomic<bool> usable_{true};
  std::atomic<uint32_t> empty_looks_{0};
};

}  // namespace exrnic

#endif  // EXRNIC_LIBVERBS_SIM_LINK_H
