// SPDX-License-Identifier: BSD-2-Clause
#include "sim_device.h"

#include <cerrno>
#include <chrono>
#include <string>

#include "sim_error.h"

namespace exrnic {

namespace {

void CheckIdentity(SimLink* link) {
  const uint32_t id = link->Read(EXRNIC_REG_ID);
  if (id != EXRNIC_DEVICE_MAGIC) {
    throw SimError(ENODEV, link->path() + ": register ID reads " + vfio_user::hex(id) + ", not " +
                               vfio_user::hex(EXRNIC_DEVICE_MAGIC) + ": this is no exrnic");
  }
  const uint32_t abi = link->Read(EXRNIC_REG_ABI_VERSION);
  if (abi != EXRNIC_ABI_VERSION) {
    throw SimError(EPROTONOSUPPORT, link->path() + ": the device speaks ABI version " +
                                        std::to_string(abi) + ", this library " +
                                        std::to_string(EXRNIC_ABI_VERSION) +
                                        ": use a pair of one release");
  }
}

void AwaitReady(SimLink* link) {
  const auto until = std::chrono::steady_clock::now() + link->patience();
  uint32_t status;
  do {
    status = link->Read(EXRNIC_REG_STATUS);
    if ((status & EXRNIC_DEVICE_STATUS_READY) != 0) return;
  } while (std::chrono::steady_clock::now() < until);
  throw SimError(ETIMEDOUT, link->path() + ": the device is not ready after " +
                                std::to_string(link->patience().count()) + " ms: STATUS reads " +
                                vfio_user::hex(status));
}

uint32_t ReadLimit(SimLink* link, uint32_t reg, uint32_t most) {
  const uint32_t limit = link->Read(reg);
  if (limit >= 2 && limit <= most) return limit;
  throw SimError(ENODEV, link->path() + ": register " + vfio_user::hex(reg) + " reads " +
                             std::to_string(limit) + ", outside 2 to " + std::to_string(most));
}

}  // namespace

// In the order of the wire: MAC_HI has the first two bytes.
void ReadAddress(SimLink* link, DeviceInfo* info) {
  info->node_id = link->Read(EXRNIC_REG_NODE_ID);
  const uint64_t mac =
      uint64_t{link->Read(EXRNIC_REG_MAC_HI)} << 32 | link->Read(EXRNIC_REG_MAC_LO);
  for (int i = 0; i < 6; ++i) info->mac[i] = static_cast<uint8_t>(mac >> (8 * (5 - i)));
}

DeviceInfo IdentifyDevice(SimLink* link) {
  CheckIdentity(link);
  AwaitReady(link);
  DeviceInfo info = {};
  info.mtu = link->Read(EXRNIC_REG_MTU);
  info.max_qp = ReadLimit(link, EXRNIC_REG_MAX_QP, EXRNIC_MAX_QP);
  info.max_cq = ReadLimit(link, EXRNIC_REG_MAX_CQ, EXRNIC_MAX_CQ);
  info.max_mr = ReadLimit(link, EXRNIC_REG_MAX_STAG, EXRNIC_MAX_STAG);
  info.max_srq = ReadLimit(link, EXRNIC_REG_MAX_SRQ, EXRNIC_MAX_SRQ);
  info.read_pool = ReadLimit(link, EXRNIC_REG_READ_POOL, EXRNIC_READ_POOL);
  info.max_node = ReadLimit(link, EXRNIC_REG_MAX_NODE, EXRNIC_MAX_NODE);
  info.max_window = uint64_t{EXRNIC_MAX_WINDOWS} * link->Read(EXRNIC_REG_WINDOW_SIZE);
  info.max_sq_slots = 1u << EXRNIC_SQ_LOG_MAX;
  info.max_cq_entries = 1u << EXRNIC_CQ_LOG_MAX;
  info.clock_khz = link->Read(EXRNIC_REG_CLOCK_KHZ);
  ReadAddress(link, &info);
  for (uint32_t i = 0; i < EXRNIC_PKEYS; ++i) {
    info.pkeys[i] = static_cast<uint16_t>(link->Read(EXRNIC_REG_PKEYS + i * 4));
  }
  return info;
}

void EnableDevice(SimLink* link) {
  link->Write({{EXRNIC_REG_CONTROL, EXRNIC_DEVICE_CONTROL_ENABLE}});
}

}  // namespace exrnic
