// SPDX-License-Identifier: BSD-2-Clause
// A server in a folder of its own, a device that notes, and clients in the same thread.
#pragma once

#include <linux/pci_regs.h>
#include <linux/vfio.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "sim/posix/unix_socket.h"
#include "sim/vfio_user/client.h"
#include "sim/vfio_user/rnic_pci.h"
#include "sim/vfio_user/server.h"
#include "sim/vfio_user/test_support.h"

namespace exrnic::vfio_user {

class ServerFixture {
 public:
  ServerFixture() {
    std::string name = std::filesystem::temp_directory_path() / "exrnic-vfio-user-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    folder_ = name;
    path = folder_ + "/rnic";
    server = std::make_unique<VfioUserServer>(
        path, rnic_pci_description({}), [this](const std::string& line) { log.push_back(line); });
    server->attach(device);
  }
  ~ServerFixture() {
    server.reset();
    ::rmdir(folder_.c_str());
  }

  // Until there is nothing more to do.
  void serve() {
    while (server->service()) {
    }
  }

  // A client whose waits let the server work.
  std::unique_ptr<VfioUserClient> new_client() {
    return std::make_unique<VfioUserClient>(
        connect_unix(path), VfioUserClient::Options{2000, [this] { server->service(); }});
  }

  std::string path;
  std::vector<std::string> log;
  FakeDevice device;
  std::unique_ptr<VfioUserServer> server;

 private:
  std::string folder_;
};

// With one client that has said VERSION.
struct Connected : ServerFixture {
  Connected() : client(new_client()) { REQUIRE(client->negotiate() == 0); }

  void enable(uint16_t bits = PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER) {
    REQUIRE(client->write(VFIO_PCI_CONFIG_REGION_INDEX, PCI_COMMAND, &bits, sizeof(bits)) == 0);
  }
  std::unique_ptr<VfioUserClient> client;
};

}  // namespace exrnic::vfio_user
