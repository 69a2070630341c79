// SPDX-License-Identifier: BSD-2-Clause
// A user page rings only what its process owns.
#include "barrier.h"
#include "connection.h"
#include "doorbell.h"
#include "pattern.h"
#include "qp.h"
#include "rnic.h"

namespace exrnic {

namespace {

constexpr uint32_t kLength = 64;

// Offset of the doorbell, and what is stored there for the queue pair.
struct Ring {
  uint32_t offset;
  uint32_t number;
  uint32_t index;
};

void ExpectDeaf(Bench* bench, const Connection& connection, const UserPage& page, const Ring& ring,
                const std::string& what) {
  vl_wmb_wqe_before_doorbell();
  WriteDoorbell(page, ring.offset, ring.number, ring.index);
  // The answer to the query follows the store on its way to the device.
  bench->ExpectEqual(QueryQp(connection.qp()).sq_producer, 0, "producer after " + what);
  ExpectNoCompletion(bench, connection.cq(), what + " must do nothing");
}

void Request(Bench* bench) {
  Side side(*bench);
  Side stranger(*bench);
  Connection connection(&side);
  Connection other(&stranger);
  connection.Meet(bench);
  other.Meet(bench);
  PutRaw(connection.qp(), RawPush(connection, 0, 0, kLength), 1);

  const uint32_t qpn = vl_qp_number(connection.qp());
  const UserPage own = side.rnic->user_page;
  const UserPage foreign = stranger.rnic->user_page;
  const uint32_t slots = connection.qp()->sq.slots();
  ExpectDeaf(bench, connection, foreign, {EXRNIC_DOORBELL_SQ, qpn, 1},
             "a doorbell from a page that does not own the queue pair");
  ExpectDeaf(bench, connection, own, {EXRNIC_DOORBELL_SQ, qpn, slots + 1},
             "a doorbell that runs ahead of the ring");
  ExpectDeaf(bench, connection, own, {EXRNIC_DOORBELL_SQ, qpn, 0x10001},
             "a doorbell with an index of 17 bits");
  ExpectDeaf(bench, connection, own, {EXRNIC_DOORBELL_SQ, qpn | 0x80000000, 1},
             "a doorbell for a number that no queue pair has");
  ExpectDeaf(bench, connection, own, {EXRNIC_DOORBELL_SRQ + 8, qpn, 1},
             "a store beside the doorbells");

  connection.qp()->sq.RingDoorbell(own, qpn);
  ExpectCompletion(bench, connection.cq(), 1, VL_WC_SUCCESS);
  bench->ExpectEqual(QueryQp(connection.qp()).sq_producer, 1, "producer after the own doorbell");
  SendChecked(bench, other);
}

void Respond(Bench* bench) {
  Side side(*bench);
  Side stranger(*bench);
  Connection connection(&side);
  Connection other(&stranger);
  connection.Meet(bench);
  other.Meet(bench);
  ReceiveChecked(bench, other);
  bench->Expect(!CompareByte(0, connection.target(), kLength), "the PUSH did not arrive");
}

}  // namespace

std::vector<GuestCheck> DoorbellChecks() {
  return {{"a doorbell that the page does not own, or that is malformed, does nothing", Request,
           Respond, false, true}};
}

}  // namespace exrnic
