// SPDX-License-Identifier: BSD-2-Clause
#include "simulator.h"

#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "exrnic_hw.h"
#include "runs.h"
#include "sim/posix/unix_socket.h"

namespace exrnic::ctl {
namespace {

namespace fs = std::filesystem;

constexpr time_t kPatienceSeconds = 10;
constexpr size_t kLongestAnswer = size_t{64} << 20;  // of 4,096 nodes it is less than half of that
constexpr char kSocket[] = "control.sock";

UniqueFd connect(const std::string& path) {
  try {
    return connect_unix(path);
  } catch (const std::exception& error) {
    throw Failure(std::string("no simulator answers: ") + error.what());
  }
}

bool answers(const std::string& path) {
  try {
    connect_unix(path);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace

std::string find_simulator() {
  std::string found;
  std::error_code error;
  for (const auto& run : fs::directory_iterator(kRuns, error)) {
    const std::string path = run.path() / kSocket;
    if (!fs::exists(path, error) || !answers(path)) continue;
    if (!found.empty()) {
      throw Failure("more than one simulator runs: choose by --control " + found + " or " + path);
    }
    found = path;
  }
  if (found.empty()) {
    throw Failure(std::string("no simulator runs in ./") + kRuns +
                  "; name the socket of one by --control PATH");
  }
  return found;
}

Simulator::Simulator(const std::string& path) : path_(path), socket_(connect(path)) {
  const timeval patience{kPatienceSeconds, 0};
  for (const int option : {SO_RCVTIMEO, SO_SNDTIMEO}) {
    ::setsockopt(socket_.get(), SOL_SOCKET, option, &patience, sizeof patience);
  }
}

Json Simulator::ask(const Json& request) {
  const std::string line = request.dump() + '\n';
  // An answer may be there although not all was taken: a refusal.
  static_cast<void>(::send(socket_.get(), line.data(), line.size(), MSG_NOSIGNAL));
  const Json answer = Json::parse(read_line(), nullptr, /*allow_exceptions=*/false);
  if (!answer.is_object() || !answer.contains("ok")) {
    throw Failure(path_ + ": the answer is none of exrnic-sim's");
  }
  if (answer["ok"] != true) throw Failure(answer.value("error", "refused without a reason"));
  return answer;
}

std::string Simulator::read_line() {
  size_t end;
  while ((end = in_.find('\n')) == std::string::npos) {
    char bytes[16'384];
    const ssize_t got = ::recv(socket_.get(), bytes, sizeof bytes, 0);
    if (got == 0) throw Failure("the simulator at " + path_ + " has ended");
    if (got < 0) {
      throw Failure("the simulator at " + path_ +
                    " does not answer: " + std::generic_category().message(errno));
    }
    in_.append(bytes, static_cast<size_t>(got));
    if (in_.size() > kLongestAnswer) throw Failure(path_ + ": the answer is none of exrnic-sim's");
  }
  const std::string line = in_.substr(0, end);
  in_.erase(0, end + 1);
  return line;
}

Snapshot Simulator::read() {
  static constexpr const char* kNames[] = EXRNIC_COUNTER_NAMES;
  const Json answer = ask({{"command", "counters"}});
  Snapshot snapshot;
  try {
    snapshot.simulated_ns = answer.at("simulated_ns").get<uint64_t>();
    for (const Json& node : answer.at("nodes")) {
      NodeCounters counters{node.at("id"), {}};
      for (const char* name : kNames) counters.values.push_back(node.at("counters").at(name));
      snapshot.nodes.push_back(std::move(counters));
    }
  } catch (const Json::exception&) {
    throw Failure(path_ + ": other counters than this program's; build both anew");
  }
  return snapshot;
}

}  // namespace exrnic::ctl
