// SPDX-License-Identifier: BSD-2-Clause
// Doorbells of processes, as the tables of queues take them.

interface post_if
  import exrnic_core_pkg::*;
();
  logic       valid;  // pulse: queue pair `qpn` has a new producer index,
  logic       rq;     // of its receive queue
  qpn_t       qpn;
  wqe_index_t producer;
  logic       srq_valid;  // pulse: a shared receive queue has one, that whose row was read
  wqe_index_t srq_producer;
  logic       block_valid;  // with `valid`: the first slot of the last work request came with it
  wqe_slot_t  block;

  modport page(output valid, rq, qpn, producer, srq_valid, srq_producer, block_valid, block);
  modport queues(input valid, rq, qpn, producer, srq_valid, srq_producer, block_valid, block);

endinterface
