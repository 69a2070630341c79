// SPDX-License-Identifier: BSD-2-Clause
// What is too long, late, or dead: an error that names the peer for those who deal with it, and the
// others go on.
#include <sys/wait.h>

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "cluster_rig.h"

namespace exrnic {
namespace {

using Catch::Matchers::ContainsSubstring;
using std::chrono::milliseconds;
using vl::Bytes;
using vl::Cluster;
using vl::ClusterError;
using vl::ClusterOperation;
using vl::Transfer;

struct Failure {
  std::string text;
  int error = 0;
  std::vector<unsigned> peers;
};

template <typename Call>
Failure FailureOf(Call&& call) {
  try {
    call();
  } catch (const ClusterError& error) {
    return {error.what(), error.error(), error.peers()};
  } catch (const vl::VerbsError& error) {
    return {error.what(), error.error(), {}};
  }
  return {};
}

TEST_CASE("a message longer than its receive fails at both ends, and those behind it arrive") {
  ClusterRig rig(2);
  Failure failures[2][4];
  const auto errors = rig.Run([&](Cluster* cluster) {
    for (int operation = 0; operation < 4; ++operation) {
      std::vector<uint8_t> bytes(100, 1), next(50, static_cast<uint8_t>(operation));
      Failure* const failure = &failures[cluster->self()][operation];
      if (cluster->self() == 0) {
        const auto op = static_cast<ClusterOperation>(operation);
        *failure = FailureOf([&] { cluster->Send(1, op, bytes).Wait(); });
        cluster->Send(1, op, next).Wait();
      } else {
        std::vector<uint8_t> buffer(50);
        *failure = FailureOf([&] { cluster->Receive(0, buffer).Wait(); });
        if (buffer != std::vector<uint8_t>(50)) throw std::runtime_error("some bytes came");
        cluster->Receive(0, buffer).Wait();
        if (buffer != next) throw std::runtime_error("other bytes");
      }
    }
  });
  CHECK(errors == std::vector<std::string>(2));
  for (int operation = 0; operation < 4; ++operation) {
    CHECK(failures[0][operation].text == "a message of 100 bytes for node 1 (" + rig.addresses[1] +
                                             ") is longer than its receive of 50");
    CHECK(failures[1][operation].text == "a message of 100 bytes of node 0 (" + rig.addresses[0] +
                                             ") is longer than its receive of 50");
    CHECK(failures[0][operation].error == EMSGSIZE);
    CHECK(failures[1][operation].peers == std::vector<unsigned>{0});
  }
}

// What leads a one-to-many, as a node says that makes it up: bytes, chunk, fan-out, operation.
std::vector<uint8_t> HeaderOf(uint64_t bytes, uint64_t chunk, uint32_t fan_out, uint32_t operation,
                              size_t size = 40) {
  std::vector<uint8_t> header(40);
  memcpy(&header[0], &bytes, 8);
  memcpy(&header[8], &chunk, 8);
  memcpy(&header[16], &fan_out, 4);
  memcpy(&header[20], &operation, 4);
  header.resize(size);
  return header;
}

TEST_CASE("a header of one-to-many that is made up is refused, and the nodes go on") {
  const vl::ClusterTree tree = vl::ChooseClusterTree(2, 1 << 20);
  const std::vector<std::vector<uint8_t>> headers = {
      {},
      HeaderOf(1 << 20, 0, tree.fan_out, 0),
      HeaderOf(1 << 20, tree.chunk, 0, 0),
      HeaderOf(1 << 20, tree.chunk, UINT32_MAX, 0),
      HeaderOf(1 << 20, UINT64_MAX, tree.fan_out, 0),
      HeaderOf(uint64_t{1} << 63, tree.chunk, tree.fan_out, 0),
      HeaderOf(1 << 20, tree.chunk, tree.fan_out, 4),
      HeaderOf(1 << 20, tree.chunk, tree.fan_out, 0, 39),
      HeaderOf(1 << 20, tree.chunk, tree.fan_out, 0, 41),
      HeaderOf(100, vl::ChooseClusterTree(2, 100).chunk, vl::ChooseClusterTree(2, 100).fan_out, 0),
  };
  ClusterRig rig(2);
  std::vector<Failure> failures;
  const auto errors = rig.Run([&](Cluster* cluster) {
    std::vector<uint8_t> buffer(2 << 20), last(1000, 7);
    for (const auto& header : headers) {
      if (cluster->self() == 0)
        cluster->Send(1, ClusterOperation::kSend, header).Wait();
      else
        failures.push_back(FailureOf([&] { cluster->OneToManyReceive(0, buffer); }));
    }
    if (cluster->self() == 0) {
      cluster->OneToManySend(ClusterOperation::kWrite, last, 0);
    } else {
      const vl::Received received = cluster->OneToManyReceive(0, buffer);
      buffer.resize(received.bytes);
      if (buffer != last) throw std::runtime_error("other bytes");
    }
  });
  CHECK(errors == std::vector<std::string>(2));
  for (const Failure& failure : failures) {
    CHECK_THAT(failure.text, ContainsSubstring("node 0") && ContainsSubstring("header"));
    CHECK(failure.error == EPROTO);
    CHECK(failure.peers == std::vector<unsigned>{0});
  }
}

TEST_CASE("a buffer too short for one-to-many is its owner's fault alone") {
  for (const size_t bytes : {size_t{100}, size_t{300000}}) {
    ClusterRig rig(4);
    const auto errors = rig.Run([bytes](Cluster* cluster) {
      std::vector<uint8_t> buffer(cluster->self() == 1 ? bytes - 1 : bytes);
      if (cluster->self() == 0) {
        cluster->OneToManySend(ClusterOperation::kWrite, ClusterPattern(0, bytes));
      } else {
        const Failure failure = FailureOf([&] { cluster->OneToManyReceive(0, buffer); });
        if ((failure.error == EMSGSIZE) != (cluster->self() == 1))
          throw std::runtime_error("failed: " + failure.text);
        if (cluster->self() != 1 && buffer != ClusterPattern(0, bytes))
          throw std::runtime_error("other bytes");
      }
      cluster->Barrier();
    });
    CHECK(errors == std::vector<std::string>(4));
  }
}

TEST_CASE("wrong arguments of transfers and patterns are named") {
  ClusterRig rig(2);
  std::vector<std::string> texts;
  const auto errors = rig.Run([&](Cluster* cluster) {
    if (cluster->self() == 0) {
      const auto note = [&](auto&& call) { texts.push_back(FailureOf(call).text); };
      note([&] { cluster->Send(2, ClusterOperation::kSend, {}); });
      note([&] { cluster->Receive(0, {}); });
      note([&] { cluster->Send(1, ClusterOperation::kSend, vl::ConstBytes(nullptr, 5)); });
      note([&] { cluster->Receive(1, Bytes(&texts, size_t{1} << 31)); });
      note([&] { cluster->ManyToMany(ClusterOperation::kSend, {}, {}); });
      note([&] { cluster->OneToManyReceive(0, {}); });
      note([&] { vl::ClusterOperationOf("read"); });
    }
    cluster->Barrier();
  });
  CHECK(errors == std::vector<std::string>(2));
  CHECK(texts == std::vector<std::string>{
                     "Send: peer is 2: below 2, and not 0, which is this node",
                     "Receive: peer is 0: below 2, and not 0, which is this node",
                     "Send: 5 bytes at a null pointer",
                     "Receive: 2147483648 bytes: at most 2147479552",
                     "ManyToMany: into has 0 buffers: one for each of 2 nodes",
                     "OneToManyReceive: root is 0: below 2, and not this node",
                     "operation is \"read\": one of send, send_with_imm, write, write_with_imm"});
}

TEST_CASE("a pattern that is refused has begun nothing, and the next one meets no rest of it") {
  constexpr unsigned kNodes = 4;
  constexpr size_t kBytes = 100000;
  ClusterRig rig(kNodes);
  std::vector<std::string> texts;
  const auto errors = rig.Run([&](Cluster* cluster) {
    const unsigned self = cluster->self();
    const auto message = ClusterPattern(self, kBytes);
    std::vector<std::vector<uint8_t>> buffers(kNodes, std::vector<uint8_t>(kBytes));
    std::vector<Bytes> into(buffers.begin(), buffers.end());
    const auto note = [&](auto&& call) { texts.push_back(FailureOf(call).text); };
    for (unsigned wrong = 1; self == 0 && wrong < kNodes; ++wrong) {
      auto bad = into;
      bad[wrong] = Bytes(nullptr, 5);
      note([&] { cluster->ManyToMany(ClusterOperation::kWrite, message, bad); });
      note([&] { cluster->ManyToOneReceive(bad); });
      note([&] { cluster->OneToManySend(ClusterOperation::kWrite, {nullptr, 5}); });
    }
    const auto expect = [&](bool all) {
      for (unsigned node = 0; node < kNodes; ++node) {
        if (node != self && all && buffers[node] != ClusterPattern(node, kBytes))
          throw std::runtime_error("other bytes of node " + std::to_string(node));
        std::fill(buffers[node].begin(), buffers[node].end(), 0);
      }
    };
    cluster->ManyToMany(ClusterOperation::kWrite, message, into);
    expect(true);
    if (self == 0) {
      cluster->ManyToOneReceive(into);
    } else {
      cluster->ManyToOneSend(0, ClusterOperation::kSend, message);
    }
    expect(self == 0);
  });
  CHECK(errors == std::vector<std::string>(kNodes));
  REQUIRE(texts.size() == 9);
  for (size_t i = 0; i < 9; ++i) {
    CHECK(texts[i] ==
          std::string(i % 3 == 2 ? "OneToManySend" : "Receive") + ": 5 bytes at a null pointer");
  }
}

TEST_CASE("a peer that does not take part ends a wait and a pattern at their limit, by name") {
  ClusterRig rig(3);
  std::atomic<int> done{0};
  Failure wait, pattern;
  const auto errors = rig.Run(
      [&](Cluster* cluster) {
        std::vector<uint8_t> buffer(10);
        const std::vector<Bytes> into(3, Bytes(buffer));
        if (cluster->self() == 0) {
          wait = FailureOf([&] { cluster->Receive(2, buffer).Wait(milliseconds(50)); });
        }
        if (cluster->self() == 2) {
          while (done < 2) std::this_thread::sleep_for(milliseconds(5));
          return;
        }
        std::vector<std::vector<uint8_t>> buffers(3, std::vector<uint8_t>(10));
        const Failure failure = FailureOf([&] {
          cluster->ManyToMany(ClusterOperation::kSend, std::vector<uint8_t>(10, 5),
                              std::vector<Bytes>(buffers.begin(), buffers.end()));
        });
        // What the third has to do with it fails, and nothing else.
        if (buffers[1 - cluster->self()] != std::vector<uint8_t>(10, 5))
          throw std::runtime_error("the other's message did not come");
        if (cluster->self() == 0) pattern = failure;
        ++done;
      },
      [](vl::ClusterOptions* options) { options->limit = milliseconds(400); });
  CHECK(errors == std::vector<std::string>(3));
  const std::string name = "node 2 (" + rig.addresses[2] + ")";
  CHECK(wait.text == name + " sent no message within 50 ms");
  CHECK(wait.error == ETIMEDOUT);
  CHECK_THAT(pattern.text,
             ContainsSubstring("ManyToMany: " + name + ": it did not take part within 400 ms"));
  CHECK(pattern.peers == std::vector<unsigned>{2});
}

// ---- Processes that are killed

// Of four: 3 is a process of its own, killed when all have done `before`: a process that ends loses
// what it sent and its peers have not received yet.
void KillOneOfFour(const std::function<void(Cluster*)>& before,
                   const std::function<void(Cluster*)>& after) {
  ClusterRig rig(4);
  int told[2];
  REQUIRE(pipe(told) == 0);
  const auto tell = [&] { (void)!write(told[1], "x", 1); };
  const pid_t child = fork();
  if (child == 0) {
    try {
      Cluster cluster(rig.Options(3));
      cluster.Connect();
      before(&cluster);
      tell();
      pause();
    } catch (const std::exception& error) {
      fprintf(stderr, "the process to be killed: %s\n", error.what());
      tell();
    }
    _exit(1);
  }
  std::thread killer([&] {
    char byte;
    for (unsigned node = 0; node < 4; ++node) (void)!read(told[0], &byte, 1);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  });
  std::vector<std::string> errors(3);
  std::vector<std::thread> threads;
  for (unsigned node = 0; node < 3; ++node) {
    threads.emplace_back([&, node] {
      try {
        Cluster cluster(rig.Options(node));
        try {
          cluster.Connect();
          before(&cluster);
        } catch (...) {
          tell();
          throw;
        }
        tell();
        after(&cluster);
        cluster.Leave();
      } catch (const std::exception& error) {
        errors[node] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  killer.join();
  close(told[0]);
  close(told[1]);
  CHECK(errors == std::vector<std::string>(3));
}

void RequireFailureOf3(const Failure& failure) {
  if (failure.error != ECONNRESET || failure.peers != std::vector<unsigned>{3})
    throw std::runtime_error("not told that node 3 is gone: " + failure.text);
}

TEST_CASE("a process that is killed fails what waits for it at once, and the others go on") {
  KillOneOfFour(
      [](Cluster* cluster) { cluster->Barrier(); },
      [](Cluster* cluster) {
        std::vector<uint8_t> buffer(100);
        const auto begin = std::chrono::steady_clock::now();
        RequireFailureOf3(FailureOf([&] { cluster->Receive(3, buffer).Wait(); }));
        RequireFailureOf3(
            FailureOf([&] { cluster->Send(3, ClusterOperation::kWrite, buffer).Wait(); }));
        if (std::chrono::steady_clock::now() - begin > std::chrono::seconds(10))
          throw std::runtime_error("that took long");
        if (cluster->WhyGone(3).empty()) throw std::runtime_error("is not gone");
        const unsigned next = (cluster->self() + 1) % 3, last = (cluster->self() + 2) % 3;
        Transfer receive = cluster->Receive(last, buffer);
        cluster
            ->Send(next, ClusterOperation::kWrite, ClusterPattern(cluster->self(), buffer.size()))
            .Wait();
        receive.Wait();
        if (buffer != ClusterPattern(last, buffer.size())) throw std::runtime_error("other bytes");
      });
}

TEST_CASE("a process that is killed in patterns is named, and the parts of the others are good") {
  KillOneOfFour([](Cluster*) {},
                [](Cluster* cluster) {
                  std::vector<std::vector<uint8_t>> buffers(4, std::vector<uint8_t>(200000));
                  RequireFailureOf3(FailureOf([&] {
                    cluster->ManyToMany(ClusterOperation::kWrite,
                                        ClusterPattern(cluster->self(), 200000),
                                        std::vector<Bytes>(buffers.begin(), buffers.end()));
                  }));
                  for (unsigned node = 0; node < 3; ++node) {
                    if (node != cluster->self() && buffers[node] != ClusterPattern(node, 200000))
                      throw std::runtime_error("other bytes of node " + std::to_string(node));
                  }
                });
}

TEST_CASE("one-to-many past a node that is dead ends at all nodes, with its name") {
  // From node 2 a chain goes to 3, 0, 1: those behind 3 hear of it from it, or from each other.
  KillOneOfFour([](Cluster*) {},
                [](Cluster* cluster) {
                  while (cluster->WhyGone(3).empty()) sched_yield();
                  const size_t bytes = 2000000;
                  std::vector<uint8_t> buffer(bytes);
                  const Failure failure = FailureOf([&] {
                    if (cluster->self() == 2) {
                      cluster->OneToManySend(ClusterOperation::kSend, ClusterPattern(2, bytes));
                    } else {
                      cluster->OneToManyReceive(2, buffer);
                    }
                  });
                  RequireFailureOf3(failure);
                });
}

TEST_CASE("a process that is killed while the cluster is made is told to all at once") {
  ClusterRig rig(3);
  const pid_t child = fork();
  if (child == 0) {
    try {
      Cluster cluster(rig.Options(2));
      cluster.Meet();
      kill(getpid(), SIGKILL);
    } catch (const std::exception&) {
    }
    _exit(1);
  }
  std::vector<Failure> failures(2);
  std::vector<std::thread> threads;
  for (unsigned node = 0; node < 2; ++node) {
    threads.emplace_back([&, node] {
      failures[node] = FailureOf([&] {
        Cluster cluster(rig.Options(node));
        cluster.Connect();
      });
    });
  }
  for (std::thread& thread : threads) thread.join();
  waitpid(child, nullptr, 0);
  for (const Failure& failure : failures) {
    CHECK(failure.error == ECONNRESET);
    CHECK_THAT(failure.text, ContainsSubstring("node 2 (" + rig.addresses[2] + ")"));
  }
}

TEST_CASE("a simulator that ends fails all that is under way, and nothing hangs") {
  ClusterRig rig(2);
  std::atomic<int> behind_barrier{0};
  std::vector<Failure> failures(2);
  std::thread killer([&] {
    while (behind_barrier < 2) std::this_thread::sleep_for(milliseconds(5));
    rig.fixture.simulator.signal(SIGKILL);
  });
  const auto errors = rig.Run([&](Cluster* cluster) {
    cluster->Barrier();
    ++behind_barrier;
    std::vector<uint8_t> buffer(10);
    failures[cluster->self()] =
        FailureOf([&] { cluster->Receive(1 - cluster->self(), buffer).Wait(); });
  });
  killer.join();
  for (unsigned node = 0; node < 2; ++node) {
    INFO("node " << node << ": " << errors[node]);
    CHECK(failures[node].error != 0);
  }
}

}  // namespace
}  // namespace exrnic
