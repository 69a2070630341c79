// SPDX-License-Identifier: BSD-2-Clause
// Nodes of a cluster as threads, each with a node of exrnic-sim, on one loopback address each.
#ifndef EXRNIC_CLUSTER_RIG_H
#define EXRNIC_CLUSTER_RIG_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "exrnic/cluster.hpp"
#include "sim_fixture.h"

namespace exrnic {

// A port that nobody has at the moment.
inline int FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  socklen_t size = sizeof(address);
  const bool bound = bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                     getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  close(fd);
  if (!bound) throw std::runtime_error("no free port");
  return ntohs(address.sin_port);
}

inline std::string LoopbackHost(unsigned node) { return "127.0.1." + std::to_string(node + 1); }

inline std::vector<std::string> LoopbackAddresses(unsigned nodes) {
  const std::string port = ":" + std::to_string(FreePort());
  std::vector<std::string> addresses;
  for (unsigned node = 0; node < nodes; ++node) addresses.push_back(LoopbackHost(node) + port);
  return addresses;
}

struct ClusterRig {
  explicit ClusterRig(unsigned nodes, const std::string& core = "ref")
      : fixture(core, nodes), addresses(LoopbackAddresses(nodes)) {}

  vl::ClusterOptions Options(unsigned node) const {
    vl::ClusterOptions options;
    options.addresses = addresses;
    options.self = node;
    options.device = fixture.Name(node);
    options.meet_limit = std::chrono::seconds(60);
    options.limit = std::chrono::seconds(60);
    return options;
  }

  // body at each node, connected, which then leaves. What each has thrown; "" of those that ended.
  std::vector<std::string> Run(const std::function<void(vl::Cluster*)>& body,
                               const std::function<void(vl::ClusterOptions*)>& change = {}) {
    std::vector<std::string> errors(addresses.size());
    std::vector<std::thread> threads;
    for (unsigned node = 0; node < addresses.size(); ++node) {
      threads.emplace_back([&, node] {
        try {
          vl::ClusterOptions options = Options(node);
          if (change) change(&options);
          vl::Cluster cluster(options);
          cluster.Connect();
          body(&cluster);
          cluster.Leave();
        } catch (const std::exception& error) {
          errors[node] = error.what();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    return errors;
  }

  Fixture fixture;
  std::vector<std::string> addresses;
};

// Bytes that tell who sent them, and where they belong.
inline std::vector<uint8_t> ClusterPattern(unsigned node, size_t bytes, unsigned round = 0) {
  std::vector<uint8_t> pattern(bytes);
  uint32_t state = (node + 1) * 2654435761u + round * 40503u + static_cast<uint32_t>(bytes);
  for (size_t i = 0; i < bytes; ++i) {
    if (i % 4096 == 0) state = state * 1664525u + 1013904223u;
    pattern[i] = static_cast<uint8_t>((state >> 24) + i);
  }
  return pattern;
}

}  // namespace exrnic

#endif  // EXRNIC_CLUSTER_RIG_H
