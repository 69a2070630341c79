// SPDX-License-Identifier: BSD-2-Clause
#include <mutex>

#include "exrnic/fabric.h"
#include "rnic.h"
#include "transport/error_text.h"

static_assert(VL_MANAGEMENT_BYTES == EXRNIC_MANAGEMENT_FRAME_BYTES, "the device's value");

int vl_send_management(vl_rnic* rnic, const void* frame) {
  if (!exrnic::BeginCall({{"rnic", rnic}, {"frame", frame}})) return -1;
  std::lock_guard<std::mutex> guard(rnic->control);
  return rnic->transport->SendManagement(frame);
}

int vl_receive_management(vl_rnic* rnic, void* frame) {
  if (!exrnic::BeginCall({{"rnic", rnic}, {"frame", frame}})) return -1;
  std::lock_guard<std::mutex> guard(rnic->control);
  return rnic->transport->ReceiveManagement(frame);
}
