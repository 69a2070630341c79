// SPDX-License-Identifier: BSD-2-Clause
// What Wireshark makes of what PEBs say to each other.
#include <array>
#include <cstdio>
#include <sstream>

#include "rtl-model/ref/peb/testing/random_bus.h"
#include "sim/capture/pcap_file.h"
#include "sim/testing/temp_dir.h"

namespace exrnic::peb::testing {
namespace {

using Row = std::vector<std::string>;

// A row for each frame, with these fields of it.
std::vector<Row> tshark(const std::string& capture, const std::vector<std::string>& fields) {
  std::string command =
      "'" EXRNIC_TSHARK "' " + capture + " -n -T fields -E separator='|' -E occurrence=f";
  for (const std::string& field : fields) command += " -e " + field;
  std::FILE* out = ::popen((command + " 2>&1").c_str(), "r");
  REQUIRE(out != nullptr);
  std::string text;
  for (std::array<char, 4096> bytes; size_t got = std::fread(bytes.data(), 1, bytes.size(), out);)
    text.append(bytes.data(), got);
  INFO(text.substr(0, 1000));
  REQUIRE(::pclose(out) == 0);
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

uint64_t number(const std::string& cell) {
  return cell.empty() ? 0 : std::stoull(cell, nullptr, 0);
}

// What is behind EFE and the DDP header of a Send; else nothing.
Bytes message_of(const Bytes& frame) {
  const uint8_t* efe = frame.data() + EXRNIC_ETH_BYTES;
  const uint8_t* ddp = efe + EXRNIC_EFE_BYTES;
  const uint64_t length = exrnic_efe_length(efe);
  if (length <= EXRNIC_DDP_UNTAGGED_BYTES || exrnic_ddp_tagged_t(ddp) ||
      exrnic_ddp_untagged_opcode(ddp) != EXRNIC_RDMAP_OPCODE_SEND)
    return {};
  return {ddp + EXRNIC_DDP_UNTAGGED_BYTES, ddp + length};
}

}  // namespace

TEST_CASE("tshark shows each TLP between PEBs, and in each header what was sent") {
  const TempDir dir;
  const std::string path = dir / "peb.pcap";
  PcapFile file(path);
  std::vector<Bytes> frames;
  Pair pair(1);
  pair.network.watch = [&](const Frame& frame) {
    Bytes wire = frame.data;
    wire.resize(wire.size() + 4);  // FCS, which nobody looks at
    file.write(pair.network.now_ns, wire);
    frames.push_back(frame.data);
  };
  pair.run(1500);
  file.flush();

  const std::vector<Row> rows =
      tshark(path, {"_ws.malformed", "_ws.expert.message", "peb.posted_limit", "peb.request_limit",
                    "peb.tlp.kind", "peb.tlp.tag", "peb.tlp.requester", "peb.tlp.low",
                    "peb.tlp.address", "peb.tlp.place", "peb.tlp.byte_count"});
  REQUIRE(rows.size() == frames.size());
  std::map<uint64_t, unsigned> seen;
  for (size_t i = 0; i < rows.size(); ++i) {
    INFO("frame " << i + 1);
    const Row& row = rows[i];
    CHECK(row[0].empty());
    CHECK(row[1].empty());
    const Bytes message = message_of(frames[i]);
    CHECK(row[2].empty() == message.empty());
    if (message.empty()) continue;
    CHECK(number(row[2]) == exrnic_peb_posted_limit(message.data()));
    CHECK(number(row[3]) == exrnic_peb_request_limit(message.data()));
    CHECK(row[4].empty() == (message.size() == EXRNIC_PEB_BYTES));
    if (row[4].empty()) continue;
    const uint8_t* tlp = message.data() + EXRNIC_PEB_BYTES;
    const uint8_t* place = tlp + EXRNIC_TLP_BYTES;
    const uint64_t kind = exrnic_tlp_kind(tlp);
    ++seen[kind];
    CHECK(number(row[4]) == kind);
    if (kind == EXRNIC_TLP_TYPE_COMPLETION || kind == EXRNIC_TLP_TYPE_COMPLETION_DATA) {
      CHECK(number(row[5]) == exrnic_tlp_completion_tag(tlp));
      CHECK(number(row[6]) == exrnic_tlp_completion_requester(tlp));
      CHECK(number(row[10]) == exrnic_tlp_completion_byte_count(tlp));
      continue;
    }
    CHECK(number(row[5]) == exrnic_tlp_tag(tlp));
    CHECK(number(row[6]) == exrnic_tlp_requester(tlp));
    const bool is_64 = kind == EXRNIC_TLP_TYPE_READ_64 || kind == EXRNIC_TLP_TYPE_WRITE_64;
    const bool config = kind == EXRNIC_TLP_TYPE_CONFIG_READ || kind == EXRNIC_TLP_TYPE_CONFIG_WRITE;
    if (is_64) {
      CHECK(number(row[8]) == exrnic_tlp_address_64_address(place));
    } else if (config) {
      CHECK(number(row[9]) == exrnic_tlp_register_place(place));
    } else {
      CHECK(number(row[7]) == exrnic_tlp_address_low(place));
    }
  }
  for (const uint64_t kind : {EXRNIC_TLP_TYPE_WRITE, EXRNIC_TLP_TYPE_READ_64,
                              EXRNIC_TLP_TYPE_CONFIG_READ, EXRNIC_TLP_TYPE_CONFIG_WRITE,
                              EXRNIC_TLP_TYPE_COMPLETION, EXRNIC_TLP_TYPE_COMPLETION_DATA}) {
    INFO("kind " << kind);
    CHECK(seen[kind] > 0);
  }
}

}  // namespace exrnic::peb::testing
