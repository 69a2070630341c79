// SPDX-License-Identifier: BSD-2-Clause
#include "output.h"

#include <stdexcept>

namespace exrnic {

void FinishOutput(FILE* out) {
  // What could not be written earlier is no longer in the buffer: only the error flag tells.
  if (fflush(out) == 0 && ferror(out) == 0) return;
  throw std::runtime_error("the results could not all be written; is the disk full?");
}

}  // namespace exrnic
