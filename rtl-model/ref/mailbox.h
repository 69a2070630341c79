// SPDX-License-Identifier: BSD-2-Clause
// Executes the driver's commands: one handler each. What takes something away or changes it waits
// until no host memory is in use; after its end the core touches none of that memory any more.
#pragma once

#include <array>

#include "rtl-model/ref/pbl_cache.h"
#include "rtl-model/ref/state.h"
#include "rtl-model/ref/windows.h"

namespace exrnic::ref {

class Mailbox {
 public:
  using Payload = std::array<uint32_t, EXRNIC_MBOX_DATA_BYTES / sizeof(uint32_t)>;

  Mailbox(State& state, PblCache& pbl_cache, Windows& windows)
      : state_(state), pbl_cache_(pbl_cache), windows_(windows) {}

  void start(uint32_t op);  // only while idle
  void run(bool quiescent);

  bool idle() const { return status_ != EXRNIC_MBOX_STATUS_BUSY; }
  exrnic_mbox_status status() const { return status_; }
  Payload& payload() { return payload_; }  // of the command; an answer replaces its first words

 private:
  template <typename Command>
  Command command() const;
  template <typename Answer>
  void answer(const Answer& answer);

  exrnic_mbox_status execute();
  exrnic_mbox_status create_eq(const exrnic_mbox_create_eq& command);
  exrnic_mbox_status destroy_eq(const exrnic_mbox_object& command);
  bool is_heard(const exrnic_mbox_create_cq& command) const;
  exrnic_mbox_status create_cq(const exrnic_mbox_create_cq& command);
  exrnic_mbox_status destroy_cq(const exrnic_mbox_object& command);
  exrnic_mbox_status resize_cq(const exrnic_mbox_resize_cq& command);
  bool owns_queues(const exrnic_mbox_create_qp& command) const;
  static bool is_under_way(const QueuePair& qp);
  exrnic_mbox_status create_qp(const exrnic_mbox_create_qp& command);
  exrnic_mbox_status modify_qp(const exrnic_mbox_modify_qp& command);
  exrnic_mbox_status query_qp(const exrnic_mbox_object& command);
  exrnic_mbox_status destroy_qp(const exrnic_mbox_object& command);
  exrnic_mbox_status register_mr(const exrnic_mbox_register_mr& command);
  exrnic_mbox_status invalidate_mr(const exrnic_mbox_object& command);
  exrnic_mbox_status create_srq(const exrnic_mbox_create_srq& command);
  exrnic_mbox_status destroy_srq(const exrnic_mbox_object& command);
  exrnic_mbox_status modify_srq(const exrnic_mbox_modify_srq& command);
  exrnic_mbox_status query_srq(const exrnic_mbox_object& command);
  exrnic_mbox_status set_window(const exrnic_mbox_set_window& command);
  exrnic_mbox_status judge(const exrnic_mbox_group& command) const;
  std::optional<Attachment>* attachment(const exrnic_mbox_group& command);
  exrnic_mbox_status attach_group(const exrnic_mbox_group& command);
  exrnic_mbox_status detach_group(const exrnic_mbox_group& command);
  bool values_good(const exrnic_mbox_modify_qp& command, const QueuePair& qp) const;
  static void set_attributes(const exrnic_mbox_modify_qp& command, QueuePair& qp);
  void change_state(uint32_t qpn, exrnic_qp_state to);

  State& state_;
  PblCache& pbl_cache_;
  Windows& windows_;
  uint32_t op_ = EXRNIC_MBOX_OP_NOP;
  exrnic_mbox_status status_ = EXRNIC_MBOX_STATUS_OK;
  Payload payload_{};
};

}  // namespace exrnic::ref
