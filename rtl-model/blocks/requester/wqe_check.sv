// SPDX-License-Identifier: BSD-2-Clause
// Is a work request one that the core can execute? Combinational.

module wqe_check
  import exrnic_pkg::*;
(
    /* verilator lint_off UNUSEDSIGNAL */  // addresses and STags are checked where they are used
    input  wqe_t        wqe_i,
    /* verilator lint_on UNUSEDSIGNAL */
    output cqe_status_e status_o
);

  logic well_formed;
  logic [32:0] sum;

  always_comb begin
    well_formed = wqe_i.opcode == WQE_OPCODE_PUSH &&
        (wqe_i.flags & ~(8'd1 << WQE_FLAGS_SIGNALED)) == '0 &&
        wqe_i.num_sge <= 8'(WQE_SGES) && wqe_i.num_slots == 8'd1 && wqe_i.imm_data == '0;
    unique case (wqe_i.num_sge)
      8'd0: sum = '0;
      8'd1: sum = 33'(wqe_i.sge0_length);
      default: sum = 33'(wqe_i.sge0_length) + 33'(wqe_i.sge1_length);
    endcase
    if (!well_formed) status_o = CQE_STATUS_LOC_QP_OP_ERR;
    else if (sum != 33'(wqe_i.length) || wqe_i.length > 32'(MESSAGE_MAX))
      status_o = CQE_STATUS_LOC_LEN_ERR;
    else status_o = CQE_STATUS_SUCCESS;
  end

endmodule
