// SPDX-License-Identifier: BSD-2-Clause
// exrnic-nvme: an NVM Express controller behind a vfio-user socket, until a signal.
#include <poll.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/devices/nvme/controller.h"
#include "sim/devices/nvme/nvme_pci.h"
#include "sim/posix/stop_signal.h"
#include "sim/vfio_user/server.h"

namespace exrnic::nvme {
namespace {

constexpr int kFailure = 1;
constexpr int kUsageError = 2;
constexpr size_t kMostSerialBytes = 20;
constexpr int kForever = -1;
constexpr std::chrono::seconds kAnswerLimit{5};  // of the host to DMA that goes by messages

void log(const std::string& line) { std::fprintf(stderr, "exrnic-nvme: %s\n", line.c_str()); }

struct Options {
  std::string socket;
  std::vector<std::string> files;
  unsigned block_bytes = 512;
  std::string serial = "exrnic-nvme";
};

void describe(CLI::App& app, Options& options) {
  app.add_option("--socket", options.socket, "Serve the controller on this unix socket")
      ->type_name("PATH")
      ->required();
  app.add_option("--namespace", options.files,
                 "Add a namespace: the blocks of a regular file, which keeps its size. The first\n"
                 "is namespace 1, the next namespace 2, ...")
      ->type_name("FILE")
      ->allow_extra_args(false)
      ->required();
  app.add_option("--block-size", options.block_bytes, "Bytes of a block, of all namespaces")
      ->check(CLI::IsMember(
          {1u << NamespaceFile::kLeastBlockShift, 1u << NamespaceFile::kMostBlockShift}))
      ->capture_default_str();
  app.add_option("--serial", options.serial,
                 "Serial number, up to 20 printable characters. Hosts tell disks apart by it")
      ->type_name("TEXT")
      ->capture_default_str();
  app.footer(
      "It prints 'exrnic-nvme: ready' on stdout when the socket listens, and ends cleanly on\n"
      "SIGINT or SIGTERM. Exit code 2 means that an argument is wrong, 1 that something failed.\n\n"
      "Example: a disk of 1 GiB for a guest\n"
      "  truncate -s 1G disk; exrnic-nvme --socket nvme.sock --namespace disk\n"
      "  qemu-system-x86_64 ... -device "
      "'{\"driver\":\"vfio-user-pci\",\"socket\":{\"type\":\"unix\",\"path\":\"nvme.sock\"}}'");
}

std::string checked_serial(const std::string& serial) {
  const bool printable =
      std::all_of(serial.begin(), serial.end(), [](char c) { return c >= ' ' && c <= '~'; });
  if (!serial.empty() && serial.size() <= kMostSerialBytes && printable) return serial;
  throw std::invalid_argument("--serial '" + serial + "': write 1 to " +
                              std::to_string(kMostSerialBytes) + " printable characters");
}

Namespaces open_namespaces(const Options& options) {
  unsigned shift = NamespaceFile::kLeastBlockShift;
  while ((1u << shift) < options.block_bytes) ++shift;
  Namespaces namespaces;
  for (const std::string& path : options.files) namespaces.emplace_back(path, shift);
  return namespaces;
}

void serve(vfio_user::VfioUserServer& server, Controller& controller, const StopSignal& stop) {
  std::vector<pollfd> fds;
  for (;;) {
    // One command, then a look at the socket: who waits for a register waits for no more than that.
    const bool worked = controller.work();
    fds.assign(1, {stop.fd(), POLLIN, 0});
    server.append_poll_fds(fds);
    const bool busy = worked || server.has_postponed();
    ::poll(fds.data(), fds.size(), busy ? 0 : kForever);
    if (fds[0].revents != 0) return;
    server.service();
  }
}

// What arguments name; throws std::exception if one is wrong.
struct Parts {
  explicit Parts(const Options& options)
      : server(options.socket, pci_description(), log),
        controller(server, open_namespaces(options), checked_serial(options.serial)) {
    server.attach(controller);
    server.reach_memory_by_messages(kAnswerLimit);
  }
  vfio_user::VfioUserServer server;
  Controller controller;
};

int run(const Options& options) {
  std::signal(SIGPIPE, SIG_IGN);
  const StopSignal stop;
  std::unique_ptr<Parts> parts;
  try {
    parts = std::make_unique<Parts>(options);
  } catch (const std::exception& error) {
    log(error.what());
    return kUsageError;
  }
  std::puts("exrnic-nvme: ready");
  std::fflush(stdout);
  serve(parts->server, parts->controller, stop);
  return 0;
}

}  // namespace
}  // namespace exrnic::nvme

int main(int argc, char** argv) {
  CLI::App app{"An NVM Express 1.4 controller as a vfio-user server, for QEMU's vfio-user-pci"};
  exrnic::nvme::Options options;
  exrnic::nvme::describe(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    return 0;
  } catch (const CLI::ParseError& error) {
    exrnic::nvme::log(error.what());
    return exrnic::nvme::kUsageError;
  }
  try {
    return exrnic::nvme::run(options);
  } catch (const std::exception& error) {
    exrnic::nvme::log(error.what());
    return exrnic::nvme::kFailure;
  }
}
