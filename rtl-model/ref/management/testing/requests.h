// SPDX-License-Identifier: BSD-2-Clause
// Management frames for tests of who gets them.
#pragma once

#include <vector>

#include "rtl-model/ref/management/frame.h"

namespace exrnic::management::testing {

inline Bytes make_frame(uint64_t to, exrnic_management_method method,
                        exrnic_management_attribute attribute = EXRNIC_MANAGEMENT_ATTRIBUTE_DEVICE,
                        uint32_t modifier = 0) {
  Bytes frame(EXRNIC_MANAGEMENT_FRAME_BYTES);
  exrnic_eth_set_dst(frame.data(), to);
  exrnic_eth_set_src(frame.data(), kAnyone);
  exrnic_eth_set_ethertype(frame.data(), EXRNIC_MANAGEMENT_ETHERTYPE);
  uint8_t* const at = header(frame);
  exrnic_management_header_set_version(at, EXRNIC_MANAGEMENT_VERSION);
  exrnic_management_header_set_method(at, method);
  exrnic_management_header_set_attribute(at, attribute);
  exrnic_management_header_set_modifier(at, modifier);
  exrnic_management_header_set_transaction(at, 0x1122334455667788);
  return frame;
}

// A get, or what becomes of it, that leaves its devices by these ports, where `hop` of them is
// next.
inline Bytes directed(const std::vector<unsigned>& path, unsigned hop = 0,
                      exrnic_management_method method = EXRNIC_MANAGEMENT_METHOD_GET) {
  Bytes frame = make_frame(kAnyone, method);
  exrnic_management_header_set_hops(header(frame), path.size());
  exrnic_management_header_set_hop(header(frame), hop);
  for (unsigned i = 0; i < path.size(); ++i) put_number(hop_of(frame, i), path[i]);
  return frame;
}

// The same as a set of fields of the device.
inline Bytes set_device(Bytes frame, unsigned sets, uint16_t number, uint64_t new_key = 0) {
  exrnic_management_header_set_method(header(frame), EXRNIC_MANAGEMENT_METHOD_SET);
  exrnic_management_device_set_sets(data(frame), sets);
  exrnic_management_device_set_number(data(frame), number);
  exrnic_management_device_set_new_key(data(frame), new_key);
  return frame;
}

inline unsigned path_of(Bytes frame, unsigned hop) { return number_at(hop_of(frame, hop)); }

}  // namespace exrnic::management::testing
