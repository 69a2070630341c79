// SPDX-License-Identifier: BSD-2-Clause
#include "tools/bench/ntb_bench.h"

#include <stdexcept>

#include "tests/support/ntb.h"
#include "tools/bench/path.h"

namespace exrnic::bench {
namespace {

constexpr uint32_t kWord = 8;
constexpr uint32_t kBlock = DevicePort::kBlockBytes;
constexpr uint32_t kStream = 128 * 1024;
constexpr uint32_t kVector = 9;

class Ntb {
 public:
  explicit Ntb(const std::string& profile)
      : path_(profile, kStream, make_rtl_core), window_(path_.pair.left.rnic, 0) {
    if (window_.set(path_.pair.left.qp.qpn, testing::kSinkStag, testing::kSinkBase, kStream,
                    testing::kStore | testing::kLoad) != EXRNIC_MBOX_STATUS_OK)
      throw std::runtime_error("the window could not be set");
  }

  double store_ns(uint8_t mark) {
    path_.rest();
    const uint64_t start = now();
    window_.store(0, kWord, mark * 0x0101'0101'0101'0101);
    wait_for(kWord - 1, mark);
    return static_cast<double>(now() - start);
  }

  double load_ns() {
    path_.rest();
    const uint64_t start = now();
    window_.load(0, kWord);
    return static_cast<double>(now() - start);
  }

  double store_mbps(uint32_t size, uint8_t mark) {
    path_.rest();
    const uint64_t start = now();
    for (uint32_t offset = 0; offset < kStream; offset += size) {
      if (size == kBlock)
        window_.store_block(offset, Bytes(kBlock, mark));
      else
        window_.store(offset, kWord, mark * 0x0101'0101'0101'0101);
    }
    wait_for(kStream - 1, mark);
    return kStream * 1e3 / static_cast<double>(now() - start);
  }

  double doorbell_ns() {
    testing::Port here(path_.pair.left.rnic, 0), there(path_.pair.right.rnic, 0);
    here.open(1, 0, kVector);
    there.open(0, 0, kVector);
    path_.rest();
    if (!here.linked()) throw std::runtime_error("waited in vain for the link of a port");
    path_.rest();
    const auto& fired = path_.pair.right.rnic.host().interrupts();
    const size_t before = fired.size();
    const uint64_t start = now();
    here.ring(1);
    wait([&] { return fired.size() != before; }, "an interrupt");
    return static_cast<double>(now() - start);
  }

 private:
  uint64_t now() { return path_.pair.testbed.now_ns(); }
  void wait(const std::function<bool()>& done, const std::string& what) {
    if (path_.pair.testbed.run_until(done, kWaitNs) != RunResult::kDone)
      throw std::runtime_error("waited in vain for " + what);
  }
  void wait_for(uint64_t offset, uint8_t mark) {
    wait([&] { return path_.pair.right.rnic.read(path_.sink, offset, 1)[0] == mark; },
         "the last byte of a store");
  }

  Path path_;
  testing::RemoteWindow window_;
};

}  // namespace

void measure_ntb(const std::string& profile, Results& results) {
  Ntb ntb(profile);
  ntb.store_ns(1);  // the second finds the PBL entries on chip, as a program's second one does
  const auto add = [&](const char* name, double value, const char* unit,
                       nlohmann::ordered_json keys = nlohmann::ordered_json::object()) {
    nlohmann::ordered_json all = {{"profile", profile}};
    all.update(keys);
    results.add(name, value, unit, Clock::kSimulated, all);
  };
  add("push.oneway_ns", ntb.store_ns(2), "ns", {{"size", kWord}, {"via", "window"}});
  ntb.load_ns();
  add("window.load_ns", ntb.load_ns(), "ns", {{"size", kWord}});
  add("window.store_mbps", ntb.store_mbps(kWord, 3), "MB/s", {{"size", kWord}});
  add("window.store_mbps", ntb.store_mbps(kBlock, 4), "MB/s", {{"size", kBlock}});
  add("doorbell.ns", ntb.doorbell_ns(), "ns");
}

}  // namespace exrnic::bench
