// SPDX-License-Identifier: BSD-2-Clause
#include "sim/capture/pcap_file.h"

#include <pcap/pcap.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

#include "sim/ethernet/ethernet_link.h"
#include "sim/files/output_file.h"

namespace exrnic {
namespace {

constexpr int kSnapshotBytes = 65'535;
constexpr uint64_t kNsPerSecond = 1'000'000'000;

// In the file's header, above the link type: that frames end with an FCS, and in how many words of
// 16 bits (pcap-savefile(5)). libpcap has no call for that.
constexpr long kLinkTypeAt = 20;
constexpr uint32_t kFcsPresent = 0x0400'0000;
constexpr unsigned kFcsWordsShift = 28;

}  // namespace

void PcapFile::Close::operator()(pcap* handle) const { pcap_close(handle); }
void PcapFile::Close::operator()(pcap_dumper* dumper) const { pcap_dump_close(dumper); }

PcapFile::PcapFile(const std::string& path)
    : path_(path),
      handle_(pcap_open_dead_with_tstamp_precision(DLT_EN10MB, kSnapshotBytes,
                                                   PCAP_TSTAMP_PRECISION_NANO)) {
  OutputFile file = open_output(path);
  check(file != nullptr);
  dumper_.reset(pcap_dump_fopen(handle_.get(), file.get()));
  check(dumper_ != nullptr);
  static_cast<void>(file.release());  // the dumper closes it
  mark_fcs();
}

void PcapFile::mark_fcs() {
  std::FILE* file = pcap_dump_file(dumper_.get());
  const uint32_t link_type = DLT_EN10MB | kFcsPresent | kFcsBytes / 2 << kFcsWordsShift;
  check(std::fflush(file) == 0 && std::fseek(file, kLinkTypeAt, SEEK_SET) == 0 &&
        std::fwrite(&link_type, sizeof link_type, 1, file) == 1 &&
        std::fseek(file, 0, SEEK_END) == 0);
}

void PcapFile::check(bool good) const {
  if (!good) throw std::system_error(errno, std::generic_category(), "capture " + path_);
}

void PcapFile::write(uint64_t time_ns, const Bytes& wire) {
  pcap_pkthdr header{};
  header.ts.tv_sec = static_cast<time_t>(time_ns / kNsPerSecond);
  header.ts.tv_usec = static_cast<suseconds_t>(time_ns % kNsPerSecond);  // nanoseconds, here
  header.caplen = header.len = static_cast<bpf_u_int32>(wire.size());
  pcap_dump(reinterpret_cast<u_char*>(dumper_.get()), &header, wire.data());
  check(std::ferror(pcap_dump_file(dumper_.get())) == 0);
}

void PcapFile::flush() { check(pcap_dump_flush(dumper_.get()) == 0); }

}  // namespace exrnic
