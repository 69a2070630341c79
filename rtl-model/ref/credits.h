// SPDX-License-Identifier: BSD-2-Clause
// End-to-end credits: tells peers how many messages they may send to a queue pair, and hears it
// from them.
#pragma once

#include "rtl-model/ref/efe_tx.h"
#include "rtl-model/ref/state.h"

namespace exrnic::ref {

class Credits {
 public:
  Credits(State& state, EfeTx& efe_tx) : state_(state), efe_tx_(efe_tx) {}

  void run();

 private:
  void hear(const CreditUpdate& update);
  void tell(uint32_t qpn);

  State& state_;
  EfeTx& efe_tx_;
};

}  // namespace exrnic::ref
