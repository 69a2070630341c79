// SPDX-License-Identifier: BSD-2-Clause
#include "sim/vfio_user/bus_errors.h"

#include <signal.h>

#include <utility>

namespace exrnic::vfio_user {

thread_local sigjmp_buf* bus_error_exit = nullptr;

namespace {

struct sigaction before;

// Whoever had bus errors before meets this one again.
void on_bus_error(int) {
  if (bus_error_exit == nullptr) {
    ::sigaction(SIGBUS, &before, nullptr);
    return;
  }
  siglongjmp(*std::exchange(bus_error_exit, nullptr), 1);
}

bool install() {
  struct sigaction action = {};
  action.sa_handler = on_bus_error;
  action.sa_flags = SA_NODEFER;  // nobody returns from it, so it would stay blocked
  return ::sigaction(SIGBUS, &action, &before) == 0;
}

}  // namespace

void catch_bus_errors() { [[maybe_unused]] static const bool installed = install(); }

}  // namespace exrnic::vfio_user
