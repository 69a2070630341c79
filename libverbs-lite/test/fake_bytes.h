// SPDX-License-Identifier: BSD-2-Clause
// Numbers and bytes as the device knows them, for the sources of the software device. Written out
// by hand: see fake_device.h.
#ifndef EXRNIC_LIBVERBS_FAKE_BYTES_H
#define EXRNIC_LIBVERBS_FAKE_BYTES_H

#include <cstdint>
#include <cstring>

namespace exrnic {

constexpr uint32_t kReset = 0, kRtr = 2, kRts = 3, kError = 4;
constexpr uint8_t kSuccess = 0, kLocLen = 1, kLocOp = 2, kLocProt = 3, kFlushed = 4, kRemAccess = 5,
                  kRemOp = 6, kRnrRetry = 8;
constexpr uint32_t kRnrRetryEndless = 7;
constexpr uint8_t kOpPush = 1, kOpPushImm = 2, kOpSend = 3, kOpSendImm = 4, kOpSendInvalidate = 5,
                  kOpPull = 6, kOpLocalInvalidate = 7, kOpRecv = 128;
constexpr uint8_t kSignaled = 1, kSolicited = 4, kInline = 8, kAllFlags = 15;
constexpr uint8_t kCqeImm = 1, kCqeInvalidated = 2, kCqeSolicited = 4, kCqeWritten = 32;
constexpr uint32_t kLocalWrite = 1, kRemoteWrite = 2, kRemoteRead = 4;
constexpr uint32_t kWqeBytes = 64, kCqeBytes = 32, kPayloadAt = 32;
constexpr uint32_t kMessageMax = 0x80000000u;

template <typename T>
T Load(const uint8_t* at) {
  T value;
  memcpy(&value, at, sizeof(value));
  return value;
}

template <typename T>
void Store(uint8_t* at, T value) {
  memcpy(at, &value, sizeof(value));
}

}  // namespace exrnic

#endif  // EXRNIC_LIBVERBS_FAKE_BYTES_H
