// SPDX-License-Identifier: BSD-2-Clause
#include "both_ends.h"

#include <sys/socket.h>

#include <cstdio>
#include <exception>
#include <memory>
#include <thread>

namespace exrnic {

namespace {

struct End {
  int failed = 0;
  std::string output;
  std::string error;
};

std::string ReadAll(FILE* file) {
  std::string text;
  char buffer[4096];
  rewind(file);
  while (size_t count = fread(buffer, 1, sizeof(buffer), file)) text.append(buffer, count);
  return text;
}

End RunEnd(const OpenRnicCall& open, uint32_t node, int fd, const std::vector<GuestCheck>& checks) {
  std::unique_ptr<FILE, int (*)(FILE*)> out(tmpfile(), fclose);
  End end;
  Oob oob(fd, "test");
  try {
    oob.Connect();
    Bench bench(node, open, &oob, 99);
    end.failed = RunChecks(checks, &bench, out.get());
  } catch (const std::exception& error) {
    end.error = error.what();
    oob.Abort(end.error);
  }
  end.output = ReadAll(out.get());
  return end;
}

}  // namespace

size_t CheckOutcome::passed() const {
  size_t count = output.compare(0, 5, "ok - ") == 0 ? 1 : 0;
  for (size_t at = 0; (at = output.find("\nok - ", at)) != std::string::npos; ++at) ++count;
  return count;
}

CheckOutcome RunBothEnds(const std::vector<GuestCheck>& checks,
                         const std::function<vl_rnic*(uint32_t node)>& open) {
  int fd[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd) != 0) ThrowErrno("socketpair");
  End responder;
  std::thread peer([&] { responder = RunEnd([&] { return open(1); }, 1, fd[1], checks); });
  const End requester = RunEnd([&] { return open(0); }, 0, fd[0], checks);
  peer.join();
  return {requester.failed, requester.output, requester.error, responder.failed,
          responder.output + responder.error};
}

}  // namespace exrnic
