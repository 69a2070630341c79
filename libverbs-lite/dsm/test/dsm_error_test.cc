// SPDX-License-Identifier: BSD-2-Clause
// What is wrong is said in one line that names argument, value and limit, or the node, by all
// nodes; nobody hangs.
#include <catch2/catch_test_macros.hpp>
#include <chrono>

#include "dsm_rig.h"
#include "links.h"

namespace exrnic {
namespace {

using DsmBody = std::function<void(unsigned)>;

// Node 0 does it; the others wait for it at a barrier.
void ExpectWrong(const DsmBody& wrong, const std::vector<std::string>& parts) {
  DsmRig rig(2);
  const auto ends = rig.Run([&](unsigned self) {
    if (self == 0) wrong(self);
    jia_barrier();
  });
  for (unsigned node = 0; node < 2; ++node) {
    INFO("node " << node << ": " << ends[node].text);
    CHECK(ends[node].Says(parts));
    if (node != 0) CHECK(ends[node].text.find("node 0 (") != std::string::npos);
  }
}

TEST_CASE("wrong arguments are named with value and limit, to all nodes") {
  ExpectWrong([](unsigned) { jia_alloc((4 << 20) + 1); },
              {"jia_alloc: size is 4194305: 1 to 4194304, which are left of the area of 4194304"});
  ExpectWrong([](unsigned) { jia_alloc2p(10, 2); }, {"jia_alloc2p: node is 2: 0 to 1"});
  ExpectWrong([](unsigned) { jia_unlock(7); },
              {"jia_unlock: lock is 7: this node does not hold it"});
  ExpectWrong(
      [](unsigned) {
        jia_lock(7);
        jia_lock(7);
      },
      {"jia_lock: lock is 7: this node holds it already"});
  ExpectWrong([](unsigned) { jia_lock(-1); }, {"jia_lock: lock is -1: 0 to 1023"});
  ExpectWrong([](unsigned) { jia_waitcv(256); }, {"jia_waitcv: condition is 256: 0 to 255"});
  ExpectWrong([](unsigned) { jia_error("the answer is %d", 41); }, {"the answer is 41"});
  ExpectWrong([](unsigned) { *reinterpret_cast<volatile char*>(jia_alloc(10) + 5000) = 1; },
              {"access to shared memory: byte 5000 of the area: 4096 bytes are allocated"});
}

TEST_CASE("a barrier that one node never reaches ends all, by the name of that node") {
  DsmRig rig(4);
  rig.limit_ms = 500;
  const auto ends = rig.Run([&](unsigned self) {
    if (self == 2) std::this_thread::sleep_for(std::chrono::seconds(20));
    jia_barrier();
  });
  for (unsigned node = 0; node < 4; ++node) {
    INFO(ends[node].text);
    CHECK(ends[node].Says(
        {"jia_barrier: node 2 (" + rig.addresses[2] + ") did not come within 0.5 s (JIA_LIMIT)"}));
  }
}

TEST_CASE("an end is told though standard output is held by a thread that waits for it") {
  DsmRig rig(2);
  rig.limit_ms = 700;
  const auto ends = rig.Run([&](unsigned self) {
    if (self == 0) {
      std::thread holder([] {  // as printf("%s", shared) does, in a fault
        flockfile(stdout);
        std::this_thread::sleep_for(std::chrono::seconds(20));
      });
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      jia_barrier();
    }
    std::this_thread::sleep_for(std::chrono::seconds(20));
  });
  for (const DsmEnd& end : ends) {
    INFO(end.text);
    CHECK(end.Says({"jia_barrier: node 1 (", "did not come"}));
  }
}

TEST_CASE("a call by a handler of a signal within a call is an error, not a hang") {
  DsmRig rig(2);
  const auto ends = rig.Run([&](unsigned self) {
    if (self == 0) {
      signal(SIGALRM, [](int) { jia_lock(1); });
      ualarm(50000, 0);
      jia_barrier();
    }
    std::this_thread::sleep_for(std::chrono::seconds(20));
  });
  INFO(ends[0].text << ends[1].text);
  CHECK(ends[0].Says({"node 0: jia_lock: by a handler of a signal, within another call"}));
  CHECK(ends[1].Says({"node 0 (", "has died"}));
}

TEST_CASE("a lock that is not released in time is told with its holder") {
  DsmRig rig(3);
  rig.limit_ms = 500;
  const auto ends = rig.Run([&](unsigned self) {
    if (self == 1) jia_lock(0);
    jia_wait();
    if (self == 0) jia_lock(0);
    std::this_thread::sleep_for(std::chrono::seconds(20));
  });
  for (const DsmEnd& end : ends) {
    INFO(end.text);
    CHECK(end.Says({"jia_lock: lock 0, of which node 1 (", "is the holder, was not released"}));
  }
}

TEST_CASE("nodes that come to different calls, or allocate otherwise, are told") {
  DsmRig rig(2);
  auto ends = rig.Run([](unsigned self) { self == 0 ? jia_barrier() : jia_wait(); });
  CHECK(ends[0].Says({"node 1 (", "jia_wait"}));
  ends = rig.Run([](unsigned self) {
    if (self == 0) jia_barrier();
  });
  INFO(ends[0].text << ends[1].text);
  CHECK(ends[0].Says({"jia_barrier: node 1 ("}));  // which may have said so first
  CHECK((ends[0].text + ends[1].text).find(" instead") != std::string::npos);
  ends = rig.Run([](unsigned self) {
    jia_alloc(4096 * (1 + self));
    jia_barrier();
  });
  CHECK(ends[0].Says({"node 1 (", "has allocated otherwise than this node"}));
  CHECK(!ends[1].ok());
}

TEST_CASE("nodes that do not fit together are told before they begin") {
  DsmRig rig(2);
  const auto start = [](unsigned self, const std::vector<std::string>& addresses, size_t area) {
    std::vector<const char*> list;
    for (const std::string& address : addresses) list.push_back(address.c_str());
    jia_init_nodes(static_cast<int>(self), static_cast<int>(list.size()), list.data(), area, 2000);
  };
  const auto& names = rig.addresses;
  auto ends = rig.RunRaw([&](unsigned self) { start(self, {names[0], names[0]}, 1 << 20); });
  CHECK(ends[0].Says({"node 0 (" + names[0], "node 1 (" + names[0], "have the same one"}));
  ends = rig.RunRaw([&](unsigned self) {
    auto list = names;
    if (self == 1) list.push_back("127.0.0.1:9");
    start(self, list, 1 << 20);
  });
  CHECK(!ends[0].ok());
  CHECK((ends[0].text + ends[1].text).find("is of a cluster of 3 nodes") != std::string::npos);
  ends = rig.RunRaw([&](unsigned self) { start(self, names, (1 + self) << 20); });
  CHECK(ends[0].Says({"jia_init: node 1 (", "has an area of 2097152 bytes, and node 0 one of"}));
  ends = rig.RunRaw([&](unsigned self) {
    const char* const list[] = {names[0].c_str(), names[1].c_str()};
    self == 0 ? jia_init_nodes(2, 2, list, 0, 0) : jia_init_nodes(0, 65, list, 0, 0);
  });
  CHECK(ends[0].Says({"jia_init: the node is 2: 0 to 1"}));
  CHECK(ends[1].Says({"jia_init: there are 65 nodes: 1 to 64"}));
  ends = rig.RunRaw([&](unsigned self) {
    setenv("JIA_HOSTS", (names[0] + "," + names[1]).c_str(), 1);
    if (self == 0) setenv("JIA_NODE", "x", 1);
    jia_init(0, nullptr);
  });
  CHECK(ends[0].Says({"jia_init: JIA_NODE is \"x\": a number, 0 to 63"}));
  CHECK(ends[1].Says({"jia_init: JIA_NODE is not set"}));
  ends = rig.RunRaw(
      [&](unsigned self) { self == 0 ? jia_barrier() : static_cast<void>(jia_alloc(1)); });
  CHECK(ends[0].Says({"jia_barrier: not between jia_init and jia_exit"}));
  CHECK(ends[1].Says({"jia_alloc: not between"}));
}

// Node 2 of three is killed in `before`, or after it; the others end by its name.
void KillNodeTwoIn(const DsmBody& before, const DsmBody& after) {
  DsmRig rig(3);
  rig.limit_ms = 15000;
  const auto begin = std::chrono::steady_clock::now();
  const auto ends = rig.Run([&](unsigned self) {
    before(self);
    if (self == 2) kill(getpid(), SIGKILL);
    after(self);
  });
  for (unsigned node = 0; node < 2; ++node) {
    INFO(ends[node].text);
    CHECK(ends[node].Says({"node 2 (" + rig.addresses[2]}));
  }
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(10));
}

TEST_CASE("a node that is killed ends the others by its name, whatever they do") {
  static volatile uint32_t* words = nullptr;
  const auto allocate = [](unsigned) {
    words = reinterpret_cast<volatile uint32_t*>(jia_alloc2p(64 * 4096, 2));
    jia_barrier();
  };
  SECTION("they wait at a barrier") {
    KillNodeTwoIn([](unsigned) {}, [](unsigned) { jia_barrier(); });
  }
  SECTION("they compute") {
    KillNodeTwoIn([](unsigned) {},
                  [](unsigned) { std::this_thread::sleep_for(std::chrono::seconds(20)); });
  }
  SECTION("they read pages of it") {
    KillNodeTwoIn(allocate, [](unsigned) {
      for (unsigned page = 0;; page = (page + 1) % 64) {
        static_cast<void>(words[page * 1024]);
        if (page == 63) jia_lock(0), jia_unlock(0);
      }
    });
  }
  SECTION("they write to pages of it") {
    KillNodeTwoIn(allocate, [](unsigned self) {
      for (uint32_t i = 0;; ++i) {
        jia_lock(static_cast<int>(self));
        for (unsigned page = 0; page < 64; ++page) words[page * 1024 + self] = i;
        jia_unlock(static_cast<int>(self));
      }
    });
  }
  SECTION("they want a lock that it has") {
    KillNodeTwoIn(
        [](unsigned self) {
          if (self == 2) jia_lock(0);
          jia_wait();
        },
        [](unsigned) { jia_lock(0); });
  }
  SECTION("they want a lock that it manages") {
    KillNodeTwoIn([](unsigned) {}, [](unsigned) { jia_lock(2), jia_unlock(2), jia_barrier(); });
  }
  SECTION("they wait for a condition variable") {
    KillNodeTwoIn([](unsigned) {}, [](unsigned) { jia_waitcv(2); });
  }
  SECTION("they leave") {
    KillNodeTwoIn([](unsigned) {}, [](unsigned) {});
  }
}

TEST_CASE("a node that is killed while nodes meet is named") {
  DsmRig rig(3);
  const auto ends = rig.RunRaw([&](unsigned self) {
    if (self == 2) {
      Mesh mesh(rig.addresses, self);
      mesh.Meet(MeshClock::now() + std::chrono::seconds(10));
      kill(getpid(), SIGKILL);
    }
    rig.Init(self);
  });
  for (unsigned node = 0; node < 2; ++node) {
    INFO(ends[node].text);
    CHECK(ends[node].Says({"jia_init: ", "node 2 ("}));
  }
}

TEST_CASE("a node that returns without jia_exit is named") {
  DsmRig rig(2);
  const auto ends = rig.RunRaw([&](unsigned self) {
    rig.Init(self);
    if (self == 0) jia_barrier();
  });
  CHECK(ends[0].Says({"node 1 (", "has died, or ended without jia_exit"}));
}

TEST_CASE("a simulator that ends, ends all nodes with an error") {
  DsmRig rig(2);
  const pid_t simulator = rig.fixture.simulator.pid();
  const auto ends = rig.Run([&](unsigned self) {
    jia_barrier();
    if (self == 0) kill(simulator, SIGKILL);
    for (;;) jia_barrier();
  });
  for (const DsmEnd& end : ends) {
    INFO(end.status << " " << end.text);
    CHECK(end.Says({"jia: node "}));
  }
}

TEST_CASE("a fault that is not of shared memory is the program's own") {
  DsmRig rig(1);
  const auto ends = rig.RunRaw([&](unsigned) {
    rig.Init(0);
    volatile int* nowhere = nullptr;
    *nowhere = 1;
  });
  CHECK((WIFSIGNALED(ends[0].status) && WTERMSIG(ends[0].status) == SIGSEGV));
}

// Node 1 speaks by itself, and says what it may not.
std::string WhatNodeZeroSaysOf(const DsmMessage& message) {
  DsmRig rig(2);
  const auto ends = rig.RunRaw([&](unsigned self) {
    if (self == 0) {
      rig.Init(self);
      jia_barrier();
      return;
    }
    const auto deadline = MeshClock::now() + std::chrono::seconds(10);
    std::vector<uint8_t> view(rig.area);
    Mesh mesh(rig.addresses, self);
    mesh.Meet(deadline);
    DsmLinks links(rig.fixture.Name(self), &mesh, view.data(), view.size(), deadline);
    links.Send(0, message);
    for (bool there = true; there;) {
      mesh.Watch([](unsigned, const MeshMessage&) {}, [&](unsigned) { there = false; });
      unsigned node;
      DsmMessage answer;
      links.Take(1024, &node, &answer);
    }
  });
  CHECK(WIFEXITED(ends[0].status));
  CHECK(WEXITSTATUS(ends[0].status) == 1);
  const size_t at = ends[0].text.find(" sent ");
  return at == std::string::npos ? ends[0].text : ends[0].text.substr(at + 6);
}

TEST_CASE("a peer that says what it may not is named, and nothing is believed") {
  const auto of = [](DsmKind kind, uint32_t number) {
    DsmMessage message;
    message.kind = kind;
    message.number = number;
    return message;
  };
  const auto with_clock = [&](DsmKind kind, uint32_t number) {
    DsmMessage message = of(kind, number);
    message.clock.resize(2);
    return message;
  };
  CHECK(WhatNodeZeroSaysOf(of(static_cast<DsmKind>(77), 0)) == "a message of kind 77: below 15\n");
  CHECK(WhatNodeZeroSaysOf(with_clock(DsmKind::kGrant, 3)) ==
        "a lock that was not asked for, lock 3\n");
  CHECK(WhatNodeZeroSaysOf(with_clock(DsmKind::kRelease, 3)) ==
        "a lock that is not managed here, lock 3\n");
  CHECK(WhatNodeZeroSaysOf(with_clock(DsmKind::kRelease, 2))
            .find("lock 2 is released by node 1, which does not hold it") != std::string::npos);
  CHECK(WhatNodeZeroSaysOf(of(DsmKind::kArrive, 5)) ==
        "its arrival at meeting 5: that at 1 is due\n");
  DsmMessage notice = of(DsmKind::kNotice, 0);
  notice.ranges = {{1024, 1}};
  CHECK(WhatNodeZeroSaysOf(notice) == "page 1024: below 1024\n");
  DsmMessage home = of(DsmKind::kHome, 1);
  CHECK(WhatNodeZeroSaysOf(home) == "the home, unasked, of page 1\n");
  CHECK(WhatNodeZeroSaysOf(of(DsmKind::kClaim, 1)) ==
        "a claim of a page that is not kept here, page 1\n");
}

}  // namespace
}  // namespace exrnic
