// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXRNIC_EXAMPLES_OUTPUT_H
#define EXRNIC_EXAMPLES_OUTPUT_H

#include <cstdio>

namespace exrnic {

// The last call of a program that prints results: throws std::runtime_error unless all that was
// printed to `out` has been written. A full disk is no success.
void FinishOutput(FILE* out);

}  // namespace exrnic

#endif  // EXRNIC_EXAMPLES_OUTPUT_H
