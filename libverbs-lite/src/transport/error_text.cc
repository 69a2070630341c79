// SPDX-License-Identifier: BSD-2-Clause
#include "transport/error_text.h"

#include <cerrno>
#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "exrnic/verbs.h"

namespace exrnic {

namespace {

thread_local char error_text[256];

__attribute__((format(printf, 1, 0))) void Print(const char* format, va_list arguments) {
  vsnprintf(error_text, sizeof(error_text), format, arguments);
}

}  // namespace

void SetErrorText(const char* text) {
  const size_t length = strnlen(text, sizeof(error_text) - 1);
  memcpy(error_text, text, length);
  error_text[length] = 0;
}

void ClearErrorText() { error_text[0] = 0; }

Failure Fail(int error) {
  errno = error;
  return {};
}

Failure Fail(int error, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  Print(format, arguments);
  va_end(arguments);
  return Fail(error);
}

Failure FailGone() {
  return Fail(ENODEV, "the RNIC is gone: it was removed, or the simulator has ended");
}

Failure FailUnacknowledged(const char* what, const char* call) {
  return Fail(EBUSY, "an event of the %s was taken and not acknowledged: call %s", what, call);
}

bool IsWithin(const char* name, uint64_t value, uint64_t least, uint64_t most) {
  if (value >= least && value <= most) return true;
  Fail(EINVAL, "%s is %" PRIu64 ", not %" PRIu64 " to %" PRIu64, name, value, least, most);
  return false;
}

void Explain(int error, const char* format, ...) {
  if (errno != error || error_text[0] != 0) return;
  va_list arguments;
  va_start(arguments, format);
  Print(format, arguments);
  va_end(arguments);
  errno = error;
}

bool BeginCall(std::initializer_list<Argument> needed) {
  ClearErrorText();
  for (const Argument& argument : needed) {
    if (argument.pointer != nullptr) continue;
    Fail(EINVAL, "%s is NULL", argument.name);
    return false;
  }
  return true;
}

}  // namespace exrnic

const char* vl_error_text(void) { return exrnic::error_text; }
