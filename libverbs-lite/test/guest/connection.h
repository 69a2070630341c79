// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXRNIC_GUEST_CONNECTION_H
#define EXRNIC_GUEST_CONNECTION_H

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench.h"
#include "exrnic_hw.h"
#include "transfer.h"
#include "verbs_objects.h"

namespace exrnic {

// A user context: an open RNIC with a protection domain.
struct Side {
  explicit Side(const Bench& bench);

  Owned<vl_rnic> rnic;
  Owned<vl_pd> pd;
  uint32_t node;
};

// What one end of a connection tells the other.
struct Hello {
  uint64_t address;  // of the target
  uint64_t bytes;
  uint32_t node;
  uint32_t qpn;
  uint32_t stag;  // of the target
  uint32_t rsvd;
};

// Attributes of a queue pair that can do all there is, with the largest work requests.
vl_qp_init_attr EveryOperation(vl_cq* cq, uint32_t send_wr, uint32_t recv_wr);

// A queue pair with a completion queue, memory to PUSH from, and memory that its peer PUSHes into.
class Connection {
 public:
  explicit Connection(Side* side, size_t bytes = 64 * 1024, uint32_t send_wr = 64,
                      uint32_t max_reads_in = VL_MAX_READS, vl_service service = VL_SERVICE_RC);
  // The caller's memory, in one region, is both.
  Connection(Side* side, uint8_t* memory, size_t bytes);

  // Of peers in the target, before hello(). In the simulator this loads firmware.
  void AllowAtomics();
  Hello hello() const;
  void Join(const Hello& peer, const RnrTerms& rnr = {});
  // hello() and Join with the other guest's.
  void Meet(Bench* bench);
  // The same in two halves, for a connection in another process than the out-of-band line:
  // exchanges hello for it; then, when it has joined, waits until the other has as well.
  static Hello ExchangeHello(Bench* bench, const Hello& mine);
  static void AwaitJoined(Bench* bench);

  vl_qp* qp() const { return qp_.get(); }
  vl_cq* cq() const { return cq_.get(); }
  uint32_t source_stag() const { return source_mr_ ? vl_mr_stag(source_mr_.get()) : target_stag(); }
  uint32_t target_stag() const { return vl_mr_stag(target_mr_.get()); }
  uint8_t* source() const { return source_; }
  uint8_t* target() const { return target_; }
  size_t bytes() const { return bytes_; }
  const Hello& peer() const { return peer_; }
  vl_sge Source(size_t offset, uint32_t length) const {
    return {AddressOf(source() + offset), length, source_stag()};
  }
  vl_sge Target(size_t offset, uint32_t length) const {
    return {AddressOf(target() + offset), length, target_stag()};
  }
  // For the checked rounds of exrnic-push, both ways.
  PushLink Link(Oob* oob) const;

  void DestroyQp() { qp_.reset(); }
  void DeallocateTarget() { target_mr_.reset(); }

  // Receives that the queue pair holds at least.
  static constexpr uint32_t kReceives = 32;
  // What the target holds at first.
  static constexpr uint8_t kPoison = 0x5a;

 private:
  void MakeQueues(Side* side, uint32_t send_wr, uint32_t max_reads_in, vl_service service);
  void RegisterTarget(Side* side);

  static constexpr int kAccess =
      VL_ACCESS_LOCAL_WRITE | VL_ACCESS_REMOTE_WRITE | VL_ACCESS_REMOTE_READ;

  uint32_t node_;
  std::unique_ptr<Pages> own_source_;
  std::unique_ptr<Pages> own_target_;
  uint8_t* source_;
  uint8_t* target_;
  size_t bytes_;
  Owned<vl_cq> cq_;
  Owned<vl_qp> qp_;
  Owned<vl_mr> source_mr_;
  Owned<vl_mr> target_mr_;
  Hello peer_ = {};
};

// A PUSH as the checks write it down.
struct Push {
  uint64_t wr_id;
  std::vector<vl_sge> list;
  uint64_t remote_address;
  uint32_t remote_stag;
};
// A PUSH of source bytes to the peer's target.
Push MakePush(const Connection& connection, uint64_t wr_id, size_t from, size_t to,
              uint32_t length);

// All in one list, with one doorbell, signaled.
void Post(vl_qp* qp, const std::vector<Push>& pushes);
inline void Post(const Connection& connection, const std::vector<Push>& pushes) {
  Post(connection.qp(), pushes);
}

// As Post of one, but any WQE: past what vl_post_sq would refuse.
exrnic_wqe RawPush(const Connection& connection, size_t from, size_t to, uint32_t length);
void PutRaw(vl_qp* qp, const exrnic_wqe& wqe, uint64_t wr_id);  // without a doorbell
void PostRaw(vl_qp* qp, const exrnic_wqe& wqe, uint64_t wr_id);

// The next completion is this one.
void ExpectCompletion(Bench* bench, vl_cq* cq, uint64_t wr_id, vl_wc_status status,
                      uint32_t detail = 0);
void ExpectNoCompletion(Bench* bench, vl_cq* cq, const std::string& why);

// PUSHes over a connection, compared at the other end; the first in the requester's part of a
// check, the second in the responder's.
void SendChecked(Bench* bench, const Connection& connection);
void ReceiveChecked(Bench* bench, const Connection& connection);

}  // namespace exrnic

#endif  // EXRNIC_GUEST_CONNECTION_H
