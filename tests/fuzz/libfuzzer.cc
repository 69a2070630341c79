// SPDX-License-Identifier: BSD-2-Clause
// exrnic-libfuzzer: one target under libFuzzer, which brings its own main(). The environment
// variable EXRNIC_FUZZ_TARGET is its name.
#include <cstdlib>
#include <string>

#include "tests/fuzz/target.h"

namespace {

const exrnic::fuzz::Target& target() {
  const char* const given = std::getenv("EXRNIC_FUZZ_TARGET");
  const std::string name = given == nullptr ? "" : given;
  for (const exrnic::fuzz::Target& each : exrnic::fuzz::targets())
    if (each.name == name) return each;
  exrnic::fuzz::found("EXRNIC_FUZZ_TARGET=" + name + ": there is no such target");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const exrnic::fuzz::Target& chosen = target();
  chosen.run(data, size);
  return 0;
}
