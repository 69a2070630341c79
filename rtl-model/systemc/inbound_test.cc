// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/systemc/inbound.h"

#include <catch2/catch_test_macros.hpp>
#include <string>

namespace exrnic {
namespace {

struct Tag {
  int tag;
};

MmioAccess access(uint32_t offset) { return {EXRNIC_BAR_USER, offset, 8, 0}; }

// What a core gets that takes all it can, loads last: s(tore), c(ompletion), l(oad).
std::string taken(Inbound<Tag>& inbound) {
  std::string order;
  for (;;) {
    if (inbound.next_completion() != nullptr) {
      order += 'c' + std::to_string(inbound.next_completion()->tag);
      inbound.take_completion();
    } else if (inbound.next_store() != nullptr) {
      order += 's' + std::to_string(inbound.next_store()->offset);
      inbound.take_store();
    } else if (inbound.next_load() != nullptr) {
      order += 'l' + std::to_string(inbound.next_load()->offset);
      inbound.take_load();
    } else {
      return order;
    }
  }
}

TEST_CASE("a completion passes no store that came before it, whatever that is for") {
  Inbound<Tag> inbound;
  inbound.store(access(1));
  inbound.store({EXRNIC_BAR_WINDOW, 2, 8, 0});
  inbound.completion({3});
  inbound.store(access(4));
  CHECK(inbound.next_completion() == nullptr);
  inbound.take_store();
  CHECK(inbound.next_completion() == nullptr);
  CHECK(taken(inbound) == "s2c3s4");
  CHECK(inbound.empty());
}

TEST_CASE("a load waits for the stores that came before it, and for nothing else") {
  Inbound<Tag> inbound;
  inbound.completion({0});
  inbound.load(access(1));
  CHECK(inbound.next_load() != nullptr);
  inbound.store(access(2));
  inbound.load(access(3));
  CHECK(inbound.next_load() != nullptr);
  inbound.take_load();
  CHECK(inbound.next_load() == nullptr);
  inbound.take_store();
  CHECK(inbound.next_load() != nullptr);
}

TEST_CASE("whatever comes passes a load that is not taken") {
  Inbound<Tag> inbound;
  inbound.load(access(1));
  inbound.store(access(2));
  inbound.completion({3});
  inbound.store(access(4));
  CHECK(taken(inbound) == "s2c3s4l1");
}

TEST_CASE("behind a reset nothing is left, and nothing waits for what was before") {
  Inbound<Tag> inbound;
  inbound.store(access(1));
  inbound.completion({2});
  inbound.load(access(3));
  inbound.clear();
  CHECK(inbound.empty());
  inbound.store(access(4));
  inbound.completion({5});
  inbound.load(access(6));
  CHECK(taken(inbound) == "s4c5l6");
}

}  // namespace
}  // namespace exrnic
