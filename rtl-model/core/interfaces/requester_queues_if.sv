// SPDX-License-Identifier: BSD-2-Clause
// What the requester and the tables of queues tell each other, all of the queue pair that it has read.
// What a queue pair is at comes with its row.

interface requester_queues_if
  import exrnic_core_pkg::*;
();
  logic others_wait;  // another queue pair waits for its turn

  logic       sq_we;
  qp_sq_t     sq;
  logic       status_valid;  // withdrawn to look again when another one was written
  logic       status_ready;
  qp_status_t status;

  reads_t pull_count;  // its RDMA Read Requests under way
  logic   pull_push;
  pull_t  pull_new;
  reads_t read_count;  // those of its peer;
  reads_t punt_count;  // and of them that firmware or atomics have
  read_t  read_head;
  logic   read_pop;
  logic   read_set;
  read_t  read_rest;

  logic    paused;         // a message of it found no receive a short time ago
  logic    credit_known;   // its peer has told
  credit_t credit_limit;   // how many messages it may send
  logic    stall;          // pulse: it waits for more
  logic    asks;           // nothing was heard of its PULLs for long: it is to ask its peer
  logic    asked;          // pulse: it has
  logic    waits_for_peer; // pulse: it has introduced itself, and waits for an answer
  logic    waits_no_more;  // pulse: for that, nor for the answer to a PULL
  logic    sends;          // pulse: a segment of its own work leaves it, and it has a time-out

  logic       block_held;  // a copy of its first slot came through the user page
  wqe_index_t block_index;
  wqe_slot_t  block;
  logic       block_take;  // pulse: it is used, or not needed

  logic       wish_valid;  // slots of this ring will be needed, when its turn comes
  logic       wish_ready;
  slot_ring_t wish;

  logic clear_ring;  // pulse: what is remembered of the ring of this queue pair is void
  qpn_t clear_qpn;

  modport requester(
      input others_wait, status_ready, pull_count, read_count, punt_count, read_head, paused, credit_known,
      input credit_limit, asks, block_held, block_index, block, clear_ring, clear_qpn, wish_valid, wish,
      output wish_ready, sq_we, sq, status_valid, status, pull_push, pull_new, read_pop, read_set, read_rest,
      output stall, asked, waits_for_peer, waits_no_more, sends, block_take
  );
  modport queues(
      output others_wait, status_ready, pull_count, read_count, punt_count, read_head, paused, credit_known,
      output credit_limit, asks, block_held, block_index, block, clear_ring, clear_qpn, wish_valid, wish,
      input wish_ready, sq_we, sq, status_valid, status, pull_push, pull_new, read_pop, read_set, read_rest,
      input stall, asked, waits_for_peer, waits_no_more, sends, block_take
  );

endinterface
