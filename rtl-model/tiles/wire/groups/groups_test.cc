// SPDX-License-Identifier: BSD-2-Clause
#include <catch2/catch_test_macros.hpp>
#include <optional>
#include <vector>

#include "Vgroups.h"
#include "rtl-model/testing/bench.h"
#include "rtl-model/testing/neighbours.h"
#include "rtl-model/testing/records.h"

namespace exrnic::testing {
namespace {

constexpr uint32_t kGroup = 0x1234;
enum Op { kAttach, kDetach, kForget };

// To whom a copy went, and whether others follow.
struct Copy {
  uint32_t qpn = 0;
  bool more = false;
  bool operator==(const Copy& other) const { return qpn == other.qpn && more == other.more; }
};

RxDesc datagram(uint32_t dst_qpn, uint32_t seq = 0) {
  RxDesc desc;
  desc.unreliable = desc.datagram = desc.first = true;
  desc.dst_qpn = dst_qpn;
  desc.seq = seq;
  return desc;
}

class Groups : public Bench<Vgroups> {
 public:
  Groups() {
    dut().valid_i = dut().desc_valid_i = dut().desc_ready_i = dut().look_i = 0;
    reset();
  }

  struct Outcome {
    bool found = false;
    bool full = false;
  };
  Outcome change(Op op, uint32_t group, unsigned qpn) {
    dut().valid_i = 1;
    dut().op_i = op;
    dut().group_i = group;
    dut().qpn_i = qpn;
    Outcome outcome;
    bool done = false;
    wait_for("done_o", EXRNIC_MAX_ATTACHED + 2, [&] {
      done = dut().done_o != 0;
      outcome = {dut().found_o != 0, dut().full_o != 0};
      if (done) cycle();
      return done;
    });
    dut().valid_i = 0;
    cycle();
    return outcome;
  }
  void attach(uint32_t group, unsigned qpn) { CHECK(!change(kAttach, group, qpn).found); }

  // What comes of a frame; `ready` says when the responder takes.
  std::vector<Copy> receive(const RxDesc& desc, unsigned ready_every = 1) {
    offer(desc);
    std::vector<Copy> copies;
    bool taken = false;
    unsigned cycles = 0;
    wait_for("the last copy", 4 * EXRNIC_MAX_ATTACHED * ready_every, [&] {
      dut().desc_ready_i = cycles++ % ready_every == 0;
      settle();
      if (dut().desc_valid_o && dut().desc_ready_i) {
        const auto out = unpack<RxDesc>(dut().desc_o);
        CHECK(out.seq == desc.seq);
        const uint32_t group = desc.dst_qpn - EXRNIC_GROUP_QPN;
        CHECK(out.to_group == (desc.datagram && group <= EXRNIC_GROUP_MAX));
        CHECK(out.group == (out.to_group ? group : 0));
        copies.push_back({out.dst_qpn, out.more});
        taken = dut().desc_ready_o;
      }
      if (taken) withdraw();
      return taken;
    });
    cycles_taken = cycles;
    return copies;
  }
  void offer(const RxDesc& desc) {
    pack(dut().desc_i, desc);
    dut().desc_valid_i = 1;
    settle();
  }

  int copies() {
    CHECK(events_.sum() == events_[EXRNIC_COUNTER_GROUP_COPIES]);
    return events_[EXRNIC_COUNTER_GROUP_COPIES];
  }
  bool knows(uint32_t group) {
    bool known[2];
    for (unsigned asker = 0; asker < 2; ++asker) {
      dut().look_i = 1u << asker;
      dut().look_group_i[asker] = group;
      settle();
      known[asker] = dut().known_o[asker];
      CHECK_FALSE(dut().known_o[1 - asker]);
    }
    dut().look_i = 0;
    CHECK(known[0] == known[1]);
    return known[0];
  }
  unsigned cycles_taken = 0;  // by receive()
  bool idle() { return dut().idle_o; }
  bool offers() { return dut().desc_valid_o; }
  void cycle() {
    settle();
    events_.sample();
    tick();
    settle();
  }

 private:
  void withdraw() {
    cycle();
    dut().desc_valid_i = dut().desc_ready_i = 0;
    settle();
  }
  Events<Vgroups> events_{dut()};
};

TEST_CASE("Of a datagram to a group each attached queue pair gets a copy, and no other") {
  for (const unsigned ready_every : {1u, 3u}) {
    Groups groups;
    groups.attach(kGroup, 7);
    groups.attach(kGroup + 1, 8);
    groups.attach(kGroup, 9);
    groups.attach(kGroup + 1, 7);
    groups.attach(kGroup, 0x3ff);
    const std::vector<Copy> expected = {{7, true}, {9, true}, {0x3ff, false}};
    CHECK(groups.receive(datagram(EXRNIC_GROUP_QPN + kGroup, 1), ready_every) == expected);
    const std::vector<Copy> others = {{8, true}, {7, false}};
    CHECK(groups.receive(datagram(EXRNIC_GROUP_QPN + kGroup + 1, 2), ready_every) == others);
    CHECK(groups.copies() == 3);
    CHECK(groups.idle());
  }
}

TEST_CASE("It is not idle while a frame or a change waits") {
  Groups groups;
  CHECK(groups.idle());
  groups.dut().desc_valid_i = 1;
  groups.settle();
  CHECK_FALSE(groups.idle());
  groups.dut().desc_valid_i = 0;
  groups.dut().valid_i = 1;
  groups.settle();
  CHECK_FALSE(groups.idle());
}

TEST_CASE("Copies leave one a cycle, wherever their entries are") {
  Groups groups;
  for (unsigned i = 0; i < EXRNIC_MAX_ATTACHED; ++i) groups.attach(i % 2 ? kGroup : kGroup + i, i);
  CHECK(groups.receive(datagram(EXRNIC_GROUP_QPN + kGroup)).size() == EXRNIC_MAX_ATTACHED / 2 + 1);
  CHECK(groups.cycles_taken == EXRNIC_MAX_ATTACHED / 2 + 1);
  CHECK(groups.receive(datagram(EXRNIC_GROUP_QPN + kGroup + 62)).size() == 1);
  CHECK(groups.cycles_taken == 1);
}

TEST_CASE("It is known whether a queue pair is attached to a group") {
  Groups groups;
  CHECK_FALSE(groups.knows(0));
  groups.attach(kGroup, 7);
  CHECK(groups.knows(kGroup));
  CHECK_FALSE(groups.knows(kGroup + 1));
  groups.change(kForget, 0, 7);
  CHECK_FALSE(groups.knows(kGroup));
}

TEST_CASE("A datagram to a group without a queue pair stays as it is") {
  Groups groups;
  groups.attach(kGroup, 7);
  const std::vector<Copy> expected = {{EXRNIC_GROUP_QPN, false}};
  CHECK(groups.receive(datagram(EXRNIC_GROUP_QPN)) == expected);
  CHECK(groups.copies() == 0);
}

TEST_CASE("What is for no group goes through at once") {
  Groups groups;
  groups.attach(7, 9);
  RxDesc reliable;
  reliable.dst_qpn = EXRNIC_GROUP_QPN + 7;
  for (const RxDesc& desc : {datagram(7), datagram(EXRNIC_GROUP_QPN - 1),
                             datagram(EXRNIC_GROUP_QPN + EXRNIC_GROUP_MAX + 1), reliable}) {
    const std::vector<Copy> expected = {{desc.dst_qpn, false}};
    groups.offer(desc);
    CHECK(groups.offers());
    CHECK(groups.receive(desc) == expected);
  }
}

TEST_CASE("A queue pair is attached to a group once, and detached once") {
  Groups groups;
  CHECK(groups.change(kDetach, kGroup, 7).found == false);
  groups.attach(kGroup, 7);
  CHECK(groups.change(kAttach, kGroup, 7).found);
  CHECK(groups.change(kDetach, kGroup, 8).found == false);
  CHECK(groups.change(kDetach, kGroup, 7).found);
  CHECK(groups.change(kDetach, kGroup, 7).found == false);
  CHECK(groups.receive(datagram(EXRNIC_GROUP_QPN + kGroup)).size() == 1);
  groups.attach(kGroup, 7);
}

TEST_CASE("There are so many places, and those of a destroyed queue pair are free again") {
  Groups groups;
  for (unsigned i = 0; i < EXRNIC_MAX_ATTACHED; ++i) groups.attach(i, i % 2);
  CHECK(groups.change(kAttach, kGroup, 7).full);
  CHECK(groups.receive(datagram(EXRNIC_GROUP_QPN + kGroup)).front().qpn ==
        EXRNIC_GROUP_QPN + kGroup);
  CHECK(groups.receive(datagram(EXRNIC_GROUP_QPN + EXRNIC_MAX_ATTACHED - 1)).front().qpn == 1);
  CHECK(groups.change(kForget, 0, 1).found);
  for (unsigned i = 0; i < EXRNIC_MAX_ATTACHED / 2; ++i) {
    CHECK(groups.receive(datagram(EXRNIC_GROUP_QPN + 2 * i)).front().qpn == 0);
    groups.attach(kGroup, 100 + i);
  }
  CHECK(groups.change(kAttach, kGroup, 7).full);
  CHECK(groups.receive(datagram(EXRNIC_GROUP_QPN + kGroup)).size() == EXRNIC_MAX_ATTACHED / 2);
}

TEST_CASE("A queue pair that is detached while a copy for it waits gets none") {
  for (const Op op : {kDetach, kForget}) {
    Groups groups;
    groups.attach(kGroup, 7);
    groups.attach(kGroup, 8);
    groups.offer(datagram(EXRNIC_GROUP_QPN + kGroup));
    for (unsigned i = 0; i < 4; ++i) groups.cycle();  // the copy for 7 waits
    CHECK(groups.offers());
    CHECK(groups.change(op, kGroup, 7).found);
    const std::vector<Copy> expected = {{8, false}};
    CHECK(groups.receive(datagram(EXRNIC_GROUP_QPN + kGroup)) == expected);
  }
}

}  // namespace
}  // namespace exrnic::testing
