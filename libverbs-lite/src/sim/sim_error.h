// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXRNIC_LIBVERBS_SIM_ERROR_H
#define EXRNIC_LIBVERBS_SIM_ERROR_H

#include <stdexcept>
#include <string>

namespace exrnic {

// Thrown inside the simulator transport; at its edge it becomes errno and vl_error_text().
class SimError : public std::runtime_error {
 public:
  SimError(int error, const std::string& text) : std::runtime_error(text), error_(error) {}
  int error() const { return error_; }

 private:
  int error_;
};

}  // namespace exrnic

#endif  // EXRNIC_LIBVERBS_SIM_ERROR_H
