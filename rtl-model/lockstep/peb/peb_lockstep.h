// SPDX-License-Identifier: BSD-2-Clause
// PEBs in lockstep with the reference model, behind the interface of a PEB (ref/peb/peb_core.h).
// The subject alone drives buses and Ethernet; what reaches a bus is compared with what two
// reference PEBs in its shadow hand to theirs. README.md says what is compared.
#pragma once

#include <functional>

#include "rtl-model/ref/peb/peb_core.h"

namespace exrnic::lockstep {

// Of one simulation; its PEBs are known by their node identifiers.
struct PebLockstep {
  // Where subject and reference disagree, whatever shows it throws Mismatch (mismatch.h).
  peb::PebFactory make;
  // Throws Mismatch if the reference has handed over what the subject has not. For the time when
  // nothing is under way: of two ports that are up.
  std::function<void()> check_rest;
  // TLPs and answers that were compared.
  std::function<uint64_t()> compared;
};
PebLockstep make_peb_lockstep(peb::PebFactory make_subject, peb::PebFactory make_reference);

}  // namespace exrnic::lockstep
