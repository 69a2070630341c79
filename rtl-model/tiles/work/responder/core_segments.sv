// SPDX-License-Identifier: BSD-2-Clause
// Segments that are for the core itself: messages for ports, answers to loads of windows, messages and
// bytes for firmware; and requests that firmware serves. Judges and hands over.

module core_segments
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
  import responder_pkg::*;
(
    input logic     clk_i,
    input step_e    step_i,
    input logic     flush_i,    // in hand: a flush job, not a segment
    input logic     quiesce_i,
    input logic     written_i,  // all writes that were asked for are done
    /* verilator lint_off UNUSEDSIGNAL */  // parts of the records count
    input rx_desc_t desc_i,
    input segment_t segment_i,
    input qp_t      qp_i,
    /* verilator lint_on UNUSEDSIGNAL */
    input qpn_t     qpn_i,
    input logic     receiving_i,   // the queue pair is the addressee, and not in ERROR
    input logic     punt_reads_i,  // firmware gets all that are no atomics, while it takes requests

    output for_core_t for_core_o,

    firmware_path_if.engines  firmware,
    port_arrival_if.responder port,
    output logic              answer_valid_o,
    output window_answer_t    answer_o
);

  /* verilator lint_off UNUSEDSIGNAL */
  ddp_tagged_t header;
  ddp_untagged_t untagged;
  /* verilator lint_on UNUSEDSIGNAL */
  assign header   = desc_i.ddp[$bits(ddp_head_t)-1-:$bits(ddp_tagged_t)];
  assign untagged = desc_i.ddp[$bits(ddp_head_t)-1-:$bits(ddp_untagged_t)];

  logic judged;
  assign judged = step_i == STEP_JUDGE && !flush_i;

  // ---- For ports and loads: what they are told is in the first bytes of the payload
  logic for_port, for_load;
  logic [63:0] first_bytes;
  assign for_port = !desc_i.unreliable && (desc_i.dst_qpn & ~24'(PORTS - 1)) == 24'(PORT_QPN);
  assign for_load = receiving_i && !desc_i.unreliable && segment_i.message == MESSAGE_RESPONSE &&
      !segment_i.atomic && header.stag == WINDOW_STAG;
  always_comb begin
    for (int unsigned i = 0; i < 8; i++)
      first_bytes[8*i+:8] = desc_i.ddp[$bits(ddp_head_t)-1-8*(DDP_TAGGED_BYTES+i)-:8];
  end

  assign port.valid = judged && for_port && written_i;
  assign port.good = (desc_i.src_qpn & ~24'(PORTS - 1)) == 24'(PORT_QPN) &&
      segment_i.message == MESSAGE_WRITE && segment_i.last && header.stag == PORT_STAG &&
      segment_i.payload == chunk_t'(PORT_MESSAGE_BYTES) &&
      header.to >> (PORT_LIFE_SHIFT + $bits(port_life_t)) == '0;
  assign port.message = '{
          port: port_t'(desc_i.dst_qpn),
          node: desc_i.node,
          peer: port_t'(desc_i.src_qpn),
          to: header.to[PORT_LIFE_SHIFT-1:0],
          data: first_bytes[31:0],
          life: port_life_t'(header.to >> PORT_LIFE_SHIFT)
      };
  assign answer_valid_o = judged && for_load && written_i;
  assign answer_o = '{
          qpn: qpn_i,
          token: header.to,
          length: segment_i.payload,
          data: first_bytes
      };

  // ---- For firmware: bytes go where it has granted that node, under the name that the segment has for
  // an STag
  logic for_firmware, takes, message, granted, data, data_q;
  /* verilator lint_off UNUSEDSIGNAL */  // the placer looks at the place
  fw_grant_t grant;
  /* verilator lint_on UNUSEDSIGNAL */
  localparam int unsigned GrantBits = $bits(grant.length);
  assign for_firmware = !desc_i.unreliable && desc_i.dst_qpn == 24'(FW_QPN);
  assign takes = for_firmware && firmware.active && desc_i.src_qpn == 24'(FW_QPN) &&
      segment_i.message == MESSAGE_WRITE;
  // One node does not fill the queue: what it sends beyond its share is dropped, and holds up nobody.
  assign firmware.node = desc_i.node;
  assign message = takes && header.stag == FW_STAG && segment_i.last &&
      segment_i.payload == chunk_t'(FW_MESSAGE_BYTES) && !(step_i == STEP_JUDGE && firmware.crowded);
  assign grant = firmware.grant;
  assign firmware.grant_index = fw_grant_index_t'(header.stag);
  assign granted = grant.valid && grant.name == header.stag &&
      grant.node == desc_i.node && header.to >> GrantBits == '0 &&
      (GrantBits + 1)'(header.to[GrantBits-1:0]) + (GrantBits + 1)'(segment_i.payload) <=
          (GrantBits + 1)'(grant.length);
  // Once judged so, it is that to its end: firmware may go away meanwhile.
  assign data = step_i == STEP_JUDGE ?
      takes && header.stag != FW_STAG && segment_i.payload != '0 && granted : data_q;
  assign firmware.placing = !flush_i && data && step_i inside {STEP_JUDGE, STEP_PLACE};
  always_ff @(posedge clk_i) begin
    if (step_i == STEP_IDLE) data_q <= 1'b0;
    else data_q <= data;
  end

  // In the order in which they came: behind a request that firmware has, or an atomic, the others go there too.
  assign firmware.punt_valid = step_i == STEP_PUNT && !quiesce_i;
  always_comb begin
    firmware.punt = '{
            message: 1'b0,
            atomic: segment_i.atomic,
            qpn: qpn_i,
            generation: qp_i.cfg.generation,
            pd: qp_i.cfg.pd,
            msn: untagged.msn,
            payload: desc_i.ddp[PayloadTop-:8*ATOMIC_REQUEST_BYTES]
        };
    if (message) begin
      firmware.punt = '0;
      firmware.punt.message = 1'b1;
      firmware.punt.generation = 16'(desc_i.node);
      firmware.punt.payload[$bits(firmware.punt.payload)-1-:8*FW_MESSAGE_BYTES] =
          desc_i.ddp[$bits(ddp_head_t)-8*DDP_TAGGED_BYTES-1-:8*FW_MESSAGE_BYTES];
    end
  end

  assign for_core_o = '{
          device: for_port || for_load || (for_firmware && !message && !data),
          ready: written_i && (port.ready || !for_port),
          firmware: for_firmware,
          message: message,
          data: data,
          punts: segment_i.atomic || firmware.atomics || (firmware.active && (punt_reads_i || firmware.held)),
          punted: firmware.punt_valid && firmware.punt_ready
      };

endmodule
