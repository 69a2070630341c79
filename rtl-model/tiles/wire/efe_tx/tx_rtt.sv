// SPDX-License-Identifier: BSD-2-Clause
// Round trip time of a peer and what follows from it, as in RFC 6298: mean and deviation in cycles
// by shifts; the retransmission time-out, doubled by each one without progress. Combinational.

module tx_rtt
  import exrnic_pkg::*;
  import efe_tx_pkg::*;
(
  input  logic [31:0] cfg_rto_cycles_i,  // longest time-out
  input  rtt_t        rtt_i,
  input  logic [31:0] sample_i,
  output rtt_t        rtt_o,             // with the sample
  output logic        late_o,            // the sample is so long that queues must be
  input  logic [7:0]  retries_i,
  output logic [31:0] rto_o,
  output logic [31:0] patience_o         // age at which a frame counts as lost once a later one came
);

  cycles_t sample, error;
  logic [39:0] rto;
  logic [31:0] base, reorder;

  assign sample = sample_i > 32'(cycles_t'('1)) ? '1 : cycles_t'(sample_i);
  assign error  = sample > rtt_i.mean ? sample - rtt_i.mean : rtt_i.mean - sample;

  always_comb begin
    rtt_o = rtt_i;
    if (rtt_i.mean == '0 || sample < rtt_i.least) rtt_o.least = sample;
    if (rtt_i.mean == '0) begin
      rtt_o.mean      = sample | cycles_t'(1);
      rtt_o.deviation = sample >> 1;
    end else begin
      rtt_o.mean = (sample > rtt_i.mean ? rtt_i.mean + (error >> 3) : rtt_i.mean - (error >> 3)) |
                   cycles_t'(1);
      rtt_o.deviation = rtt_i.deviation - (rtt_i.deviation >> 2) + (error >> 2);
    end
  end

  assign late_o = rtt_i.mean != '0 && 21'(sample) > 21'(rtt_i.least) + 21'(DELAY_CYCLES);

  always_comb begin
    base = 32'(RTO_CYCLES_FIRST);
    if (rtt_i.mean != '0) begin
      base = 32'(rtt_i.mean) + (32'(rtt_i.deviation) << 2);
      if (base < 32'(RTO_CYCLES_LEAST)) base = 32'(RTO_CYCLES_LEAST);
    end
    rto   = 40'(base) << (retries_i > 8'd7 ? 3'd7 : retries_i[2:0]);
    rto_o = rto > 40'(cfg_rto_cycles_i) ? cfg_rto_cycles_i : rto[31:0];
    // What comes later than this counts as lost; a fraction of the time-out where that is short.
    reorder = cfg_rto_cycles_i >> 2;
    if (reorder > 32'(REORDER_CYCLES)) reorder = 32'(REORDER_CYCLES);
    patience_o = 32'(rtt_i.mean) + reorder;
  end

endmodule
