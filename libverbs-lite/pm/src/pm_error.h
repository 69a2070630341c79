// SPDX-License-Identifier: BSD-2-Clause
// How a call of PM fails: an errno, and what was wrong.
#ifndef EXRNIC_PM_ERROR_H
#define EXRNIC_PM_ERROR_H

#include <stdexcept>
#include <string>

namespace exrnic {

class PmError : public std::runtime_error {
 public:
  PmError(int error, const std::string& text, int node = -1)
      : std::runtime_error(text), error_(error), node_(node) {}
  int error() const { return error_; }
  int node() const { return node_; }

 private:
  int error_;
  int node_;
};

}  // namespace exrnic

#endif  // EXRNIC_PM_ERROR_H
