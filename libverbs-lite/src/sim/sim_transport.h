// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXRNIC_LIBVERBS_SIM_TRANSPORT_H
#define EXRNIC_LIBVERBS_SIM_TRANSPORT_H

#include <chrono>
#include <memory>
#include <string>

#include "transport/transport.h"

namespace exrnic {

// How long the simulator has for an answer: a slow core on a busy machine needs some milliseconds.
constexpr std::chrono::milliseconds kSimPatience = std::chrono::seconds(10);

// Through the vfio-user socket of a node of exrnic-sim: the library is the device's driver. Null
// with errno and vl_error_text(), as vl_open_rnic.
std::unique_ptr<Transport> OpenSim(const std::string& path,
                                   std::chrono::milliseconds patience = kSimPatience);

}  // namespace exrnic

#endif  // EXRNIC_LIBVERBS_SIM_TRANSPORT_H
