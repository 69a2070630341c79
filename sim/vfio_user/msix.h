// SPDX-License-Identifier: BSD-2-Clause
// The interrupts of the device: what SET_IRQS set up (an eventfd per vector, masks).
//
// As in vfio, SET_IRQS alone decides what fires: QEMU keeps the guest's MSI-X table to itself and
// translates it into SET_IRQS. A vector that fires while masked by SET_IRQS is pending until it is
// unmasked, and fires then.
//
// Threads: none of its own; one calls at a time, see "Several threads" in sim/README.md.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/posix/unique_fd.h"
#include "sim/vfio_user/protocol.h"

namespace exrnic::vfio_user {

class Msix {
 public:
  explicit Msix(unsigned vectors) : vectors_(vectors) {}

  // Carries out a request for these vectors. EINVAL: vectors that do not exist, a number of
  // descriptors that is not the number of vectors (none: the vectors are released), or one that
  // is no eventfd. ENOTSUP: an eventfd for masking or unmasking.
  std::optional<Fault> set_irqs(const SetIrqsRequest& request, std::vector<UniqueFd> fds);

  // False: dropped, because nothing is set up for this vector. Masked: kept pending, true.
  bool fire(unsigned vector);

  // The client has read every eventfd that was signalled. One system call for each that was not.
  bool taken();

  bool pending(unsigned vector) const { return vectors_[vector].pending; }

  // A reset of the function: pending bits; eventfds and masks belong to the client and stay, as
  // they do in vfio.
  void reset();
  // The client is gone: everything.
  void disconnect();

 private:
  struct Vector {
    UniqueFd eventfd;
    bool masked = false;
    bool pending = false;
  };

  std::optional<Fault> set_eventfds(const SetIrqsRequest& request, std::vector<UniqueFd> fds);
  void act(IrqAction action, unsigned vector);

  std::vector<Vector> vectors_;
  std::vector<unsigned> signalled_;  // and not known to be taken
};

}  // namespace exrnic::vfio_user
