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
#include <utility>

#include "sim/capture/captures.h"
#include "sim/testing/read_capture.h"
#include "sim/testing/temp_dir.h"
#include "tests/support/capture_counters.h"
#include "tests/support/exchange.h"
#include "tests/support/firmware.h"
#include "tests/support/ntb.h"

namespace exrnic::testing {
namespace {

constexpr uint32_t kLength = 5000;  // four segments
constexpr uint64_t kOffset = 96;
constexpr uint32_t kStag = 0x0004'44'21;  // to invalidate
constexpr uint32_t kImm = 0xfeed'0b0e;
constexpr uint32_t kWindowQpn = 30;
constexpr uint64_t kAtomicAt = 0xb;  // in the far region: a multiple of 8 in its addresses
constexpr uint64_t kAdded = 0x1'0000'0007;
constexpr uint64_t kCompared = 0x1122'3344'5566'7788;
constexpr uint64_t kSwapped = 0xffff'0000'ffff'0001;

// An exchange whose ports are captured.
struct Captured {
  explicit Captured(const TestbedOptions& options = options_for("dc-25g"))
      : e(20'000, {}, options) {
    start_firmware(e.right.rnic, EXRNIC_FIRMWARE);  // for atomics
    for (End* end : {&e.left, &e.right}) {
      QueuePair qp = end->rnic.create_qp(kWindowQpn, End::kPage, End::kPd, end->cq);
      end->rnic.connect(qp, 1 - end->rnic.node(), kWindowQpn);
    }
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
    atomics();
    window();
    ports();
    e.rest();
  }

  void atomics() {
    const exrnic_sge before_it = element(e.left.near, 0, 8);
    complete(fetch_add_of(before_it, kAtomicAt, kAdded));
    complete(compare_swap_of(before_it, kAtomicAt, kCompared, kSwapped));
  }

  // Stores and loads of the left host. Loads have a queue pair of their own: they count their
  // requests alone.
  void window() {
    RemoteWindow window(e.left.rnic, 5);
    REQUIRE(window.set(kWindowQpn, kFarStag, kFarBase, 4096, kStore | kLoad) ==
            EXRNIC_MBOX_STATUS_OK);
    for (const unsigned size : {1u, 2u, 4u, 8u}) {
      window.store(64, size, kCompared);
      CHECK(window.load(64, size) == (kCompared & all_ones(size)));
    }
  }

  // A link between two ports, a doorbell and a scratchpad.
  void ports() {
    Port here(e.left.rnic, 3), there(e.right.rnic, 2);
    here.open(1, 2, 9);
    there.open(0, 3, 9);
    e.rest();
    here.ring(0x80);
    here.set_peer_spad(2, 0x1234'5678);
    e.rest();
    CHECK(there.bells() == 0x80);
    CHECK(there.spad(2) == 0x1234'5678);
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
  std::string command = "'" EXRNIC_TSHARK "' " + capture +
                        " -n -o eth.check_fcs:TRUE -T fields -E separator='|' -E occurrence=f";
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

// Of requests, by operation, and of responses.
template <typename Add>
void atomic_columns(Add ddp) {
  const auto request = [](const uint8_t* ddp) {
    return is(ddp, EXRNIC_RDMAP_OPCODE_ATOMIC_REQUEST);
  };
  const auto of = [](exrnic_atomic_operation operation) {
    return [operation](const uint8_t* ddp) {
      return is(ddp, EXRNIC_RDMAP_OPCODE_ATOMIC_REQUEST) &&
             exrnic_atomic_request_operation(ddp + EXRNIC_DDP_UNTAGGED_BYTES) == operation;
    };
  };
  const auto adds = of(EXRNIC_ATOMIC_OPERATION_FETCH_ADD);
  const auto swaps = of(EXRNIC_ATOMIC_OPERATION_COMPARE_SWAP);
  const auto response = [](const uint8_t* ddp) {
    return is(ddp, EXRNIC_RDMAP_OPCODE_ATOMIC_RESPONSE);
  };
#define OF_ATOMIC(field)                                           \
  [](const uint8_t* ddp) -> uint64_t {                             \
    return exrnic_atomic_##field(ddp + EXRNIC_DDP_UNTAGGED_BYTES); \
  }
  ddp("rdma.atomic.opcode", OF_ATOMIC(request_operation), request);
  ddp("rdma.atomic.request_identifier", OF_ATOMIC(request_request_id), request);
  ddp("rdma.atomic.remote_stag", OF_ATOMIC(request_stag), request);
  ddp("rdma.atomic.remote_tagged_offset", OF_ATOMIC(request_to), request);
  ddp("rdma.atomic.add_data", OF_ATOMIC(request_data), adds);
  ddp("rdma.atomic.add_mask", OF_ATOMIC(request_mask), adds);
  ddp("rdma.atomic.swap_data", OF_ATOMIC(request_data), swaps);
  ddp("rdma.atomic.swap_mask", OF_ATOMIC(request_mask), swaps);
  ddp("rdma.atomic.compare_data", OF_ATOMIC(request_compare), request);
  ddp("rdma.atomic.compare_mask", OF_ATOMIC(request_compare_mask), request);
  ddp("rdma.atomic.original_request_identifier", OF_ATOMIC(response_request_id), response);
  ddp("rdma.atomic.original_remote_data_value", OF_ATOMIC(response_value), response);
#undef OF_ATOMIC
}

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
  efe("heard", exrnic_efe_heard);
  efe("refusal", exrnic_efe_refusal);
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
  atomic_columns(ddp);
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
  CHECK(seen[EXRNIC_RDMAP_OPCODE_ATOMIC_REQUEST] == 2);
  CHECK(seen[EXRNIC_RDMAP_OPCODE_ATOMIC_RESPONSE] == 2);
  for (const uint64_t opcode :
       {EXRNIC_RDMAP_OPCODE_WRITE, EXRNIC_RDMAP_OPCODE_READ_RESPONSE, EXRNIC_RDMAP_OPCODE_SEND,
        EXRNIC_RDMAP_OPCODE_SEND_SE, EXRNIC_RDMAP_OPCODE_SEND_INVALIDATE,
        EXRNIC_RDMAP_OPCODE_SEND_SE_INVALIDATE}) {
    INFO("opcode " << opcode);
    CHECK(seen[opcode] >= 4);
  }
  CHECK(seen[EXRNIC_RDMAP_OPCODE_READ_REQUEST] == 1 + 4);  // a PULL, and loads of the window
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

TEST_CASE("tshark shows what atomics asked for, and what was there before") {
  Captured c;
  c.atomics();
  c.e.rest();
  std::vector<Row> requests, responses;
  for (const Row& row :
       tshark(c.path(0), {"iwarp_rdma.opcode", "iwarp_rdma.atomic.remote_stag",
                          "iwarp_rdma.atomic.remote_tagged_offset", "iwarp_rdma.atomic.add_data",
                          "iwarp_rdma.atomic.compare_data", "iwarp_rdma.atomic.swap_data",
                          "iwarp_rdma.atomic.original_remote_data_value"})) {
    if (number(row[0]) == EXRNIC_RDMAP_OPCODE_ATOMIC_REQUEST) requests.push_back(row);
    if (number(row[0]) == EXRNIC_RDMAP_OPCODE_ATOMIC_RESPONSE) responses.push_back(row);
  }
  REQUIRE(requests.size() == 2);
  for (const Row& row : requests) {
    CHECK(number(row[1]) == kFarStag);
    CHECK(number(row[2]) == kFarBase + kAtomicAt);
  }
  CHECK(number(requests[0][3]) == kAdded);
  CHECK(number(requests[1][4]) == kCompared);
  CHECK(number(requests[1][5]) == kSwapped);
  REQUIRE(responses.size() == 2);
  CHECK(number(responses[0][6]) == 0);
  CHECK(number(responses[1][6]) == kAdded);
}

TEST_CASE("tshark shows the keys of a datagram, and its group") {
  constexpr uint32_t kQkey = 0x7765'4321;
  constexpr uint16_t kPkey = 0x9abc;
  constexpr uint32_t kGroup = 0xbcd;
  Captured c;
  QueuePairOptions options;
  options.service = EXRNIC_SERVICE_UD;
  QueuePair qp = c.e.left.rnic.create_qp(50, End::kPage, End::kPd, c.e.left.cq, options);
  c.e.left.rnic.set_pkey(1, kPkey);
  c.e.left.rnic.open_datagrams(qp, 1, 1);
  Work work = send_of({element(c.e.left.near, 0, 300)});
  work.remote_stag = kQkey;
  for (const uint64_t to :
       {uint64_t{1} << EXRNIC_DATAGRAM_NODE_SHIFT | 60, uint64_t{EXRNIC_GROUP_QPN} + kGroup}) {
    work.remote_to = to;
    c.e.left.rnic.post(qp, work);
    REQUIRE(c.e.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  }
  c.e.rest();
  std::vector<Row> datagrams;
  for (const Row& row : tshark(c.path(0), {"efe.klass", "efe.qkey", "efe.pkey", "efe.group",
                                           "efe.dst_qpn", "iwarp_rdma.opcode", "_ws.malformed"}))
    if (number(row[0]) == EXRNIC_EFE_CLASS_DATAGRAM) datagrams.push_back(row);
  REQUIRE(datagrams.size() == 2);
  for (const Row& row : datagrams) {
    CHECK(number(row[1]) == kQkey);
    CHECK(number(row[2]) == kPkey);
    CHECK(number(row[5]) == EXRNIC_RDMAP_OPCODE_SEND);
    CHECK(row[6].empty());
  }
  CHECK(datagrams[0][3].empty());
  CHECK(number(datagrams[0][4]) == 60);
  CHECK(number(datagrams[1][3]) == kGroup);
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
    CHECK(agree(c.path(0))[EXRNIC_RDMAP_OPCODE_TERMINATE] >= 1);
    std::vector<uint64_t> codes;
    uint64_t last_refusal = 0;
    for (const Row& row :
         tshark(c.path(0),
                {"iwarp_rdma.term_layer", "iwarp_rdma.term_etype_ddp", "iwarp_rdma.term_etype_rdma",
                 "iwarp_rdma.term_errcode_ddp_tagged", "iwarp_rdma.term_errcode_ddp_untagged",
                 "iwarp_rdma.term_errcode_rdma", "efe.refusal"})) {
      if (row[0].empty()) continue;
      // It is repeated until it has been heard.
      const uint64_t refusal = number(row[6]).value_or(0);
      if (refusal != 0 && std::exchange(last_refusal, refusal) == refusal) continue;
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
  CHECK(c.e.right.rnic.counter(EXRNIC_COUNTER_READS_SERVED) == 1 + 4);
  CHECK(c.e.right.rnic.counter(EXRNIC_COUNTER_ATOMICS_SERVED) == 2);
  CHECK(c.e.left.rnic.counter(EXRNIC_COUNTER_WINDOW_LOADS) == 4);
  CHECK(c.e.right.rnic.counter(EXRNIC_COUNTER_PORT_MESSAGES) > 2);
  CHECK(c.e.right.rnic.counter(EXRNIC_COUNTER_RECVS) == 7);
}

TEST_CASE("each counter is what the capture of its port shows, through a switch that marks") {
  TestbedOptions options = options_for("dc-25g");
  options.topology = load_topology("star:2", options.nodes);
  options.topology->switches[0].mark_bytes = 600;  // long frames, but no short ones
  Captured c(options);
  c.every_operation();
  counters_agree(c);
  const uint64_t marked = c.e.right.rnic.counter(EXRNIC_COUNTER_RX_MARKED);
  CHECK(marked > 0);
  CHECK(marked < c.e.right.rnic.counter(EXRNIC_COUNTER_FRAMES_RX));
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
