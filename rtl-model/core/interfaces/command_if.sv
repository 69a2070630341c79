// SPDX-License-Identifier: BSD-2-Clause
// What the driver's commands do to the tables of the core. One at a time; tables that work reads are
// written while the core rests.

interface command_if
  import exrnic_core_pkg::*;
();
  // Queue pairs: row `qpn` is written; with `qp_clear` a new life of it begins. A look at it tells what is
  // under way, one cycle later.
  qpn_t       qpn;
  logic       qp_look;
  logic       qp_we;
  logic       qp_clear;
  qp_config_t qp_config;
  qp_status_t qp_status;
  reads_t     pull_count;
  reads_t     read_count;  // with those in firmware's hands
  logic       message_open;

  // Places for its RDMA Read Requests: with `qp_clear` it gets those that `qp_config` tells, or gives them back.
  // The pools have so many that are free.
  logic       reads_take;
  logic       reads_give;
  read_pool_t pulls_free;
  read_pool_t reads_free;

  // Shared receive queues (`srq_clear`: its ring is empty), completion queues (`cq_clear`: it begins anew,
  // empty and not armed; a look at row `cqn` is `cq_now`, with its producer and what is unread, one cycle
  // later, until the next look), remote windows.
  srqn_t         srqn;
  logic          srq_we;
  logic          srq_clear;
  srq_config_t   srq_config;
  logic [15:0]   srq_limit;
  logic          cq_look;
  logic          cq_we;
  logic          cq_clear;
  cqn_t          cqn;
  cq_config_t    cq_config;
  cq_config_t    cq_now;
  logic [31:0]   cq_producer;
  logic [31:0]   cq_unread;
  logic          window_we;
  window_index_t window_index;
  window_entry_t window;

  // Groups: the command stays until it is done. It was attached before, or there is no place for
  // another.
  logic      group_valid;
  group_op_e group_op;
  group_t    group;
  qpn_t      group_qpn;
  logic      group_done;
  logic      group_found;
  logic      group_full;

  // Memory regions (`mr_now` is row `mr_index`, in the next cycle), and translations that are remembered.
  logic        mr_we;
  stag_index_t mr_index;
  mr_t         mr;
  mr_t         mr_now;
  logic        flush;
  logic        flush_done;

  modport source(
      output qpn, qp_look, qp_we, qp_clear, qp_config, qp_status, srqn, srq_we, srq_clear, srq_config,
      output srq_limit, cq_look, cq_we, cq_clear, cqn, cq_config, window_we, window_index, window, group_valid,
      output group_op, group, group_qpn, mr_we, mr_index, mr, flush, reads_take, reads_give,
      input pull_count, read_count, message_open, pulls_free, reads_free, cq_now, cq_producer, cq_unread,
      input group_done, group_found, group_full, mr_now,
      input flush_done
  );
  modport queues(
      input qpn, qp_look, qp_we, qp_clear, qp_config, qp_status, srqn, srq_we, srq_clear, srq_config,
      input srq_limit, reads_take, reads_give,
      output pull_count, read_count, pulls_free, reads_free
  );
  modport engines(
      input qpn, qp_look, qp_we, qp_clear, cq_look, cq_we, cq_clear, cqn, cq_config,
      output message_open, cq_now, cq_producer, cq_unread
  );
  modport memory(input mr_we, mr_index, mr, flush, output mr_now, flush_done);
  modport remote(input qpn, qp_we, qp_clear, window_we, window_index, window);
  modport wire_tile(
      input qpn, qp_we, qp_clear, qp_config, group_valid, group_op, group, group_qpn,
      output group_done, group_found, group_full
  );
  modport firmware(input qpn, qp_we, qp_clear);

endinterface
