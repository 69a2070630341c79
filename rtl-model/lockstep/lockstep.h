// SPDX-License-Identifier: BSD-2-Clause
// Cores in lockstep with the reference model. Behind the Core interface works the subject (the RTL,
// say), which alone drives PCIe and Ethernet; everything it does is compared with what a reference
// core in its shadow does. README.md says how, and what is compared.
#pragma once

#include <functional>
#include <memory>

#include "rtl-model/systemc/core.h"

namespace exrnic::lockstep {

// Makes the cores of one simulation: one for each node, all of the same object. Where subject and
// reference disagree, step(), or whatever input shows it first, throws Mismatch (mismatch.h).
CoreFactory make_lockstep(CoreFactory make_subject, CoreFactory make_reference);

}  // namespace exrnic::lockstep
