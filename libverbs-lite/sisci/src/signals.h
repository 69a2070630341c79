// SPDX-License-Identifier: BSD-2-Clause
// Threads of the library take no signals: they are the program's.
#ifndef EXRNIC_SISCI_SIGNALS_H
#define EXRNIC_SISCI_SIGNALS_H

#include <pthread.h>

#include <csignal>

namespace exrnic::sisci {

// While this lives, a thread that is started has all signals blocked.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace exrnic::sisci

#endif  // EXRNIC_SISCI_SIGNALS_H
