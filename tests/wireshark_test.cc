// SPDX-License-Identifier: BSD-2-Clause
// What Wireshark makes of a capture of every operation, and what the capture says of the counters.
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <sstream>

#include "sim/capture/captures.h"
#include "sim/testing/read_capture.h"
#include "sim/testing/temp_dir.h"
#include "tests/support/capture_counters.h"
#include "tests/support/exchange.h"

namespace exrnic::testing {
namespace {

constexpr uint32_t kLength = 5000;  // four segments
constexpr uint64_t kOffset = 96;
constexpr uint32_t kStag = 0x0004'44'21;  // to invalidate
constexpr uint32_t kImm = 0xfeed'0b0e;
constexpr int kNoSuchCommand = 127;  // of the shell

// An exchange whose ports are captured.
struct Captured {
  explicit Captured(const TestbedOptions& options = options_for("dc-25g"))
      : e(20'000, {}, options) {
    e.rest();  // the nodes have met: what follows is captured
    for (unsigned node : {0, 1}) {
      for (unsigned i = 0; i < EXRNIC_COUNTERS; ++i) before[node][i] = peek(node, i);
    }
    captures.emplace(dir.path, e.testbed, [](const std::string& line) { FAIL(line); });
  }

  Elements near(End& end) const { return {element(end.near, 0, kLength)}; }

  // Left does it, to its end at both sides.
  void complete(const Work& work, bool receives = false) {
    INFO("opcode " << int{work.opcode} << ", flags " << int{work.flags});
    if (receives) e.right.receive(near(e.right));
    e.left.post(work);
    REQUIRE(e.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
    if (receives) REQUIRE(e.right.wait_receive().status == EXRNIC_CQE_STATUS_SUCCESS);
  }

  // Every operation that a peer sees.
  void every_operation() {
    const Elements from = near(e.left);
    const uint8_t solicited = EXRNIC_WQE_FLAGS_SOLICITED;
    complete(push_of(from, kOffset));
    complete(with_imm(push_of(from, kOffset), EXRNIC_WQE_OPCODE_PUSH_IMM, kImm), true);
    complete(pull_of(from, kOffset));
    complete(send_of(from), true);
    complete(send_of(from, solicited), true);
    complete(with_imm(send_of(from), EXRNIC_WQE_OPCODE_SEND_IMM, kImm), true);
    Work push_imm_se = with_imm(push_of(from, kOffset), EXRNIC_WQE_OPCODE_PUSH_IMM, kImm);
    push_imm_se.flags |= solicited;
    complete(push_imm_se, true);
    for (const uint8_t flags : {uint8_t{0}, solicited}) {
      e.right.rnic.create_region(kStag + flags * 256, End::kPd, kFarBase, 4096, kAllRights);
      complete(
          with_imm(send_of(from, flags), EXRNIC_WQE_OPCODE_SEND_INVALIDATE, kStag + flags * 256),
          true);
    }
    e.rest();
  }

  // The peer refuses it: the queue pairs are of no use afterwards.
  void refused(const Work& work) {
    e.left.post(work);
    REQUIRE(e.left.wait().status != EXRNIC_CQE_STATUS_SUCCESS);
    e.rest();
  }

  std::string path(unsigned node) {
    captures->flush();
    return dir / ("node" + std::to_string(node) + ".pcap");
  }

  uint64_t peek(unsigned node, unsigned counter) const {
    return e.testbed.node(node).rnic().peek_counter(counter);
  }

  TempDir dir;
  Exchange e;
  std::array<std::array<uint64_t, EXRNIC_COUNTERS>, 2> before;
  std::optional<Captures> captures;
};

using Row = std::vector<std::string>;

std::vector<Row> tshark(const std::string& capture, const std::vector<std::string>& fields) {
  std::string command = "tshark -n -o eth.check_fcs:TRUE -X lua_script:" EXRNIC_WIRESHARK_PLUGIN
                        " -r " +
                        capture + " -T fields -E separator='|' -E occurrence=f";
  for (const std::string& field : fields) command += " -e " + field;
  std::FILE* out = ::popen((command + " 2>" + capture + ".stderr").c_str(), "r");
  REQUIRE(out != nullptr);
  std::string text;
  for (std::array<char, 4096> bytes; size_t got = std::fread(bytes.data(), 1, bytes.size(), out);) {
    text.append(bytes.data(), got);
  }
  const int status = ::pclose(out);
  std::ifstream errors(capture + ".stderr");
  INFO(command << "\n" << std::string(std::istreambuf_iterator<char>(errors), {}));
  if (WEXITSTATUS(status) == kNoSuchCommand) FAIL("no tshark is installed; make test does that");
  REQUIRE(status == 0);
  std::vector<Row> rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    Row& row = rows.emplace_back();
    std::istringstream cells(line + "|");
    for (std::string cell; std::getline(cells, cell, '|');) row.push_back(cell);
    REQUIRE(row.size() == fields.size());
  }
  return rows;
}

// One field of tshark, and what it must say of a frame; nothing: the frame has no such field.
struct Column {
  std::string field;
  std::function<std::optional<uint64_t>(const uint8_t* efe, const uint8_t* ddp)> value;
};

bool has_segment(const uint8_t* efe) { return exrnic_efe_length(efe) != 0; }
bool tagged(const uint8_t* ddp) { return exrnic_ddp_tagged_t(ddp) != 0; }
bool is(const uint8_t* ddp, uint64_t opcode) { return exrnic_ddp_tagged_opcode(ddp) == opcode; }

const std::vector<Column>& columns() {
  using Getter = uint64_t (*)(const uint8_t*);
  static std::vector<Column> columns;
  if (!columns.empty()) return columns;
  const auto efe = [&](const char* name, Getter get) {
    columns.push_back({std::string("efe.") + name,
                       [get](const uint8_t* efe, const uint8_t*) { return get(efe); }});
  };
  const auto ddp = [&](const char* name, Getter get, auto present) {
    columns.push_back(
        {std::string("iwarp_") + name,
         [get, present](const uint8_t* efe, const uint8_t* ddp) -> std::optional<uint64_t> {
           if (!has_segment(efe) || !present(ddp)) return std::nullopt;
           return get(ddp);
         }});
  };
  const auto any = [](const uint8_t*) { return true; };
  const auto untagged = [](const uint8_t* ddp) { return !tagged(ddp); };
  const auto request = [](const uint8_t* ddp) { return is(ddp, EXRNIC_RDMAP_OPCODE_READ_REQUEST); };
  const auto invalidates = [](const uint8_t* ddp) {
    return is(ddp, EXRNIC_RDMAP_OPCODE_SEND_INVALIDATE) ||
           is(ddp, EXRNIC_RDMAP_OPCODE_SEND_SE_INVALIDATE);
  };
  efe("version", exrnic_efe_version);
  efe("klass", exrnic_efe_klass);
  efe("flags", exrnic_efe_flags);
  efe("length", exrnic_efe_length);
  efe("src_node", exrnic_efe_src_node);
  efe("session", exrnic_efe_session);
  efe("seq", exrnic_efe_seq);
  efe("ack", exrnic_efe_ack);
  efe("sack_imm", exrnic_efe_sack_imm);
  efe("dst_qpn", exrnic_efe_dst_qpn);
  efe("src_qpn", exrnic_efe_src_qpn);
  ddp("ddp.tagged_flag", exrnic_ddp_tagged_t, any);
  ddp("ddp.last_flag", exrnic_ddp_tagged_last, any);
  ddp("ddp.dv", exrnic_ddp_tagged_dv, any);
  ddp("rdma.version", exrnic_ddp_tagged_rv, any);
  ddp("rdma.opcode", exrnic_ddp_tagged_opcode, any);
  ddp("ddp.stag", exrnic_ddp_tagged_stag, tagged);
  ddp("ddp.tagged_offset", exrnic_ddp_tagged_to, tagged);
  ddp("ddp.qn", exrnic_ddp_untagged_qn, untagged);
  ddp("ddp.msn", exrnic_ddp_untagged_msn, untagged);
  ddp("ddp.mo", exrnic_ddp_untagged_mo, untagged);
  ddp("rdma.inval_stag", exrnic_ddp_untagged_invalidate_stag, invalidates);
#define OF_REQUEST(field)                                                \
  [](const uint8_t* ddp) -> uint64_t {                                   \
    return exrnic_read_request_##field(ddp + EXRNIC_DDP_UNTAGGED_BYTES); \
  }
  ddp("rdma.sinkstag", OF_REQUEST(sink_stag), request);
  ddp("rdma.sinkto", OF_REQUEST(sink_to), request);
  ddp("rdma.rdmardsz", OF_REQUEST(length), request);
  ddp("rdma.srcstag", OF_REQUEST(source_stag), request);
  ddp("rdma.srcto", OF_REQUEST(source_to), request);
#undef OF_REQUEST
  return columns;
}

// Wireshark writes numbers in decimal, in hexadecimal, and flags as True and False.
std::optional<uint64_t> number(const std::string& cell) {
  if (cell.empty()) return std::nullopt;
  if (cell == "True") return 1;
  if (cell == "False") return 0;
  return std::stoull(cell, nullptr, 0);
}

// Frames by their RDMAP opcode.
using Seen = std::map<uint64_t, unsigned>;

// Every frame is well formed, and its fields are those of the headers that were sent.
Seen agree(const std::string& capture) {
  std::vector<std::string> fields = {"_ws.malformed", "_ws.expert.severity", "eth.fcs.status",
                                     "_ws.col.Protocol"};
  for (const Column& column : columns()) fields.push_back(column.field);
  const std::vector<Packet> packets = read_capture(capture);
  const std::vector<Row> rows = tshark(capture, fields);
  REQUIRE(rows.size() == packets.size());
  Seen seen;
  for (size_t frame = 0; frame < rows.size(); ++frame) {
    INFO("frame " << frame + 1 << " of " << capture);
    const Row& row = rows[frame];
    CHECK(row[0].empty());
    CHECK(row[1].empty());
    CHECK(number(row[2]) == 1);  // a good FCS
    const uint8_t* efe = packets[frame].wire.data() + EXRNIC_ETH_BYTES;
    const uint8_t* ddp = efe + EXRNIC_EFE_BYTES;
    CHECK((row[3] == "EFE") == !has_segment(efe));
    for (size_t i = 0; i < columns().size(); ++i) {
      INFO(fields[4 + i] << ": " << row[4 + i]);
      CHECK(number(row[4 + i]) == columns()[i].value(efe, ddp));
    }
    if (has_segment(efe)) ++seen[exrnic_ddp_tagged_opcode(ddp)];
  }
  return seen;
}

TEST_CASE("tshark finds every operation well formed, and in each header what was sent") {
  Captured c;
  c.every_operation();
  Seen seen = agree(c.path(1));
  for (const uint64_t opcode :
       {EXRNIC_RDMAP_OPCODE_WRITE, EXRNIC_RDMAP_OPCODE_READ_RESPONSE, EXRNIC_RDMAP_OPCODE_SEND,
        EXRNIC_RDMAP_OPCODE_SEND_SE, EXRNIC_RDMAP_OPCODE_SEND_INVALIDATE,
        EXRNIC_RDMAP_OPCODE_SEND_SE_INVALIDATE}) {
    INFO("opcode " << opcode);
    CHECK(seen[opcode] >= 4);
  }
  CHECK(seen[EXRNIC_RDMAP_OPCODE_READ_REQUEST] == 1);
  CHECK(seen[EXRNIC_RDMAP_OPCODE_IMMEDIATE] == 1);
  CHECK(seen[EXRNIC_RDMAP_OPCODE_IMMEDIATE_SE] == 1);
}

TEST_CASE("tshark shows what the work requests asked for") {
  Captured c;
  c.complete(push_of(c.near(c.e.left), kOffset));
  c.complete(pull_of(c.near(c.e.left), 2 * kOffset));
  c.e.rest();
  uint64_t pushed = 0, asked = 0;
  for (const Row& row :
       tshark(c.path(0), {"iwarp_rdma.opcode", "iwarp_ddp.stag", "iwarp_ddp.tagged_offset",
                          "iwarp_rdma.srcstag", "iwarp_rdma.srcto", "iwarp_rdma.rdmardsz"})) {
    if (number(row[0]) == EXRNIC_RDMAP_OPCODE_WRITE) {
      CHECK(number(row[1]) == kFarStag);
      CHECK(number(row[2]) == kFarBase + kOffset + pushed++ * kMtu);
    } else if (number(row[0]) == EXRNIC_RDMAP_OPCODE_READ_REQUEST) {
      ++asked;
      CHECK(number(row[3]) == kFarStag);
      CHECK(number(row[4]) == kFarBase + 2 * kOffset);
      CHECK(number(row[5]) == kLength);
    }
  }
  CHECK(pushed == (kLength + kMtu - 1) / kMtu);
  CHECK(asked == 1);
}

TEST_CASE("tshark reads terminate messages: of a tagged segment, an untagged one, a request") {
  const struct {
    Work (*work)(const Elements&);
    uint16_t code;
  } cases[] = {
      {[](const Elements& from) { return push_of(from, 30'000); }, 0x1101},
      {[](const Elements& from) { return send_of(from); }, 0x1202},
      {[](const Elements& from) { return pull_of(from, 30'000); }, 0x0101},
  };
  for (const auto& [work, code] : cases) {
    Captured c;
    c.refused(work(c.near(c.e.left)));
    CHECK(agree(c.path(0))[EXRNIC_RDMAP_OPCODE_TERMINATE] == 1);
    std::vector<uint64_t> codes;
    for (const Row& row : tshark(
             c.path(0), {"iwarp_rdma.term_layer", "iwarp_rdma.term_etype_ddp",
                         "iwarp_rdma.term_etype_rdma", "iwarp_rdma.term_errcode_ddp_tagged",
                         "iwarp_rdma.term_errcode_ddp_untagged", "iwarp_rdma.term_errcode_rdma"})) {
      if (row[0].empty()) continue;
      const uint64_t type = number(row[1]).value_or(number(row[2]).value_or(0));
      const uint64_t error =
          number(row[3]).value_or(number(row[4]).value_or(number(row[5]).value_or(0)));
      codes.push_back(*number(row[0]) << 12 | type << 8 | error);
    }
    CHECK(codes == std::vector<uint64_t>{code});
  }
}

// Of both nodes: in the registers that the driver reads, and as a simulator looks at them.
void counters_agree(Captured& c) {
  static constexpr const char* kNames[] = EXRNIC_COUNTER_NAMES;
  for (End* end : {&c.e.left, &c.e.right}) {
    const unsigned node = end->rnic.node();
    for (const auto& [counter, shown] : capture_counters(read_capture(c.path(node)), node)) {
      INFO("node " << node << ": " << kNames[counter]);
      CHECK(c.peek(node, counter) - c.before[node][counter] == shown);
      CHECK(end->rnic.counter(counter) == c.peek(node, counter));
    }
  }
}

TEST_CASE("each counter is what the capture of its port shows, of every operation") {
  Captured c;
  c.every_operation();
  counters_agree(c);
  CHECK(c.e.right.rnic.counter(EXRNIC_COUNTER_READS_SERVED) == 1);
  CHECK(c.e.right.rnic.counter(EXRNIC_COUNTER_RECVS) == 7);
}

TEST_CASE("each counter is what the capture of its port shows, over a bad network") {
  uint64_t retransmits = 0;
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    INFO("seed " << seed);
    TestbedOptions options = options_for("dc-25g");
    options.seed = seed;
    options.faults.rates = {0.05, 0.05, 0.05, 0.05, 0.05};
    Captured c(options);
    c.every_operation();
    counters_agree(c);
    retransmits += c.e.left.rnic.counter(EXRNIC_COUNTER_RETRANSMITS);
  }
  CHECK(retransmits > 0);
}

}  // namespace
}  // namespace exrnic::testing
