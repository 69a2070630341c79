// SPDX-License-Identifier: BSD-2-Clause
// exrnic-fetch: gets a file of another process, whose queue pair it meets over TCP or a serial
// line.
#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include "exrnic/connect.h"
#include "fetch_program.h"
#include "output.h"

namespace {

[[noreturn]] void Refuse(const std::string& what) {
  throw std::runtime_error(what + ": " + strerror(errno));
}

void Write(const std::string& path, const std::vector<uint8_t>& bytes) {
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()),
            static_cast<std::streamsize>(bytes.size()));
  if (!out.flush()) Refuse("cannot write " + path);
}

int Run(const std::string& listen, const std::string& from, const std::string& path,
        const std::string& device) {
  try {
    exrnic::RaiseMemlockLimit();
    const auto open = [&] { return exrnic::OpenDevice(device); };
    if (from.empty()) {
      const exrnic::Stream listener(vl_conn_listen(listen.c_str()), "vl_conn_listen");
      exrnic::ServeFile(exrnic::ReadFile(path), listener, open);
    } else {
      const exrnic::FetchedFile file = exrnic::FetchFile(from, open);
      Write(path, file.bytes);
      printf("%s: %zu bytes of %s\n", path.c_str(), file.bytes.size(), file.name.c_str());
      exrnic::FinishOutput(stdout);
    }
  } catch (const std::exception& error) {
    fprintf(stderr, "exrnic-fetch: %s\n", error.what());
    return 1;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::string listen;
  std::string from;
  std::string path;
  std::string device;
  CLI::App app(
      "Gets a file of another process, or guest: it tells over TCP, or a serial line, where it "
      "has\n"
      "the bytes, and they are PULLed.");
  auto* ends = app.add_option_group("end");
  ends->add_option("--listen", listen,
                   "HOST:PORT, :PORT, or /dev/ttyS1: let one client have FILE, and end");
  ends->add_option("--from", from,
                   "HOST:PORT of a server, which may come later, or /dev/ttyS1: write FILE");
  ends->require_option(1);
  app.add_option("FILE", path)->required();
  app.add_option("--device", device, exrnic::kDeviceHelp);
  CLI11_PARSE(app, argc, argv);
  return Run(listen, from, path, device);
}
