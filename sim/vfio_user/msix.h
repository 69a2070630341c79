// SPDX-License-Identifier: BSD-2-Clause
// The interrupts of the device: what SET_IRQS set up (an eventfd per vector, masks), and the BAR
// that shows MSI-X table and pending bits.
//
// As in vfio, SET_IRQS alone decides what fires: QEMU keeps the guest's MSI-X table to itself and
// translates it into SET_IRQS, so the table here is memory that a client may read and write, no
// more. Pending bits are real: a vector that fires while masked by SET_IRQS is pending until it is
// unmasked, and fires then.
//
// Threads: none of its own; one calls at a time, see "Several threads" in sim/README.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/pcie/config_space.h"
#include "sim/posix/unique_fd.h"
#include "sim/vfio_user/protocol.h"

namespace exrnic::vfio_user {

class Msix {
 public:
  Msix(const PciDescription::Msix& layout, size_t bar_size);

  // Carries out a request for these vectors. EINVAL: vectors that do not exist, a number of
  // descriptors that is not the number of vectors (none: the vectors are released), or one that
  // is no eventfd. ENOTSUP: an eventfd for masking or unmasking.
  std::optional<Fault> set_irqs(const SetIrqsRequest& request, std::vector<UniqueFd> fds);

  // False: dropped, because nothing is set up for this vector. Masked: kept pending, true.
  bool fire(unsigned vector);

  // The client has read every eventfd that was signalled. One system call for each that was not.
  bool taken();

  // The BAR: any length within it.
  void read_bar(size_t offset, uint8_t* out, size_t length) const;
  void write_bar(size_t offset, const uint8_t* data, size_t length);

  // A reset of the function: table and pending bits; eventfds and masks belong to the client and
  // stay, as they do in vfio.
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

  PciDescription::Msix layout_;
  std::vector<Vector> vectors_;
  std::vector<unsigned> signalled_;  // and not known to be taken
  std::vector<uint8_t> bar_;         // pending bits are not kept here but made from vectors_
};

}  // namespace exrnic::vfio_user
