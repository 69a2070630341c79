// SPDX-License-Identifier: BSD-2-Clause
// Reads a management frame, beat by beat: its headers, the port of the path that counts, its data.

module management_fields
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
  import management_pkg::*;
(
    input logic clk_i,

    input logic  valid_i,
    input beat_t beat_i,
    input data_t data_i,

    output fields_t fields_o  // with the beat of this cycle
);

  localparam int unsigned DeviceAt = MANAGEMENT_DATA_AT;

  fields_t fields_q;
  header_t header;
  place_t place;
  // An answer goes back by the port before the one that its hop counts.
  assign place = place_of(
      header.management.method == MANAGEMENT_METHOD_ANSWER ? header.management.hop - 8'd1 :
      header.management.hop);

  always_comb begin
    header = fields_q.header;
    fields_o.device = fields_q.device;
    if (valid_i) begin
      for (int unsigned b = 0; b < HEADER_BYTES; b++)
        if (32'(beat_i) == b / DATA_BYTES)
          header[8*(HEADER_BYTES-1-b)+:8] = data_i[8*(b%DATA_BYTES)+:8];
      for (int unsigned b = 0; b < MANAGEMENT_DEVICE_BYTES; b++)
        if (32'(beat_i) == (DeviceAt + b) / DATA_BYTES)
          fields_o.device[8*(MANAGEMENT_DEVICE_BYTES-1-b)+:8] = data_i[8*((DeviceAt+b)%DATA_BYTES)+:8];
    end
  end

  assign fields_o.header = header;

  logic [15:0] port_now;
  assign port_now = data_i[16*place[PLACE_BITS-1:0]+:16];
  always_comb begin
    fields_o.port = fields_q.port;
    if (valid_i && place[8:PLACE_BITS] == (9 - PLACE_BITS)'(beat_i))
      fields_o.port = {port_now[7:0], port_now[15:8]};
  end

  always_ff @(posedge clk_i) if (valid_i) fields_q <= fields_o;

endmodule
