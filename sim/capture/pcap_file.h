// SPDX-License-Identifier: BSD-2-Clause
// A capture file of one Ethernet port, as tcpdump, Wireshark and tshark read it: pcap with
// nanoseconds, each frame from destination MAC to FCS (pcap-savefile(5)), written through libpcap.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "rtl-model/systemc/core.h"

struct pcap;
struct pcap_dumper;

namespace exrnic {

class PcapFile {
 public:
  // Replaces what is at `path`. Throws std::system_error with path and cause.
  explicit PcapFile(const std::string& path);

  // `time_ns` since the epoch of simulated time; not before that of the frame before. Both throw
  // std::system_error with path and cause when the file takes no more: it is of no use then.
  void write(uint64_t time_ns, const Bytes& wire);
  void flush();  // what was written is there for others to read

 private:
  struct Close {
    void operator()(pcap* handle) const;
    void operator()(pcap_dumper* dumper) const;
  };

  void mark_fcs();
  void check(bool good) const;

  std::string path_;
  std::unique_ptr<pcap, Close> handle_;
  std::unique_ptr<pcap_dumper, Close> dumper_;
};

}  // namespace exrnic
