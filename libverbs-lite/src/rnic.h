// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXRNIC_LIBVERBS_RNIC_H
#define EXRNIC_LIBVERBS_RNIC_H

#include <array>
#include <atomic>
#include <memory>
#include <mutex>

#include "event_table.h"
#include "exrnic/verbs.h"
#include "exrnic_hw.h"
#include "pio.h"
#include "transport/error_text.h"
#include "transport/transport.h"

// An open RNIC: one user context of the device.
struct vl_rnic {
  std::unique_ptr<exrnic::Transport> transport;
  exrnic::UserPage user_page;
  exrnic::PioBlocks pio;  // of the user page
  exrnic::DeviceInfo info = {};

  // Held by every call that makes, changes or destroys an object, around the device's part and the
  // library's: else a number that the device has just freed could come back from it, for a new
  // object, before the old one is forgotten here. Guards all use counts.
  std::mutex control;
  int users = 0;  // protection domains, completion queues and channels

  exrnic::EventTable events;

  // By number, for vl_poll_cq. An entry changes only while the locks of the queue pair's completion
  // queues are held.
  std::array<std::atomic<vl_qp*>, EXRNIC_MAX_QP> qps = {};
};

namespace exrnic {

// Opens an RNIC over any transport. NULL with errno. This is where tests and other faces come in.
vl_rnic* OpenRnic(std::unique_ptr<Transport> transport);

// Whether an object is gone, by what the transport answered to its destruction: an RNIC that was
// removed has taken its objects with it.
bool IsGone(int result);

}  // namespace exrnic

#endif  // EXRNIC_LIBVERBS_RNIC_H
