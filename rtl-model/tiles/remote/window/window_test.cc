// SPDX-License-Identifier: BSD-2-Clause
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cstring>
#include <random>
#include <vector>

#include "Vwindow.h"
#include "rtl-model/testing/bench.h"
#include "rtl-model/testing/neighbours.h"

namespace exrnic::testing {
namespace {

constexpr uint64_t kAllOnes = UINT64_MAX;
constexpr unsigned kIndex = 5;
constexpr unsigned kCombineCycles = 12;
constexpr unsigned kLoadCycles = 40;
constexpr int kLimit = 100;  // cycles for anything here
constexpr uint32_t kWindowSize = 1 << EXRNIC_WINDOW_SHIFT_MIN;

struct Entry {
  uint8_t access = EXRNIC_WINDOW_ACCESS_STORE | EXRNIC_WINDOW_ACCESS_LOAD;
  uint16_t qpn = 0x123;
  uint16_t generation = 7;
  uint32_t stag = 0xabcd'ef01;
  uint64_t base = 0x7000'0000'1003;
  uint32_t length = kWindowSize;

  template <typename Visit>
  void fields(Visit&& visit) {
    visit(access, 2), visit(qpn, kQpnBits), visit(generation, 16), visit(stag, 32);
    visit(base, 64), visit(length, EXRNIC_WINDOW_SHIFT_MAX + 1);
  }
};

struct Answer {
  uint16_t qpn = 0;
  uint64_t token = 0;
  uint16_t length = 0;
  uint64_t data = 0;

  template <typename Visit>
  void fields(Visit&& visit) {
    visit(qpn, kQpnBits), visit(token, 64), visit(length, kChunkBits), visit(data, 64);
  }
};

// The block, somebody who takes what leaves, and a processor.
class Window : public Bench<Vwindow> {
 public:
  explicit Window(unsigned shift = EXRNIC_WINDOW_SHIFT_MIN) : events(dut()), shift_(shift) {
    dut().enable_i = 1;
    dut().window_shift_i = shift;
    dut().quiesce_i = dut().valid_i = dut().flush_i = dut().entry_we_i = dut().look_i = 0;
    dut().item_refused_i = dut().item_loads_i = dut().answer_valid_i = dut().failed_valid_i = 0;
    dut().combine_cycles_i = kCombineCycles;
    dut().load_cycles_i = kLoadCycles;
    reset();
    set(kIndex, {});
  }

  void cycle() override {
    dut().item_ready_i = takes;
    settle();
    events.sample();
    if (dut().item_valid_o && dut().item_ready_i) items.push_back(unpack<WindowItem>(dut().item_o));
    if (dut().rsp_valid_o) answers.push_back(dut().rsp_data_o);
    tick();
    settle();
  }
  void cycles(unsigned count) {
    for (unsigned i = 0; i < count; ++i) cycle();
  }

  void set(unsigned index, const Entry& entry) {
    pack(dut().entry_i, entry);
    dut().entry_index_i = index;
    pulse(dut().entry_we_i);
  }
  void begin(bool write, uint64_t offset, unsigned size, uint64_t data = 0,
             unsigned index = kIndex) {
    dut().valid_i = 1;
    dut().write_i = write;
    dut().address_i = static_cast<uint32_t>((uint64_t{index} << shift_) + offset);
    dut().size_i = size;
    dut().data_i = data;
    settle();
  }
  void access(bool write, uint64_t offset, unsigned size, uint64_t data = 0,
              unsigned index = kIndex) {
    begin(write, offset, size, data, index);
    wait_for("ready_o", kLimit, [&] { return dut().ready_o != 0; });
    cycle();
    dut().valid_i = 0;
    settle();
  }
  void store(uint64_t offset, unsigned size, uint64_t data, unsigned index = kIndex) {
    access(true, offset, size, data, index);
  }
  void load(uint64_t offset, unsigned size, unsigned index = kIndex) {
    access(false, offset, size, 0, index);
  }
  // What the load that waits gets for the one that was asked.
  void answer(uint64_t data) {
    answer({items.back().qpn, items.back().token, items.back().length, data});
  }
  void answer(const Answer& answer) {
    pack(dut().answer_i, answer);
    pulse(dut().answer_valid_i);
  }
  void fail(unsigned which, uint16_t qpn) {
    dut().failed_qpn_i[which] = qpn;
    dut().failed_valid_i = 1u << which;
    cycle();
    dut().failed_valid_i = 0;
  }
  bool has_windows(uint16_t qpn, uint16_t generation) {
    dut().look_qpn_i = qpn;
    dut().look_generation_i = generation;
    pulse(dut().look_i);
    return dut().has_windows_o;
  }
  void refuse(bool load) {
    dut().item_loads_i = load;
    pulse(dut().item_refused_i);
  }
  void rest() {
    wait_for("idle_o", kLimit, [&] { return dut().idle_o != 0; });
  }
  // Since it was asked last, when all is over.
  std::vector<uint64_t> loaded() {
    rest();
    return std::exchange(answers, {});
  }

  bool takes = true;  // what leaves is taken
  std::vector<WindowItem> items;
  std::vector<uint64_t> answers;
  Events<Vwindow> events;

 private:
  unsigned shift_;

  template <typename Port>
  void pulse(Port& port) {
    port = 1;
    cycle();
    port = 0;
    settle();
  }
};

uint64_t value_of(const WindowItem& item) {
  uint64_t value;
  std::memcpy(&value, item.data.data(), sizeof value);
  return value;
}

// ---- Stores

TEST_CASE("A store leaves when COMBINE_CYCLES are over: by its entry, with its bytes alone") {
  const unsigned size = GENERATE(1u, 2u, 4u, 8u);
  Window window;
  window.store(16, size, 0x8877'6655'4433'2211);
  window.cycles(kCombineCycles);
  CHECK(window.items.empty());
  CHECK_FALSE(window.dut().empty_o);
  window.rest();
  REQUIRE(window.items.size() == 1);
  const WindowItem& item = window.items[0];
  const Entry entry;
  CHECK_FALSE(item.load);
  CHECK(item.window == kIndex);
  CHECK(item.qpn == entry.qpn);
  CHECK(item.generation == entry.generation);
  CHECK(item.stag == entry.stag);
  CHECK(item.to == entry.base + 16);
  CHECK(item.length == size);
  const uint64_t mask = size == 8 ? kAllOnes : (uint64_t{1} << (8 * size)) - 1;
  CHECK(value_of(item) == (0x8877'6655'4433'2211 & mask));
  CHECK(window.events[EXRNIC_COUNTER_WINDOW_STORES] == 1);
}

TEST_CASE("Stores of any size that go on where the last ended leave together, up to COMBINE_MAX") {
  Window window;
  uint64_t offset = 8;
  std::vector<uint8_t> bytes;
  for (unsigned i = 0; bytes.size() < EXRNIC_COMBINE_MAX; ++i) {
    unsigned size = 1u << i % 4;
    while (offset % size != 0 || bytes.size() + size > EXRNIC_COMBINE_MAX) size /= 2;
    const uint64_t data = 0x0101'0101'0101'0101 * (i + 1);
    window.store(offset, size, data);
    bytes.insert(bytes.end(), size, static_cast<uint8_t>(i + 1));
    offset += size;
  }
  window.store(offset, 1, 0xff);
  window.rest();
  REQUIRE(window.items.size() == 2);
  CHECK(window.items[0].length == EXRNIC_COMBINE_MAX);
  CHECK(std::equal(bytes.begin(), bytes.end(), window.items[0].data.begin()));
  CHECK(window.items[1].length == 1);
  CHECK(window.items[1].to == Entry().base + offset);
}

TEST_CASE("A store that is no neighbour leaves behind those before it, by itself") {
  Window window;
  Entry other;
  other.qpn = 9;
  window.set(kIndex + 1, other);
  window.store(0, 8, 1);
  SECTION("a gap") { window.store(16, 8, 2); }
  SECTION("backwards") { window.store(0, 8, 2); }
  SECTION("overlapping") { window.store(4, 4, 2); }
  SECTION("in another window") { window.store(8, 8, 2, kIndex + 1); }
  window.rest();
  REQUIRE(window.items.size() == 2);
  CHECK(value_of(window.items[0]) == 1);
  CHECK(value_of(window.items[1]) == 2);
}

TEST_CASE("Stores leave at once for what waits behind them") {
  Window window;
  window.dut().combine_cycles_i = EXRNIC_COMBINE_CYCLES_MAX;
  window.store(0, 8, 1);
  SECTION("a flush") { window.dut().flush_i = 1; }
  SECTION("a load") { window.begin(false, 64, 8); }
  SECTION("another store") { window.begin(true, 64, 8); }
  window.cycle();
  CHECK(window.items.size() == 1);
}

TEST_CASE("Stores that cannot leave are kept, and hold back those behind") {
  Window window;
  window.takes = false;
  window.store(0, 8, 1);
  window.begin(true, 64, 8, 2);
  window.cycles(3 * kCombineCycles);
  CHECK_FALSE(window.dut().ready_o);
  window.takes = true;
  window.store(64, 8, 2);
  window.rest();
  REQUIRE(window.items.size() == 2);
  CHECK(value_of(window.items[0]) == 1);
  CHECK(value_of(window.items[1]) == 2);
}

// ---- What is not allowed

TEST_CASE("An access that the entry does not allow does nothing, reads as all ones, and counts") {
  const bool write = GENERATE(true, false);
  Window window;
  Entry entry;
  entry.length = 4096;
  window.set(kIndex, entry);
  uint64_t offset = 64;
  unsigned size = 8, index = kIndex;
  SECTION("past its length") { offset = 4096; }
  SECTION("over its end") {
    entry.length = 4092;
    window.set(kIndex, entry);
    offset = 4088;
  }
  SECTION("not aligned") { offset = 68; }
  SECTION("of no size") { size = 0; }
  SECTION("of a size that is none") { size = 3; }
  SECTION("in a window that is closed") { index = kIndex + 1; }
  SECTION("in one that was closed") { window.set(kIndex, {0, 0, 0, 0, 0, 0}); }
  SECTION("behind the last window") { index = EXRNIC_MAX_WINDOWS; }
  SECTION("without the right") {
    entry.access = write ? EXRNIC_WINDOW_ACCESS_LOAD : EXRNIC_WINDOW_ACCESS_STORE;
    window.set(kIndex, entry);
  }
  SECTION("of a core that is not enabled") { window.dut().enable_i = 0; }
  window.access(write, offset, size, 1, index);
  CHECK(window.loaded() == (write ? std::vector<uint64_t>{} : std::vector<uint64_t>{kAllOnes}));
  CHECK(window.items.empty());
  CHECK(window.events[EXRNIC_COUNTER_WINDOW_REFUSED] == 1);
}

TEST_CASE("The last bytes of an entry can be reached in every size") {
  const unsigned size = GENERATE(1u, 2u, 4u, 8u);
  Window window;
  window.store(kWindowSize - size, size, 1);
  window.rest();
  CHECK(window.items.size() == 1);
}

TEST_CASE("The windows share BAR 4, whatever size the board gives it") {
  const unsigned shift = GENERATE(20u, 23u, 26u);
  const uint32_t size = 1u << shift;
  Window window(shift);
  Entry entry;
  entry.length = size;
  window.set(EXRNIC_MAX_WINDOWS - 1, entry);
  window.store(size - 8, 8, 1, EXRNIC_MAX_WINDOWS - 1);
  window.rest();
  REQUIRE(window.items.size() == 1);
  CHECK(window.items[0].window == EXRNIC_MAX_WINDOWS - 1);
  CHECK(window.items[0].to == entry.base + size - 8);
  window.store(size, 8, 1, EXRNIC_MAX_WINDOWS - 3);  // the next one, which is closed
  --entry.length;
  window.set(EXRNIC_MAX_WINDOWS - 1, entry);
  window.store(size - 8, 8, 1, EXRNIC_MAX_WINDOWS - 1);
  window.rest();
  CHECK(window.items.size() == 1);
  CHECK(window.events[EXRNIC_COUNTER_WINDOW_REFUSED] == 2);
}

// ---- Loads

TEST_CASE("A load asks behind the stores before it, and gets what its peer answers") {
  Window window;
  window.store(0, 8, 1);
  window.load(24, 4);
  REQUIRE(window.items.size() == 2);
  const WindowItem& asked = window.items[1];
  CHECK_FALSE(window.items[0].load);
  CHECK(asked.load);
  CHECK(asked.to == Entry().base + 24);
  CHECK(asked.length == 4);
  CHECK(window.dut().loading_o);
  window.answer(0x1122'3344);
  CHECK(window.loaded() == std::vector<uint64_t>{0x1122'3344});
  CHECK_FALSE(window.dut().loading_o);
  CHECK(window.events[EXRNIC_COUNTER_WINDOW_LOADS] == 1);
  CHECK(window.events[EXRNIC_COUNTER_WINDOW_LOAD_ERRORS] == 0);
}

TEST_CASE("While a load waits no other is taken, but stores are") {
  Window window;
  window.load(0, 8);
  window.begin(false, 8, 8);
  window.cycles(5);
  CHECK_FALSE(window.dut().ready_o);
  window.store(16, 8, 1);
  CHECK(window.events[EXRNIC_COUNTER_WINDOW_STORES] == 1);
  window.answer(1);
  CHECK(window.loaded() == std::vector<uint64_t>{1});
}

TEST_CASE("What answers something else is no answer to the load that waits") {
  Window window;
  window.load(0, 8);
  const WindowItem asked = window.items[0];
  Answer answer{asked.qpn, asked.token, 8, 1};
  SECTION("of another queue pair") { answer.qpn ^= 1; }
  SECTION("of another load") { answer.token += uint64_t{1} << 32; }
  SECTION("of another length") { answer.length = 4; }
  window.answer(answer);
  CHECK(window.dut().loading_o);
  window.answer({asked.qpn, asked.token, 8, 2});
  CHECK(window.loaded() == std::vector<uint64_t>{2});
}

TEST_CASE("A load that is not answered reads as all ones; its window asks again when it was") {
  Window window;
  Entry other;
  other.qpn = 9;
  window.set(kIndex + 1, other);
  window.load(0, 8);
  const WindowItem asked = window.items[0];
  window.cycles(kLoadCycles - 1);
  CHECK(window.dut().loading_o);
  CHECK(window.loaded() == std::vector<uint64_t>{kAllOnes});
  window.load(0, 8);
  CHECK(window.loaded() == std::vector<uint64_t>{kAllOnes});
  CHECK(window.items.size() == 1);
  CHECK(window.events[EXRNIC_COUNTER_WINDOW_LOAD_ERRORS] == 2);

  window.load(0, 8, kIndex + 1);  // another window is not concerned
  window.answer(3);
  CHECK(window.loaded() == std::vector<uint64_t>{3});

  SECTION("the answer comes late") { window.answer({asked.qpn, asked.token, 8, 1}); }
  SECTION("the entry is set anew") { window.set(kIndex, {}); }
  CHECK(window.loaded().empty());
  window.load(0, 8);
  window.answer(2);
  CHECK(window.loaded() == std::vector<uint64_t>{2});
}

TEST_CASE("A late answer of another queue pair does not settle what a window is owed") {
  Window window;
  window.load(0, 8);
  const WindowItem asked = window.items[0];
  CHECK(window.loaded() == std::vector<uint64_t>{kAllOnes});
  window.answer({static_cast<uint16_t>(asked.qpn ^ 1), asked.token, 8, 1});
  window.load(0, 8);
  CHECK(window.loaded() == std::vector<uint64_t>{kAllOnes});
  CHECK(window.items.size() == 1);
}

TEST_CASE("A load ends at once, with all ones, when it can have no answer") {
  Window window;
  window.load(0, 8);
  SECTION("its queue pair fails") { window.fail(0, Entry().qpn); }
  SECTION("it fails elsewhere") { window.fail(1, Entry().qpn); }
  SECTION("its queue pair cannot send it") { window.refuse(true); }
  SECTION("its entry changes") { window.set(kIndex, {}); }
  window.cycles(2);
  CHECK_FALSE(window.dut().loading_o);  // which would be over later, too
  CHECK(window.loaded() == std::vector<uint64_t>{kAllOnes});
  CHECK(window.events[EXRNIC_COUNTER_WINDOW_LOAD_ERRORS] == 1);
}

TEST_CASE("A load goes on when something else fails") {
  Window window;
  window.load(0, 8);
  SECTION("another queue pair") { window.fail(0, Entry().qpn ^ 1); }
  SECTION("stores that cannot be sent") { window.refuse(false); }
  SECTION("another entry changes") { window.set(kIndex + 1, {}); }
  CHECK(window.dut().loading_o);
  window.answer(1);
  CHECK(window.loaded() == std::vector<uint64_t>{1});
}

// ---- Entries and rest

TEST_CASE("Stores that wait are dropped when their entry changes, and not when another does") {
  const bool own = GENERATE(true, false);
  Window window;
  window.store(0, 8, 1);
  window.set(own ? kIndex : kIndex + 1, {});
  window.rest();
  CHECK(window.items.size() == (own ? 0 : 1));
  CHECK(window.events[EXRNIC_COUNTER_WINDOW_REFUSED] == (own ? 1 : 0));
}

TEST_CASE("While the core is brought to rest nothing is taken, and nothing leaves") {
  Window window;
  window.store(0, 8, 1);
  window.dut().quiesce_i = 1;
  window.dut().flush_i = 1;
  window.begin(true, 8, 8, 2);
  window.cycles(2 * kCombineCycles);
  CHECK_FALSE(window.dut().ready_o);
  CHECK(window.items.empty());
  window.dut().quiesce_i = 0;
  window.dut().flush_i = 0;
  window.store(8, 8, 2);
  window.rest();
  CHECK(window.items.size() == 2);
}

TEST_CASE("Random stores and loads leave in order, each byte where the access put it") {
  const auto seed = GENERATE(1u, 2u, 3u);
  INFO("seed " << seed);
  std::mt19937 random(seed);
  Window window;
  constexpr size_t kBytes = 256;
  std::vector<uint8_t> expected(kBytes), memory(kBytes);
  size_t applied = 0;
  const auto apply = [&] {
    for (; applied < window.items.size(); ++applied) {
      const WindowItem& item = window.items[applied];
      if (item.load) continue;
      REQUIRE(item.length <= EXRNIC_COMBINE_MAX);
      std::copy_n(item.data.begin(), item.length,
                  memory.begin() + static_cast<ptrdiff_t>(item.to - Entry().base));
    }
  };
  uint64_t next = 0;
  for (unsigned i = 0; i < 2000; ++i) {
    window.takes = random() % 3 != 0;
    const unsigned size = 1u << random() % 4;
    uint64_t offset = random() % (kBytes / size) * size;
    if (random() % 2 && next % size == 0 && next + size <= kBytes) offset = next;
    if (random() % 16 == 0) {
      window.takes = true;
      window.load(offset, size);
      apply();
      REQUIRE(memory == expected);  // all stores before it have left
      window.answer(i);
      REQUIRE(window.loaded() == std::vector<uint64_t>{i});
      continue;
    }
    const uint64_t data = uint64_t{random()} << 32 | random();
    window.begin(true, offset, size, data);
    for (int waited = 0; !window.dut().ready_o; ++waited) {
      REQUIRE(waited < kLimit);
      window.takes = random() % 3 != 0;
      window.cycle();
    }
    window.cycle();
    window.dut().valid_i = 0;
    for (unsigned b = 0; b < size; ++b)
      expected[offset + b] = static_cast<uint8_t>(data >> (8 * b));
    next = offset + size;
    window.cycles(random() % 8 == 0 ? random() % 20 : 0);
  }
  window.takes = true;
  window.rest();
  apply();
  CHECK(memory == expected);
}

TEST_CASE("Of a queue pair it is known whether it has an open window") {
  Window window;
  const Entry entry;
  window.set(EXRNIC_MAX_WINDOWS - 1, entry);
  CHECK(window.has_windows(entry.qpn, entry.generation));
  CHECK_FALSE(window.has_windows(entry.qpn + 1, entry.generation));
  CHECK_FALSE(window.has_windows(entry.qpn, entry.generation + 1));  // another of that number
  Entry closed;
  closed.access = 0;
  window.set(kIndex, closed);
  CHECK(window.has_windows(entry.qpn, entry.generation));
  window.set(EXRNIC_MAX_WINDOWS - 1, closed);
  CHECK_FALSE(window.has_windows(entry.qpn, entry.generation));
}

}  // namespace
}  // namespace exrnic::testing
