// SPDX-License-Identifier: BSD-2-Clause
// How nodes meet, and what each says when they do not. No RNIC is needed.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cerrno>

#include "cluster_rig.h"

namespace exrnic {
namespace {

using Catch::Matchers::ContainsSubstring;
using std::chrono::milliseconds;

struct MeetEnd {
  std::string error;
  int number = 0;
  std::vector<unsigned> peers;
};

vl::ClusterOptions MeetOptions(const std::vector<std::string>& addresses, unsigned self,
                               int limit_ms) {
  vl::ClusterOptions options;
  options.addresses = addresses;
  options.self = self;
  options.meet_limit = milliseconds(limit_ms);
  return options;
}

MeetEnd MeetAs(const vl::ClusterOptions& options, milliseconds late = milliseconds(0)) {
  MeetEnd end;
  try {
    std::this_thread::sleep_for(late);
    vl::Cluster(options).Meet();
  } catch (const vl::ClusterError& error) {
    end = {error.what(), error.error(), error.peers()};
  }
  return end;
}

TEST_CASE("nodes meet in any order of start") {
  constexpr unsigned kNodes = 5;
  for (const unsigned stride : {1u, 2u, 3u}) {
    const auto addresses = LoopbackAddresses(kNodes);
    std::vector<MeetEnd> ends(kNodes);
    std::vector<std::thread> threads;
    std::vector<std::unique_ptr<vl::Cluster>> clusters(kNodes);
    for (unsigned i = 0; i < kNodes; ++i) {
      const unsigned node = i * stride % kNodes;
      threads.emplace_back([&, node] {
        try {
          clusters[node] = std::make_unique<vl::Cluster>(MeetOptions(addresses, node, 10000));
          clusters[node]->Meet();
        } catch (const std::exception& error) {
          ends[node].error = error.what();
        }
      });
      std::this_thread::sleep_for(milliseconds(30));
    }
    for (std::thread& thread : threads) thread.join();
    for (const MeetEnd& end : ends) CHECK(end.error == "");
  }
}

TEST_CASE("all who do not come within the limit are told by name, to those who wait, too") {
  const auto addresses = LoopbackAddresses(4);
  MeetEnd first, second;
  std::thread thread([&] { second = MeetAs(MeetOptions(addresses, 2, 5000)); });
  first = MeetAs(MeetOptions(addresses, 0, 300));
  thread.join();
  CHECK(first.error ==
        "in time came nothing of node 1 (" + addresses[1] + "), node 3 (" + addresses[3] + ")");
  CHECK(first.number == ETIMEDOUT);
  CHECK(first.peers == std::vector<unsigned>{1, 3});
  // Long before its own limit.
  CHECK(second.error == "node 0 (" + addresses[0] + ") has given up: " + first.error);
}

TEST_CASE("nodes that count otherwise hear both numbers") {
  const auto addresses = LoopbackAddresses(3);
  MeetEnd ends[2];
  std::thread thread([&] { ends[1] = MeetAs(MeetOptions({addresses[0], addresses[1]}, 1, 5000)); });
  ends[0] = MeetAs(MeetOptions(addresses, 0, 5000));
  thread.join();
  CHECK(ends[0].error == "node 1 is of a cluster of 2 nodes, and node 0 of one of 3");
  CHECK(ends[1].error == "node 0 is of a cluster of 3 nodes, and node 1 of one of 2");
}

TEST_CASE("nodes with other lists of addresses do not take each other for peers") {
  auto addresses = LoopbackAddresses(3);
  auto others = addresses;
  others[2] = "127.0.1.77:7471";
  MeetEnd ends[2];
  std::thread thread([&] { ends[1] = MeetAs(MeetOptions(others, 1, 5000)); });
  ends[0] = MeetAs(MeetOptions(addresses, 0, 5000));
  thread.join();
  for (const MeetEnd& end : ends) CHECK_THAT(end.error, ContainsSubstring("another list"));
}

TEST_CASE("what is wrong with the options is said with value and limit") {
  const auto error_of = [](std::vector<std::string> addresses, unsigned self) {
    const MeetEnd end = MeetAs(MeetOptions(addresses, self, 100));
    CHECK(end.number == EINVAL);
    return end.error;
  };
  CHECK(error_of({"127.0.1.1:9"}, 0) == "addresses: 1 nodes: 2 to 256");
  CHECK(error_of({"127.0.1.1:9", "127.0.1.2:9"}, 2) == "self is 2: below the number of nodes, 2");
  CHECK(error_of({"127.0.1.1:9", "127.0.1.2:9", "127.0.1.1:9"}, 0) ==
        "addresses: node 0 (127.0.1.1:9) and node 2 (127.0.1.1:9) have the same one");
  CHECK(error_of({"127.0.1.1:9", "127.0.1.2"}, 0) ==
        "addresses: \"127.0.1.2\" is no HOST:PORT with a port of 1 to 65535");
  CHECK(error_of({"127.0.1.1:0", "127.0.1.2:9"}, 0) ==
        "addresses: \"127.0.1.1:0\" is no HOST:PORT with a port of 1 to 65535");
  vl::ClusterOptions options = MeetOptions(LoopbackAddresses(2), 0, 100);
  options.receives = 257;
  CHECK(MeetAs(options).error == "receives is 257: 1 to 256");
  options.receives = 1;
  options.meet_limit = milliseconds(-1);
  CHECK(MeetAs(options).error == "meet_limit is -1 ms: 0 or more");
}

TEST_CASE("an address that another process has is named") {
  const auto addresses = LoopbackAddresses(2);
  MeetEnd ends[2];
  std::thread thread([&] { ends[0] = MeetAs(MeetOptions(addresses, 0, 700)); });
  ends[1] = MeetAs(MeetOptions(addresses, 0, 100), milliseconds(200));
  thread.join();
  CHECK_THAT(ends[1].error, ContainsSubstring("cannot listen on " + addresses[0]));
}

TEST_CASE("who connects and says nothing, or nonsense, keeps nobody waiting") {
  const auto addresses = LoopbackAddresses(2);
  MeetEnd ends[2];
  std::thread first([&] { ends[0] = MeetAs(MeetOptions(addresses, 0, 5000)); });
  std::this_thread::sleep_for(milliseconds(50));
  int strangers[2];
  for (int& fd : strangers) {
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    const std::string port = addresses[0].substr(addresses[0].find(':') + 1);
    address.sin_port = htons(static_cast<uint16_t>(std::stoi(port)));
    inet_pton(AF_INET, LoopbackHost(0).c_str(), &address.sin_addr);
    REQUIRE(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
  }
  REQUIRE(send(strangers[1], "GET / HTTP/1.1\r\n\r\n", 18, MSG_NOSIGNAL) == 18);
  ends[1] = MeetAs(MeetOptions(addresses, 1, 5000));
  first.join();
  for (const int fd : strangers) close(fd);
  CHECK(ends[0].error == "");
  CHECK(ends[1].error == "");
}

TEST_CASE("steps out of order are refused, with the one that is due") {
  vl::Cluster cluster(MeetOptions(LoopbackAddresses(2), 0, 100));
  const auto error_of = [](auto&& call) -> std::string {
    try {
      call();
    } catch (const vl::ClusterError& error) {
      return error.what();
    }
    return "";
  };
  CHECK(error_of([&] { cluster.CreateObjects(); }) ==
        "CreateObjects out of order: what is due is Meet");
  CHECK(error_of([&] { cluster.Send(1, vl::ClusterOperation::kSend, {}); }) ==
        "Send out of order: what is due is Meet");
}

}  // namespace
}  // namespace exrnic
