// SPDX-License-Identifier: BSD-2-Clause
#include "tools/bench/path.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace exrnic::bench {
namespace {

using testing::element;
using testing::Side;
using testing::Work;

constexpr uint32_t kLandingStag = 0x000099'02;
constexpr uint64_t kLandingBase = 0x6600'0000'0000;
constexpr uint32_t kSinkRights = EXRNIC_ACCESS_LOCAL_WRITE | EXRNIC_ACCESS_REMOTE_WRITE |
                                 EXRNIC_ACCESS_REMOTE_READ | EXRNIC_ACCESS_REMOTE_ATOMIC;

}  // namespace

Path::Path(const std::string& profile, uint64_t region_bytes, const CoreFactory& make_core)
    : Path(testing::options_for(profile.c_str()), region_bytes, make_core) {}

Path::Path(const TestbedOptions& options, uint64_t region_bytes, const CoreFactory& make_core)
    : pair(options, make_core),
      source(testing::source_of(pair.left, region_bytes)),
      landing(pair.left.rnic.create_region(kLandingStag, Side::kPd, kLandingBase, region_bytes,
                                           EXRNIC_ACCESS_LOCAL_WRITE)),
      sink(pair.right.rnic.create_region(testing::kSinkStag, Side::kPd, testing::kSinkBase,
                                         region_bytes, kSinkRights)) {}

Work Path::work(Carrier carrier, uint32_t size) const {
  Work work;
  const bool comes_back = carrier == Carrier::kPull || carrier == Carrier::kFetchAdd;
  work.elements = {element(comes_back ? landing : source, 0, size)};
  if (carrier == Carrier::kSend) return work;
  work.opcode = carrier == Carrier::kPull ? EXRNIC_WQE_OPCODE_PULL : EXRNIC_WQE_OPCODE_PUSH;
  work.remote_stag = sink.stag;
  work.remote_to = sink.base;
  if (carrier == Carrier::kFetchAdd) {
    work.opcode = EXRNIC_WQE_OPCODE_FETCH_ADD;
    work.remote_to += -sink.base % EXRNIC_ATOMIC_BYTES;
    work.atomic_data = 1;
  }
  return work;
}

void Path::put(Carrier carrier, uint32_t size) {
  if (carrier == Carrier::kSend)
    pair.right.rnic.post_receive(pair.right.qp, {element(sink, 0, size)});
  pair.left.rnic.put(pair.left.qp, work(carrier, size));
}

void Path::ring() { pair.left.rnic.ring(pair.left.qp); }

exrnic_cqe Path::complete() {
  const exrnic_cqe cqe = pair.left.wait(kWaitNs);
  if (cqe.status != EXRNIC_CQE_STATUS_SUCCESS)
    throw std::runtime_error("an operation ended with status " + std::to_string(cqe.status));
  return cqe;
}

void Path::rest() {
  pair.testbed.run_until([] { return false; }, kWaitNs);
}

double Path::stream(Carrier carrier, uint32_t size, uint32_t operations) {
  const uint32_t depth = 1u << pair.left.qp.sq.log_entries;
  const uint32_t first = operations / 4;
  uint32_t posted = 0;
  uint64_t first_ns = 0, last_ns = 0;
  for (uint32_t completed = 0; completed < operations; ++completed) {
    const uint32_t before = posted;
    for (; posted < operations && posted - completed < depth; ++posted) put(carrier, size);
    if (posted != before) ring();
    const uint64_t at = complete().timestamp;
    while (pair.right.rnic.poll(pair.right.cq, Side::kPage)) {
    }
    if (completed == first) first_ns = at;
    last_ns = at;
  }
  return (operations - 1 - first) * 1e9 / static_cast<double>(last_ns - first_ns);
}

uint32_t operations_for(uint32_t size) {
  constexpr uint32_t kBytes = 512 << 10;
  return std::clamp(kBytes / size, size > 1u << 20 ? 2u : 4u, 512u);
}

}  // namespace exrnic::bench
