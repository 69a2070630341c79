// SPDX-License-Identifier: BSD-2-Clause
// Short runs of what exrnic-protection-soak does for as long as it is told, and that it would see a
// core that is wrong.
#include <catch2/catch_test_macros.hpp>

#include "rtl-model/ref/ref_core.h"
#include "tests/protection/random_accesses.h"
#include "tests/support/faulty_core.h"
#include "tests/support/seed.h"

namespace exrnic::testing {
namespace {

void expect_agreement(const MakeCore& make_core, uint64_t accesses) {
  const uint64_t seed = draw_seed();
  INFO("EXRNIC_SEED=" << seed);
  AccessTally tally;
  CHECK(try_random_accesses(make_core, seed, accesses, tally) == "");
  for (size_t i = 0; i < kKinds; ++i) {
    INFO(name_of(static_cast<Kind>(i)));
    CHECK(tally.granted[i] > 0);
    CHECK(tally.refused[i] > 0);
  }
  CHECK(tally.races > 0);
  CHECK(tally.races_granted > 0);
  CHECK(tally.binds > 0);
  CHECK(tally.binds_refused > 0);
  CHECK(tally.by_window > 0);
}

TEST_CASE("the reference model grants and refuses what the oracle does, and no byte strays") {
  expect_agreement(make_ref_core, 60'000);
}

TEST_CASE("the RTL grants and refuses what the oracle does, and no byte strays") {
  expect_agreement(make_rtl_core, 4'000);
}

MakeCore faulty(const Fault& fault) {
  return [fault](const CoreConfig& config, CoreSink& sink) {
    return std::make_unique<FaultyCore>(config, sink, make_ref_core, fault);
  };
}

std::string finding_of(const Fault& fault) {
  AccessTally tally;
  return try_random_accesses(faulty(fault), 1, 20'000, tally);
}

bool is_data(const PostedWrite& write) {
  return write.kind == PostedWrite::Kind::kMemory && write.address < Stage::kUserEnd;
}

TEST_CASE("one write that goes to another page is found") {
  Fault fault;
  int left = 100;
  fault.write = [left](PostedWrite& write) mutable {
    if (is_data(write) && --left == 0) write.address ^= 4096;
    return true;
  };
  CHECK(finding_of(fault).find("a stray write") != std::string::npos);
}

TEST_CASE("one write that is lost is found") {
  Fault fault;
  int left = 100;
  fault.write = [left](PostedWrite& write) mutable { return !is_data(write) || --left != 0; };
  CHECK(finding_of(fault).find("wrong bytes at") != std::string::npos);
}

TEST_CASE("one wrong byte that leaves, or one refusal that does not, is found") {
  for (const bool refusals : {false, true}) {
    Fault fault;
    int left = 40;
    fault.transmit = [=](Frame& frame) mutable {
      uint8_t* efe = frame.data.data() + EXRNIC_ETH_BYTES;
      uint8_t* ddp = efe + EXRNIC_EFE_BYTES;
      if (exrnic_efe_length(efe) == 0) return true;
      if (refusals) {  // that of the number 40, each time that it is sent
        if (exrnic_efe_refusal(efe) == 40)
          exrnic_ddp_untagged_set_opcode(ddp, EXRNIC_RDMAP_OPCODE_SEND);
        return true;
      }
      if (exrnic_ddp_tagged_t(ddp) && exrnic_efe_length(efe) >= 40 && --left == 0)
        ddp[EXRNIC_DDP_TAGGED_BYTES] ^= 1;
      return true;
    };
    const std::string finding = finding_of(fault);
    INFO(finding);
    CHECK((finding.find("false grant") != std::string::npos ||
           finding.find("wrong bytes leave") != std::string::npos));
  }
}

// The driver is told that a region is gone, but the core still has it.
TEST_CASE("a region that outlives its deregistration is found") {
  const MakeCore deaf = [](const CoreConfig& config, CoreSink& sink) {
    struct Deaf final : Core {
      explicit Deaf(std::unique_ptr<Core> core) : core(std::move(core)) {}
      void reset() override { core->reset(); }
      void mmio_write(const MmioAccess& access) override {
        MmioAccess changed = access;
        const bool command =
            access.bar == EXRNIC_BAR_REGISTERS && access.offset == EXRNIC_REG_MBOX_COMMAND;
        if (command && access.data == EXRNIC_MBOX_OP_INVALIDATE_MR && ++count % 8 == 0)
          changed.data = EXRNIC_MBOX_OP_NOP;
        core->mmio_write(changed);
      }
      void mmio_read(const MmioAccess& access) override { core->mmio_read(access); }
      void read_completion(ReadCompletion&& completion) override {
        core->read_completion(std::move(completion));
      }
      void receive(Frame&& frame) override { core->receive(std::move(frame)); }
      void step(uint64_t time_ns) override { core->step(time_ns); }
      bool idle() const override { return core->idle(); }
      void set_link(bool up) override { core->set_link(up); }
      uint64_t peek_counter(unsigned index) const override { return core->peek_counter(index); }
      std::unique_ptr<Core> core;
      int count = 0;
    };
    return std::make_unique<Deaf>(make_ref_core(config, sink));
  };
  AccessTally tally;
  const std::string finding = try_random_accesses(deaf, 2, 100'000, tally);
  INFO(finding);
  CHECK((finding.find("false grant") != std::string::npos ||
         finding.find("stray") != std::string::npos ||
         finding.find("behind its deregistration") != std::string::npos));
}

}  // namespace
}  // namespace exrnic::testing
