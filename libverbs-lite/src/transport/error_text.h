// SPDX-License-Identifier: BSD-2-Clause
// What the last failure in a thread has to say beyond its errno: vl_error_text(). Nothing here
// makes a system call.
#ifndef EXRNIC_LIBVERBS_ERROR_TEXT_H
#define EXRNIC_LIBVERBS_ERROR_TEXT_H

#include <cstdint>
#include <initializer_list>

namespace exrnic {

// Cut to what there is room for.
void SetErrorText(const char* text);
void ClearErrorText();

// What a C function returns that has failed: -1, or a null pointer.
class Failure {
 public:
  operator int() const { return -1; }  // NOLINT: it is for returns
  template <typename T>
  operator T*() const {  // NOLINT: likewise
    return nullptr;
  }
};

// With the text that is there: none, or that of the transport.
Failure Fail(int error);
// With a text, as of printf: what is wrong, with its value and its limit, and what to do.
Failure Fail(int error, const char* format, ...) __attribute__((format(printf, 2, 3)));
// What calls say more than once.
Failure FailGone();  // ENODEV
// EBUSY: what has the event, and the call that acknowledges it.
Failure FailUnacknowledged(const char* what, const char* call);
// False, EINVAL: it is not.
bool IsWithin(const char* name, uint64_t value, uint64_t least, uint64_t most);

// For a caller that knows more than the transport whose call has failed: gives such an error, if it
// has no text yet, this one.
void Explain(int error, const char* format, ...) __attribute__((format(printf, 2, 3)));

struct Argument {
  const char* name;
  const void* pointer;
};
// Every call begins with it: what the one before had to say is over. False, EINVAL: a pointer is
// null.
bool BeginCall(std::initializer_list<Argument> needed);

}  // namespace exrnic

#endif  // EXRNIC_LIBVERBS_ERROR_TEXT_H
