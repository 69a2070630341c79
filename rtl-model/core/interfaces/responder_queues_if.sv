// SPDX-License-Identifier: BSD-2-Clause
// What the responder and the tables of queues tell each other, of the rows that it has read.

interface responder_queues_if
  import exrnic_core_pkg::*;
();
  logic             peer_we;  // what the queue pair has heard of its peer
  qp_peer_t         peer;
  logic             refused_we;  // the request of its peer that is refused behind its reads
  refused_request_t refused;
  logic             rq_we;
  wqe_index_t       rq_consumer;
  logic             srq_we;
  wqe_index_t       srq_consumer;
  logic [15:0]      srq_limit;
  logic             status_valid;
  logic             status_ready;
  qpn_t             status_qpn;
  qp_status_t       status;

  reads_t pull_count;
  pull_t  pull_head;
  logic   pull_pop;
  logic   pull_set;
  pull_t  pull_rest;
  reads_t read_count;  // with those in firmware's hands:
  logic   read_push;
  read_t  read_new;

  logic          pause;  // pulse: the peer asks queue pair status_qpn for a pause
  logic [4:0]    pause_code;
  logic          taken;  // pulse: a message took a receive of the queue pair's own, or found none
  credit_taken_t taken_what;

  logic             posted_valid;  // pulse: receives were posted
  slot_ring_t    posted;
  logic             clear_ring;  // what is remembered of that ring is void
  slot_ring_id_t clear_ring_id;

  modport responder(
      input status_ready, pull_count, pull_head, read_count, posted_valid, posted,
      input clear_ring, clear_ring_id,
      output peer_we, peer, refused_we, refused, rq_we, rq_consumer, srq_we, srq_consumer,
      output srq_limit, status_valid,
      output status_qpn, status, pull_pop, pull_set, pull_rest, read_push, read_new, pause,
      output pause_code, taken, taken_what
  );
  modport queues(
      output status_ready, pull_count, pull_head, read_count, posted_valid, posted,
      output clear_ring, clear_ring_id,
      input peer_we, peer, refused_we, refused, rq_we, rq_consumer, srq_we, srq_consumer,
      input srq_limit, status_valid,
      input status_qpn, status, pull_pop, pull_set, pull_rest, read_push, read_new, pause,
      input pause_code, taken, taken_what
  );

endinterface
