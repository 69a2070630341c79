// SPDX-License-Identifier: BSD-2-Clause
// A user page rings only what its process owns.
#include "connection.h"
#include "pattern.h"
#include "pio.h"
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
  exrnic_wmb_wqe_before_doorbell();
  exrnic_ring_doorbell(page.get(), ring.offset, ring.number, ring.index);
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

constexpr size_t kBlockWords = sizeof(exrnic_wqe) / sizeof(uint64_t);

// Stores the PIO block `number` of the request that stands in slot `index` - 1, or its first words.
void StoreBlock(const Connection& connection, const UserPage& page, uint32_t number, uint32_t index,
                size_t words = kBlockWords) {
  exrnic_wqe block = RawPush(connection, 0, 0, kLength);
  block.number = vl_qp_number(connection.qp());
  block.index = index;
  uint64_t stored[kBlockWords];
  memcpy(stored, &block, sizeof(block));
  exrnic_wmb_wqe_before_doorbell();
  exrnic_user_page_store(
      page.get(), EXRNIC_PIO_AREA + number * static_cast<uint32_t>(sizeof(block)), stored, words);
  exrnic_wmb_flush_user_page();
}

void ExpectNotSent(Bench* bench, const Connection& connection, const std::string& what) {
  bench->ExpectEqual(QueryQp(connection.qp()).sq_producer, 0, "producer after " + what);
  ExpectNoCompletion(bench, connection.cq(), what + " must do nothing");
}

void RequestByBlock(Bench* bench) {
  Side side(*bench);
  Side stranger(*bench);
  Connection connection(&side);
  Connection other(&stranger);
  connection.Meet(bench);
  other.Meet(bench);
  PutRaw(connection.qp(), RawPush(connection, 0, 0, kLength), 1);

  StoreBlock(connection, stranger.rnic->user_page, 0, 1);
  ExpectNotSent(bench, connection, "a block from a page that does not own the queue pair");
  StoreBlock(connection, side.rnic->user_page, 0, 1, kBlockWords - 1);
  ExpectNotSent(bench, connection, "a block without its end");
  StoreBlock(connection, side.rnic->user_page, 1, 2);
  ExpectNotSent(bench, connection, "a block of a slot too far");
  StoreBlock(connection, side.rnic->user_page, 2, 1);
  ExpectCompletion(bench, connection.cq(), 1, VL_WC_SUCCESS);
  bench->ExpectEqual(QueryQp(connection.qp()).sq_producer, 1, "producer after the block");
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
           Respond, false, true},
          {"a request stored whole into the own user page is sent; torn, or into another one, not",
           RequestByBlock, Respond, false, true}};
}

}  // namespace exrnic
