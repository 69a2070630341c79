// SPDX-License-Identifier: BSD-2-Clause
// How a thread has a node to itself, and what becomes of an error there: for the files of the node.
#ifndef EXRNIC_DSM_NODE_GUARD_H
#define EXRNIC_DSM_NODE_GUARD_H

#include <unistd.h>

#include <cstdio>
#include <exception>
#include <string>

#include "node.h"

namespace exrnic {

// A handler of a signal that came within a call would wait for itself: that is an error instead.
class DsmNode::Guard {
 public:
  Guard(DsmNode* node, const char* call) : node_(node) {
    if (in_call_) {
      dprintf(STDERR_FILENO, "jia: node %u: %s: by a handler of a signal, within another call\n",
              node->self_, call);
      _exit(1);
    }
    in_call_ = true;
    node_->mutex_.lock();
  }
  ~Guard() {
    node_->mutex_.unlock();
    in_call_ = false;
  }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

 private:
  static thread_local bool in_call_;
  DsmNode* const node_;
};
template <typename Body>
auto DsmNode::Do(const char* call, Body&& body) {
  const Guard guard(this, call);
  try {
    return body();
  } catch (const std::exception& error) {
    End(std::string(call) + ": " + error.what());
  }
}

}  // namespace exrnic

#endif  // EXRNIC_DSM_NODE_GUARD_H
