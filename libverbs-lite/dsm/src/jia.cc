// SPDX-License-Identifier: BSD-2-Clause
// The calls of exrnic/jia.h on the one node of this process, and the faults of the program.
#include "exrnic/jia.h"

#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include "dsm_error.h"
#include "node.h"

int jiapid = 0;
int jiahosts = 1;

namespace {

using exrnic::DsmNode;
using exrnic::DsmOptions;

DsmNode* the_node = nullptr;
struct sigaction faults_before;
exrnic::MeshClock::time_point jia_begin;
jia_stat stat_begin;

[[noreturn]] void FailStart(const std::string& text) {
  fflush(stdout);
  fprintf(stderr, "jia: %s\n", text.c_str());
  _exit(1);
}

DsmNode* JiaNode(const char* call) {
  if (the_node == nullptr) FailStart(std::string(call) + ": not between jia_init and jia_exit");
  return the_node;
}

// ---- Faults

std::optional<bool> WasWrite(void* context) {
#if defined(__x86_64__)
  constexpr greg_t kWrite = 2;  // of the error code of a page fault
  return (static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR] & kWrite) != 0;
#else
  static_cast<void>(context);
  return std::nullopt;  // a page that is there was written
#endif
}

void OnFault(int signal_number, siginfo_t* info, void* context) {
  const int error = errno;
  const bool handled =
      the_node != nullptr && info->si_code > 0 && the_node->Fault(info->si_addr, WasWrite(context));
  errno = error;
  if (handled) return;
  if ((faults_before.sa_flags & SA_SIGINFO) != 0)
    return faults_before.sa_sigaction(signal_number, info, context);
  if (faults_before.sa_handler != SIG_DFL && faults_before.sa_handler != SIG_IGN)
    return faults_before.sa_handler(signal_number);
  sigaction(SIGSEGV, &faults_before, nullptr);  // it faults again, and ends
  if (info->si_code <= 0) raise(SIGSEGV);       // it was sent, and does not come again by itself
}

void CatchFaults() {
  struct sigaction action = {};
  action.sa_sigaction = OnFault;
  // On the stack of the program: an alternate one may be too small. Other signals wait meanwhile,
  // as their handlers may use shared memory, too.
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigfillset(&action.sa_mask);
  sigaction(SIGSEGV, &action, &faults_before);
}

// ---- The start

// The number in the environment between these; or what is said otherwise.
double NumberFrom(const char* name, double least, double most, double otherwise) {
  const char* const text = getenv(name);
  if (text == nullptr || *text == '\0') return otherwise;
  char* end;
  const double value = strtod(text, &end);
  const bool fits = least < 1 || value == floor(value);  // of a number of things
  if (*end == '\0' && value >= least && value <= most && fits) return value;
  char limits[64];
  snprintf(limits, sizeof(limits), ": a %snumber, %g to %g", least < 1 ? "" : "whole ", least,
           most);
  FailStart(std::string("jia_init: ") + name + " is \"" + text + "\"" + limits);
}

void FromEnvironment(DsmOptions* options) {
  constexpr double kMiB = 1 << 20;
  options->area = static_cast<size_t>(NumberFrom("JIA_AREA", 1, exrnic::kDsmAreaMax / kMiB,
                                                 static_cast<double>(options->area) / kMiB)) *
                  static_cast<size_t>(kMiB);
  options->limit = std::chrono::milliseconds(
      static_cast<long>(1000 * NumberFrom("JIA_LIMIT", 0.1, 86400,
                                          static_cast<double>(options->limit.count()) / 1000)));
}

void Start(const DsmOptions& options) {
  if (the_node != nullptr) FailStart("jia_init: it was called before");
  try {
    the_node = new DsmNode(options);
  } catch (const std::exception& error) {
    FailStart("node " + std::to_string(options.self) + ": jia_init: " + error.what());
  }
  jiapid = static_cast<int>(options.self);
  jiahosts = static_cast<int>(the_node->nodes());
  jia_begin = exrnic::MeshClock::now();
  stat_begin = {};
  CatchFaults();
}

void CheckNodes(long node, size_t nodes) {
  if (nodes < 1 || nodes > JIA_NODES_MAX) {
    FailStart("jia_init: there are " + std::to_string(nodes) + " nodes: 1 to " +
              std::to_string(JIA_NODES_MAX));
  }
  if (node < 0 || static_cast<size_t>(node) >= nodes) {
    FailStart("jia_init: the node is " + std::to_string(node) + ": 0 to " +
              std::to_string(nodes - 1));
  }
}

unsigned long Allocate(const char* call, size_t size, size_t block, int node) {
  return reinterpret_cast<unsigned long>(
      JiaNode(call)->Allocate(call, size, block, static_cast<unsigned>(node)));
}

}  // namespace

extern "C" {

void jia_init(int, char**) {
  DsmOptions options;
  FromEnvironment(&options);
  const char* const hosts = getenv("JIA_HOSTS");
  const std::string list = hosts == nullptr ? "" : hosts;
  for (size_t at = 0; !list.empty() && at <= list.size();) {
    const size_t end = std::min(list.find(',', at), list.size());
    options.addresses.push_back(list.substr(at, end - at));
    at = end + 1;
  }
  const double node = NumberFrom("JIA_NODE", 0, JIA_NODES_MAX - 1, -1);
  if (node > 0 && options.addresses.empty())
    FailStart("jia_init: JIA_NODE is set, and JIA_HOSTS is not: which nodes are there?");
  if (node < 0 && options.addresses.size() > 1)
    FailStart("jia_init: JIA_NODE is not set, and JIA_HOSTS names several nodes");
  if (!options.addresses.empty()) {
    CheckNodes(static_cast<long>(node < 0 ? 0 : node), options.addresses.size());
    options.self = static_cast<unsigned>(node < 0 ? 0 : node);
  }
  Start(options);
}

void jia_init_nodes(int node, int nodes, const char* const* addresses, size_t area, long limit_ms) {
  DsmOptions options;
  FromEnvironment(&options);
  CheckNodes(node, nodes < 0 ? 0 : static_cast<size_t>(nodes));
  options.self = static_cast<unsigned>(node);
  for (int i = 0; i < nodes; ++i) {
    if (nodes > 1 && (addresses == nullptr || addresses[i] == nullptr))
      FailStart("jia_init: the address of node " + std::to_string(i) + " is null");
    options.addresses.emplace_back(nodes > 1 ? addresses[i] : "");
  }
  if (area > exrnic::kDsmAreaMax) {
    FailStart("jia_init: area is " + std::to_string(area) + ": at most " +
              std::to_string(exrnic::kDsmAreaMax));
  }
  if (area != 0) options.area = (area + exrnic::kDsmPage - 1) / exrnic::kDsmPage * exrnic::kDsmPage;
  if (limit_ms < 0) FailStart("jia_init: limit_ms is " + std::to_string(limit_ms) + ": 0 or more");
  if (limit_ms != 0) options.limit = std::chrono::milliseconds(limit_ms);
  Start(options);
}

void jia_exit(void) {
  JiaNode("jia_exit")->Meet(exrnic::DsmMeeting::kExit);
  sigaction(SIGSEGV, &faults_before, nullptr);
  delete the_node;
  the_node = nullptr;
}

unsigned long jia_alloc(size_t size) {
  const char* const call = "jia_alloc";
  return reinterpret_cast<unsigned long>(JiaNode(call)->AllocateInTurn(call, size));
}
unsigned long jia_alloc1(size_t size) { return Allocate("jia_alloc1", size, SIZE_MAX, 0); }
unsigned long jia_alloc2(size_t size, size_t block) {
  return Allocate("jia_alloc2", size, block, 0);
}
unsigned long jia_alloc2p(size_t size, int node) {
  return Allocate("jia_alloc2p", size, SIZE_MAX, node);
}
unsigned long jia_alloc3(size_t size, size_t block, int node) {
  return Allocate("jia_alloc3", size, block, node);
}
unsigned long jia_alloc_first_touch(size_t size) {
  const char* const call = "jia_alloc_first_touch";
  return reinterpret_cast<unsigned long>(JiaNode(call)->AllocateForFirstTouch(call, size));
}

void jia_lock(int lock) { JiaNode("jia_lock")->Lock(lock); }
void jia_unlock(int lock) { JiaNode("jia_unlock")->Unlock(lock); }
void jia_barrier(void) { JiaNode("jia_barrier")->Meet(exrnic::DsmMeeting::kBarrier); }
void jia_wait(void) { JiaNode("jia_wait")->Meet(exrnic::DsmMeeting::kWait); }
void jia_setcv(int condition) { JiaNode("jia_setcv")->Set(condition); }
void jia_resetcv(int condition) { JiaNode("jia_resetcv")->Reset(condition); }
void jia_waitcv(int condition) { JiaNode("jia_waitcv")->Await(condition); }

double jia_wtime(void) {
  return std::chrono::duration<double>(exrnic::MeshClock::now().time_since_epoch()).count();
}
float jia_clock(void) {
  return std::chrono::duration<float>(exrnic::MeshClock::now() - jia_begin).count();
}

void jia_error(const char* format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  if (the_node == nullptr) FailStart(std::string("jia_error: ") + text);
  the_node->Fail(text);
}

void jia_statistics(struct jia_stat* statistics) {
  jia_stat now = JiaNode("jia_statistics")->Statistics();
  now.faults -= stat_begin.faults;
  now.diffs -= stat_begin.diffs;
  now.barrier -= stat_begin.barrier;
  now.locks -= stat_begin.locks;
  now.read_faults -= stat_begin.read_faults;
  now.write_faults -= stat_begin.write_faults;
  now.pages_fetched -= stat_begin.pages_fetched;
  now.pages_pushed -= stat_begin.pages_pushed;
  now.bytes_pushed -= stat_begin.bytes_pushed;
  now.firmware_barriers -= stat_begin.firmware_barriers;
  *statistics = now;
}

// JIAJIA's switches change how it works; here that is as it is.
void jia_config(int, int) {}

unsigned int jia_startstat(void) {
  stat_begin = JiaNode("jia_startstat")->Statistics();
  return 0;
}

unsigned int jia_stopstat(void) {
  jia_stat now;
  jia_statistics(&now);
  printf(
      "node %d: faults %.6f s (%llu reads, %llu writes, %llu pages fetched), diffs %.6f s "
      "(%llu pages, %llu bytes), barriers %.6f s, locks %.6f s\n",
      jiapid, now.faults, static_cast<unsigned long long>(now.read_faults),
      static_cast<unsigned long long>(now.write_faults),
      static_cast<unsigned long long>(now.pages_fetched), now.diffs,
      static_cast<unsigned long long>(now.pages_pushed),
      static_cast<unsigned long long>(now.bytes_pushed), now.barrier, now.locks);
  fflush(stdout);
  return 0;
}

}  // extern "C"
