// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXRNIC_LIBVERBS_CHARDEV_TRANSPORT_H
#define EXRNIC_LIBVERBS_CHARDEV_TRANSPORT_H

#include <memory>

#include "transport/transport.h"

namespace exrnic {

// Through /dev/exrnicN of the kernel module (kmod/uapi/exrnic.h). Null with errno, as vl_open_rnic.
std::unique_ptr<Transport> OpenChardev(const char* path);

}  // namespace exrnic

#endif  // EXRNIC_LIBVERBS_CHARDEV_TRANSPORT_H
