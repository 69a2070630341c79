// SPDX-License-Identifier: BSD-2-Clause
// Where time decides, and so the cores may differ: which queue pairs, and until when. README.md
// says what that means for each kind of comparison.
#pragma once

#include <map>

#include "rtl-model/lockstep/endpoint.h"

namespace exrnic::lockstep {

class Excuses {
 public:
  // `peer_of`: the other end of a queue pair, itself if it has none.
  explicit Excuses(std::function<Endpoint(const Endpoint&)> peer_of)
      : peer_of_(std::move(peer_of)) {}

  void posted(const Endpoint& qp) { of_[qp].posted = true; }  // it was given work to send
  // These three concern its peer as well, whoever that is later.
  void failed(const Endpoint& qp) { mark(qp, &Facts::failed); }  // in either core
  void raced(const Endpoint& qp) { mark(qp, &Facts::raced); }  // the driver took something from it
  // The two cores have gone apart on it, or are about to: its state may differ from now on.
  void lost(const Endpoint& qp) { mark(qp, &Facts::lost); }
  // Back to RESET, or gone: it is a new one.
  void renewed(const Endpoint& qp) { of_[qp].lost = false; }

  // All that was under way has ended: only what is lost stays so.
  void rest();

  // What the queue pair sent, and what was written for it, may differ behind what both did.
  bool cut_short(const Endpoint& qp) const;

  // Its completions may differ too: the two ends failed while both had work, the driver took away
  // what was in use, or a peer was given up.
  bool any_outcome(const Endpoint& qp) const;

  // Of any queue pair of the node, or of its peers.
  bool any_at(uint32_t node) const;
  bool lost_at(uint32_t node) const;

 private:
  struct Facts {
    bool posted = false;
    bool failed = false;
    bool raced = false;
    bool lost = false;
  };

  void mark(const Endpoint& qp, bool Facts::* fact) {
    of_[qp].*fact = of_[peer_of_(qp)].*fact = true;
  }
  Facts facts(const Endpoint& qp) const;  // of both ends together; `posted`: both have
  template <typename Judge>
  bool any(uint32_t node, Judge judge) const;

  std::function<Endpoint(const Endpoint&)> peer_of_;
  std::map<Endpoint, Facts> of_;
};

}  // namespace exrnic::lockstep
