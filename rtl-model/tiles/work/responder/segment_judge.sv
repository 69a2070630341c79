// SPDX-License-Identifier: BSD-2-Clause
// Whom a segment is for, what it belongs to, and whether it may be served; or what a flush job has
// to do. Combinational.

module segment_judge
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
  import responder_pkg::*;
(
    /* verilator lint_off UNUSEDSIGNAL */  // parts of the records count
    input  rx_desc_t desc_i,
    input  pkeys_t   pkeys_i,
    input  qp_t      qp_i,
    /* verilator lint_on UNUSEDSIGNAL */
    input  stream_t  stream_i,
    input  pull_t    pull_i,
    input  reads_t   pull_count_i,
    input  reads_t   read_count_i,
    input  logic     lost_i,      // firmware has lost requests of this queue pair

    output segment_t segment_o,
    output verdict_t verdict_o,
    output qp_peer_t peer_o,  // what is known of the peer then, if it meets

    input  logic   flush_i,  // a flush job is judged
    output flush_t flush_o
);

  service_e service;
  logic served, from_peer, for_qp, alive, terminates, knows_us, current;
  logic bad_pkey, bad_qkey, mine, receiving, introduction, wants_answer, meets, renews, parts;
  always_comb begin
    service = SERVICE_RC;
    if (desc_i.unreliable) service = desc_i.datagram ? SERVICE_UD : SERVICE_UC;
  end
  assign alive = desc_i.dst_qpn < 24'(N_QP) && qp_i.cfg.valid &&
      (qp_connected(qp_i.status.state) || qp_i.status.state == QP_STATE_ERROR);
  // The peer of a queue pair of UC refuses its introduction, nothing else.
  assign terminates = !desc_i.unreliable && segment_o.message == MESSAGE_TERMINATE;
  assign served = alive && (qp_i.cfg.service == service ||
      (terminates && qp_i.cfg.service == SERVICE_UC));
  assign from_peer = qp_i.cfg.dest_node == desc_i.node && qp_i.cfg.dest_qpn == desc_i.src_qpn;
  // It was sent by the present life of the peer, to the present one of this queue pair. Of a terminate
  // message the latter is enough: it answers what was sent in that life.
  assign knows_us = desc_i.dst_generation == qp_i.cfg.generation;
  assign current = knows_us && (terminates || desc_i.src_generation == qp_i.peer.generation);
  assign for_qp = served && desc_i.datagram;
  assign bad_pkey = for_qp &&
      !pkeys_match(desc_i.pkey, pkey_of(pkeys_i, qp_i.cfg.pkey_index));
  assign bad_qkey = for_qp && !bad_pkey && desc_i.ack != qp_i.cfg.qkey;
  assign mine = parts ||
      (served && (desc_i.datagram ? !bad_pkey && !bad_qkey : from_peer && current));
  assign receiving = mine && qp_i.status.state != QP_STATE_ERROR;

  /* verilator lint_off UNUSEDSIGNAL */
  ddp_untagged_t untagged;
  /* verilator lint_on UNUSEDSIGNAL */
  assign untagged = desc_i.ddp[$bits(ddp_head_t)-1-:$bits(ddp_untagged_t)];

  // ---- Introductions
  /* verilator lint_off UNUSEDSIGNAL */
  ddp_tagged_t write_header;
  /* verilator lint_on UNUSEDSIGNAL */
  assign write_header = desc_i.ddp[$bits(ddp_head_t)-1-:$bits(ddp_tagged_t)];
  assign introduction = !desc_i.unreliable && segment_o.message == MESSAGE_WRITE &&
      segment_o.payload == '0 && write_header.stag == INTRODUCTION_STAG;
  assign wants_answer = write_header.to == 64'(INTRODUCTION_ASKS);
  assign meets = introduction && alive && from_peer && desc_i.src_generation != '0 &&
      qp_i.cfg.service inside {SERVICE_RC, SERVICE_UC} && qp_i.status.state != QP_STATE_ERROR;
  // Who knew us, and does so no more, has begun anew with the number that it had: its node was reset.
  assign renews = meets && qp_i.peer.generation != '0 &&
      (desc_i.src_generation != qp_i.peer.generation || (qp_i.peer.met && !knows_us));
  assign parts = renews && (pull_count_i != '0 || read_count_i != '0 || qp_i.refused.valid);
  // What it does not know yet, or we did not, wants an introduction of ours; so does who waits for one.
  // Of whom we have parted nothing is known.
  always_comb begin
    peer_o = '{
            generation: desc_i.src_generation,
            met: knows_us,
            changes: qp_i.peer.changes + changes_t'(wants_answer || !knows_us ||
                desc_i.src_generation != qp_i.peer.generation)
        };
    if (parts) peer_o = '0;
  end

  // ---- May it be served?
  term_code_e header_code, stream_code, code;
  ddp_check u_header (
      .ddp_i(desc_i.ddp[$bits(ddp_head_t)-1-:$bits(ddp_untagged_t)]),
      .length_i(desc_i.length),
      .segment_o,
      .code_o(header_code)
  );
  logic in_stream, in_message, right, late, gap;
  stream_check u_stream (
      .segment_i(segment_o),
      .header_code_i(header_code),
      .ddp_i(desc_i.ddp),
      .stream_i,
      .pull_i,
      .pull_count_i,
      .read_count_i,
      .max_reads_i(qp_i.cfg.max_reads_in),
      .access_i(qp_i.cfg.access),
      .lost_i,
      .good_o(in_stream),
      .code_o(stream_code),
      .right_o(right)
  );
  message_check u_message (
      .segment_i(segment_o),
      .datagram_i(desc_i.datagram),
      .first_i(desc_i.first),
      .number_i(desc_i.seq),
      .offset_i(untagged.mo),
      .stream_i,
      .good_o(in_message),
      .late_o(late),
      .gap_o(gap)
  );
  always_comb begin
    code = TERM_CODE_STREAM;
    if (receiving) code = stream_code;
    else if (mine && stream_i.owes) code = stream_i.owed;
  end

  logic comes_again, awaits_message, behind;
  assign comes_again = untagged.msn == stream_i.messages + 1'b1 && untagged.mo == '0;
  assign awaits_message = stream_i.refused &&
      (segment_o.message inside {MESSAGE_WRITE, MESSAGE_REQUEST} ||
       (segment_o.message inside {MESSAGE_SEND, MESSAGE_IMMEDIATE} && !comes_again));
  assign behind = receiving && !introduction && (awaits_message ||
      (qp_i.refused.valid && !(segment_o.message inside {MESSAGE_RESPONSE, MESSAGE_TERMINATE})));

  assign verdict_o = '{
          mine: mine,
          receiving: receiving,
          told: qp_i.status.told && (!stream_i.told || stream_i.told_in == desc_i.session),
          introduction: introduction,
          wants_answer: wants_answer,
          meets: meets,
          renews: renews,
          parts: parts,
          good: desc_i.unreliable ? in_message && right : in_stream,
          code: code,
          too_long: segment_o.message == MESSAGE_SEND &&
              32'(segment_o.payload) + left_to_software(qp_i.cfg.grh) >
                  stream_i.length - stream_i.received,
          behind: behind,
          late: late,
          gap: gap,
          bad_pkey: bad_pkey,
          bad_qkey: bad_qkey
      };

  // ---- A flush job
  logic flushable, has_pulls, drained;
  assign flushable = flush_i && qp_i.cfg.valid && qp_i.status.state == QP_STATE_ERROR;
  assign has_pulls = pull_count_i != '0;
  assign drained = flush_i && qp_i.cfg.valid && is_draining(qp_i) && !has_pulls;
  assign flush_o = '{
          pull: flushable && has_pulls,
          message: flushable && !has_pulls && stream_i.open,
          receive: flushable && !has_pulls && !stream_i.open && !qp_i.cfg.has_srq &&
              qp_i.rq_producer != qp_i.rq_consumer,
          emptied: flushable && !has_pulls && !stream_i.open && qp_i.cfg.has_srq && !stream_i.emptied,
          drained: drained
      };

endmodule
