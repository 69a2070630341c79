// SPDX-License-Identifier: BSD-2-Clause
#include "file_transfer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace exrnic {

namespace {

constexpr unsigned kBuffers = 4;  // that one end has received and not given back

void Must(sci_error_t error, const char* what) {
  if (error == SCI_ERR_OK) return;
  fprintf(stderr, "exrnic-file-bench: %s: %s\n", what, SCIGetErrorString(error));
  exit(1);
}

// Tries again while the other end has not got it yet, or takes no more.
template <typename Call>
void Until(sci_error_t again, const char* what, Call call) {
  sci_error_t error;
  for (;;) {
    call(&error);
    if (error != again) break;
    usleep(10'000);
  }
  Must(error, what);
}

uint64_t Begin(size_t at) { return at; }
uint64_t End(size_t at) { return ~static_cast<uint64_t>(at); }
size_t WarmBytes(const FileRun& run) { return std::min(2 * sizeof(uint64_t), run.buffer); }
size_t TailOf(size_t bytes) { return bytes - sizeof(uint64_t); }

void Stamp(uint8_t* memory, size_t bytes, size_t at) {
  if (bytes < 2 * sizeof(uint64_t)) return;
  const uint64_t begin = Begin(at), end = End(at);
  memcpy(memory, &begin, sizeof(begin));
  memcpy(memory + TailOf(bytes), &end, sizeof(end));
}

bool IsStamped(const uint8_t* memory, size_t bytes, size_t at) {
  if (bytes < 2 * sizeof(uint64_t)) return true;
  uint64_t begin, end;
  memcpy(&begin, memory, sizeof(begin));
  memcpy(&end, memory + TailOf(bytes), sizeof(end));
  return begin == Begin(at) && end == End(at);
}

// Memory of one thread.
struct OwnSegment {
  OwnSegment(const FileRun& run, unsigned number, size_t bytes, bool is_private) {
    sci_error_t error;
    SCICreateSegment(run.sd, &segment, number, bytes, nullptr, nullptr,
                     is_private ? SCI_FLAG_PRIVATE : 0, &error);
    Must(error, "SCICreateSegment");
    SCIPrepareSegment(segment, run.adapter, is_private ? SCI_FLAG_DMA_SOURCE_ONLY : 0, &error);
    Must(error, "SCIPrepareSegment");
    memory = static_cast<uint8_t*>(SCIMapLocalSegment(segment, &map, 0, bytes, nullptr, 0, &error));
    Must(error, "SCIMapLocalSegment");
    if (is_private) return;
    SCISetSegmentAvailable(segment, run.adapter, 0, &error);
    Must(error, "SCISetSegmentAvailable");
  }
  ~OwnSegment() {
    sci_error_t error;
    SCIUnmapSegment(map, 0, &error);
    SCIRemoveSegment(segment, SCI_FLAG_FORCE_REMOVE, &error);
  }
  OwnSegment(const OwnSegment&) = delete;
  OwnSegment& operator=(const OwnSegment&) = delete;

  sci_local_segment_t segment = nullptr;
  sci_map_t map = nullptr;
  uint8_t* memory = nullptr;
};

// A file without content: what counts is what reading costs.
int OpenFile(const FileRun& run, unsigned thread) {
  if (run.folder.empty()) return -1;
  const std::string path = run.folder + "/exrnic-file-bench-" + std::to_string(thread);
  const int file = open(path.c_str(), O_CREAT | O_RDWR | O_TRUNC | O_CLOEXEC, 0600);
  const std::vector<char> zeroes(1 << 16);
  for (size_t at = 0; file >= 0 && at < run.file; at += zeroes.size()) {
    const size_t bytes = std::min(zeroes.size(), run.file - at);
    if (pwrite(file, zeroes.data(), bytes, static_cast<off_t>(at)) < 0) break;
  }
  unlink(path.c_str());
  return file;
}

class Sender {
 public:
  Sender(const FileRun& run, unsigned thread)
      : run_(run),
        number_(kFileThreadsMax * run.port + thread),
        own_(run, 0, run.buffer, true),
        file_(OpenFile(run, thread)) {
    sci_error_t error;
    unsigned number = number_;
    SCICreateInterrupt(run.sd, &taken_, run.adapter, &number, nullptr, nullptr,
                       SCI_FLAG_FIXED_INTNO | SCI_FLAG_COUNTING_INT, &error);
    Must(error, "SCICreateInterrupt");
    Until(SCI_ERR_NO_SUCH_SEGMENT, "SCIConnectSegment", [&](sci_error_t* result) {
      SCIConnectSegment(run.sd, &theirs_, run.peer, number_, run.adapter, nullptr, nullptr,
                        SCI_INFINITE_TIMEOUT, 0, result);
    });
    Until(SCI_ERR_NO_SUCH_INTNO, "SCIConnectDataInterrupt", [&](sci_error_t* result) {
      SCIConnectDataInterrupt(run.sd, &full_, run.peer, run.adapter, number_, SCI_INFINITE_TIMEOUT,
                              0, result);
    });
    SCICreateDMAQueue(run.sd, &queue_, run.adapter, 1, 0, &error);
    Must(error, "SCICreateDMAQueue");
  }
  ~Sender() {
    sci_error_t error;
    SCIRemoveDMAQueue(queue_, 0, &error);
    SCIDisconnectDataInterrupt(full_, 0, &error);
    SCIDisconnectSegment(theirs_, 0, &error);
    SCIRemoveInterrupt(taken_, 0, &error);
    close(file_);
  }
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;

  void Warm() {
    for (size_t i = 0; i < run_.warm; ++i) {
      Stamp(own_.memory, WarmBytes(run_), i);
      Send(WarmBytes(run_));
    }
  }
  void Run() {
    for (size_t at = 0; at < run_.file; at += run_.buffer) {
      const size_t bytes = std::min(run_.buffer, run_.file - at);
      Fill(bytes, at);
      Send(bytes);
    }
    Tell(0);
    while (under_way_ > 0) AwaitTaken();
  }

 private:
  void Fill(size_t bytes, size_t at) {
    for (size_t done = 0; file_ >= 0 && done < bytes;) {
      const ssize_t got =
          pread(file_, own_.memory + done, bytes - done, static_cast<off_t>(at + done));
      if (got <= 0) Must(SCI_ERR_SYSTEM, "pread");
      done += static_cast<size_t>(got);
    }
    Stamp(own_.memory, bytes, at);
  }
  void Send(size_t bytes) {
    if (under_way_ == kBuffers) AwaitTaken();
    sci_error_t error;
    SCIStartDmaTransfer(queue_, own_.segment, theirs_, 0, bytes, next_ * run_.buffer, nullptr,
                        nullptr, SCI_FLAG_DMA_WAIT, &error);
    Must(error, "SCIStartDmaTransfer");
    next_ = (next_ + 1) % kBuffers;
    Tell(static_cast<uint32_t>(bytes));
  }
  void Tell(uint32_t bytes) {
    Until(SCI_ERR_NOSPC, "SCITriggerDataInterrupt", [&](sci_error_t* error) {
      SCITriggerDataInterrupt(full_, &bytes, sizeof(bytes), 0, error);
    });
    ++under_way_;
  }
  void AwaitTaken() {
    sci_error_t error;
    SCIWaitForInterrupt(taken_, SCI_INFINITE_TIMEOUT, 0, &error);
    Must(error, "SCIWaitForInterrupt");
    --under_way_;
  }

  const FileRun& run_;
  const unsigned number_;
  OwnSegment own_;
  const int file_;
  sci_local_interrupt_t taken_ = nullptr;
  sci_remote_segment_t theirs_ = nullptr;
  sci_remote_data_interrupt_t full_ = nullptr;
  sci_dma_queue_t queue_ = nullptr;
  size_t next_ = 0;
  unsigned under_way_ = 0;
};

void ReceiveOne(const FileRun& run, unsigned thread) {
  unsigned number = kFileThreadsMax * run.port + thread;
  sci_error_t error;
  sci_local_data_interrupt_t full;
  sci_remote_interrupt_t taken;
  SCICreateDataInterrupt(run.sd, &full, run.adapter, &number, nullptr, nullptr,
                         SCI_FLAG_FIXED_INTNO, &error);
  Must(error, "SCICreateDataInterrupt");
  {
    const OwnSegment own(run, number, kBuffers * run.buffer, false);
    Until(SCI_ERR_NO_SUCH_INTNO, "SCIConnectInterrupt", [&](sci_error_t* result) {
      SCIConnectInterrupt(run.sd, &taken, run.peer, run.adapter, number, SCI_INFINITE_TIMEOUT, 0,
                          result);
    });
    size_t at = 0;
    for (size_t count = 0;; ++count) {
      uint32_t bytes;
      unsigned room = sizeof(bytes);
      SCIWaitForDataInterrupt(full, &bytes, &room, SCI_INFINITE_TIMEOUT, 0, &error);
      Must(error, "SCIWaitForDataInterrupt");
      const bool warm = count < run.warm;
      const uint8_t* const buffer = own.memory + count % kBuffers * run.buffer;
      if (bytes > 0 && !IsStamped(buffer, bytes, warm ? count : at)) {
        Must(SCI_ERR_TRANSFER_FAILED, "what has come is something else");
      }
      if (!warm) at += bytes;
      Until(SCI_ERR_NOSPC, "SCITriggerInterrupt",
            [&](sci_error_t* result) { SCITriggerInterrupt(taken, 0, result); });
      if (bytes == 0) break;
    }
    if (at != run.file) Must(SCI_ERR_TRANSFER_FAILED, "the file has another size");
  }
  SCIDisconnectInterrupt(taken, 0, &error);
  SCIRemoveDataInterrupt(full, 0, &error);
}

// Where all threads wait for each other.
class Barrier {
 public:
  explicit Barrier(unsigned threads) : threads_(threads) {}
  // The time when the last one has come.
  std::chrono::steady_clock::time_point Meet() {
    std::unique_lock<std::mutex> lock(mutex_);
    const unsigned round = round_;
    if (++here_ == threads_) {
      here_ = 0;
      ++round_;
      met_ = std::chrono::steady_clock::now();
      changed_.notify_all();
    }
    changed_.wait(lock, [&] { return round_ != round; });
    return met_;
  }

 private:
  const unsigned threads_;
  std::mutex mutex_;
  std::condition_variable changed_;
  unsigned here_ = 0;
  unsigned round_ = 0;
  std::chrono::steady_clock::time_point met_;
};

}  // namespace

double SendFiles(const FileRun& run) {
  Barrier barrier(run.threads);
  double seconds = 0;
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < run.threads; ++i) {
    threads.emplace_back([&, i] {
      Sender sender(run, i);
      sender.Warm();
      const auto begin = barrier.Meet();
      sender.Run();
      const auto end = barrier.Meet();
      if (i == 0) seconds = std::chrono::duration<double>(end - begin).count();
    });
  }
  for (std::thread& thread : threads) thread.join();
  return seconds;
}

void ReceiveFiles(const FileRun& run) {
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < run.threads; ++i) threads.emplace_back(ReceiveOne, std::cref(run), i);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace exrnic
