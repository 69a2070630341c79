// SPDX-License-Identifier: BSD-2-Clause
#include "error_text.h"

#include <cstring>

#include "exrnic/verbs.h"

namespace exrnic {

namespace {

thread_local char error_text[256];

}  // namespace

void SetErrorText(const char* text) { strncpy(error_text, text, sizeof(error_text) - 1); }

}  // namespace exrnic

const char* vl_error_text(void) { return exrnic::error_text; }
