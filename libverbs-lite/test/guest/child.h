// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXRNIC_GUEST_CHILD_H
#define EXRNIC_GUEST_CHILD_H

#include <sys/types.h>

#include <functional>
#include <string>
#include <type_traits>

namespace exrnic {

// A process of its own that this one talks to through pipes. It is killed, and waited for, at the
// end.
class Child {
 public:
  // body runs in the child, with the ends of the pipes to read from and to write to; the child ends
  // when it returns or throws.
  explicit Child(const std::function<void(int in, int out)>& body);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }
  // Whether it lived until then.
  bool Kill();

  // Throw after 60 s, or if the child is gone; `what` is what was waited for.
  template <typename T>
  T Receive(const char* what) {
    static_assert(std::is_trivially_copyable_v<T>);
    T value;
    ReceiveBytes(&value, sizeof(value), what);
    return value;
  }
  template <typename T>
  void Send(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    WriteAll(to_child_, &value, sizeof(value));
  }

  // For the child's end of the pipes; without time limit, as its parent kills it.
  static void ReadAll(int fd, void* to, size_t bytes);
  static void WriteAll(int fd, const void* from, size_t bytes);

 private:
  void ReceiveBytes(void* to, size_t bytes, const char* what);

  pid_t pid_ = -1;
  int to_child_ = -1;
  int from_child_ = -1;
};

}  // namespace exrnic

#endif  // EXRNIC_GUEST_CHILD_H
