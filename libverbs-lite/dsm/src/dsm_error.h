// SPDX-License-Identifier: BSD-2-Clause
// What ends a program of shared memory: the text names argument, value and limit, or a node.
#ifndef EXRNIC_DSM_ERROR_H
#define EXRNIC_DSM_ERROR_H

#include <stdexcept>
#include <string>

namespace exrnic {

class DsmError : public std::runtime_error {
 public:
  explicit DsmError(const std::string& text) : std::runtime_error(text) {}
};

}  // namespace exrnic

#endif  // EXRNIC_DSM_ERROR_H
