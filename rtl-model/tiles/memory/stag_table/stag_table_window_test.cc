// SPDX-License-Identifier: BSD-2-Clause
// Memory windows: what they are bound to, and for whom.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "rtl-model/tiles/memory/stag_table/stag_table_bench.h"

namespace exrnic::testing {
namespace {

constexpr MwBinding kBinding{0x1234, 0xbeef, 77, 0xcafe};

// As the driver makes it: it is not bound.
Mr unbound_window() {
  Mr window;
  window.valid = window.invalidated = true;
  window.kind = EXRNIC_REGION_KIND_MEMORY_WINDOW;
  window.pd = 7;
  return window;
}

Access window_bind() {
  Access access = example_access();
  access.binds = true;
  access.pbl_address = in_entry(kBinding);
  return access;
}

// By the peer of the queue pair to which it is bound.
Access window_access() {
  Access access = example_access();
  access.qpn = kBinding.qpn;
  access.generation = kBinding.generation;
  return access;
}

TEST_CASE("A memory window is what a bind says, until it is invalidated") {
  StagTable table;
  table.write(kExampleIndex, unbound_window());
  CHECK(table.look_up(window_access()).status == kXlateStag);
  CHECK(table.look_up(window_bind()).status == kXlateOk);
  const Answer answer = table.look_up(window_access());
  CHECK(answer.status == kXlateOk);
  CHECK(answer.window);
  CHECK(answer.pbl_address == in_entry(kBinding));
  CHECK(table.look_up(window_bind()).status == kXlateStag);  // it is bound
  CHECK(table.look_up(invalidation()).status == kXlateOk);
  CHECK(table.look_up(window_access()).status == kXlateStag);
  Access again = window_bind();
  again.stag ^= 0xff;  // the key is the work request's
  CHECK(table.look_up(again).status == kXlateOk);
  CHECK(table.look_up(window_access()).status == kXlateStag);
}

TEST_CASE("A memory window is for peers of its queue pair alone, within its bytes and rights") {
  StagTable table;
  table.write(kExampleIndex, unbound_window());
  REQUIRE(table.look_up(window_bind()).status == kXlateOk);
  Access access = window_access();
  XlateStatus status = kXlateStream;
  SECTION("another queue pair") { ++access.qpn; }
  SECTION("a later life of it") { ++access.generation; }
  SECTION("another domain") { ++access.pd; }
  SECTION("own work, which reads") { access.access = 0, status = kXlateAccess; }
  SECTION("own work, which writes") {
    access.access = EXRNIC_ACCESS_LOCAL_WRITE, status = kXlateAccess;
  }
  SECTION("another right") { access.access = EXRNIC_ACCESS_REMOTE_WRITE, status = kXlateAccess; }
  SECTION("a bind to it") { access.access = EXRNIC_ACCESS_MW_BIND, status = kXlateAccess; }
  SECTION("a byte more") { ++access.length, status = kXlateBounds; }
  SECTION("a byte before") { --access.to, status = kXlateBounds; }
  SECTION("around the end of all") { access.length = kTop, status = kXlateWrap; }
  CHECK(table.look_up(access).status == status);
}

TEST_CASE("Peers of other queue pairs do not invalidate a memory window; whose it is does") {
  StagTable table;
  table.write(kExampleIndex, unbound_window());
  Access bind = window_bind();
  bind.access = GENERATE(EXRNIC_ACCESS_REMOTE_READ, EXRNIC_ACCESS_REMOTE_ATOMIC, 0);
  REQUIRE(table.look_up(bind).status == kXlateOk);
  Access of_peer = invalidation(EXRNIC_ACCESS_REMOTE_READ | EXRNIC_ACCESS_REMOTE_WRITE);
  of_peer.qpn = kBinding.qpn;
  of_peer.generation = kBinding.generation;
  SECTION("another one's peer") {
    ++of_peer.qpn;
    CHECK(table.look_up(of_peer).status == kXlateStream);
    Access access = window_access();
    access.access = bind.access;
    CHECK(table.look_up(access).status == (bind.access == 0 ? kXlateAccess : kXlateOk));
  }
  SECTION("its peer") { CHECK(table.look_up(of_peer).status == kXlateOk); }
  SECTION("own work of another one") { CHECK(table.look_up(invalidation()).status == kXlateOk); }
}

Mr unbound_domain_window() {
  Mr window = unbound_window();
  window.kind = EXRNIC_REGION_KIND_DOMAIN_WINDOW;
  return window;
}

TEST_CASE("A window of the domain is for peers of all its queue pairs, and the last bind counts") {
  StagTable table;
  table.write(kExampleIndex, unbound_domain_window());
  Access access = window_access();
  CHECK(table.look_up(access).status == kXlateStag);
  REQUIRE(table.look_up(window_bind()).status == kXlateOk);
  SECTION("that one") {}
  SECTION("another queue pair") { ++access.qpn; }
  SECTION("a later life of it") { ++access.generation; }
  const Answer answer = table.look_up(access);
  CHECK(answer.status == kXlateOk);
  CHECK(answer.window);
  CHECK(answer.pbl_address == in_entry(kBinding));
  Access of_another_domain = access;
  ++of_another_domain.pd;
  CHECK(table.look_up(of_another_domain).status == kXlateStream);
  Access own = access;
  own.access = 0;
  CHECK(table.look_up(own).status == kXlateAccess);
  Access again = window_bind();
  again.stag ^= 0xff;
  again.length -= 1;
  CHECK(table.look_up(again).status == kXlateOk);
  CHECK(table.look_up(access).status == kXlateStag);
  access.stag ^= 0xff;
  CHECK(table.look_up(access).status == kXlateBounds);
  access.length -= 1;
  CHECK(table.look_up(access).status == kXlateOk);
  again.pd = 8;
  CHECK(table.look_up(again).status == kXlateStream);
}

TEST_CASE("A window of the domain is ended by own work, whatever its key, and by no peer") {
  StagTable table;
  table.write(kExampleIndex, unbound_domain_window());
  CHECK(table.look_up(invalidation()).status == kXlateOk);  // it is not bound
  REQUIRE(table.look_up(window_bind()).status == kXlateOk);
  Access of_peer = invalidation(EXRNIC_ACCESS_REMOTE_READ | EXRNIC_ACCESS_REMOTE_WRITE);
  of_peer.qpn = kBinding.qpn;
  of_peer.generation = kBinding.generation;
  CHECK(table.look_up(of_peer).status == kXlateAccess);
  CHECK(table.look_up(window_access()).status == kXlateOk);
  Access own = invalidation();
  SECTION("with its key") {}
  SECTION("with another one") { own.stag ^= 0xff; }
  SECTION("of another domain") {
    own.pd = 8;
    CHECK(table.look_up(own).status == kXlateStream);
    CHECK(table.look_up(window_access()).status == kXlateOk);
    own.pd = 7;
  }
  CHECK(table.look_up(own).status == kXlateOk);
  CHECK(table.look_up(window_access()).status == kXlateStag);
}

TEST_CASE("What is no memory window, of the domain and not bound, is not bound") {
  StagTable table;
  Mr window = unbound_window();
  XlateStatus status = kXlateStag;
  SECTION("a region") { window.kind = EXRNIC_REGION_KIND_MEMORY; }
  SECTION("one that work requests register") { window.kind = EXRNIC_REGION_KIND_FAST; }
  SECTION("it is bound") { window.invalidated = false; }
  SECTION("it does not exist") { window.valid = false; }
  SECTION("another domain") { window.pd = 8, status = kXlateStream; }
  table.write(kExampleIndex, window);
  CHECK(table.look_up(window_bind()).status == status);
  CHECK(table.read(kExampleIndex).length == 0);
}

TEST_CASE("A memory window is no region that is registered") {
  StagTable table;
  table.write(kExampleIndex, unbound_window());
  Access registration = window_bind();
  registration.binds = false;
  registration.registers = true;
  CHECK(table.look_up(registration).status == kXlateStag);
}

TEST_CASE("The region behind a memory window is that of one life, whatever its key") {
  StagTable table;
  Mr region = example_region();
  region.life = 0xbeef;
  region.access = EXRNIC_ACCESS_MW_BIND;
  XlateStatus status = kXlateOk;
  SECTION("that one") {}
  SECTION("a later one") { ++region.life, status = kXlateStag; }
  SECTION("256 lives later") { region.life += 256, status = kXlateStag; }
  SECTION("invalidated") { region.invalidated = true, status = kXlateStag; }
  SECTION("gone") { region.valid = false, status = kXlateStag; }
  SECTION("a memory window") {
    region.kind = EXRNIC_REGION_KIND_MEMORY_WINDOW, status = kXlateStag;
  }
  SECTION("a window of the domain") {
    region.kind = EXRNIC_REGION_KIND_DOMAIN_WINDOW, status = kXlateStag;
  }
  SECTION("of another domain") { ++region.pd, status = kXlateStream; }
  SECTION("without the right") { region.access = 0xf, status = kXlateAccess; }
  SECTION("less of it") { --region.length, status = kXlateBounds; }
  table.write(kExampleIndex, region);
  Access behind = example_access();
  behind.stag ^= 0xff;
  behind.behind = true;
  behind.life = 0xbeef;
  behind.access = EXRNIC_ACCESS_MW_BIND;
  CHECK(table.look_up(behind).status == status);
}

}  // namespace
}  // namespace exrnic::testing
