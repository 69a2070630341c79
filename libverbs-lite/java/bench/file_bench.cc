// SPDX-License-Identifier: BSD-2-Clause
// exrnic-file-bench: the native counterpart of org.exrnic.bench.FileBench, with its options and
// rows.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "file_transfer.h"

int main(int argc, char** argv) {
  exrnic::FileRun run;
  bool listens = false;
  std::string scale = "1/1";
  std::vector<uint64_t> files = {1ull << 30, 2ull << 30, 4ull << 30, 8ull << 30};
  std::vector<uint64_t> buffers = {1u << 20, 2u << 20, 4u << 20, 8u << 20};
  unsigned port = 4711;
  run.threads = 2;
  run.warm = 500;
  CLI::App app("threads send files to the other end, which is started with the same options");
  app.add_flag("--listen", listens, "this end receives");
  app.add_option("--peer", run.peer, "the other end's node")->required();
  app.add_option("--adapter", run.adapter, "the RNIC: 0 is what VL_DEVICE names, else exrnic0");
  app.add_option("--port", port, "the first of those that are used");
  app.add_option("--threads", run.threads, "each sends a file of its own")
      ->check(CLI::Range(1u, exrnic::kFileThreadsMax));
  app.add_option("--files", files, "sizes, before they are scaled")
      ->delimiter(',')
      ->transform(CLI::AsSizeValue(false));
  app.add_option("--scale", scale, "of each file so much is sent")
      ->check([](const std::string& text) {
        const bool part = text.rfind("1/", 0) == 0 && strtoull(text.c_str() + 2, nullptr, 10) > 0;
        return part ? std::string() : "it is like 1/1024";
      });
  app.add_option("--buffers", buffers, "sizes")->delimiter(',')->transform(CLI::AsSizeValue(false));
  app.add_option("--warm", run.warm, "short messages that are sent first, without being timed");
  app.add_option("--folder", run.folder, "files are read from there, and made first");
  CLI11_PARSE(app, argc, argv);

  sci_error_t error;
  SCIInitialize(0, &error);
  SCIOpen(&run.sd, 0, &error);
  if (error != SCI_ERR_OK) {
    fprintf(stderr, "exrnic-file-bench: %s\n", SCIGetErrorString(error));
    return 1;
  }
  const uint64_t part = strtoull(scale.c_str() + 2, nullptr, 10);
  for (const uint64_t whole : files) {
    run.file = std::max<uint64_t>(1, whole / part);
    for (const uint64_t buffer : buffers) {
      run.port = port++;
      run.buffer = std::min<uint64_t>(buffer, run.file);
      if (listens) {
        exrnic::ReceiveFiles(run);
        continue;
      }
      const double seconds = exrnic::SendFiles(run);
      printf(
          "{\"bench\":\"files\",\"language\":\"native\",\"transport\":\"pcie\",\"threads\":%u,"
          "\"file\":%zu,\"buffer\":%zu,\"seconds\":%.9f,\"mbps\":%.1f}\n",
          run.threads, run.file, static_cast<size_t>(run.buffer), seconds,
          static_cast<double>(run.threads) * static_cast<double>(run.file) / seconds / 1e6);
      fflush(stdout);
    }
  }
  SCIClose(run.sd, 0, &error);
  SCITerminate();
  return 0;
}
