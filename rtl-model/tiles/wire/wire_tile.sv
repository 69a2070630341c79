// SPDX-License-Identifier: BSD-2-Clause
// EFE: frames out and frames in, and copies of datagrams for groups. Between it and the line is the agent of
// fabric management.

module wire_tile
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
(
    input logic clk_i,
    input logic rst_ni,
    run_if.tile run,
    identity_if.agent identity,
    settings_if.user settings,
    command_if.wire_tile command,

    // Out. What the host stores to windows and ports goes first.
    transmit_if.to_requester requester,
    transmit_if.to_window    window,
    dma_read_if.taker        payload,
    stream_if.source         sent,  // has ended: acknowledged, or failed
    output logic             prompt_ended_o,  // pulse: likewise of what was sent at once
    output tx_done_t         prompt_ended_what_o,
    stream_if.sink           credit,

    // In.
    stream_if.source       segment,
    rx_buffer_if.buffer    rx_buffer,
    refusal_if.efe         refusal,
    output logic           credit_heard_o,  // pulse
    output credit_update_t credit_heard_what_o,
    output logic           restart_o,  // pulse: a peer has begun anew
    output node_t          restart_node_o,
    host_event_if.wire_tile host_event,
    access_if.device       to_management,

    output logic        tx_valid_o,
    input  logic        tx_ready_i,
    output logic        tx_sop_o,
    output logic        tx_eop_o,
    output data_t       tx_data_o,
    output beat_bytes_t tx_bytes_o,
    input  logic        rx_valid_i,
    output logic        rx_ready_o,
    input  logic        rx_sop_i,
    input  logic        rx_eop_i,
    input  data_t       rx_data_i,
    input  beat_bytes_t rx_bytes_i,
    input  logic        rx_error_i,

    output event_t event_tx_o,
    output event_t event_rx_o,
    output event_t event_loopback_o,
    output event_t event_groups_o,
    output event_t event_management_o
);

  logic tx_init_done, tx_idle, tx_waits, rx_init_done, rx_idle, rx_waits, groups_idle, management_idle;
  assign run.init_done = tx_init_done && rx_init_done;
  assign run.waits = tx_waits && rx_waits && groups_idle && management_idle && !segment.valid && !rx_valid_i;
  assign run.idle = run.waits && tx_idle && rx_idle;
  assign run.reads_over = 1'b1;
  assign run.writes_over = 1'b1;
  assign run.quiescent = 1'b1;

  // ---- Slots of the retransmission buffer: the window goes first.
  logic alloc_valid, alloc_payload_valid, submit_ready;
  slot_t alloc_slot;
  assign requester.alloc_valid = alloc_payload_valid && !window.alloc_ready;
  assign requester.alloc_slot = alloc_slot;
  assign requester.ready = submit_ready && !window.valid;
  assign window.alloc_valid = alloc_valid;
  assign window.alloc_payload_valid = alloc_payload_valid;
  assign window.alloc_slot = alloc_slot;
  assign window.ready = submit_ready;
  logic submit_valid;
  tx_desc_t submit;
  assign submit_valid = requester.valid || window.valid;
  assign submit = window.valid ? window.desc : requester.desc;

  // ---- Frames: to the line and from it, or to this node itself
  logic out_valid, out_ready, out_sop, out_eop, line_out_valid, line_out_ready, line_in_valid, line_in_ready;
  logic in_valid, in_sop, in_eop, in_error, in_looped, group_goes, group_look, group_known[2];
  data_t out_data, in_data;
  beat_bytes_t out_bytes, in_bytes;
  group_t group_gone, group_looked;
  loopback u_loopback (
      .clk_i,
      .rst_ni,
      .cfg_node_i(settings.node),
      .tx_valid_i(out_valid),
      .tx_ready_o(out_ready),
      .tx_sop_i(out_sop),
      .tx_eop_i(out_eop),
      .tx_data_i(out_data),
      .tx_bytes_i(out_bytes),
      .line_tx_valid_o(line_out_valid),
      .line_tx_ready_i(line_out_ready),
      .line_rx_valid_i(line_in_valid),
      .line_rx_ready_o(line_in_ready),
      .line_rx_sop_i(rx_sop_i),
      .line_rx_eop_i(rx_eop_i),
      .line_rx_data_i(rx_data_i),
      .line_rx_bytes_i(rx_bytes_i),
      .line_rx_error_i(rx_error_i),
      .rx_valid_o(in_valid),
      .rx_sop_o(in_sop),
      .rx_eop_o(in_eop),
      .rx_data_o(in_data),
      .rx_bytes_o(in_bytes),
      .rx_error_o(in_error),
      .rx_looped_o(in_looped),
      .group_look_o(group_goes),
      .group_o(group_gone),
      .group_known_i(group_known[1]),
      .event_o(event_loopback_o)
  );

  // ---- Management, and whether the node is on the line at all
  assign to_management.ready = 1'b1;
  assign to_management.rsp_data[63:32] = '0;
  management u_management (
      .clk_i,
      .rst_ni,
      .power_ni(identity.power_n),
      .idle_o(management_idle),
      .cfg_node_i(identity.strap),
      .cfg_guid_i(identity.guid),
      .link_up_i(identity.carrier),
      .kind_i(MANAGEMENT_KIND_RNIC),
      /* verilator lint_off PINCONNECTEMPTY */  // it has no assignments
      .assignment_o(),
      .assignment_takes_o(),
      /* verilator lint_on PINCONNECTEMPTY */
      .assignment_hold_i(1'b0),
      .assignment_status_i(MANAGEMENT_STATUS_NO_ATTRIBUTE),
      .assigned_i('0),
      .node_o(identity.node),
      .link_up_o(identity.link_up),
      .host_valid_i(to_management.valid),
      .host_write_i(to_management.write),
      .host_word_i(to_management.size == 4'd4 && to_management.address[31:16] == '0 &&
                   to_management.address[1:0] == '0),
      .host_address_i(to_management.address[15:0]),
      .host_data_i(to_management.data[31:0]),
      .host_rsp_valid_o(to_management.rsp_valid),
      .host_rsp_data_o(to_management.rsp_data[31:0]),
      .node_tx_valid_i(line_out_valid),
      .node_tx_ready_o(line_out_ready),
      .node_tx_sop_i(out_sop),
      .node_tx_eop_i(out_eop),
      .node_tx_data_i(out_data),
      .node_tx_bytes_i(out_bytes),
      .tx_valid_o,
      .tx_ready_i,
      .tx_sop_o,
      .tx_eop_o,
      .tx_data_o,
      .tx_bytes_o,
      .rx_valid_i,
      .rx_ready_o,
      .rx_sop_i,
      .rx_eop_i,
      .rx_data_i,
      .rx_bytes_i,
      .rx_error_i,
      .node_rx_valid_o(line_in_valid),
      .node_rx_ready_i(line_in_ready),
      .event_o(event_management_o)
  );

  // ---- What the two directions tell each other
  efe_peer_if peer ();
  assign restart_o = peer.restart_valid && peer.restart_ready;
  assign restart_node_o = peer.restart_node;

  life_change_if change ();
  assign change.goes_back = requester.goes_back;
  assign change.begins = command.qp_we && command.qp_clear;
  assign change.qpn = requester.goes_back ? requester.goes_back_qpn : command.qpn;
  assign change.generation = requester.goes_back ? requester.goes_back_generation : command.qp_config.generation;

  // Of both nothing leaves any more.
  logic drop_ready;
  tx_tag_t drop;
  assign requester.withdraw_ready = drop_ready;
  assign window.drop_ready = drop_ready && !requester.withdraw_valid;
  always_comb begin
    drop = window.drop;
    if (requester.withdraw_valid) begin
      drop.qpn = requester.goes_back_qpn;
      drop.generation = requester.goes_back_generation;
    end
  end

  efe_tx u_efe_tx (
      .clk_i,
      .rst_ni,
      .init_done_o(tx_init_done),
      .idle_o(tx_idle),
      .waits_o(tx_waits),
      .settings,
      .enable_i(run.enable),
      .alloc_valid_o(alloc_valid),
      .alloc_payload_valid_o(alloc_payload_valid),
      .alloc_ready_i((requester.alloc_ready && alloc_payload_valid) || window.alloc_ready),
      .quota_node_i(requester.node),
      .quota_slots_i(requester.slots),
      .quota_start_o(requester.start),
      .quota_room_o(requester.room),
      .window_node_i(window.node),
      .window_prompt_i(window.prompt),
      .window_room_o(window.room),
      .alloc_slot_o(alloc_slot),
      .beat_valid_i(payload.beat_valid),
      .beat_i(payload.beat),
      .submit_valid_i(submit_valid),
      .submit_ready_o(submit_ready),
      .submit_i(submit),
      .done_valid_o(sent.valid),
      .done_ready_i(sent.ready),
      .done_o(sent.data),
      .prompt_done_valid_o(prompt_ended_o),
      .prompt_done_o(prompt_ended_what_o),
      .drop_valid_i(window.drop_valid || requester.withdraw_valid),
      .drop_ready_o(drop_ready),
      .drop_i(drop),
      .change,
      .peer,
      .refusal_i(refusal.what),
      .credit,
      .tx_valid_o(out_valid),
      .tx_ready_i(out_ready),
      .tx_sop_o(out_sop),
      .tx_eop_o(out_eop),
      .tx_data_o(out_data),
      .tx_bytes_o(out_bytes),
      .dead_node_o(host_event.dead_node),
      .event_o(event_tx_o)
  );
  assign host_event.peer_dead = event_tx_o[COUNTER_PEERS_DEAD];

  logic came_valid, came_ready, once_valid, once_ready;
  rx_desc_t came, once;

  efe_rx u_efe_rx (
      .clk_i,
      .rst_ni,
      .init_done_o(rx_init_done),
      .idle_o(rx_idle),
      .waits_o(rx_waits),
      .cfg_node_i(node_t'(settings.node)),
      .enable_i(run.enable),
      .rx_valid_i(in_valid),
      .rx_sop_i(in_sop),
      .rx_eop_i(in_eop),
      .rx_data_i(in_data),
      .rx_bytes_i(in_bytes),
      .rx_error_i(in_error),
      .rx_looped_i(in_looped),
      .desc_valid_o(came_valid),
      .desc_ready_i(came_ready),
      .desc_o(came),
      .once_valid_o(once_valid),
      .once_ready_i(once_ready),
      .once_o(once),
      .group_look_o(group_look),
      .group_o(group_looked),
      .group_known_i(group_known[0]),
      .read_address_i(rx_buffer.address),
      .read_data_o(rx_buffer.data),
      .frame_done_valid_i(rx_buffer.done),
      .frame_done_node_i(rx_buffer.node),
      .refuse_valid_i(refusal.valid),
      .refuse_ready_o(refusal.ready),
      .refuse_node_i(refusal.what.node),
      .refuse_seq_i(refusal.what.seq),
      .peer,
      .refuse_put_off_o(refusal.put_off),
      .credit_valid_o(credit_heard_o),
      .credit_o(credit_heard_what_o),
      .event_o(event_rx_o)
  );

  // ---- What comes; and of what is sent once, copies of what comes for a group
  logic copy_valid, copy_ready;
  rx_desc_t copy;

  groups u_groups (
      .clk_i,
      .rst_ni,
      .idle_o(groups_idle),
      .valid_i(command.group_valid),
      .op_i(command.group_op),
      .group_i(command.group),
      .qpn_i(command.group_qpn),
      .done_o(command.group_done),
      .found_o(command.group_found),
      .full_o(command.group_full),
      .look_i({group_goes, group_look}),
      .look_group_i('{group_looked, group_gone}),
      .known_o(group_known),
      .desc_valid_i(once_valid),
      .desc_ready_o(once_ready),
      .desc_i(once),
      .desc_valid_o(copy_valid),
      .desc_ready_i(copy_ready),
      .desc_o(copy),
      .event_o(event_groups_o)
  );

  class_turns u_class_turns (
      .clk_i,
      .rst_ni,
      .reliable_valid_i(came_valid),
      .reliable_ready_o(came_ready),
      .reliable_i(came),
      .once_valid_i(copy_valid),
      .once_ready_o(copy_ready),
      .once_i(copy),
      .desc_valid_o(segment.valid),
      .desc_ready_i(segment.ready),
      .desc_o(segment.data)
  );

endmodule
