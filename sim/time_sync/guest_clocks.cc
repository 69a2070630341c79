// SPDX-License-Identifier: BSD-2-Clause
#include "sim/time_sync/guest_clocks.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cassert>
#include <cerrno>
#include <climits>
#include <system_error>
#include <utility>

namespace exrnic {
namespace {

[[noreturn]] void fail(const std::string& path) {
  throw std::system_error(errno, std::generic_category(), "--time sync:" + path);
}

exrnic_shared_time* map_new(const std::string& path) {
  ::unlink(path.c_str());  // guests of an earlier run may still look at the old one
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) fail(path);
  void* memory = MAP_FAILED;
  if (::ftruncate(file, sizeof(exrnic_shared_time)) == 0) {
    memory =
        ::mmap(nullptr, sizeof(exrnic_shared_time), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  const int error = errno;
  ::close(file);
  errno = error;
  if (memory == MAP_FAILED) fail(path);
  return static_cast<exrnic_shared_time*>(memory);
}

}  // namespace

GuestClocks::GuestClocks(std::string path, const Config& config)
    : path_(std::move(path)), shared_(map_new(path_)) {
  assert(config.guests <= EXRNIC_TIME_MAX_GUESTS);
  shared_->version = EXRNIC_TIME_VERSION;
  shared_->guests = config.guests;
  shared_->simulator_pid = ::getpid();
  shared_->instruction_ns = config.instruction_ns;
  shared_->guest_to_guest_ns = config.guest_to_guest_ns;
  for (unsigned i = 0; i < config.guests; ++i) {
    set(i, EXRNIC_GUEST_ABSENT, kNever);
    exrnic_time_store(&shared_->line[i].deaf_until_ns, kNever);
  }
  exrnic_time_store(&shared_->magic, EXRNIC_TIME_MAGIC);
}

GuestClocks::~GuestClocks() {
  ::munmap(shared_, sizeof *shared_);
  ::unlink(path_.c_str());
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
