// SPDX-License-Identifier: BSD-2-Clause
// How much of everything an adapter has: nobody outside makes it take more.
#ifndef EXRNIC_SISCI_LIMITS_H
#define EXRNIC_SISCI_LIMITS_H

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "sisci_api.h"
#include "wire.h"

namespace exrnic::sisci {

constexpr uint32_t kDatagramReceives = 128;
constexpr uint32_t kDatagramSends = 64;
constexpr uint32_t kReceives = 256;
constexpr size_t kMessageBytes = kInterruptHead + SCI_MAX_INTERRUPT_DATA;
constexpr uint32_t kLongSends = 32;    // messages under way that are not inline
constexpr size_t kLinkLongSends = 8;   // of one link
constexpr uint32_t kLinkSends = 32;    // of one link
constexpr uint32_t kSends = 1024;      // of all links
constexpr size_t kBacklog = 256;       // messages of a link that wait
constexpr uint32_t kLinkPieces = 64;   // PUSHes and PULLs of one link under way
constexpr uint32_t kPieces = 1024;     // of all links
constexpr uint32_t kReads = 8;         // PULLs of a queue pair under way
constexpr size_t kLinks = 256;         // that others have made
constexpr size_t kConnections = 4096;  // of others
constexpr size_t kServedQps = 128;     // of a link
constexpr size_t kCredits = 1024;
constexpr size_t kNodeLinks = 64;          // of them, one node's
constexpr size_t kLinkConnections = 1024;  // of them, one link's
constexpr size_t kLinkCredits = 256;
constexpr size_t kOrphans = 1024;  // interrupts with data whose sender has disconnected
constexpr unsigned kLinkBounces = 4;
constexpr int kBatches = 16;       // of 16 completions, at a time
constexpr unsigned kAttempts = 3;  // of a transfer, when others have broken the queue pair

// A datagram that may have been lost is sent again behind a time that doubles.
constexpr std::chrono::milliseconds kFirstRetry{20};
constexpr std::chrono::milliseconds kLastRetry{500};
constexpr std::chrono::milliseconds kProbePeriod{250};
// Of the time-out of queue pairs: 4.096 us << 17 is 0.54 s, twice.
constexpr uint32_t kTimeout = 17;
constexpr uint32_t kRetries = 1;
constexpr std::chrono::seconds kDeath{2};        // a queue pair in ERROR gives back what it holds
constexpr std::chrono::seconds kAnswerTime{10};  // to what is no question of the program's
// So long a thread looks for what it waits for before it sleeps.
constexpr std::chrono::microseconds kSpin{50};
// For a transfer longer: a nanosecond for each byte, but no more than this.
constexpr std::chrono::microseconds kTransferSpin{200};
constexpr std::chrono::microseconds kTransferSpinMax{2000};

}  // namespace exrnic::sisci

#endif  // EXRNIC_SISCI_LIMITS_H
