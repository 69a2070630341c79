// SPDX-License-Identifier: BSD-2-Clause
// Serves received segments, and answers what it refuses by a terminate message (RFC 5040, 4.8). In
// ERROR it ends what the receive side still has.
#pragma once

#include <deque>

#include "rtl-model/ref/efe_rx.h"
#include "rtl-model/ref/efe_tx.h"
#include "rtl-model/ref/ports.h"
#include "rtl-model/ref/receiver.h"
#include "rtl-model/ref/windows.h"

namespace exrnic::ref {

class Responder {
 public:
  Responder(State& state, Xlate& xlate, DmaRead& dma_read, DmaWrite& dma_write, EfeRx& efe_rx,
            EfeTx& efe_tx, Completer& completer, Windows& windows, Ports& ports)
      : state_(state),
        dma_write_(dma_write),
        efe_rx_(efe_rx),
        efe_tx_(efe_tx),
        completer_(completer),
        windows_(windows),
        ports_(ports),
        scatter_(xlate, dma_write),
        receiver_(state, xlate, dma_read, dma_write, completer) {}

  void run();
  bool idle() const { return phase_ == Phase::kIdle && !efe_rx_.has_segment() && flushes_.empty(); }
  // Does nothing until it gets something to do.
  bool rests() const {
    return phase_ == Phase::kReading || (phase_ == Phase::kRefusing && !dma_write_.idle()) ||
           idle();
  }

  // Ends one PULL, message or receive of a queue pair in ERROR and wakes it, if it has any. Of one
  // in SQD that has drained it tells the completer.
  void flush(uint32_t qpn) { flushes_.push_back(qpn); }

 private:
  enum class Phase {
    kIdle,
    kReading,   // waits for host memory
    kRefusing,  // waits until all before the segment is written
  };

  void judge();
  void judge_unreliable();
  void judge_datagram(QueuePair& qp);
  bool has_keys(const QueuePair& qp);
  bool goes_on(const Inbound& inbound) const;
  void take_load_answer();
  void serve(QueuePair& qp);
  bool is_peer(const QueuePair& qp) const;
  bool is_current(const QueuePair& qp) const;
  bool is_told_of_refusal() const;
  void take_introduction();
  void part(QueuePair& qp);
  void take_terminate();
  void pause(QueuePair& qp);
  bool is_behind(const QueuePair& qp) const;
  bool waits_for_another(const QueuePair& qp) const;
  void take_write(QueuePair& qp);
  void take_read_response(QueuePair& qp);
  void take_read_request(QueuePair& qp);
  void take_atomic_request(QueuePair& qp);
  std::optional<exrnic_term_code> request_error(const QueuePair& qp, const Read& read) const;
  void queue(QueuePair& qp, Read read);
  void take_atomic_response(QueuePair& qp);
  void place(const Access& where, std::function<void()> placed);
  void place(const Access& where, Bytes&& payload, std::function<void()> placed);
  void flush_now(uint32_t qpn);
  void end_pull(uint32_t qpn, exrnic_cqe_status status);

  void refuse(exrnic_term_code code);
  void end_message(exrnic_term_code code);
  void drop_message();
  void drop();
  void ask_for_pause();
  void answer();
  Segment terminate() const;
  void put_off(QueuePair* qp);
  void placed();
  void done();

  QueuePair* addressee() const;  // whom the segment is for; nullptr if no queue pair

  State& state_;
  DmaWrite& dma_write_;
  EfeRx& efe_rx_;
  EfeTx& efe_tx_;
  Completer& completer_;
  Windows& windows_;
  Ports& ports_;
  Scatter scatter_;
  Receiver receiver_;
  std::deque<uint32_t> flushes_;  // queue pairs

  Phase phase_ = Phase::kIdle;
  Received segment_;
  exrnic_term_code code_ = EXRNIC_TERM_CODE_STREAM;
  std::optional<uint8_t> pause_code_;  // what is refused may come again
  bool cost_receive_ = false;          // one that has ended with an error
  bool was_addressed_ = false;         // there was an addressee when the segment was judged
};

}  // namespace exrnic::ref
