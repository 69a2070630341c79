// SPDX-License-Identifier: BSD-2-Clause
// TLPs as they are on the wire, and the order in which they may go.
#include "rtl-model/ref/peb/tlp.h"

#include <catch2/catch_test_macros.hpp>
#include <random>

#include "rtl-model/ref/peb/order_queue.h"

namespace exrnic::peb {
namespace {

constexpr Way kWay{0x0102, 0x0304};

std::optional<Tlp> decoded(const Bytes& bytes) { return decode(bytes.data(), bytes.size(), kWay); }

Tlp any(std::mt19937_64& random) {
  const auto below = [&](uint64_t end) { return random() % end; };
  const uint64_t address = (random() >> below(50)) / 4096 * 4096 + below(4096);
  const auto most = static_cast<uint32_t>(4096 - address % 4096);
  const auto tag = static_cast<uint8_t>(random());
  switch (below(5)) {
    case 0:
      return Write{address, Bytes(1 + below(std::min(most, 2048u)), 0x5a)};
    case 1:
      return Request{
          Request::Kind::kRead, tag, address, static_cast<uint32_t>(1 + below(most)), {}};
    case 2: {
      const auto length = static_cast<uint32_t>(1 + below(4 - address % 4));
      return Request{Request::Kind::kConfigRead, tag, address % 4096, length, {}};
    }
    case 3: {
      const auto length = static_cast<uint32_t>(1 + below(4 - address % 4));
      return Request{Request::Kind::kConfigWrite, tag, address % 4096, length, Bytes(length, 1)};
    }
    default: {
      const auto left = static_cast<uint32_t>(1 + below(2048));
      return Completion{tag, EXRNIC_COMPLETION_STATUS_SUCCESSFUL, left,
                        static_cast<uint8_t>(below(128)), Bytes(left, 7)};
    }
  }
}

// What of a queue may go, by flow, in the order in which it goes.
std::vector<int> order(const std::vector<Tlp>& tlps, std::array<bool, kFlows> may) {
  OrderQueue<Tlp> queue;
  for (Tlp tlp : tlps) queue.push(std::move(tlp));
  std::vector<int> taken;
  for (Tlp tlp; queue.take([&](const Tlp& each) { return may[flow_of(each)]; }, tlp);)
    taken.push_back(flow_of(tlp));
  return taken;
}

}  // namespace

TEST_CASE("TLP: a write is what PCIe says, bit for bit") {
  CHECK(encode(Write{0x1234'5679, {0xaa, 0xbb, 0xcc, 0xdd}}, kWay) ==
        Bytes{0x40, 0,    0,    2,    0x01, 0x02, 0, 0x1e, 0x12, 0x34, 0x56, 0x78,  // header
              0,    0xaa, 0xbb, 0xcc, 0xdd, 0,    0, 0});
  CHECK(encode(Write{0xfee0'0000, {1, 2, 3, 4}}, kWay) ==  // an interrupt
        Bytes{0x40, 0, 0, 1, 0x01, 0x02, 0, 0x0f, 0xfe, 0xe0, 0, 0, 1, 2, 3, 4});
}

TEST_CASE("TLP: requests and completions are what PCIe says, bit for bit") {
  CHECK(encode(Request{Request::Kind::kRead, 9, 0x1'0000'0000, 4096, {}}, kWay) ==
        Bytes{0x20, 0, 0, 0, 0x01, 0x02, 9, 0xff, 0, 0, 0, 1, 0, 0, 0, 0});
  CHECK(encode(Request{Request::Kind::kConfigRead, 3, 0x106, 2, {}}, kWay) ==
        Bytes{0x04, 0, 0, 1, 0x01, 0x02, 3, 0x0c, 0, 0, 0x01, 0x04});
  CHECK(encode(Request{Request::Kind::kConfigWrite, 3, 5, 1, {0x77}}, kWay) ==
        Bytes{0x44, 0, 0, 1, 0x01, 0x02, 3, 0x02, 0, 0, 0, 0x04, 0, 0x77, 0, 0});
  const Completion unsupported{8, EXRNIC_COMPLETION_STATUS_UNSUPPORTED, 4, 0, {}};
  CHECK(encode(unsupported, kWay) == Bytes{0x0a, 0, 0, 0, 0x01, 0x02, 0x20, 4, 0x03, 0x04, 8, 0});
  const Completion data{8, EXRNIC_COMPLETION_STATUS_SUCCESSFUL, 5, 0x43, {1, 2, 3, 4, 5}};
  CHECK(encode(data, kWay) == Bytes{0x4a, 0, 0, 2, 0x01, 0x02, 0, 5, 0x03, 0x04, 8, 0x43,  //
                                    0,    0, 0, 1, 2,    3,    4, 5});
}

TEST_CASE("TLP: what is encoded is decoded as it was, and nothing else is taken") {
  std::mt19937_64 random(1);
  for (unsigned i = 0; i < 20'000; ++i) {
    const Bytes bytes = encode(any(random), kWay);
    const auto tlp = decoded(bytes);
    if (!tlp || encode(*tlp, kWay) != bytes) FAIL("TLP " << i);
    Bytes other = bytes;
    for (unsigned n = 1 + random() % 3; n > 0; --n)
      other[random() % std::min<size_t>(other.size(), 16)] ^= 1 << random() % 8;
    if (random() % 4 == 0) other.resize(random() % (other.size() + 4));
    const auto changed = decoded(other);
    if (!changed) continue;
    const Bytes again = encode(*changed, kWay);
    if (again.size() != other.size() ||
        !std::equal(again.begin(), again.begin() + 12, other.begin()))
      FAIL("TLP " << i << " is taken for what it is not");
  }
}

TEST_CASE("TLP: what a PEB does not carry is refused") {
  const Bytes good = encode(Write{0x1000, {1, 2, 3, 4, 5, 6, 7, 8}}, kWay);
  const auto with = [&](size_t at, uint8_t value) {
    Bytes bytes = good;
    bytes[at] = value;
    return decoded(bytes).has_value();
  };
  CHECK(decoded(good));
  CHECK_FALSE(with(0, 0x42));  // an I/O write
  CHECK_FALSE(with(0, 0x74));  // a message
  CHECK_FALSE(with(1, 0x10));  // a traffic class
  CHECK_FALSE(with(2, 0x80));  // a digest
  CHECK_FALSE(with(2, 0x40));  // poison
  CHECK_FALSE(with(3, 3));     // more than there is
  CHECK_FALSE(with(5, 9));     // of another node
  CHECK_FALSE(with(7, 0xf0));  // no byte of the first DW
  CHECK_FALSE(with(7, 0x5f));  // a gap
  CHECK_FALSE(with(7, 0x0f));  // no byte of the last DW
  CHECK_FALSE(with(11, 1));    // low bits of the address
  CHECK_FALSE(decoded(Bytes(good.begin(), good.end() - 1)));
  CHECK_FALSE(decoded({}));
  // Over a boundary of 4 KiB; a long address for a low place; registers that are two.
  Bytes bytes = good;
  bytes[10] = 0x1f;
  bytes[11] = 0xfc;
  CHECK_FALSE(decoded(bytes));
  bytes = encode(Write{0x1'0000'0000, {1, 2, 3, 4}}, kWay);
  bytes[11] = 0;
  CHECK_FALSE(decoded(bytes));
  bytes = encode(Request{Request::Kind::kConfigRead, 3, 0x104, 4, {}}, kWay);
  bytes[3] = 2;
  bytes[7] = 0xff;
  CHECK_FALSE(decoded(bytes));
  bytes = encode(Request{Request::Kind::kConfigWrite, 3, 0x104, 4, {1, 2, 3, 4}}, kWay);
  bytes.resize(12);
  CHECK_FALSE(decoded(bytes));
}

TEST_CASE("TLP: the order is that of PCIe's table") {
  const Write p;
  const Request n;
  const Completion c;
  using Flows = std::vector<int>;
  constexpr std::array<bool, kFlows> kAll = {true, true, true};
  CHECK(order({n, p, c, n}, kAll) == Flows{kNonPosted, kPosted, kCompletions, kNonPosted});
  // Posted ones pass all others, and are passed by none.
  CHECK(order({n, c, p}, {true, false, false}) == Flows{kPosted});
  CHECK(order({p, n, c}, {false, true, true}).empty());
  // Completions pass requests, and the reverse.
  CHECK(order({n, c}, {true, false, true}) == Flows{kCompletions});
  CHECK(order({c, n}, {true, true, false}) == Flows{kNonPosted});
  CHECK(order({n, p, n, c}, {true, false, true}) == Flows{kPosted, kCompletions});
}

}  // namespace exrnic::peb
