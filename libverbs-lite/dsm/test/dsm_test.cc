// SPDX-License-Identifier: BSD-2-Clause
// Shared memory of processes on exrnic-sim: what one node writes, others see behind a release and
// an acquire, whoever is the home of the page.
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <random>

#include "dsm_program.h"
#include "dsm_rig.h"
#include "exrnic/shared.hpp"

namespace exrnic {
namespace {

constexpr unsigned kWordsOfPage = 1024;

volatile uint32_t* Words(unsigned long memory) {
  return reinterpret_cast<volatile uint32_t*>(memory);
}

void RunProgramOn(const std::string& core, unsigned nodes, const DsmProgram& program,
                  const DsmSizes& sizes) {
  DsmRig rig(nodes, core);
  rig.area = program.area(sizes) + (1 << 20);
  rig.limit_ms = 60000;
  INFO(program.name);
  CHECK(DsmTexts(rig.Run([&](unsigned) {
          DsmTimer timer;
          program.run(sizes, &timer);
        })) == "");
}

TEST_CASE("programs on four nodes have the results of one process") {
  RunProgramOn("ref", 4, kLaplaceProgram, {200, 6, true});
  RunProgramOn("ref", 4, kSorProgram, {100, 3, true});
  RunProgramOn("ref", 4, kLuProgram, {40, 1, true});
  RunProgramOn("ref", 4, kMatrixProgram, {72, 1, true});
  RunProgramOn("ref", 4, kSortProgram, {6000, 2, true});
  RunProgramOn("ref", 4, kTspProgram, {8, 1, true});
}

TEST_CASE("programs on the RTL have the results of one process") {
  RunProgramOn("rtl", 2, kSorProgram, {64, 2, true});
  RunProgramOn("rtl", 2, kSortProgram, {2000, 1, true});
}

TEST_CASE("a node alone needs no RNIC") {
  const pid_t process = fork();
  if (process == 0) {
    setenv("VL_DEVICE", "sim:/nowhere", 1);
    unsetenv("JIA_HOSTS");
    jia_init(0, nullptr);
    volatile uint32_t* const words = Words(jia_alloc_first_touch(3 * 4096));
    words[2000] = 5;
    jia_lock(3);
    jia_unlock(3);
    jia_setcv(1);
    jia_waitcv(1);
    jia_barrier();
    const bool right = words[2000] == 5 && words[0] == 0 && jiapid == 0 && jiahosts == 1;
    jia_exit();
    _exit(right ? 0 : 1);
  }
  int status;
  waitpid(process, &status, 0);
  CHECK(status == 0);
}

TEST_CASE("a program of JIAJIA runs as it is") {
  DsmRig rig(3);
  const auto ends = rig.RunRaw([&](unsigned self) {
    std::string hosts;
    for (const std::string& address : rig.addresses) hosts += (hosts.empty() ? "" : ",") + address;
    setenv("JIA_HOSTS", hosts.c_str(), 1);
    setenv("JIA_NODE", std::to_string(self).c_str(), 1);
    setenv("JIA_AREA", "2", 1);
    execl(EXRNIC_JIAJIA_PROGRAM, "jiajia_program", nullptr);
  });
  CHECK((ends[0].ok() && ends[0].text == "3 hosts\n"));
  CHECK((ends[1].ok() && ends[1].text.empty()));
  CHECK((ends[2].ok() && ends[2].text.empty()));
}

// Each word has a writer in each round; all nodes look at all words.
TEST_CASE("words that several nodes write into the same pages are all seen after a barrier") {
  DsmRig rig(4);
  CHECK(DsmTexts(rig.Run([](unsigned self) {
          constexpr unsigned kPages = 8, kRounds = 3, kWords = kPages * kWordsOfPage;
          volatile uint32_t* const first = Words(jia_alloc2(kPages / 2 * 4096, 4096));
          volatile uint32_t* const second = Words(jia_alloc_first_touch(kPages / 2 * 4096));
          const auto word = [&](unsigned at) {
            return at < kWords / 2 ? &first[at] : &second[at - kWords / 2];
          };
          const auto owner = [](unsigned at, unsigned round) {
            return (at * 2654435761u ^ round * 40503u) >> 7 & 7;  // 4 to 7: nobody's
          };
          std::vector<uint32_t> expected(kWords);
          for (unsigned round = 1; round <= kRounds; ++round) {
            for (unsigned at = 0; at < kWords; ++at) {
              if (owner(at, round) < 4) expected[at] = at * 31 + round;
              if (owner(at, round) == self) *word(at) = expected[at];
            }
            jia_barrier();
            // Not all nodes read all pages in all rounds.
            for (unsigned at = 0; at < kWords; ++at) {
              if ((at / kWordsOfPage + round + self) % 3 == 0) continue;
              DsmRequire(*word(at) == expected[at],
                         "round " + std::to_string(round) + " word " + std::to_string(at));
            }
            jia_barrier();
          }
        })) == "");
}

TEST_CASE("what is written under a lock is seen under it, by each node in turn") {
  DsmRig rig(4);
  CHECK(DsmTexts(rig.Run([](unsigned self) {
          // One word of a page of each home.
          volatile uint32_t* const words = Words(jia_alloc2(4 * 4096, 4096));
          jia_barrier();
          std::mt19937 random(self);
          for (unsigned i = 0; i < 20; ++i) {
            const unsigned page = random() % 4;
            jia_lock(static_cast<int>(page + 2));
            words[page * kWordsOfPage] += 1;
            words[page * kWordsOfPage + 1 + self] += 1;
            jia_unlock(static_cast<int>(page + 2));
          }
          jia_barrier();
          uint32_t sum = 0;
          for (unsigned page = 0; page < 4; ++page) {
            volatile uint32_t* const at = &words[page * kWordsOfPage];
            DsmRequire(at[0] == at[1] + at[2] + at[3] + at[4], "the counts of page");
            sum += at[0];
          }
          DsmRequire(sum == 80, "the sum is " + std::to_string(sum));
        })) == "");
}

TEST_CASE("who hears of a write by way of a third node sees it") {
  DsmRig rig(3);
  CHECK(DsmTexts(rig.Run([](unsigned self) {
          volatile uint32_t* const data = Words(jia_alloc2p(4096, 1));
          volatile uint32_t* const flags = Words(jia_alloc2p(4096, 2));
          for (uint32_t round = 1; round <= 2; ++round) {
            DsmRequire(data[0] == round - 1, "what was there before");  // all have copies
            jia_barrier();
            const auto wait = [&](int lock, unsigned flag) {
              for (bool there = false; !there;) {
                jia_lock(lock);
                there = flags[flag] == round;
                jia_unlock(lock);
              }
            };
            const auto tell = [&](int lock, unsigned flag) {
              jia_lock(lock);
              flags[flag] = round;
              jia_unlock(lock);
            };
            if (self == 0) {
              data[0] = round;
              tell(10, 0);
            } else if (self == 1) {
              wait(10, 0);
              tell(11, 1);
            } else {
              wait(11, 1);
              DsmRequire(data[0] == round, "what node 0 has written");
            }
            jia_barrier();
          }
        })) == "");
}

TEST_CASE("a condition variable brings what its setter has written") {
  DsmRig rig(3);
  CHECK(DsmTexts(rig.Run([](unsigned self) {
          volatile uint32_t* const words = Words(jia_alloc2(3 * 4096, 4096));
          for (uint32_t round = 1; round <= 4; ++round) {
            for (unsigned page = 0; page < 3; ++page) static_cast<void>(words[page * kWordsOfPage]);
            jia_barrier();
            if (self == round % 3) {
              for (unsigned page = 0; page < 3; ++page) words[page * kWordsOfPage] = round;
              jia_setcv(5);
            } else {
              jia_waitcv(5);
              for (unsigned page = 0; page < 3; ++page)
                DsmRequire(words[page * kWordsOfPage] == round, "what the setter has written");
            }
            jia_barrier();
            if (self == 0) jia_resetcv(5);
          }
        })) == "");
}

TEST_CASE("a condition is as the last of two nodes left it, however busy its manager is") {
  DsmRig rig(3);
  CHECK(DsmTexts(rig.Run([](unsigned self) {
          constexpr int kCondition = 2, kOthers = 100;  // all of manager 2
          for (int round = 0; round < 4; ++round) {
            const bool sets = round % 2 == 0;  // last
            if (self == 0) {
              for (int i = 0; i < kOthers; ++i) jia_resetcv(5 + 3 * (i % 50));
              sets ? jia_resetcv(kCondition) : jia_setcv(kCondition);
            }
            jia_barrier();
            if (self == 1) sets ? jia_setcv(kCondition) : jia_resetcv(kCondition);
            jia_barrier();
            if (self == 2 && sets) jia_waitcv(kCondition);  // does not wait
          }
          // Not set: who waits goes on when it is.
          if (self == 0) jia_waitcv(kCondition);
          if (self == 1) {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            jia_setcv(kCondition);
          }
        })) == "");
}

TEST_CASE("handlers of signals use shared memory, also when they come within a fault") {
  DsmRig rig(2);
  CHECK(DsmTexts(rig.Run([](unsigned self) {
          static volatile uint32_t* words;
          words = Words(jia_alloc2p(64 * 4096, 1));
          if (self == 0) {
            signal(SIGALRM, [](int) {
              for (unsigned page = 32; page < 64; ++page) ++words[page * kWordsOfPage];
            });
            ualarm(1000, 1000);
            for (unsigned page = 0; page < 32; ++page) {
              words[page * kWordsOfPage] = page;
              usleep(300);
            }
            ualarm(0, 0);
          }
          jia_barrier();
          for (unsigned page = 0; page < 32; ++page)
            DsmRequire(words[page * kWordsOfPage] == page, "what was written");
          for (unsigned page = 33; page < 64; ++page)
            DsmRequire(words[page * kWordsOfPage] == words[32 * kWordsOfPage], "what was counted");
        })) == "");
}

TEST_CASE("the page of a first touch is its toucher's: it fetches nothing and pushes nothing") {
  DsmRig rig(3);
  CHECK(DsmTexts(rig.Run([](unsigned self) {
          volatile uint32_t* const words = Words(jia_alloc_first_touch(30 * 4096));
          for (unsigned page = self * 10; page < self * 10 + 10; ++page)
            words[page * kWordsOfPage] = page + 1;
          jia_barrier();
          jia_stat stat;
          jia_statistics(&stat);
          DsmRequire(stat.pages_fetched == 0 && stat.pages_pushed == 0, "pages came or went");
          for (unsigned page = 0; page < 30; ++page)
            DsmRequire(words[page * kWordsOfPage] == page + 1, "what was written");
        })) == "");
}

TEST_CASE("pages that nobody writes are kept over locks and barriers, until their home writes") {
  DsmRig rig(2);
  CHECK(DsmTexts(rig.Run([](unsigned self) {
          volatile uint32_t* const words = Words(jia_alloc2p(8 * 4096, 0));
          if (self == 0)
            for (unsigned page = 0; page < 8; ++page) words[page * kWordsOfPage] = 1;
          jia_barrier();
          const auto read = [&](uint32_t expected) {
            for (unsigned page = 0; page < 8; ++page)
              DsmRequire(words[page * kWordsOfPage] == expected, "what the home has written");
          };
          for (int i = 0; i < 4; ++i) {  // the home hears that they are shared
            read(1);
            jia_barrier();
          }
          jia_startstat();
          for (int i = 0; i < 5; ++i) {
            read(1);
            jia_lock(1);
            jia_unlock(1);
            jia_barrier();
          }
          jia_stat stat;
          jia_statistics(&stat);
          DsmRequire(stat.pages_fetched == 0,
                     std::to_string(stat.pages_fetched) + " pages were fetched");
          for (uint32_t value = 2; value < 6; ++value) {
            if (self == 0)
              for (unsigned page = 0; page < 8; ++page) words[page * kWordsOfPage] = value;
            jia_barrier();
            read(value);
            jia_barrier();
          }
        })) == "");
}

// Each node writes to a page of the next one; not all of them in each round.
void WriteAndRead(unsigned self, volatile uint32_t* words, uint32_t value) {
  const auto writes = [&](unsigned node) { return (value + node) % 3 != 0; };
  if (writes(self)) words[(self + 1) % 4 * kWordsOfPage + self] = value * 10 + self;
  jia_barrier();
  for (unsigned node = 0; node < 4; ++node) {
    const uint32_t expected = value * 10 + node;
    DsmRequire(!writes(node) || words[(node + 1) % 4 * kWordsOfPage + node] == expected, "a word");
  }
  jia_barrier();
}

uint64_t FirmwareBarriers() {
  jia_stat stat;
  jia_statistics(&stat);
  return stat.firmware_barriers;
}

TEST_CASE("four nodes meet by firmware", "[firmware]") {
  DsmRig rig(4, "rtl");
  CHECK(DsmTexts(rig.Run([](unsigned self) {
          volatile uint32_t* const words = Words(jia_alloc2(4 * 4096, 4096));
          for (uint32_t value = 1; value <= 3; ++value) WriteAndRead(self, words, value);
          DsmRequire(FirmwareBarriers() == 6, "barriers not by firmware");
        })) == "");
}

TEST_CASE("nodes that firmware has kept waiting for too long meet by messages from then on",
          "[firmware]") {
  DsmRig rig(4, "rtl");
  rig.limit_ms = 2400;
  CHECK(DsmTexts(rig.Run([](unsigned self) {
          volatile uint32_t* const words = Words(jia_alloc2(4 * 4096, 4096));
          jia_wait();
          if (self == 1) std::this_thread::sleep_for(std::chrono::milliseconds(900));
          for (uint32_t value = 1; value <= 3; ++value) WriteAndRead(self, words, value);
          DsmRequire(FirmwareBarriers() <= 1, "barriers by firmware");
        })) == "");
}

TEST_CASE("containers of one node's part of a heap are read by others") {
  DsmRig rig(3);
  CHECK(DsmTexts(rig.Run([](unsigned self) {
          vl::SharedHeap heap(64 << 10);
          using Vector = vl::SharedVector<uint32_t>;
          auto** const vectors = reinterpret_cast<Vector**>(jia_alloc(4096));
          void* const place = vl::SharedAllocator<Vector>(heap).allocate(1);
          auto* const mine = new (place) Vector(vl::SharedAllocator<uint32_t>(heap));
          for (uint32_t i = 0; i < 1000; ++i) mine->push_back(i * (self + 1));
          vectors[self] = mine;
          jia_barrier();
          for (unsigned node = 0; node < 3; ++node) {
            const Vector& vector = *vectors[node];
            DsmRequire(vector.size() == 1000 && vector[999] == 999 * (node + 1), "a vector");
          }
          jia_barrier();
          bool refused = false;
          try {
            mine->resize(20000);
          } catch (const std::bad_alloc&) {
            refused = true;
          }
          DsmRequire(refused, "more than the part was given");
        })) == "");
}

TEST_CASE("threads of a node may fault together") {
  DsmRig rig(2);
  CHECK(DsmTexts(rig.Run([](unsigned self) {
          volatile uint32_t* const words = Words(jia_alloc2(16 * 4096, 4096));
          jia_barrier();
          std::vector<std::thread> threads;
          for (unsigned thread = 0; thread < 4; ++thread) {
            threads.emplace_back([&, thread] {
              for (unsigned page = 0; page < 16; ++page)
                words[page * kWordsOfPage + self * 8 + thread] = page + 1;
            });
          }
          for (std::thread& thread : threads) thread.join();
          jia_barrier();
          for (unsigned page = 0; page < 16; ++page)
            for (unsigned i : {0u, 1u, 2u, 3u, 8u, 9u, 10u, 11u})
              DsmRequire(words[page * kWordsOfPage + i] == page + 1, "a word of a thread");
        })) == "");
}

}  // namespace
}  // namespace exrnic
