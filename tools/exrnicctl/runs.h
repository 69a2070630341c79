// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace exrnic::ctl {

// Where launches have their folders, from where they are started.
constexpr char kRuns[] = "build/run";

}  // namespace exrnic::ctl
