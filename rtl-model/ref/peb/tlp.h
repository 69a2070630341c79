// SPDX-License-Identifier: BSD-2-Clause
// TLPs between the blocks of a PEB, and on the wire (PEB.md).
#pragma once

#include <optional>
#include <variant>

#include "rtl-model/systemc/core.h"

namespace exrnic::peb {

// To memory; an interrupt is one, too. The bytes do not cross a multiple of 4 KiB.
struct Write {
  uint64_t address = 0;
  Bytes data;
};

// What is answered by completions.
struct Request {
  enum class Kind : uint8_t { kRead, kConfigRead, kConfigWrite };
  Kind kind = Kind::kRead;
  uint8_t tag = 0;
  uint64_t address = 0;  // or place in the configuration space
  uint32_t length = 0;   // bytes, of one DW if not of a read of memory
  Bytes data;            // of a write
};

struct Completion {
  uint8_t tag = 0;
  exrnic_completion_status status = EXRNIC_COMPLETION_STATUS_SUCCESSFUL;
  uint32_t left = 4;          // bytes of the request that were not completed before
  uint8_t lower_address = 0;  // of the first byte of data
  Bytes data;
};

// In the order of enum Flow.
using Tlp = std::variant<Write, Request, Completion>;

enum Flow : uint8_t { kPosted, kNonPosted, kCompletions, kFlows };
template <typename Any>
Flow flow_of(const Any& tlp) {
  return static_cast<Flow>(tlp.index());
}

// Node identifiers.
struct Way {
  uint16_t from = 0;
  uint16_t to = 0;
};

Bytes encode(const Tlp& tlp, const Way& way);
// Nothing if encode() does not make that of any TLP.
std::optional<Tlp> decode(const uint8_t* bytes, size_t size, const Way& way);

}  // namespace exrnic::peb
