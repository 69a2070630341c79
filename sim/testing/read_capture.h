// SPDX-License-Identifier: BSD-2-Clause
// A capture file as tests read it: through libpcap.
#pragma once

#include <pcap/pcap.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "rtl-model/systemc/core.h"

namespace exrnic {

struct Packet {
  uint64_t time_ns = 0;
  Bytes wire;  // destination MAC to FCS
};

// Throws std::runtime_error if it is no capture of Ethernet, or ends within a packet.
inline std::vector<Packet> read_capture(const std::string& path) {
  char error[PCAP_ERRBUF_SIZE] = "";
  const std::unique_ptr<pcap_t, void (*)(pcap_t*)> capture(
      pcap_open_offline_with_tstamp_precision(path.c_str(), PCAP_TSTAMP_PRECISION_NANO, error),
      pcap_close);
  if (capture == nullptr) throw std::runtime_error(error);
  if (pcap_datalink(capture.get()) != DLT_EN10MB) throw std::runtime_error(path + ": no Ethernet");
  std::vector<Packet> packets;
  pcap_pkthdr* header = nullptr;
  const u_char* data = nullptr;
  int more;
  while ((more = pcap_next_ex(capture.get(), &header, &data)) == 1) {
    if (header->caplen != header->len) throw std::runtime_error(path + ": a frame is cut short");
    packets.push_back({static_cast<uint64_t>(header->ts.tv_sec) * 1'000'000'000 +
                           static_cast<uint64_t>(header->ts.tv_usec),
                       Bytes(data, data + header->caplen)});
  }
  if (more == PCAP_ERROR) throw std::runtime_error(path + ": " + pcap_geterr(capture.get()));
  return packets;
}

}  // namespace exrnic
