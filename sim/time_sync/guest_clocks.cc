// SPDX-License-Identifier: BSD-2-Clause
#include "sim/time_sync/guest_clocks.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cassert>
#include <cerrno>
#include <climits>
#include <filesystem>
#include <regex>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace exrnic {
namespace {

// As /proc shows who has it open.
constexpr char kName[] = "exrnic-sim clock";
constexpr char kShown[] = "/memfd:exrnic-sim clock (deleted)";

[[noreturn]] void fail(const std::string& path, const std::string& why) {
  throw std::runtime_error("--time sync:" + path + ": " + why);
}

[[noreturn]] void fail_errno(const std::string& path) {
  fail(path, std::generic_category().message(errno));
}

// Sealed: a file that somebody cuts short would end whoever has mapped it.
UniqueFd new_memory(const std::string& path) {
  UniqueFd file(::memfd_create(kName, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file || ::ftruncate(file.get(), sizeof(exrnic_shared_time)) != 0 ||
      ::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    fail_errno(path);
  }
  return file;
}

exrnic_shared_time* map(int file, const std::string& path) {
  void* memory =
      ::mmap(nullptr, sizeof(exrnic_shared_time), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) fail_errno(path);
  return static_cast<exrnic_shared_time*>(memory);
}

// Where the link at `path` leads; empty if there is none.
std::string link_at(const std::string& path) {
  char text[256];
  const ssize_t length = ::readlink(path.c_str(), text, sizeof text);
  return length < 0 ? std::string() : std::string(text, static_cast<size_t>(length));
}

// "/proc/PID/fd/N", as the links to clocks are.
bool is_clock_link(const std::string& target) {
  static const std::regex kForm("/proc/[0-9]+/fd/[0-9]+");
  return std::regex_match(target, kForm);
}

// What an earlier run left is removed. Nothing else is ours to remove.
void remove_stale(const std::string& path) {
  const std::string target = link_at(path);
  if (!is_clock_link(target)) {
    fail(path,
         "something is there that is no clock of exrnic-sim; remove it, or name another file");
  }
  if (link_at(target) == kShown) {
    fail(path, "another exrnic-sim keeps its clock there (" + target +
                   "); name another file, or start it in another folder, as each rank of a run");
  }
  ::unlink(path.c_str());
}

// Locked, as what was stale when it was looked at may be somebody's clock when it is removed.
void link_clock(const std::string& target, const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  const UniqueFd lock(::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_CLOEXEC));
  if (lock) ::flock(lock.get(), LOCK_EX);
  if (::symlink(target.c_str(), path.c_str()) == 0) return;
  if (errno != EEXIST) fail_errno(path);
  remove_stale(path);
  if (::symlink(target.c_str(), path.c_str()) != 0) fail_errno(path);
}

}  // namespace

GuestClocks::GuestClocks(std::string path, const Config& config)
    : path_(std::move(path)),
      guests_(config.guests),
      file_(new_memory(path_)),
      target_("/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(file_.get())),
      shared_(map(file_.get(), path_)) {
  assert(guests_ + (config.others ? 1 : 0) <= EXRNIC_TIME_MAX_GUESTS);
  shared_->version = EXRNIC_TIME_VERSION;
  shared_->guests = guests_ + (config.others ? 1 : 0);
  shared_->attached = guests_;
  shared_->simulator_pid = ::getpid();
  shared_->instruction_ns = config.instruction_ns;
  shared_->guest_to_guest_ns = config.guest_to_guest_ns;
  for (unsigned i = 0; i < guests_; ++i) {
    set(i, EXRNIC_GUEST_ABSENT, kNever);
    exrnic_time_store(&shared_->line[i].deaf_until_ns, kNever);
  }
  if (config.others) set_others(0);
  exrnic_time_store(&shared_->magic, EXRNIC_TIME_MAGIC);
  link_clock(target_, path_);
}

GuestClocks::~GuestClocks() {
  if (link_at(path_) == target_) ::unlink(path_.c_str());
  ::munmap(shared_, sizeof *shared_);
}

bool GuestClocks::all_join() const {
  for (unsigned i = 0; i < guests(); ++i) {
    if (state(i) != EXRNIC_GUEST_JOINING) return false;
  }
  return true;
}

uint32_t GuestClocks::messages(unsigned guest) const {
  return __atomic_load_n(&shared_->guest[guest].messages, __ATOMIC_RELAXED);
}

void GuestClocks::set(unsigned guest, exrnic_guest_state state, uint64_t bound) {
  exrnic_time_store(&shared_->guest[guest].where, exrnic_where(state, bound));
}

void GuestClocks::answer_load(unsigned guest, uint64_t ns) {
  exrnic_guest_time& time = shared_->guest[guest];
  exrnic_time_store(&time.reply_ns, ns);
  __atomic_add_fetch(&time.replies, 1, __ATOMIC_RELEASE);
  set(guest, EXRNIC_GUEST_RUNNING, ns);
}

void GuestClocks::interrupt(unsigned guest, uint64_t ns) {
  exrnic_guest_time& time = shared_->guest[guest];
  __atomic_add_fetch(&time.interrupts, 1, __ATOMIC_RELEASE);
  uint64_t seen = where(guest);
  while (exrnic_state_of(seen) == EXRNIC_GUEST_HALTED && exrnic_bound_of(seen) >= ns) {
    const uint64_t awake = exrnic_where(EXRNIC_GUEST_RUNNING, ns);
    if (__atomic_compare_exchange_n(&time.where, &seen, awake, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE)) {
      return;
    }
  }
}

void GuestClocks::interrupts_taken(unsigned guest) {
  exrnic_guest_time& time = shared_->guest[guest];
  __atomic_store_n(&time.interrupts_taken, time.interrupts, __ATOMIC_RELEASE);
}

bool GuestClocks::interrupts_under_way(unsigned guest) const {
  const exrnic_guest_time& time = shared_->guest[guest];
  return time.interrupts_taken != time.interrupts;
}

void GuestClocks::ask(unsigned guest) {
  uint32_t* word = &shared_->guest[guest].ask;
  __atomic_add_fetch(word, 1, __ATOMIC_RELEASE);
  ::syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

bool GuestClocks::answered(unsigned guest, uint64_t* ns) const {
  const exrnic_guest_time& time = shared_->guest[guest];
  if (__atomic_load_n(&time.answer, __ATOMIC_ACQUIRE) != time.ask) return false;
  *ns = exrnic_time_load(&time.answer_ns);
  return true;
}

}  // namespace exrnic
