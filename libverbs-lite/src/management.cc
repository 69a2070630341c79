// SPDX-License-Identifier: BSD-2-Clause
#include <cerrno>
#include <mutex>

#include "exrnic/fabric.h"
#include "rnic.h"
#include "transport/error_text.h"

static_assert(VL_MANAGEMENT_BYTES == EXRNIC_MANAGEMENT_FRAME_BYTES, "the device's value");

// What the kernel module's errno does not say.
static int Explained(int result) {
  if (result == 0) return 0;
  exrnic::Explain(EBUSY, "another process has the management frames of this RNIC: end it first");
  exrnic::Explain(EPERM, "management frames are for who has CAP_NET_ADMIN");
  return result;
}

int vl_send_management(vl_rnic* rnic, const void* frame) {
  if (!exrnic::BeginCall({{"rnic", rnic}, {"frame", frame}})) return -1;
  std::lock_guard<std::mutex> guard(rnic->control);
  return Explained(rnic->transport->SendManagement(frame));
}

int vl_receive_management(vl_rnic* rnic, void* frame) {
  if (!exrnic::BeginCall({{"rnic", rnic}, {"frame", frame}})) return -1;
  std::lock_guard<std::mutex> guard(rnic->control);
  return Explained(rnic->transport->ReceiveManagement(frame));
}
