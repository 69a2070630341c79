// SPDX-License-Identifier: BSD-2-Clause
#include "tools/bench/limits.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>

namespace exrnic::bench {
namespace {

using Catch::Matchers::WithinRel;

TEST_CASE("with 25 Gb/s Ethernet a full frame carries 1024 of 1112 bytes of line time") {
  CHECK_THAT(push_limit(load_profile("dc-25g"), 1024, 1 << 20),
             WithinRel(25e9 / 8 * 1024 / 1112, 1e-9));
}

TEST_CASE("a message has four bytes of header more in each frame than a PUSH") {
  CHECK_THAT(send_limit(load_profile("dc-25g"), 1024, 1 << 20),
             WithinRel(25e9 / 8 * 1024 / 1116, 1e-9));
}

TEST_CASE("on a 528 MB/s bus posted writes of 256 bytes are the limit") {
  CHECK_THAT(push_limit(load_profile("rhinet2"), 1024, 4096), WithinRel(528e6 * 256 / 280, 1e-9));
}

TEST_CASE("a message shorter than the MPS pays the overhead of one TLP") {
  CHECK_THAT(push_limit(load_profile("rhinet2"), 1024, 64), WithinRel(528e6 * 64 / 88, 1e-9));
}

TEST_CASE("across PEBs each TLP is a frame, with 108 bytes of line time around its payload") {
  // Ethernet, EFE and DDP 68, limits 4, header of the TLP 12, FCS 4, preamble and gap 20
  CHECK_THAT(peb_limit(load_profile("dc-25g")), WithinRel(25e9 / 8 * 256 / (256 + 108), 1e-9));
}

TEST_CASE("a message and its answer pass each line and switch once in each direction") {
  // 2 * (2 * 150 on the bus + 2 * 50 on lines + 200 in the switch + 64 bytes at 528 MB/s * 64/88)
  CHECK_THAT(round_trip_limit_ns(load_profile("rhinet2"), 1024, 64),
             WithinRel(2 * (600 + 88e3 / 528), 1e-9));
}

TEST_CASE("a register load takes the host's part and two packets of 24 bytes") {
  CHECK_THAT(load_limit_ns(load_profile("expether-gbe")), WithinRel(120 + 400 + 48, 1e-9));
}

}  // namespace
}  // namespace exrnic::bench
