// SPDX-License-Identifier: BSD-2-Clause
// A workload: what the nodes of a network send each other, without hosts. It comes from a JSON
// file; README.md here has every key.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "exrnic_hw.h"

namespace exrnic::workload {

enum class Pattern : uint8_t {
  kIncast,
  kAllToAll,
  kPermutation,
  kRandom,
  kRingAllReduce,
  kTreeAllReduce,
};

// One of several sizes, which comes as often as its share says.
struct Size {
  uint32_t bytes = 0;
  uint32_t share = 1;
};

// What some of the nodes do.
struct Traffic {
  Pattern pattern = Pattern::kPermutation;
  exrnic_wqe_opcode operation = EXRNIC_WQE_OPCODE_PUSH;
  exrnic_service service = EXRNIC_SERVICE_RC;
  unsigned first_node = 0;
  unsigned last_node = 0;
  unsigned target = 0;  // of an incast
  std::vector<Size> sizes;
  uint32_t messages = 1;  // see README.md: of a flow, or of a node
  uint64_t start_ns = 0;

  // Closed loop: so many messages of a node are under way; open loop: as many as its rate makes.
  unsigned outstanding = 1;
  std::optional<uint64_t> megabits_per_second;
  bool poisson = false;

  unsigned nodes() const { return last_node - first_node + 1; }
  bool is_collective() const {
    return pattern == Pattern::kRingAllReduce || pattern == Pattern::kTreeAllReduce;
  }
};

struct Workload {
  std::string name;
  uint64_t seed = 1;
  uint32_t mtu = EXRNIC_MTU_DEFAULT;
  std::vector<Traffic> traffic;
};

// The network that it is for.
struct Network {
  std::vector<uint64_t> megabits_per_second;  // of each node's line

  unsigned nodes() const { return static_cast<unsigned>(megabits_per_second.size()); }
};

// As a file calls it.
const char* name_of(Pattern pattern);
const char* name_of(exrnic_wqe_opcode operation);

// Parses the text of a file; `where` names it in errors. Throws DataFileError.
Workload parse_workload(const std::string& text, const std::string& where, const Network& network);
Workload load_workload(const std::string& path, const Network& network);

}  // namespace exrnic::workload
