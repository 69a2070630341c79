// SPDX-License-Identifier: BSD-2-Clause
// What the two ends of a connection say of its messages: one that has ended well at its sender has
// taken a receive at the peer, which has ended well too, and they are in the same order. Whoever is
// faster: so nothing excuses a difference.
#pragma once

#include <map>
#include <vector>

#include "exrnic_hw.h"
#include "rtl-model/lockstep/endpoint.h"

namespace exrnic::lockstep {

class Messages {
 public:
  // A queue pair of service RC knows its peer from now on; it is reset or gone.
  void connected(const Endpoint& qp, const Endpoint& peer);
  void closed(const Endpoint& qp);
  void closed_all(uint32_t node);
  void posted(const Endpoint& qp);  // it was given work to send
  // Completions of its receives may be lost: what they belong to cannot be told any more.
  void overrun(uint32_t node);

  void completed(const Endpoint& qp, const exrnic_cqe& cqe);

  // Nothing is under way. Throws Mismatch.
  void rest() const;

 private:
  struct End {
    Endpoint peer;
    bool posted = false;
    bool judged = true;                 // the peer has known this connection all the time
    std::vector<uint32_t> sent, taken;  // bytes of each
  };

  void stop_judging(const Endpoint& receiver);

  std::map<Endpoint, End> ends_;
};

}  // namespace exrnic::lockstep
