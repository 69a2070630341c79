// SPDX-License-Identifier: BSD-2-Clause
// What the last failure in a thread has to say beyond its errno: vl_error_text().
#ifndef EXRNIC_LIBVERBS_ERROR_TEXT_H
#define EXRNIC_LIBVERBS_ERROR_TEXT_H

namespace exrnic {

// Cut to what there is room for. Without a system call, and without an allocation.
void SetErrorText(const char* text);
inline void ClearErrorText() { SetErrorText(""); }

}  // namespace exrnic

#endif  // EXRNIC_LIBVERBS_ERROR_TEXT_H
