// SPDX-License-Identifier: BSD-2-Clause
// One client of a session of the vfio-user server: messages, descriptors and noise in any order,
// while the device answers loads and does DMA. An input is a byte that says whether the device is
// passed on, and a list of steps, each a byte that says which, and what it needs.
#include <linux/pci_regs.h>
#include <linux/vfio.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>

#include "sim/vfio_user/rnic_pci.h"
#include "sim/vfio_user/server.h"
#include "sim/vfio_user/session.h"
#include "sim/vfio_user/test_support.h"
#include "tests/fuzz/target.h"

namespace exrnic::fuzz {
namespace {

using namespace vfio_user;
using vfio_user::Bytes;

enum Step : uint8_t {
  kNoise,
  kMessage,
  kMessageWithFds,
  kAnswer,
  kDma,
  kInterrupt,
  kDescribe,
  kSteps
};
constexpr size_t kMostNoise = 64;
constexpr size_t kMostMessages = 32;  // of one service()

class Rig {
 public:
  explicit Rig(bool passed_on) : config_(description_) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
      found("no socketpair");
    client_ = UniqueFd(ends[0]);
    session_ = std::make_shared<Session>(
        UniqueFd(ends[1]), Session::Context{description_, passed_on ? nullptr : &config_, device_,
                                            counters_, log_, budget_});
  }

  // False: the connection is over.
  bool step(Reader& in) {
    switch (in.take<uint8_t>() % kSteps) {
      case kNoise:
        send(in.bytes(1 + in.take<uint8_t>() % kMostNoise), {});
        break;
      case kMessage:
        send(message(in), {});
        break;
      case kMessageWithFds: {
        const std::vector<int> fds = choose_fds(in.take<uint8_t>());
        send(message(in), fds);
        break;
      }
      case kAnswer:
        if (!device_.pending.empty()) device_.answer(in.take<uint64_t>());
        break;
      case kDma:
        access_memory(in);
        break;
      case kDescribe: {
        PciDescription present = description_;
        present.msix.vectors += in.take<uint8_t>() % 2;
        session_->function().describe(present);
        break;
      }
      default:
        session_->msix().fire(in.take<uint8_t>());
    }
    waits_ = !waits_;  // as a device does that waits for its client
    const bool alive = session_->service(kMostMessages, waits_) != Session::State::kEnded;
    if (!alive && session_->end_reason().empty()) found("a connection ends without a reason");
    drain();
    return alive;
  }

 private:
  // The header's size is what is sent, unless the step says otherwise.
  static Bytes message(Reader& in) {
    Header header;
    header.id = in.take<uint8_t>();
    header.command = in.take<uint8_t>();
    header.flags = in.take<uint8_t>();
    const auto lie = in.take<int8_t>();
    const Bytes payload = in.bytes(in.take<uint8_t>());
    header.size = static_cast<uint32_t>(sizeof header + payload.size());
    if (lie > 100) header.size += static_cast<uint32_t>(lie) << (lie & 15);
    Bytes bytes;
    put(bytes, header);
    put(bytes, payload);
    return bytes;
  }

  // Memory that cannot shrink, memory that can, an eventfd, a socket: up to as many as two nibbles
  // say.
  std::vector<int> choose_fds(uint8_t which) const {
    const int known[4] = {sealed_.fd(), unsealed_.fd(), event_.fd(), client_.get()};
    std::vector<int> fds;
    for (unsigned n = 0; n <= which >> 4; ++n) fds.push_back(known[(which + n) & 3]);
    return fds;
  }

  void send(const Bytes& bytes, const std::vector<int>& fds) {
    iovec piece{const_cast<uint8_t*>(bytes.data()), bytes.size()};
    alignas(cmsghdr) char control[CMSG_SPACE(16 * sizeof(int))] = {};
    msghdr header{};
    header.msg_iov = &piece;
    header.msg_iovlen = 1;
    if (!fds.empty()) {
      header.msg_control = control;
      header.msg_controllen = CMSG_SPACE(fds.size() * sizeof(int));
      cmsghdr* head = CMSG_FIRSTHDR(&header);
      head->cmsg_level = SOL_SOCKET;
      head->cmsg_type = SCM_RIGHTS;
      head->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
      std::memcpy(CMSG_DATA(head), fds.data(), fds.size() * sizeof(int));
    }
    (void)::sendmsg(client_.get(), &header, MSG_NOSIGNAL | MSG_DONTWAIT);
  }

  void access_memory(Reader& in) {
    const uint64_t address = in.take<uint32_t>();
    uint8_t bytes[256] = {};
    const size_t length = in.take<uint8_t>();
    if (!session_->dma().write(address, bytes, length))
      session_->dma().read(address, bytes, length);
  }

  void drain() {
    uint8_t bytes[4096];
    while (::recv(client_.get(), bytes, sizeof bytes, MSG_DONTWAIT) > 0) {
    }
  }

  const PciDescription description_ = rnic_pci_description({});
  PciConfigSpace config_;
  FakeDevice device_;
  Counters counters_;
  const MemoryBudget budget_;
  const VfioUserServer::Log log_ = [](const std::string&) {};
  const Memory sealed_{4 * kDmaPageSize, Memory::Kind::kSealed};
  const Memory unsealed_{4 * kDmaPageSize, Memory::Kind::kUnsealed};
  const Eventfd event_;
  UniqueFd client_;
  std::shared_ptr<Session> session_;
  bool waits_ = false;
};

void add(Bytes& input, Command command, const Bytes& payload, int fds = -1) {
  put(input, static_cast<uint8_t>(fds < 0 ? kMessage : kMessageWithFds));
  if (fds >= 0) put(input, static_cast<uint8_t>(fds));
  put(input, uint8_t{1});
  put(input, static_cast<uint8_t>(command));
  put(input, uint8_t{0});
  put(input, int8_t{0});
  put(input, static_cast<uint8_t>(payload.size()));
  put(input, payload);
}

}  // namespace

std::vector<fuzz::Bytes> vfio_user_seeds() {
  static const uint8_t kData[8] = {6, 0, 0, 0, 0, 0, 0, 0};
  Bytes all;
  add(all, Command::kVersion, encode_version({}));
  add(all, Command::kDeviceGetInfo, encode_device_info(0, 0, 0));
  for (uint32_t region = 0; region < 9; ++region)
    add(all, Command::kDeviceGetRegionInfo, encode_region_info(0, region, 0));
  add(all, Command::kDeviceGetIrqInfo, encode_irq_info(0, VFIO_PCI_MSIX_IRQ_INDEX, 0));
  Bytes use;
  add(use, Command::kVersion, encode_version({}));
  add(use, Command::kRegionWrite,
      encode_region_access({PCI_COMMAND, VFIO_PCI_CONFIG_REGION_INDEX, 2}, kData, 2));
  add(use, Command::kDmaMap, encode_dma_map({true, true, 0, 0x10000, 0x4000}), 0);
  add(use, Command::kDmaMap, encode_dma_map({true, true, 0, 0x20000, 0x2000}), 1);
  for (const uint32_t address : {0x10ffcu, 0x20010u}) {
    put(use, static_cast<uint8_t>(kDma));
    put(use, address);
    put(use, uint8_t{64});
  }
  SetIrqsRequest irqs{IrqData::kEventfd, IrqAction::kTrigger, VFIO_PCI_MSIX_IRQ_INDEX, 0, 1, {}};
  add(use, Command::kDeviceSetIrqs, encode_set_irqs(irqs), 2);
  put(use, static_cast<uint8_t>(kInterrupt));
  put(use, uint8_t{0});
  irqs.data = IrqData::kBool;
  irqs.selected = {true};
  add(use, Command::kDeviceSetIrqs, encode_set_irqs(irqs));
  add(use, Command::kRegionRead, encode_region_access({0, 0, 4}, nullptr, 0));
  put(use, static_cast<uint8_t>(kAnswer));
  put(use, uint64_t{0x58524e43});
  add(use, Command::kRegionWriteMulti,
      encode_region_write_multi({{{0x100, 0, 4}, kData}, {{0, 2, 8}, kData}}));
  add(use, Command::kDmaUnmap, encode_dma_unmap({false, 0x10000, 0x4000}));
  add(use, Command::kDeviceReset, {});
  std::vector<fuzz::Bytes> seeds;
  for (const uint8_t passed_on : {0, 1}) {
    for (const Bytes& steps : {all, use}) {
      seeds.push_back({passed_on});
      put(seeds.back(), steps);
    }
  }
  return seeds;
}

void fuzz_vfio_user(const uint8_t* data, size_t size) {
  Reader in(data, size);
  Rig rig(in.take<uint8_t>() % 2 != 0);
  while (!in.empty() && rig.step(in)) {
  }
}

}  // namespace exrnic::fuzz
