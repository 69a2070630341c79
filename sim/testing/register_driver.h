// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <linux/pci_regs.h>
#include <linux/vfio.h>

#include <catch2/catch_test_macros.hpp>
#include <cstdint>
#include <string>

#include "sim/posix/unix_socket.h"
#include "sim/vfio_user/client.h"

namespace exrnic {

// A driver in user space at one of the simulator's sockets.
struct RegisterDriver {
  explicit RegisterDriver(const std::string& socket) : client(connect_unix(socket), {}) {
    REQUIRE(client.negotiate() == 0);
    const uint16_t command = PCI_COMMAND_MEMORY;  // no BAR answers without it
    REQUIRE(client.write(VFIO_PCI_CONFIG_REGION_INDEX, PCI_COMMAND, &command, sizeof(command)) ==
            0);
  }
  uint32_t load(uint64_t offset) {
    uint32_t value = 0;
    const int error = client.read(VFIO_PCI_BAR0_REGION_INDEX, offset, &value, sizeof(value));
    INFO(client.last_error());
    REQUIRE(error == 0);
    return value;
  }
  vfio_user::VfioUserClient client;
};

}  // namespace exrnic
