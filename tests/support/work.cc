// SPDX-License-Identifier: BSD-2-Clause
#include "tests/support/work.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

namespace exrnic::testing {
namespace {

constexpr size_t kHeader = offsetof(exrnic_wqe, sge0_address);

}  // namespace

Work receive_into(std::vector<exrnic_sge> elements) {
  Work receive;
  receive.opcode = EXRNIC_WQE_OPCODE_RECV;
  receive.flags = 0;
  receive.elements = std::move(elements);
  return receive;
}

Bytes slots_of(const Work& work) {
  const size_t body = work.elements.size() * sizeof(exrnic_sge) + work.inline_data.size();
  const size_t slots =
      std::max<size_t>(1, (kHeader + body + sizeof(exrnic_wqe) - 1) / sizeof(exrnic_wqe));
  Bytes bytes(slots * sizeof(exrnic_wqe));
  exrnic_wqe head{};
  head.opcode = work.opcode;
  head.flags = work.flags;
  head.num_sge = static_cast<uint8_t>(work.elements.size());
  head.num_slots = static_cast<uint8_t>(slots);
  head.imm_data = work.imm_data;
  head.remote_to = work.remote_to;
  head.remote_stag = work.remote_stag;
  head.length = static_cast<uint32_t>(work.inline_data.size());
  for (const exrnic_sge& element : work.elements) head.length += element.length;
  std::memcpy(bytes.data(), &head, kHeader);
  if (!work.elements.empty())
    std::memcpy(bytes.data() + kHeader, work.elements.data(),
                work.elements.size() * sizeof(exrnic_sge));
  if (work.opcode == EXRNIC_WQE_OPCODE_FETCH_ADD || work.opcode == EXRNIC_WQE_OPCODE_COMPARE_SWAP) {
    const uint64_t operands[] = {work.atomic_data, work.atomic_compare};
    std::memcpy(bytes.data() + offsetof(exrnic_wqe, sge1_address), operands, sizeof operands);
  }
  std::copy(work.inline_data.begin(), work.inline_data.end(), bytes.begin() + kHeader);
  return bytes;
}

exrnic_wqe first_slot(const Bytes& slots) {
  exrnic_wqe wqe;
  std::memcpy(&wqe, slots.data(), sizeof wqe);
  return wqe;
}

void set_first_slot(Bytes& slots, const exrnic_wqe& wqe) {
  std::memcpy(slots.data(), &wqe, sizeof wqe);
}

}  // namespace exrnic::testing
