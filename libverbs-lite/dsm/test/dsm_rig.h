// SPDX-License-Identifier: BSD-2-Clause
// Nodes of shared memory as processes, each with a node of exrnic-sim.
#ifndef EXRNIC_DSM_RIG_H
#define EXRNIC_DSM_RIG_H

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "cluster_rig.h"
#include "exrnic/jia.h"

namespace exrnic {

struct DsmEnd {
  int status;        // of waitpid
  std::string text;  // that it wrote
  bool ok() const { return WIFEXITED(status) && WEXITSTATUS(status) == 0; }
  // It has ended with one line, which has all of this in it.
  bool Says(const std::vector<std::string>& parts) const {
    bool all = WIFEXITED(status) && WEXITSTATUS(status) == 1;
    for (const std::string& part : parts) all = all && text.find(part) != std::string::npos;
    return all && text.find('\n') == text.size() - 1;
  }
};

inline void DsmRequire(bool condition, const std::string& what) {
  if (!condition) throw std::runtime_error(what);
}

struct DsmRig {
  explicit DsmRig(unsigned count, const std::string& core = "ref")
      : nodes(count), fixture(core, count), addresses(LoopbackAddresses(count)) {}

  // body in a process of each node.
  std::vector<DsmEnd> RunRaw(const std::function<void(unsigned)>& body) const {
    fflush(nullptr);  // what waits in buffers is not theirs
    std::vector<pid_t> processes;
    for (unsigned node = 0; node < nodes; ++node) {
      const pid_t process = fork();
      if (process == 0) Child(node, body);
      processes.push_back(process);
    }
    std::vector<DsmEnd> ends;
    for (unsigned node = 0; node < nodes; ++node) {
      DsmEnd end = {};
      waitpid(processes[node], &end.status, 0);
      std::ifstream file(Output(node));
      end.text.assign(std::istreambuf_iterator<char>(file), {});
      ends.push_back(end);
    }
    return ends;
  }

  // Between jia_init and jia_exit.
  std::vector<DsmEnd> Run(const std::function<void(unsigned)>& body) const {
    return RunRaw([&](unsigned node) {
      Init(node);
      body(node);
      jia_exit();
    });
  }

  void Init(unsigned node) const {
    std::vector<const char*> list;
    for (const std::string& address : addresses) list.push_back(address.c_str());
    jia_init_nodes(static_cast<int>(node), static_cast<int>(nodes), list.data(), area, limit_ms);
  }

  std::string Output(unsigned node) const { return fixture.folder / "out" + std::to_string(node); }

  unsigned nodes;
  Fixture fixture;
  std::vector<std::string> addresses;
  size_t area = size_t{4} << 20;
  long limit_ms = 20000;

 private:
  [[noreturn]] void Child(unsigned node, const std::function<void(unsigned)>& body) const {
    const int out = open(Output(node).c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(out, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
    setenv("VL_DEVICE", fixture.Name(node).c_str(), 1);
    try {
      body(node);
    } catch (const std::exception& error) {
      dprintf(STDERR_FILENO, "%s\n", error.what());
      _exit(3);
    }
    _exit(0);
  }
};

// "" if all are as they should be.
inline std::string DsmTexts(const std::vector<DsmEnd>& ends) {
  std::string texts;
  for (const DsmEnd& end : ends) {
    if (end.ok() && end.text.empty()) continue;
    texts += "[" + std::to_string(end.status) + "] " + end.text;
  }
  return texts;
}

}  // namespace exrnic

#endif  // EXRNIC_DSM_RIG_H
