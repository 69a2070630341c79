// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXRNIC_LIBVERBS_SIM_MAILBOX_H
#define EXRNIC_LIBVERBS_SIM_MAILBOX_H

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <type_traits>

#include "exrnic_hw.h"
#include "sim_link.h"

namespace exrnic {

// The mailbox of the device: one command at a time. Throws SimError: EINVAL the device found a
// value bad, EPERM (MODIFY_QP only) the state does not allow it, EEXIST, ENOENT, ENOSPC (groups)
// the queue pair is or is not attached or there is no room, ENOSPC (RESIZE_CQ) more is unread than
// the ring holds, EIO it refused, ETIMEDOUT it did not
// answer, ENODEV it is gone. Any thread.
class SimMailbox {
 public:
  explicit SimMailbox(SimLink* link) : link_(link) {}

  template <typename In>
  void Set(exrnic_mbox_op op, const In& in) {
    static_assert(std::is_trivially_copyable_v<In> && sizeof(In) <= EXRNIC_MBOX_DATA_BYTES);
    Execute(op, &in, sizeof(in), nullptr, 0);
  }
  // The same for a command that has an answer.
  template <typename Out, typename In>
  Out Ask(exrnic_mbox_op op, const In& in) {
    static_assert(std::is_trivially_copyable_v<In> && sizeof(In) <= EXRNIC_MBOX_DATA_BYTES);
    static_assert(std::is_trivially_copyable_v<Out> && sizeof(Out) <= EXRNIC_MBOX_DATA_BYTES);
    Out out = {};
    Execute(op, &in, sizeof(in), &out, sizeof(out));
    return out;
  }
  // What the device knows of an object.
  template <typename Out>
  Out Query(exrnic_mbox_op op, uint32_t index) {
    return Ask<Out>(op, exrnic_mbox_object{index});
  }
  // Ends an object, whose memory goes away next: a device that refuses is cut off from all memory.
  void End(exrnic_mbox_op op, uint32_t index);

 private:
  void Execute(exrnic_mbox_op op, const void* in, size_t in_bytes, void* out, size_t out_bytes);
  uint32_t AwaitStatus(exrnic_mbox_op op);

  SimLink* const link_;
  std::mutex mutex_;
};

}  // namespace exrnic

#endif  // EXRNIC_LIBVERBS_SIM_MAILBOX_H
