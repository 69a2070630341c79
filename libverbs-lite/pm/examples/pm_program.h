// SPDX-License-Identifier: BSD-2-Clause
// What exrnic-pm does.
#ifndef EXRNIC_PM_PROGRAM_H
#define EXRNIC_PM_PROGRAM_H

#include <string>
#include <vector>

namespace exrnic {

struct PmArguments {
  int node = 0;
  std::vector<std::string> addresses;
  std::string device;
  std::vector<std::string> parts = {"rtt", "messages", "transfers"};
  unsigned rounds = 200;
  unsigned messages = 500;
  unsigned transfers = 30;
};

// Between nodes 0 and 1; throws what has failed.
void RunPmProgram(const PmArguments& arguments);

}  // namespace exrnic

#endif  // EXRNIC_PM_PROGRAM_H
