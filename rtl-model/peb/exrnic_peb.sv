// SPDX-License-Identifier: BSD-2-Clause
// A PEB (PEB.md): buses of N_PEB_PORT ports on one side, Ethernet on the other.

module exrnic_peb
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
  import peb_pkg::*;
(
    input  logic        clk_i,
    input  logic        rst_ni,
    input  node_id_t    cfg_node_i,         // NODE_NONE: a manager says the number
    input  logic [63:0] cfg_guid_i,
    input  logic        cfg_host_i,         // the host's side
    input  logic [ 3:0] cfg_ports_i,        // so many are there
    input  logic        link_up_i,          // the line has a carrier
    input  logic [15:0] cfg_max_payload_i,  // a power of two
    input  logic [ 5:0] cfg_read_timeout_i,
    input  logic [63:0] time_i,
    output node_id_t    node_o,
    output logic        works_o,    // else all but the agent is in reset: there is no number
    output logic        init_done_o,
    output logic        idle_o,     // nothing happens until something comes, or
    output logic        asks_o,     // an interval of PEB_ASK_SHIFT begins, with this,
    output logic        watches_o,  // or one of the time-out, with that

    input logic        assign_valid_i,  // pulse
    input peb_port_t       assign_port_i,
    input logic        assign_peer_i,
    input node_t       assign_node_i,
    input logic [15:0] assign_group_i,
    output logic        assigned_o,  // pulse: a manager has done the same
    output peb_port_t   assigned_port_o,
    output logic        assigned_peer_o,
    output node_t       assigned_node_o,
    output logic [15:0] assigned_group_o,

    // From the buses. Of a flow none begins without room; a beat has its bytes in the lanes of their addresses.
    output logic [N_PEB_PORT-1:0]   write_room_o,
    output logic [N_PEB_PORT-1:0]   request_room_o,
    output logic [N_PEB_PORT-1:0]   completion_room_o,
    input  logic [N_PEB_PORT-1:0]   request_waits_i,  // for that room
    input  logic               in_valid_i,
    output logic               in_ready_o,
    input  logic               in_sop_i,
    input  logic               in_eop_i,
    input  peb_bus_e           in_kind_i,
    input  peb_port_t          in_port_i,
    input  logic [63:0]        in_address_i,
    input  chunk_t             in_length_i,
    input  name_t              in_name_i,
    input  completion_status_e in_status_i,
    input  data_t              in_data_i,

    // To them.
    input  logic [N_PEB_PORT-1:0]   write_ready_i,    // it takes one
    input  logic [N_PEB_PORT-1:0]   request_ready_i,
    output logic               out_valid_o,
    input  logic               out_ready_i,
    output logic               out_sop_o,
    output logic               out_eop_o,
    output peb_bus_e           out_kind_o,
    output peb_port_t          out_port_o,
    output logic [63:0]        out_address_o,
    output chunk_t             out_length_o,
    output name_t              out_name_o,
    output completion_status_e out_status_o,
    output data_t              out_data_o,

    output logic        tx_valid_o,
    input  logic        tx_ready_i,
    output logic        tx_sop_o,
    output logic        tx_eop_o,
    output data_t       tx_data_o,
    output beat_bytes_t tx_bytes_o,
    input  logic        rx_valid_i,
    input  logic        rx_sop_i,
    input  logic        rx_eop_i,
    input  data_t       rx_data_i,
    input  beat_bytes_t rx_bytes_i,
    input  logic        rx_error_i,

    output event_t           event_o,
    output logic [N_PEB_PORT-1:0] life_ends_o,  // pulses
    output logic             foreign_o,
    output logic             malformed_o,
    output logic             timeout_o
);

  // ---- The agent of fabric management. Another number resets all else, between two frames.
  node_t node;
  logic numbered, works, blocks_rst_n, stale, stale_q, held, agent_idle;
  logic out_valid, out_ready, out_sop, out_eop, out_open, out_open_q;
  logic node_tx_valid, node_tx_ready, node_rx_valid, line_in_valid, line_in_open_q;
  data_t out_data;
  beat_bytes_t out_bytes;
  event_t event_agent;
  management_pkg::assignment_request_t asked_for;
  management_status_e judgement;
  logic takes;
  management_assignment_t wanted, assigned;
  assign node = node_t'(node_o);
  assign numbered = node_o != node_id_t'(NODE_NONE);
  management #(
      .HAS_HOST(1'b0)
  ) u_management (
      .clk_i,
      .rst_ni,
      .power_ni(rst_ni),
      .idle_o(agent_idle),
      .cfg_node_i,
      .cfg_guid_i,
      .link_up_i,
      .kind_i(cfg_host_i ? MANAGEMENT_KIND_PEB_HOST : MANAGEMENT_KIND_PEB_DEVICE),
      .node_o,
      .assignment_o(asked_for),
      .assignment_takes_o(takes),
      .assignment_hold_i(held),
      .assignment_status_i(judgement),
      .assigned_i(assigned),
      .host_valid_i(1'b0),
      .host_write_i(1'b0),
      .host_word_i(1'b0),
      .host_address_i('0),
      .host_data_i('0),
      /* verilator lint_off PINCONNECTEMPTY */  // no host; frames of the line are always taken
      .link_up_o(),
      .host_rsp_valid_o(),
      .host_rsp_data_o(),
      .rx_ready_o(),
      /* verilator lint_on PINCONNECTEMPTY */
      .node_tx_valid_i(node_tx_valid),
      .node_tx_ready_o(node_tx_ready),
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
      .rx_sop_i,
      .rx_eop_i,
      .rx_data_i,
      .rx_bytes_i,
      .rx_error_i,
      .node_rx_valid_o(node_rx_valid),
      .node_rx_ready_i(1'b1),
      .event_o(event_agent)
  );

  // No frame of an old number begins, and one that has begun ends.
  assign stale = works_o && (stale_q || !numbered);
  assign node_tx_valid = out_valid && (!stale || out_open_q);
  assign out_ready = node_tx_ready && (!stale || out_open_q);
  assign works = works_o ? !stale || out_open : numbered;
  assign out_open = node_tx_valid ? !(node_tx_ready && out_eop) : out_open_q;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) {works_o, blocks_rst_n, stale_q, out_open_q} <= '0;
    else begin
      works_o <= works;
      blocks_rst_n <= works;
      stale_q <= stale && out_open;
      out_open_q <= out_open;
    end
  end

  // Of a frame that comes a block sees all or nothing.
  assign line_in_valid = node_rx_valid && (rx_sop_i ? init_done_o : line_in_open_q);
  always_ff @(posedge clk_i or negedge blocks_rst_n) begin
    if (!blocks_rst_n) line_in_open_q <= 1'b0;
    else if (node_rx_valid) line_in_open_q <= line_in_valid && !rx_eop_i;
  end

  // ---- Assignments by a manager
  peer_t peer[N_PEB_PORT], peer_is;
  logic wants, same, taken;
  assign held = assign_valid_i || stale || (!works_o && numbered);
  assign wanted = asked_for.wanted;
  assign wants = wanted.node != 16'(NODE_NONE);
  assign peer_is = peer[assigned_port_o];
  assign same = peer_is.assigned ? wants && 16'(peer_is.node) == wanted.node && peer_is.group == wanted.group : !wants;
  always_comb begin
    taken = 1'b0;
    for (int unsigned port = 0; port < N_PEB_PORT; port++)
      if (peer[port].assigned && 16'(peer[port].node) == wanted.node && peer[port].group == wanted.group)
        taken = 1'b1;
    judgement = MANAGEMENT_STATUS_OK;
    if (asked_for.port >= 32'(cfg_ports_i)) judgement = MANAGEMENT_STATUS_NO_BLOCK;
    else if (asked_for.sets && wants && !same &&
             (!numbered || 32'(wanted.node) >= N_NODE || wanted.node == node_o || taken))
      judgement = MANAGEMENT_STATUS_BAD_VALUE;
    assigned = '0;
    assigned.node = 16'(NODE_NONE);
    if (peer_is.assigned) begin
      assigned.node = 16'(peer_is.node);
      assigned.group = peer_is.group;
    end
  end
  assign assigned_o = takes && !same;
  assign assigned_port_o = peb_port_t'(asked_for.port);
  assign assigned_peer_o = wants;
  assign assigned_node_o = node_t'(wanted.node);
  assign assigned_group_o = wanted.group;

  // ---- The buses
  peb_bus_if from_bus (), to_bus ();
  assign from_bus.valid = in_valid_i;
  assign in_ready_o = from_bus.ready;
  assign from_bus.sop = in_sop_i;
  assign from_bus.eop = in_eop_i;
  assign from_bus.kind = in_kind_i;
  assign from_bus.port = in_port_i;
  assign from_bus.address = in_address_i;
  assign from_bus.length = in_length_i;
  assign from_bus.name = in_name_i;
  assign from_bus.status = in_status_i;
  assign from_bus.data = in_data_i;
  assign out_valid_o = to_bus.valid;
  assign to_bus.ready = out_ready_i;
  assign out_sop_o = to_bus.sop;
  assign out_eop_o = to_bus.eop;
  assign out_kind_o = to_bus.kind;
  assign out_port_o = to_bus.port;
  assign out_address_o = to_bus.address;
  assign out_length_o = to_bus.length;
  assign out_name_o = to_bus.name;
  assign out_status_o = to_bus.status;
  assign out_data_o = to_bus.data;

  // ---- EFE
  settings_if settings ();
  assign settings.node = node_o;
  assign settings.now = time_i;
  assign settings.rto_cycles = 32'(RTO_CYCLES_DEFAULT);
  assign settings.retry_limit = 8'(RETRY_LIMIT_DEFAULT);
  // Those of an RNIC alone.
  assign settings.mtu = '0;
  assign settings.combine_cycles = '0;
  assign settings.load_cycles = '0;
  assign settings.pull_by_firmware = 1'b0;
  assign settings.erratum = 1'b0;
  assign settings.pkeys = '0;
  assign settings.max_payload = '0;
  assign settings.max_read = '0;
  assign settings.read_timeout = '0;
  assign settings.window_shift = '0;
  efe_peer_if peer_state ();
  life_change_if change ();
  refusal_if refusal ();
  rx_buffer_if rx_buffer ();
  stream_if #(.T(credit_update_t)) credit ();
  stream_if #(.T(rx_desc_t)) segment ();
  assign credit.valid = 1'b0;
  assign credit.data = '0;
  assign change.goes_back = 1'b0;

  logic tx_init_done, rx_init_done, tx_idle, rx_idle;
  assign init_done_o = works_o ? tx_init_done && rx_init_done : !numbered;
  logic alloc_valid, alloc_ready, quota_room, beat_valid, submit_valid, submit_ready, ended_valid;
  slot_t alloc_slot;
  node_t quota_node;
  reads_t quota_slots;
  logic quota_start;
  dma_read_beat_t beat;
  tx_desc_t submit;
  tx_done_t ended;
  event_t event_tx, event_rx, event_receive;
  /* verilator lint_off UNUSEDSIGNAL */  // nothing here is prompt, is dropped or heard of
  logic alloc_any, window_room, prompt_done, drop_ready, credit_heard;
  tx_done_t prompt_done_what;
  credit_update_t credit_heard_what;
  node_t dead_node;
  /* verilator lint_on UNUSEDSIGNAL */
  efe_tx u_efe_tx (
      .clk_i,
      .rst_ni(blocks_rst_n),
      .init_done_o(tx_init_done),
      .idle_o(tx_idle),
      /* verilator lint_off PINCONNECTEMPTY */
      .waits_o(),
      /* verilator lint_on PINCONNECTEMPTY */
      .settings,
      .enable_i(1'b1),
      .alloc_valid_o(alloc_any),
      .alloc_payload_valid_o(alloc_valid),
      .alloc_ready_i(alloc_ready),
      .quota_node_i(quota_node),
      .quota_slots_i(quota_slots),
      .quota_start_o(quota_start),
      .quota_room_o(quota_room),
      .window_node_i('0),
      .window_prompt_i(1'b0),
      .window_room_o(window_room),
      .alloc_slot_o(alloc_slot),
      .beat_valid_i(beat_valid),
      .beat_i(beat),
      .submit_valid_i(submit_valid),
      .submit_ready_o(submit_ready),
      .submit_i(submit),
      .done_valid_o(ended_valid),
      .done_ready_i(1'b1),
      .done_o(ended),
      .prompt_done_valid_o(prompt_done),
      .prompt_done_o(prompt_done_what),
      .drop_valid_i(1'b0),
      .drop_ready_o(drop_ready),
      .drop_i('0),
      .change,
      .peer(peer_state),
      .refusal_i(refusal.what),
      .credit,
      .tx_valid_o(out_valid),
      .tx_ready_i(out_ready),
      .tx_sop_o(out_sop),
      .tx_eop_o(out_eop),
      .tx_data_o(out_data),
      .tx_bytes_o(out_bytes),
      .dead_node_o(dead_node),
      .event_o(event_tx)
  );

  logic came_valid, came_ready, once_valid, once_ready;
  rx_desc_t came, once;
  efe_rx u_efe_rx (
      .clk_i,
      .rst_ni(blocks_rst_n),
      .init_done_o(rx_init_done),
      .idle_o(rx_idle),
      /* verilator lint_off PINCONNECTEMPTY */  // no groups of datagrams here
      .waits_o(),
      .group_look_o(),
      .group_o(),
      /* verilator lint_on PINCONNECTEMPTY */
      .cfg_node_i(node),
      .enable_i(1'b1),
      .rx_valid_i(line_in_valid),
      .rx_sop_i,
      .rx_eop_i,
      .rx_data_i,
      .rx_bytes_i,
      .rx_error_i,
      .rx_looped_i(1'b0),
      .desc_valid_o(came_valid),
      .desc_ready_i(came_ready),
      .desc_o(came),
      .once_valid_o(once_valid),
      .once_ready_i(once_ready),
      .once_o(once),
      .group_known_i(1'b0),
      .read_address_i(rx_buffer.address),
      .read_data_o(rx_buffer.data),
      .frame_done_valid_i(rx_buffer.done),
      .frame_done_node_i(rx_buffer.node),
      .refuse_valid_i(refusal.valid),
      .refuse_ready_o(refusal.ready),
      .refuse_node_i(refusal.what.node),
      .refuse_seq_i(refusal.what.seq),
      .peer(peer_state),
      .refuse_put_off_o(refusal.put_off),
      .credit_valid_o(credit_heard),
      .credit_o(credit_heard_what),
      .event_o(event_rx)
  );
  class_turns u_class_turns (
      .clk_i,
      .rst_ni(blocks_rst_n),
      .reliable_valid_i(came_valid),
      .reliable_ready_o(came_ready),
      .reliable_i(came),
      .once_valid_i(once_valid),
      .once_ready_o(once_ready),
      .once_i(once),
      .desc_valid_o(segment.valid),
      .desc_ready_i(segment.ready),
      .desc_o(segment.data)
  );
  assign event_o = event_tx | event_rx | event_receive | event_agent;

  // ---- Ports
  flows_t flow[N_PEB_PORT];
  logic [N_PEB_PORT-1:0] begins, met, owes_introduction, asks, owes_limits, stuck;
  logic [31:0] next_message[N_PEB_PORT], last_message[N_PEB_PORT];
  peb_port_t came_port, sent_port, handed_port, life_port;
  logic introduced, introduced_asks, message, broken, sent_introduction, submitted_introduction, sent_message, ports_idle;
  generation_t introduced_src, introduced_dst;
  peb_t message_limits, sent_limits;
  logic [1:0] message_flow, sent_flow, handed;
  peb_ports u_ports (
      .clk_i,
      .rst_ni(blocks_rst_n),
      .cfg_node_i(node),
      .time_i,
      .assign_valid_i(assign_valid_i || assigned_o),
      .assign_port_i(assign_valid_i ? assign_port_i : assigned_port_o),
      .assign_peer_i(assign_valid_i ? assign_peer_i : assigned_peer_o),
      .assign_node_i(assign_valid_i ? assign_node_i : assigned_node_o),
      .assign_group_i(assign_valid_i ? assign_group_i : assigned_group_o),
      .peer_o(peer),
      .flow_o(flow),
      .came_port_i(came_port),
      .introduced_i(introduced),
      .introduced_src_i(introduced_src),
      .introduced_dst_i(introduced_dst),
      .introduced_asks_i(introduced_asks),
      .message_i(message),
      .message_limits_i(message_limits),
      .message_flow_i(message_flow),
      .broken_i(broken),
      .owes_introduction_o(owes_introduction),
      .asks_o(asks),
      .owes_limits_o(owes_limits),
      .next_message_o(next_message),
      .last_message_o(last_message),
      .sent_port_i(sent_port),
      .sent_introduction_i(sent_introduction),
      .submitted_introduction_i(submitted_introduction),
      .sent_message_i(sent_message),
      .sent_limits_i(sent_limits),
      .sent_flow_i(sent_flow),
      .ended_valid_i(ended_valid),
      .ended_i(ended),
      .handed_port_i(handed_port),
      .handed_i(handed),
      .stuck_i(stuck),
      .begins_o(begins),
      .met_o(met),
      .life_begins_o(change.begins),
      .life_port_o(life_port),
      .life_o(change.generation),
      .idle_o(ports_idle),
      .waits_o(asks_o)
  );
  assign change.qpn = qpn_t'(life_port);
  assign life_ends_o = begins;

  // ---- Requests of the buses, and of the peers
  logic [63:0] interval_q;
  logic tick;
  assign tick = interval_q != time_i >> cfg_read_timeout_i;
  always_ff @(posedge clk_i or negedge rst_ni)
    if (!rst_ni) interval_q <= '0;
    else interval_q <= time_i >> cfg_read_timeout_i;

  logic [N_PEB_PORT-1:0] tag_free, serve_free;
  peb_port_t take_port, overdue_port, told_port, look_port, serve_port, served_port;
  tag_t take_tag, came_tag, overdue_tag, told_tag, look_tag, serve_name, served_name;
  logic take, came_waits, came_late, progress, ends, answers, answer_data, overdue, told, serve, served_known, served_done;
  logic tags_idle;
  tlp_item_t take_tlp, asked, serve_tlp, served_tlp;
  name_t take_name, came_name, overdue_name;
  chunk_t completed, progress_completed, look_length;
  logic [63:0] look_address;
  peb_tags u_tags (
      .clk_i,
      .rst_ni(blocks_rst_n),
      .tick_i(tick),
      .begins_i(begins),
      .free_o(tag_free),
      .take_port_i(take_port),
      .take_tag_o(take_tag),
      .take_i(take),
      .take_tlp_i(take_tlp),
      .take_name_i(take_name),
      .port_i(came_port),
      .tag_i(came_tag),
      .waits_o(came_waits),
      .late_o(came_late),
      .asked_o(asked),
      .name_o(came_name),
      .completed_o(completed),
      .progress_i(progress),
      .progress_completed_i(progress_completed),
      .end_i(ends),
      .overdue_o(overdue),
      .overdue_ready_i(!answers),
      .overdue_port_o(overdue_port),
      .overdue_tag_o(overdue_tag),
      .overdue_name_o(overdue_name),
      .told_i(told),
      .told_port_i(told_port),
      .told_tag_i(told_tag),
      .look_port_i(look_port),
      .look_tag_i(look_tag),
      .look_address_o(look_address),
      .look_length_o(look_length),
      .bus_waits_i(request_waits_i),
      .stuck_o(stuck),
      .idle_o(tags_idle)
  );
  assign watches_o = !tags_idle;
  assign timeout_o = overdue && !answers;
  peb_served u_served (
      .clk_i,
      .rst_ni(blocks_rst_n),
      .begins_i(begins),
      .free_o(serve_free),
      .port_i(serve_port),
      .name_o(serve_name),
      .serve_i(serve),
      .tlp_i(serve_tlp),
      .done_port_i(served_port),
      .done_name_i(served_name),
      .done_known_o(served_known),
      .done_tlp_o(served_tlp),
      .done_i(served_done)
  );

  // ---- In
  logic [N_PEB_PORT-1:0] heard;
  logic in_beat, in_beat_read, put;
  logic [8:0] in_beat_place;
  data_t in_beat_data;
  logic [31:0] put_data;
  tlp_item_t put_tlp;
  logic receive_idle, inward_idle, transmit_idle;
  peb_receive u_receive (
      .clk_i,
      .rst_ni(blocks_rst_n),
      .cfg_node_i(node),
      .cfg_host_i,
      .peer_i(peer),
      .flow_i(flow),
      .last_message_i(last_message),
      .begins_i(begins),
      .segment,
      .buffer(rx_buffer),
      .refusal,
      .port_o(came_port),
      .introduced_o(introduced),
      .introduced_src_o(introduced_src),
      .introduced_dst_o(introduced_dst),
      .introduced_asks_o(introduced_asks),
      .message_o(message),
      .message_limits_o(message_limits),
      .message_flow_o(message_flow),
      .broken_o(broken),
      .beat_o(in_beat),
      .beat_read_o(in_beat_read),
      .beat_place_o(in_beat_place),
      .beat_data_o(in_beat_data),
      .put_o(put),
      .tlp_o(put_tlp),
      .put_data_o(put_data),
      .tag_o(came_tag),
      .waits_i(came_waits),
      .late_i(came_late),
      .asked_i(asked),
      .completed_i(completed),
      .progress_o(progress),
      .progress_completed_o(progress_completed),
      .end_o(ends),
      .answer_o(answers),
      .answer_data_o(answer_data),
      .foreign_o,
      .malformed_o,
      .event_o(event_receive),
      .idle_o(receive_idle)
  );
  peb_inward u_inward (
      .clk_i,
      .rst_ni(blocks_rst_n),
      .begins_i(begins),
      .met_i(met),
      .port_i(came_port),
      .beat_i(in_beat),
      .beat_read_i(in_beat_read),
      .tag_i(came_tag),
      .beat_place_i(in_beat_place),
      .beat_data_i(in_beat_data),
      .put_i(put),
      .tlp_i(put_tlp),
      .put_data_i(put_data),
      .answer_i(answers || overdue),
      .answer_port_i(answers ? came_port : overdue_port),
      .answer_tag_i(answers ? came_tag : overdue_tag),
      .answer_name_i(answers ? came_name : overdue_name),
      .answer_status_i(answers ? put_tlp.status : COMPLETION_STATUS_ABORT),
      .answer_data_i(answers && answer_data),
      .write_ready_i,
      .request_ready_i,
      .bus(to_bus),
      .handed_port_o(handed_port),
      .handed_o(handed),
      .serve_port_o(serve_port),
      .serve_free_i(serve_free),
      .serve_name_i(serve_name),
      .serve_o(serve),
      .serve_tlp_o(serve_tlp),
      .look_port_o(look_port),
      .look_tag_o(look_tag),
      .look_address_i(look_address),
      .look_length_i(look_length),
      .told_port_o(told_port),
      .told_tag_o(told_tag),
      .told_o(told),
      .heard_o(heard),
      .idle_o(inward_idle)
  );

  // ---- Out
  rooms_t rooms;
  assign write_room_o = rooms.writes;
  assign request_room_o = rooms.requests;
  assign completion_room_o = rooms.completions;
  peb_transmit u_transmit (
      .clk_i,
      .rst_ni(blocks_rst_n),
      .cfg_node_i(node),
      .cfg_max_payload_i,
      .peer_i(peer),
      .flow_i(flow),
      .begins_i(begins),
      .heard_i(heard),
      .owes_introduction_i(init_done_o ? owes_introduction : '0),
      .asks_i(init_done_o ? asks : '0),
      .owes_limits_i(owes_limits),
      .next_message_i(next_message),
      .rooms_o(rooms),
      .bus(from_bus),
      .tag_free_i(tag_free),
      .take_port_o(take_port),
      .take_tag_i(take_tag),
      .take_o(take),
      .take_tlp_o(take_tlp),
      .take_name_o(take_name),
      .served_port_o(served_port),
      .served_name_o(served_name),
      .served_known_i(served_known),
      .served_tlp_i(served_tlp),
      .served_done_o(served_done),
      .quota_node_o(quota_node),
      .quota_slots_o(quota_slots),
      .quota_start_i(quota_start),
      .quota_room_i(quota_room),
      .alloc_valid_i(alloc_valid),
      .alloc_ready_o(alloc_ready),
      .alloc_slot_i(alloc_slot),
      .beat_valid_o(beat_valid),
      .beat_o(beat),
      .submit_valid_o(submit_valid),
      .submit_ready_i(submit_ready),
      .submit_o(submit),
      .sent_port_o(sent_port),
      .sent_introduction_o(sent_introduction),
      .submitted_introduction_o(submitted_introduction),
      .sent_message_o(sent_message),
      .sent_limits_o(sent_limits),
      .sent_flow_o(sent_flow),
      .idle_o(transmit_idle)
  );

  logic blocks_idle;
  assign blocks_idle = numbered && init_done_o && tx_idle && rx_idle && ports_idle && receive_idle && inward_idle &&
      transmit_idle && !segment.valid && !ended_valid && !overdue;
  assign idle_o = agent_idle && !rx_valid_i && (works_o ? blocks_idle : !numbered);

endmodule
