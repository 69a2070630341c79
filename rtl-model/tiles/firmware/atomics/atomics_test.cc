// SPDX-License-Identifier: BSD-2-Clause
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <deque>
#include <map>
#include <random>
#include <vector>

#include "Vatomics.h"
#include "rtl-model/testing/bench.h"
#include "rtl-model/testing/neighbours.h"

namespace exrnic::testing {
namespace {

constexpr int kLimit = 2000;  // cycles for anything here
constexpr unsigned kPlaces = 8;
constexpr uint32_t kPd = 0x35;
constexpr uint32_t kStag = 0x4711'22;
constexpr uint64_t kWord = EXRNIC_ATOMIC_BYTES;

struct Wanted {  // an Atomic Request
  uint16_t qpn = 3;
  uint8_t operation = EXRNIC_ATOMIC_OPERATION_FETCH_ADD;
  uint64_t to = 0;
  uint64_t data = 1;
  uint64_t mask = 0;
  uint64_t compare = 0;
  uint64_t compare_mask = 0;
  uint32_t stag = kStag;
  bool read = false;  // an RDMA Read Request
};

struct Answered {
  uint16_t qpn;
  Read read;
  uint32_t request_id() const { return exrnic_atomic_response_request_id(read.request.data()); }
  uint64_t value() const { return exrnic_atomic_response_value(read.request.data()); }
};

// With translation, host memory and the queue of writes in front of it, which take their time.
class Atomics : public Bench<Vatomics> {
 public:
  explicit Atomics(uint32_t seed = 1) : xlate_(dut(), seed), random_(seed) {
    dut().quiesce_i = dut().clear_i = dut().look_i = dut().push_valid_i = dut().ended_i = 0;
    dut().xlate_let_go_i = 0;
    xlate_.answer = [this](const XlateReq& request) {
      asked.push_back(request);
      if (request.stag != kStag) return XlateRsp{refusal, 0, 0};
      return XlateRsp{kXlateOk, moved + request.to, request.length};
    };
    reset();
  }

  std::map<uint64_t, uint64_t> memory;  // words, when what was written is out
  uint64_t moved = 0x10'0000;           // where the region is
  XlateStatus refusal = kXlateStag;
  std::vector<XlateReq> asked;
  std::vector<Answered> answers;
  std::vector<uint16_t> woken;
  std::vector<uint64_t> reads, written;  // addresses
  bool answers_reads = true, writes_leave = true;
  bool lets_go = false;        // there are invalidations
  bool reads_at_once = false;  // the host answers later what it has read at once
  uint64_t bad = 0;            // a word that the host refuses to read
  unsigned most_reads = 0;
  uint32_t reserved = 0;  // of what is pushed, above the operation

  void cycle() override {
    xlate_.drive();
    drive_read();
    drive_writes();
    if (lets_go) dut().xlate_let_go_i = random_() % 8 == 0;
    dut().answer_ready_i = random_() % 2;
    dut().wake_ready_i = random_() % 2;
    settle();
    xlate_.sample();
    sample();
    tick();
    dut().push_valid_i = dut().clear_i = 0;
    settle();
  }
  void push(const Wanted& wanted) {
    wait_for("push_ready_o", kLimit, [&] { return dut().push_ready_o != 0; });
    Punt punt{};
    punt.atomic = !wanted.read;
    punt.qpn = wanted.qpn;
    punt.generation = 0x5151;
    punt.pd = kPd;
    punt.msn = ++pushed_;
    uint8_t* const payload = punt.payload.data();
    if (wanted.read) {
      punt.payload.fill(0x77);
    } else {
      for (int i = 0; i < 4; ++i) payload[i] = static_cast<uint8_t>(reserved >> (24 - 8 * i));
      exrnic_atomic_request_set_operation(payload, wanted.operation);
      exrnic_atomic_request_set_request_id(payload, pushed_);
      exrnic_atomic_request_set_stag(payload, wanted.stag);
      exrnic_atomic_request_set_to(payload, wanted.to);
      exrnic_atomic_request_set_data(payload, wanted.data);
      exrnic_atomic_request_set_mask(payload, wanted.mask);
      exrnic_atomic_request_set_compare(payload, wanted.compare);
      exrnic_atomic_request_set_compare_mask(payload, wanted.compare_mask);
    }
    pack(dut().push_i, punt);
    dut().push_valid_i = 1;
    cycle();
  }
  void translate(bool on) { xlate_.silent = !on; }
  void end() {
    wait_for("idle_o", kLimit, [&] { return dut().idle_o != 0; });
  }
  void rest() {
    dut().quiesce_i = 1;
    wait_for("quiescent_o", kLimit, [&] { return dut().quiescent_o != 0; });
    for (int i = 0; i < 5; ++i) cycle();
    CHECK(dut().quiescent_o);
  }
  unsigned count_of(uint16_t qpn, unsigned reader = 1) {
    dut().look_i = 1u << reader;
    dut().look_qpn_i[reader] = qpn;
    cycle();
    dut().look_i = 0;
    settle();
    return dut().count_o[reader];
  }
  uint64_t word(uint64_t to) { return memory[moved + to]; }
  void clear(uint16_t qpn) {
    dut().clear_qpn_i = qpn;
    dut().clear_i = 1;
    cycle();
  }

 private:
  struct Under {
    uint64_t address;
    uint32_t dst;
    uint64_t value;  // when it was asked for
  };
  void drive_read() {
    dut().read_ready_i = random_() % 2;
    dut().read_beat_valid_i = 0;
    if (!answers_reads || under_way_.empty() || random_() % 8 != 0) return;
    const Under under = under_way_.front();
    under_way_.pop_front();
    const uint64_t value = reads_at_once ? under.value : memory[under.address];
    DmaReadBeat beat;
    beat.dst = under.dst;
    beat.bytes = kWord;
    beat.error = under.address == bad;
    for (unsigned i = 0; i < kWord; ++i) beat.data[i] = static_cast<uint8_t>(value >> 8 * i);
    pack(dut().read_beat_i, beat);
    dut().read_beat_valid_i = 1;
  }
  void drive_writes() {
    dut().write_ready_i = queue_.size() < 4 && random_() % 2;
    dut().writes_ends_i = 0;
    leaves_ = writes_leave && !queue_.empty() && random_() % 4 == 0;
    dut().writes_ends_i = leaves_;
    dut().writes_waiting_i = static_cast<uint8_t>(queue_.size() - leaves_);
  }
  void sample() {
    if (leaves_) {
      memory[queue_.front().first] = queue_.front().second;
      queue_.pop_front();
    }
    if (dut().read_valid_o && dut().read_ready_i) {
      const auto request = unpack<DmaReadReq>(dut().read_req_o);
      CHECK(request.length == kWord);
      reads.push_back(request.address);
      under_way_.push_back(
          {request.address, static_cast<uint32_t>(request.dst), memory[request.address]});
      most_reads = std::max<unsigned>(most_reads, static_cast<unsigned>(under_way_.size()));
    }
    if (dut().write_valid_o && dut().write_ready_i) {
      const auto command = unpack<DmaWriteCmd>(dut().write_data_o);
      CHECK(command.length == kWord);
      uint64_t value = 0;
      for (unsigned i = 0; i < kWord; ++i) value |= uint64_t{command.data[i]} << 8 * i;
      queue_.emplace_back(command.address, value);
      written.push_back(command.address);
    }
    if (dut().answer_valid_o && dut().answer_ready_i)
      answers.push_back({static_cast<uint16_t>(dut().answer_qpn_o), unpack<Read>(dut().answer_o)});
    if (dut().wake_valid_o && dut().wake_ready_i)
      woken.push_back(static_cast<uint16_t>(dut().wake_data_o));
  }

  XlateModel<Vatomics> xlate_;
  std::mt19937 random_;
  std::deque<Under> under_way_;
  std::deque<std::pair<uint64_t, uint64_t>> queue_;  // of writes
  bool leaves_ = false;
  uint32_t pushed_ = 0;
};

TEST_CASE("A FetchAdd answers what was there, adds, and wakes its queue pair") {
  Atomics atomics;
  atomics.memory[atomics.moved + 16] = 0xfedc'ba98'7654'3210;
  atomics.push({.qpn = 9, .to = 16, .data = 5});
  atomics.end();
  REQUIRE(atomics.answers.size() == 1);
  const Answered& answer = atomics.answers[0];
  CHECK(answer.qpn == 9);
  CHECK(answer.read.answer == kAnswerAtomic);
  CHECK(answer.read.atomic);
  CHECK(answer.read.msn == 1);
  CHECK(answer.request_id() == 1);
  CHECK(answer.value() == 0xfedc'ba98'7654'3210);
  CHECK(atomics.woken == std::vector<uint16_t>{9});
  for (int i = 0; i < 100; ++i) atomics.cycle();
  CHECK(atomics.word(16) == 0xfedc'ba98'7654'3215);
  for (const XlateReq& request : atomics.asked) {
    CHECK(request.stag == kStag);
    CHECK(request.pd == kPd);
    CHECK(request.qpn == 9);
    CHECK(request.generation == 0x5151);
    CHECK(int{request.access} == EXRNIC_ACCESS_REMOTE_ATOMIC);
    CHECK(request.length == kWord);
  }
}

// RFC 7306, 5.1.1, bit by bit.
uint64_t masked_sum(uint64_t a, uint64_t b, uint64_t mask) {
  uint64_t sum = 0;
  unsigned carry = 0;
  for (unsigned bit = 0; bit < 64; ++bit) {
    const unsigned total = (a >> bit & 1) + (b >> bit & 1) + carry;
    sum |= uint64_t{total & 1} << bit;
    carry = (mask >> bit & 1) != 0 ? 0 : total >> 1;
  }
  return sum;
}

TEST_CASE("FetchAdd keeps carries within the fields of its mask") {
  constexpr uint32_t kSeed = 7306;
  INFO("seed " << kSeed);
  std::mt19937_64 random(kSeed);
  Atomics atomics;
  uint64_t value = 0;
  std::vector<uint64_t> olds;
  for (int i = 0; i < 200; ++i) {
    const uint64_t data = random(), mask = random() & random();
    atomics.push({.data = data, .mask = mask});
    olds.push_back(value);
    value = masked_sum(value, data, mask);
  }
  atomics.end();
  for (size_t i = 0; i < olds.size(); ++i) CHECK(atomics.answers.at(i).value() == olds[i]);
}

TEST_CASE("Reserved bits of an Atomic Request are ignored") {
  Atomics atomics;
  atomics.reserved = 0xffff'fff0;
  atomics.push({});
  atomics.end();
  REQUIRE(atomics.answers.size() == 1);
  CHECK(atomics.answers[0].read.answer == kAnswerAtomic);
}

TEST_CASE("A CompareSwap swaps the bits of its mask if those that it compares are equal") {
  constexpr uint64_t kOld = 0x1111'2222'3333'4444;
  const bool equal = GENERATE(true, false);
  Atomics atomics;
  atomics.memory[atomics.moved] = kOld;
  Wanted wanted;
  wanted.operation = EXRNIC_ATOMIC_OPERATION_COMPARE_SWAP;
  wanted.data = 0xaaaa'bbbb'cccc'dddd;
  wanted.mask = 0xffff'0000'ffff'0000;
  wanted.compare = equal ? 0x1111'9999'9999'9999 : 0x1112'2222'3333'4444;
  wanted.compare_mask = 0xffff'0000'0000'0000;
  atomics.push(wanted);
  atomics.end();
  for (int i = 0; i < 100; ++i) atomics.cycle();
  CHECK(atomics.answers.at(0).value() == kOld);
  CHECK(atomics.word(0) == (equal ? 0xaaaa'2222'cccc'4444 : kOld));
  CHECK(atomics.written.size() == (equal ? 1 : 0));  // what did not change is not written
}

TEST_CASE("Several read at a time, and are answered in their order") {
  Atomics atomics;
  atomics.answers_reads = false;
  for (unsigned i = 0; i < kPlaces; ++i) atomics.push({.to = 8 * i});
  for (int i = 0; i < 400; ++i) atomics.cycle();
  CHECK(atomics.most_reads == kPlaces);
  CHECK_FALSE(atomics.dut().push_ready_o);
  CHECK(atomics.answers.empty());
  atomics.answers_reads = true;
  atomics.end();
  for (unsigned i = 0; i < kPlaces; ++i) CHECK(atomics.answers.at(i).read.msn == i + 1);
}

TEST_CASE("Who names the same bytes takes what the one before has made of them, without a read") {
  Atomics atomics;
  atomics.answers_reads = false;
  atomics.translate(false);  // all are there when it is looked up
  for (unsigned i = 0; i < kPlaces; ++i) atomics.push({.qpn = static_cast<uint16_t>(i)});
  atomics.translate(true);
  for (int i = 0; i < 400; ++i) atomics.cycle();
  atomics.answers_reads = true;
  atomics.end();
  CHECK(atomics.reads.size() == 1);
  for (unsigned i = 0; i < kPlaces; ++i) CHECK(atomics.answers.at(i).value() == i);
  for (int i = 0; i < 100; ++i) atomics.cycle();
  CHECK(atomics.word(0) == kPlaces);
}

TEST_CASE("A read sees what was written before it, also what is not out yet") {
  Atomics atomics;
  atomics.writes_leave = false;
  atomics.push({.data = 3});
  atomics.end();
  atomics.push({.data = 4});
  for (int i = 0; i < 200; ++i) atomics.cycle();
  CHECK(atomics.reads.size() == 1);
  CHECK(atomics.answers.size() == 1);
  atomics.writes_leave = true;
  atomics.end();
  CHECK(atomics.answers.at(1).value() == 3);
}

TEST_CASE("An RDMA Read Request behind an atomic is handed on when that is done and out") {
  Atomics atomics;
  atomics.writes_leave = false;
  atomics.push({});
  atomics.push({.read = true});
  for (int i = 0; i < 300; ++i) atomics.cycle();
  CHECK(atomics.answers.size() == 1);
  atomics.writes_leave = true;
  atomics.end();
  REQUIRE(atomics.answers.size() == 2);
  CHECK(atomics.answers[1].read.answer == kAnswerRead);
  CHECK_FALSE(atomics.answers[1].read.atomic);
  for (const uint8_t byte : atomics.answers[1].read.request) CHECK(byte == 0x77);
}

TEST_CASE("What is refused is not done, nor what came after it on its stream; others go on") {
  struct {
    Wanted wanted;
    XlateStatus status;
    exrnic_term_code code;
  } const cases[] = {
      {{.operation = 1}, kXlateOk, EXRNIC_TERM_CODE_OPCODE},
      {{.operation = 1, .to = 4}, kXlateOk, EXRNIC_TERM_CODE_OPCODE},
      {{.to = 4}, kXlateOk, EXRNIC_TERM_CODE_STREAM},
      {{.stag = 1}, kXlateStag, EXRNIC_TERM_CODE_RDMAP_STAG},
      {{.stag = 1}, kXlateStream, EXRNIC_TERM_CODE_RDMAP_STREAM},
      {{.stag = 1}, kXlateAccess, EXRNIC_TERM_CODE_ACCESS},
      {{.stag = 1}, kXlateWrap, EXRNIC_TERM_CODE_RDMAP_WRAP},
      {{.stag = 1}, kXlateBounds, EXRNIC_TERM_CODE_RDMAP_BOUNDS},
      {{.stag = 1}, kXlateMemory, EXRNIC_TERM_CODE_STREAM},
      {{.to = 64}, kXlateOk, EXRNIC_TERM_CODE_STREAM},  // the host refuses to read
  };
  for (const auto& refused : cases) {
    INFO("status " << int{refused.status} << ", code " << refused.code);
    Atomics atomics;
    atomics.bad = atomics.moved + 64;
    atomics.refusal = refused.status;
    atomics.push(refused.wanted);
    atomics.push({.to = 8});
    atomics.push({.qpn = 4, .to = 16});
    atomics.end();
    for (int i = 0; i < 100; ++i) atomics.cycle();
    REQUIRE(atomics.answers.size() == 2);
    CHECK(atomics.answers[0].read.answer == kAnswerRefused);
    CHECK(int{atomics.answers[0].read.code} == refused.code);
    CHECK(atomics.answers[0].read.atomic);
    CHECK(atomics.answers[1].qpn == 4);
    CHECK(atomics.written == std::vector<uint64_t>{atomics.moved + 16});
  }
}

TEST_CASE("Who waited for the value of one that is refused reads it") {
  Atomics atomics;
  atomics.bad = atomics.moved;
  atomics.answers_reads = false;
  atomics.memory[atomics.moved] = 7;
  atomics.push({.qpn = 1});
  atomics.push({.qpn = 2});
  for (int i = 0; i < 200; ++i) atomics.cycle();
  CHECK(atomics.reads.size() == 1);
  atomics.answers_reads = true;
  atomics.wait_for("the refusal", kLimit, [&] { return !atomics.answers.empty(); });
  atomics.bad = 0;
  atomics.end();
  REQUIRE(atomics.answers.size() == 2);
  CHECK(atomics.answers[0].read.answer == kAnswerRefused);
  CHECK(atomics.answers[1].value() == 7);
}

TEST_CASE("They are counted for each queue pair until they are answered") {
  Atomics atomics;
  atomics.answers_reads = false;
  for (const uint16_t qpn : {5, 6, 5}) atomics.push({.qpn = qpn});
  for (unsigned reader = 0; reader < 3; ++reader) {
    CHECK(atomics.count_of(5, reader) == 2);
    CHECK(atomics.count_of(6, reader) == 1);
    CHECK(atomics.count_of(7, reader) == 0);
  }
  atomics.answers_reads = true;
  atomics.end();
  CHECK(atomics.count_of(5) == 0);
}

TEST_CASE("A queue pair that starts anew has none, and nothing of it is done; others go on") {
  Atomics atomics;
  atomics.answers_reads = false;
  for (const uint16_t qpn : {5, 6, 5}) atomics.push({.qpn = qpn});
  for (int i = 0; i < 200; ++i) atomics.cycle();
  atomics.answers_reads = true;
  atomics.rest();
  const size_t written = atomics.written.size();
  const size_t answered = atomics.answers.size();
  atomics.clear(5);
  CHECK(atomics.count_of(5) == 0);
  atomics.dut().quiesce_i = 0;
  atomics.push({.qpn = 5});
  CHECK(atomics.count_of(5) == 1);
  atomics.end();
  CHECK(atomics.answers.size() - answered == 2);
  CHECK(atomics.written.size() - written == 2);
  CHECK(atomics.answers.at(answered).qpn == 6);
  CHECK(atomics.answers.at(answered + 1).qpn == 5);
}

TEST_CASE("What was read before a time of rest is forgotten") {
  Atomics atomics;
  atomics.answers_reads = false;
  for (unsigned i = 0; i < 3; ++i) atomics.push({.to = 8});
  for (int i = 0; i < 200; ++i) atomics.cycle();
  CHECK(atomics.reads.size() == 1);
  atomics.answers_reads = true;
  atomics.rest();
  atomics.moved = 0x20'0000;  // other memory now
  atomics.memory[atomics.moved + 8] = 40;
  atomics.dut().quiesce_i = 0;
  atomics.end();
  for (int i = 0; i < 100; ++i) atomics.cycle();
  CHECK(atomics.word(8) == 43);
  for (unsigned i = 0; i < 3; ++i) CHECK(atomics.answers.at(i).value() == 40 + i);
  for (const uint64_t address : atomics.written) CHECK(address == atomics.moved + 8);
}

TEST_CASE("An address from before an invalidation is let go") {
  Atomics atomics;
  atomics.writes_leave = false;
  atomics.push({.to = 8});
  atomics.end();
  atomics.push({.to = 16});
  atomics.wait_for("a hold", kLimit, [&] { return atomics.dut().xlate_hold_o != 0; });
  atomics.dut().xlate_let_go_i = 1;
  atomics.cycle();
  CHECK_FALSE(atomics.dut().xlate_hold_o);
  atomics.dut().xlate_let_go_i = 0;
  atomics.writes_leave = true;
  atomics.moved = 0x20'0000;
  atomics.end();
  CHECK(atomics.reads.back() == atomics.moved + 16);
}

TEST_CASE("A region that moves under them strands nobody") {
  Atomics atomics;
  atomics.answers_reads = false;
  for (unsigned i = 0; i < 3; ++i) atomics.push({.to = 8});
  for (int i = 0; i < 200; ++i) atomics.cycle();
  atomics.moved = 0x20'0000;
  atomics.answers_reads = true;
  atomics.end();
  CHECK(atomics.answers.size() == 3);
}

TEST_CASE("Who came after a write sees it, whoever named the same bytes before that") {
  Atomics atomics;
  atomics.reads_at_once = true;
  atomics.answers_reads = false;
  atomics.push({.to = 8, .data = 0});  // it only looks
  atomics.wait_for("its read", kLimit, [&] { return atomics.reads.size() == 1; });
  // A PUSH of that queue pair. The responder takes what comes after it when it is out.
  atomics.memory[atomics.moved + 8] = 100;
  atomics.push({.to = 8, .data = 1});
  for (int i = 0; i < 200; ++i) atomics.cycle();
  atomics.answers_reads = true;
  atomics.end();
  for (int i = 0; i < 100; ++i) atomics.cycle();
  REQUIRE(atomics.answers.size() == 2);
  CHECK(atomics.answers[0].value() == 0);
  CHECK(atomics.answers[1].value() == 100);
  CHECK(atomics.word(8) == 101);
}

// Its owner gives it back by a PUSH, others ask for it all the time.
TEST_CASE("Who spins for a lock gets it when it is free") {
  Atomics atomics;
  atomics.memory[atomics.moved] = 1;
  const auto ask = [&](unsigned i) {
    Wanted wanted;
    wanted.qpn = static_cast<uint16_t>(4 + i % 8);
    wanted.operation = EXRNIC_ATOMIC_OPERATION_COMPARE_SWAP;
    wanted.compare_mask = wanted.mask = ~uint64_t{0};
    wanted.compare = 0;
    wanted.data = 2;
    atomics.push(wanted);
  };
  for (unsigned i = 0; i < 40; ++i) ask(i);
  atomics.memory[atomics.moved] = 0;
  const size_t before = atomics.answers.size();
  for (unsigned i = 0; i < 400; ++i) ask(i);
  atomics.end();
  size_t got = 0;
  while (got < atomics.answers.size() && atomics.answers[got].value() != 0) ++got;
  CAPTURE(before, atomics.reads.size());
  CHECK(got < before + 4 * kPlaces);
}

TEST_CASE("What comes on a stream after the refusal has been answered is not done either") {
  Atomics atomics;
  atomics.push({.stag = 1});
  atomics.end();
  REQUIRE(atomics.answers.size() == 1);
  // It was on its way: the queue pair is in ERROR only when the requester has told the peer.
  atomics.push({.to = 8});
  atomics.end();
  for (int i = 0; i < 100; ++i) atomics.cycle();
  CHECK(atomics.written.empty());
}

TEST_CASE("What comes on a stream while the refusal is answered is not done") {
  for (int after = 0; after < 40; ++after) {
    INFO("it comes after " << after << " cycles");
    Atomics atomics;
    atomics.push({.stag = 1});
    for (int i = 0; i < after; ++i) atomics.cycle();
    atomics.push({.to = 8});
    atomics.end();
    for (int i = 0; i < 100; ++i) atomics.cycle();
    CHECK(atomics.written.empty());
  }
}

TEST_CASE("What comes on a stream that the responder has ended is not done; others go on") {
  Atomics atomics;
  atomics.dut().ended_qpn_i = 5;
  atomics.dut().ended_i = 1;
  atomics.cycle();
  atomics.dut().ended_i = 0;
  atomics.push({.qpn = 5});
  atomics.push({.qpn = 6});
  atomics.end();
  REQUIRE(atomics.answers.size() == 1);
  CHECK(atomics.answers[0].qpn == 6);
  atomics.rest();
  atomics.clear(5);
  atomics.dut().quiesce_i = 0;
  atomics.push({.qpn = 5});
  atomics.end();
  CHECK(atomics.answers.size() == 2);
}

TEST_CASE("What was read at one place is not written to another one") {
  Atomics atomics;
  atomics.answers_reads = false;
  atomics.memory[atomics.moved + 8] = 7;
  atomics.push({.to = 8});
  for (int i = 0; i < 200; ++i) atomics.cycle();
  REQUIRE(atomics.reads.size() == 1);
  // Invalidated and registered anew by work requests: no time of rest.
  const uint64_t first = atomics.moved;
  atomics.moved = 0x20'0000;
  atomics.memory[atomics.moved + 8] = 1000;
  atomics.answers_reads = true;
  atomics.end();
  for (int i = 0; i < 100; ++i) atomics.cycle();
  CHECK(atomics.memory[first + 8] == 7);
  CHECK(atomics.word(8) == 1001);
  CHECK(atomics.answers.at(0).value() == 1000);
}

TEST_CASE("Whatever comes, each sees the PUSHes that came before it") {
  const auto seed = GENERATE(range(1u, 9u));
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  Atomics atomics(seed);
  atomics.reads_at_once = true;
  atomics.lets_go = seed % 2 == 0;
  uint64_t now[3] = {};
  std::vector<std::pair<uint64_t, uint64_t>> least;  // of the word, and what it was then
  for (int i = 0; i < 600; ++i) {
    const uint64_t to = random() % 3;
    if (random() % 3 == 0) atomics.memory[atomics.moved + 8 * to] = ++now[to];
    if (random() % 50 == 0) {
      atomics.rest();
      atomics.dut().quiesce_i = 0;
    }
    const uint64_t at = random() % 3;
    least.emplace_back(at, now[at]);
    atomics.push({.qpn = static_cast<uint16_t>(random() % 4), .to = 8 * at, .data = 0});
    for (auto wait = random() % 64; wait > 32; --wait) atomics.cycle();
  }
  atomics.end();
  REQUIRE(atomics.answers.size() == least.size());
  for (size_t i = 0; i < least.size(); ++i) CHECK(atomics.answers[i].value() >= least[i].second);
  CHECK(atomics.written.empty());
}

TEST_CASE("Wherever a region moves, each adds to what is there") {
  const auto seed = GENERATE(range(1u, 17u));
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  Atomics atomics(seed);
  atomics.lets_go = true;
  const uint64_t places[] = {atomics.moved, atomics.moved + 8, atomics.moved + 16};
  unsigned count = 0;
  for (int i = 0; i < 600; ++i) {
    if (random() % 8 == 0) atomics.moved = places[random() % 3];
    atomics.push({.qpn = static_cast<uint16_t>(random() % 4), .to = 8 * (random() % 2)});
    ++count;
    for (auto wait = random() % 64; wait > 48; --wait) atomics.cycle();
  }
  atomics.end();
  for (int i = 0; i < 200; ++i) atomics.cycle();
  CHECK(atomics.answers.size() == count);
  uint64_t sum = 0;
  for (const auto& [address, value] : atomics.memory) sum += value;
  CHECK(sum == count);
}

// Words of a few places by several queue pairs, with times of rest: as if one came after the other.
TEST_CASE("Whatever comes, values are as if each was alone") {
  const auto seed = GENERATE(range(1u, 9u));
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  Atomics atomics(seed);
  std::map<uint64_t, uint64_t> expected;
  std::vector<uint64_t> olds;
  atomics.lets_go = true;
  for (int i = 0; i < 400; ++i) {
    Wanted wanted;
    wanted.qpn = static_cast<uint16_t>(random() % 4);
    wanted.to = 8 * (random() % 3);
    wanted.data = random() % 4;
    uint64_t& value = expected[wanted.to];
    olds.push_back(value);
    if (random() % 2 == 0) {
      wanted.operation = EXRNIC_ATOMIC_OPERATION_COMPARE_SWAP;
      wanted.mask = wanted.compare_mask = ~uint64_t{0};
      wanted.compare = random() % 2 ? value : random() % 4;
      if (wanted.compare == value) value = wanted.data;
    } else {
      value += wanted.data;
    }
    atomics.push(wanted);
    if (random() % 16 == 0) {
      atomics.rest();
      atomics.dut().quiesce_i = 0;
    }
  }
  atomics.end();
  for (int i = 0; i < 200; ++i) atomics.cycle();
  REQUIRE(atomics.answers.size() == olds.size());
  for (size_t i = 0; i < olds.size(); ++i) {
    CHECK(atomics.answers[i].read.msn == i + 1);
    CHECK(atomics.answers[i].value() == olds[i]);
  }
  for (const auto& [to, value] : expected) CHECK(atomics.word(to) == value);
  CHECK(atomics.reads.size() < olds.size());
}

}  // namespace
}  // namespace exrnic::testing
