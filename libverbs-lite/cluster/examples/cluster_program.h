// SPDX-License-Identifier: BSD-2-Clause
// What exrnic-cluster does.
#ifndef EXRNIC_CLUSTER_PROGRAM_H
#define EXRNIC_CLUSTER_PROGRAM_H

#include <string>
#include <vector>

#include "exrnic/cluster.hpp"

namespace exrnic {

struct ClusterArguments {
  vl::ClusterOptions options;
  std::vector<size_t> sizes = {1, 4096, size_t{1} << 20};
  std::vector<std::string> operations = {"send", "send_with_imm", "write", "write_with_imm"};
  std::vector<std::string> patterns = {"many_to_many", "one_to_many", "many_to_one"};
  unsigned rounds = 1;
};

// All patterns that are named, by all operations; throws what has failed.
void RunClusterProgram(const ClusterArguments& arguments);

}  // namespace exrnic

#endif  // EXRNIC_CLUSTER_PROGRAM_H
