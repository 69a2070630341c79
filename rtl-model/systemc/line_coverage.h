// SPDX-License-Identifier: BSD-2-Clause
// What lines of the RTL a process has executed, of cores that are verilated with --coverage-line
// (make coverage): a file in the folder that the environment variable EXRNIC_RTL_COVERAGE names.
// Other builds count nothing.
//
// Threads: none.
#pragma once

#if EXRNIC_COVERAGE
#include <unistd.h>
#include <verilated.h>
#include <verilated_cov.h>

#include <cstdlib>
#include <iterator>
#include <string>

#include "Vexrnic_core_256__Syms.h"
#include "Vexrnic_core__Syms.h"

namespace exrnic {

// Writes what the models of Verilator's default context have counted.
inline void write_line_coverage() {
  const char* const folder = std::getenv("EXRNIC_RTL_COVERAGE");
  if (folder == nullptr) return;
  const std::string path = std::string(folder) + "/" + std::to_string(::getpid()) + ".dat";
  Verilated::defaultContextp()->coveragep()->write(path.c_str());
}

// For a model alone. Without threads: Verilator would start some for each.
class ModelContext {
 public:
  ModelContext() { context_.threads(1); }
  VerilatedContext* get() { return &context_; }

 private:
  VerilatedContext context_;
};

// Of a model in such a context. Verilator reads counts where they are, inside the models:
// when this one goes, they are added to those of a model that stays until the process ends. That
// one begins no later, so that Verilator's default context outlives a model that is static.
template <typename Model>
class LineCounts {
 public:
  explicit LineCounts(Model& model) : model_(model), sum_(sum()) {}
  ~LineCounts() {
    auto& counts = sum_.rootp->vlSymsp->__Vcoverage;
    for (size_t i = 0; i < std::size(counts); ++i)
      counts[i] += model_.rootp->vlSymsp->__Vcoverage[i];
    // A model leaves the context that was used last, which may be gone.
    Verilated::threadContextp(model_.contextp());
  }

 private:
  static Model& sum() {
    static Model& sum = *new Model(Verilated::defaultContextp(), "sum");
    [[maybe_unused]] static const int once = std::atexit(write_line_coverage);
    return sum;
  }

  Model& model_;
  Model& sum_;
};

}  // namespace exrnic

#else
#include <verilated.h>

namespace exrnic {

struct ModelContext {
  VerilatedContext* get() { return Verilated::defaultContextp(); }
};

template <typename Model>
struct LineCounts {
  explicit LineCounts(Model&) {}
};

}  // namespace exrnic
#endif
