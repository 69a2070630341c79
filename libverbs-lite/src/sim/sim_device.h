// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXRNIC_LIBVERBS_SIM_DEVICE_H
#define EXRNIC_LIBVERBS_SIM_DEVICE_H

#include "sim_link.h"
#include "transport/transport.h"

namespace exrnic {

// Waits until the device is ready, checks that it is one that this library knows, and reads what it
// is. Throws SimError: ENODEV, EPROTONOSUPPORT, ETIMEDOUT.
DeviceInfo IdentifyDevice(SimLink* link);

// Its node and MAC address as they are now: a fabric's manager may give others.
void ReadAddress(SimLink* link, DeviceInfo* info);

// User pages, and so on: the device serves doorbells and frames from here on.
void EnableDevice(SimLink* link);

}  // namespace exrnic

#endif  // EXRNIC_LIBVERBS_SIM_DEVICE_H
