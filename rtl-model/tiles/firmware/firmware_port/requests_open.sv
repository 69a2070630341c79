// SPDX-License-Identifier: BSD-2-Clause
// How many requests of each queue pair are in firmware's hands, in the punt queue or taken from it.
// When firmware goes away they are lost: one queue pair after the other is marked and woken, so that
// its peer hears of it.

module requests_open
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
#(
    localparam int unsigned READERS = 4
) (
    input  logic clk_i,
    input  logic rst_ni,
    output logic init_done_o,
    input  logic ready_i,   // firmware serves requests
    output logic active_o,  // and those that it lost, if any, are marked
    output logic idle_o,

    // Reads: the answer is there in the next cycle and stays until the reader's next look.
    input  logic [READERS-1:0] look_i,
    input  qpn_t               look_qpn_i[READERS],
    output reads_t             count_o   [READERS],
    output logic [READERS-1:0] lost_o,  // some of its requests were

    input logic open_i,  // one more, if active_o
    input qpn_t open_qpn_i,
    input logic close_i,  // one less
    input qpn_t close_qpn_i,
    input logic clear_i,  // the queue pair is reset, or a new one
    input qpn_t clear_qpn_i,

    output logic wake_valid_o,
    input  logic wake_ready_i,
    output qpn_t wake_qpn_o
);

  // ---- After reset one queue pair a cycle is cleared.
  logic [$clog2(N_QP):0] init_q;
  logic clear;
  qpn_t clear_qpn;
  assign init_done_o = init_q[$clog2(N_QP)];
  assign clear = clear_i || !init_done_o;
  assign clear_qpn = init_done_o ? clear_qpn_i : qpn_t'(init_q);
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) init_q <= '0;
    else if (!init_done_o) init_q <= init_q + 1'b1;
  end

  // ---- The walk over all queue pairs: those with open requests have lost them. It stands still while
  // another one is cleared, which writes the same memory.
  typedef enum logic [1:0] {StRest, StServe, StLook, StWake} state_e;
  state_e state_q;
  logic [$clog2(N_QP):0] at_q;
  logic here, walk_done;
  reads_t at_put, at_get, at_count;
  assign walk_done = at_q[$clog2(N_QP)];
  always_comb begin
    {at_count, here} = '0;
    if (state_q == StLook && !clear_i) begin
      at_count = at_put - at_get;
      here = !walk_done && at_count != '0;
    end
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      state_q <= StRest;
      at_q    <= '0;
    end else begin
      unique case (state_q)
        StRest: if (ready_i && init_done_o) state_q <= StServe;
        StServe:
        if (!ready_i) begin
          state_q <= StLook;
          at_q    <= '0;
        end
        StLook:
        if (!clear_i) begin
          if (walk_done) state_q <= StRest;
          else if (here) state_q <= StWake;
          else at_q <= at_q + 1'b1;
        end
        default:
        if (wake_ready_i) begin
          state_q <= StLook;
          at_q    <= at_q + 1'b1;
        end
      endcase
    end
  end
  assign active_o = state_q == StServe && ready_i;
  assign idle_o = init_done_o && (state_q == StRest ? !ready_i : active_o);
  assign wake_valid_o = state_q == StWake;
  assign wake_qpn_o = qpn_t'(at_q);

  // ---- Each is put in hands once, and leaves them once.
  reads_t put[READERS], got[READERS];
  logic lost[READERS];
  request_counter #(
      .READERS(READERS)
  ) u_put (
      .clk_i,
      .step_i(open_i),
      .step_qpn_i(open_qpn_i),
      .clear_i(clear),
      .clear_qpn_i(clear_qpn),
      .look_i,
      .look_qpn_i,
      .count_o(put),
      .walk_qpn_i(qpn_t'(at_q)),
      .walk_count_o(at_put)
  );
  request_counter #(
      .READERS(READERS)
  ) u_got (
      .clk_i,
      .step_i(close_i),
      .step_qpn_i(close_qpn_i),
      .clear_i(clear),
      .clear_qpn_i(clear_qpn),
      .look_i,
      .look_qpn_i,
      .count_o(got),
      .walk_qpn_i(qpn_t'(at_q)),
      .walk_count_o(at_get)
  );
  ram_nr1w #(
      .WIDTH(1),
      .DEPTH(N_QP),
      .READERS(READERS)
  ) u_lost (
      .clk_i,
      .write_i        (clear || here),
      .write_address_i(clear ? clear_qpn : qpn_t'(at_q)),
      .write_data_i   (!clear),
      .read_i         (look_i),
      .read_address_i (look_qpn_i),
      .read_data_o    (lost)
  );
  for (genvar i = 0; i < READERS; i++) begin : gen_look
    assign count_o[i] = put[i] - got[i];
    assign lost_o[i]  = lost[i];
  end

endmodule
