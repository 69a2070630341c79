// SPDX-License-Identifier: BSD-2-Clause
// Ports: doorbell bits and scratchpads that are shared with one port of another node, and the link
// between the two. Registers on one side, messages on the other; one of them a cycle.

`include "exrnic_assert.svh"

module ports
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
(
    input  logic clk_i,
    input  logic rst_ni,
    output logic idle_o,
    input  node_id_t cfg_node_i,
    input  logic enable_i,   // without it nothing can be sent
    input  logic link_up_i,  // of the Ethernet link

    // Registers, from PORT_BASE on.
    input  logic        valid_i,
    output logic        ready_o,
    input  logic        write_i,
    input  logic        word_i,  // 4 bytes, aligned
    input  logic [15:0] address_i,
    input  logic [31:0] data_i,
    output logic        rsp_valid_o,
    output logic [31:0] rsp_data_o,

    // Of peers.
    input  logic          arrival_valid_i,
    output logic          arrival_ready_o,
    input  logic          arrival_good_i,  // well formed
    input  port_message_t arrival_i,
    input  logic          failed_valid_i,  // a message of this port was not acknowledged
    input  port_t         failed_port_i,
    input  port_link_t    failed_link_i,   // as `message_link_o` of it
    input  logic          restart_valid_i,  // that node has begun anew
    input  node_t         restart_node_i,

    output logic          message_valid_o,
    input  logic          message_ready_i,
    output port_message_t message_o,
    output port_link_t    message_link_o,

    output logic    irq_valid_o,
    input  logic    irq_ready_i,
    output vector_t irq_vector_o,

    output event_t event_o
);

  localparam int unsigned SpadBits = $clog2(PORT_SPADS);
  localparam int unsigned SpadBytes = 4 * PORT_SPADS;
  typedef logic [$clog2(PORT_STRIDE)-1:0] place_t;
  typedef struct packed {
    node_t node;
    port_t port;
  } peer_t;

  logic [PORTS-1:0] enabled_q, linked_q, lost_q, answer_q, fire_q;
  logic [PORTS-1:0] greets_q;  // it has been enabled, and its link was never up since
  peer_t [PORTS-1:0] peer_q;
  vector_t [PORTS-1:0] vector_q;
  port_life_t [PORTS-1:0] life_q, peer_life_q;  // how often it was enabled; and the peer, as it has said
  port_link_t [PORTS-1:0] link_q;  // what fails of an earlier one says nothing of this one
  logic [PORTS-1:0][1:0] events_q;
  logic [PORTS-1:0][PORT_BELLS-1:0] bells_q, mask_q;
  logic [PORTS-1:0][PORT_SPADS-1:0] own_written_q, peer_written_q;  // scratchpads; the others are 0
  logic [PORTS-1:0][PORT_SPADS-1:0] echo_q;  // of ours, that the peer has written: it hears what they hold
  typedef logic [SpadBits-1:0] word_t;
  typedef logic [$clog2(PORTS*PORT_SPADS)-1:0] spad_t;

  // ---- What the driver says
  port_t port;
  place_t place;
  word_t word;
  logic write, in_peer, in_own, known, overview, rings, reaches, enables, disables, sends;
  assign port = address_i[$clog2(PORT_STRIDE)+:$bits(port_t)];
  assign place = address_i[$clog2(PORT_STRIDE)-1:0];
  assign word  = place[2+:SpadBits];
  always_comb begin
    {write, in_peer, in_own, known, overview} = '0;
    {rings, reaches, enables, disables, sends} = '0;
    if (valid_i && ready_o) begin
      known = word_i && address_i < 16'(PORT_BASE + PORTS * PORT_STRIDE);
      overview = word_i && address_i == REG_PORTS_PENDING;
      write = write_i && known;
      in_peer = in_port_peer_spad(16'(place));
      in_own = in_port_spad(16'(place));
      rings = write && is_for_peer;
      reaches = rings && linked_q[port] && !answer_q[port];
      enables = write && 16'(place) == REG_PORT_CONTROL && data_i[PORT_CONTROL_ENABLE] &&
          !enabled_q[port] && node_id_t'(peer_q[port].node) != cfg_node_i;
      disables = write && 16'(place) == REG_PORT_CONTROL && !data_i[PORT_CONTROL_ENABLE] &&
          enabled_q[port];
      sends = enable_i && (reaches || enables || disables);
    end
  end

  // What is for the peer waits until the peer has its answer: before that it holds the link for down. It waits
  // for one answer. If another one is owed by then, the peer has begun anew meanwhile, and what was
  // said before that it does not hear.
  logic is_for_peer, waits, waited_q;
  always_comb begin
    {is_for_peer, waits} = '0;
    if (valid_i && write_i && word_i && address_i < 16'(PORT_BASE + PORTS * PORT_STRIDE)) begin
      is_for_peer = 16'(place) == REG_PORT_RING || in_port_peer_spad(16'(place)) ||
          in_port_spad(16'(place));
      waits = is_for_peer && answer_q[port] && linked_q[port] && !waited_q;
    end
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) waited_q <= 1'b0;
    else if (valid_i) waited_q <= !ready_o && (waited_q || (waits && answers && answering == port));
  end

  // ---- What the peer says
  logic arrives, of_peer, taken, misled, goes_up, goes_down, begins;
  port_t to;
  logic says_state, says_bells, sets_own, tells_peer;  // the last two: of a scratchpad
  logic is_meant;  // it is for this life of the port
  word_t arrival_word;
  port_says_t said;
  assign said         = arrival_i.data;
  assign arrival_word = arrival_i.to[2+:SpadBits];
  assign arrival_ready_o = !write && lost_q == '0;
  assign arrives = arrival_valid_i && arrival_ready_o;
  always_comb begin
    {to, says_state, says_bells, sets_own, tells_peer, is_meant} = '0;
    {of_peer, taken, misled, goes_up, goes_down, begins} = '0;
    if (arrives) begin
      to = arrival_i.port;
      says_state = arrival_i.to == 8'(PORT_TO_STATE) && said.rsvd_16 == '0 &&
          said.state <= 8'(PORT_STATE_NO_LINK);
      is_meant = arrival_i.life == life_q[to] ||
          // Who says these may not know it.
          (says_state && said.state inside {8'(PORT_STATE_DOWN), 8'(PORT_STATE_HELLO)});
      says_bells = arrival_i.to == 8'(PORT_TO_BELLS);
      sets_own = arrival_i.to >= 8'(PORT_TO_SPADS) &&
          32'(arrival_i.to) < PORT_TO_SPADS + SpadBytes && arrival_i.to[1:0] == '0;
      tells_peer = arrival_i.to >= 8'(PORT_TO_PEER_SPADS) &&
          32'(arrival_i.to) < PORT_TO_PEER_SPADS + SpadBytes && arrival_i.to[1:0] == '0;
      of_peer = arrival_good_i && enabled_q[to] &&
          peer_q[to] == {arrival_i.node, arrival_i.peer} && is_meant;
      if (of_peer && says_state)
        taken = said.state != 8'(PORT_STATE_UP) || linked_q[to] || greets_q[to];
      if (of_peer && (says_bells || sets_own || tells_peer)) taken = linked_q[to];
      misled = of_peer && !taken &&  // it holds the link for up
          (says_state || says_bells || sets_own || tells_peer);
      goes_up = taken && says_state && link_up_i &&
          said.state inside {8'(PORT_STATE_UP), 8'(PORT_STATE_HELLO)};
      goes_down = taken && says_state && linked_q[to] &&
          said.state != 8'(PORT_STATE_UP);  // HELLO: the peer has begun anew
      begins = goes_up && (!linked_q[to] || goes_down);
    end
  end

  // ---- Links that are lost without a word, one at a time
  port_t lost;
  logic loses;
  always_comb begin
    lost = '0;
    if (lost_q != '0)
      for (int unsigned i = 0; i < PORTS; i++) if (lost_q[i]) lost = port_t'(i);
  end
  assign loses = !write && lost_q != '0;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      lost_q <= '0;
    end else begin
      if (loses) lost_q[lost] <= 1'b0;
      if (failed_valid_i && linked_q[failed_port_i] && failed_link_i == link_q[failed_port_i] &&
          !(begins && to == failed_port_i))
        lost_q[failed_port_i] <= 1'b1;
      if (linked_q != '0 && (!link_up_i || restart_valid_i))
        for (int unsigned i = 0; i < PORTS; i++)
          if (linked_q[i] && !(loses && lost == port_t'(i)) &&
              (!link_up_i || peer_q[i].node == restart_node_i))
            lost_q[i] <= 1'b1;
      if (disables) lost_q[port] <= 1'b0;  // nobody is told any more
    end
  end

  // ---- State
  logic changes;
  assign changes = irq_valid_o || answers || echoes || write || loses || taken || misled;
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      enabled_q <= '0;
      linked_q  <= '0;
      peer_q    <= '0;
      vector_q  <= '0;
      events_q  <= '0;
      bells_q   <= '0;
      mask_q    <= '0;
      answer_q  <= '0;
      fire_q    <= '0;
      greets_q  <= '0;
      life_q    <= '0;
      link_q    <= '0;
      peer_life_q    <= '0;
      own_written_q  <= '0;
      peer_written_q <= '0;
      echo_q         <= '0;
    end else if (changes) begin
      if (irq_valid_o && irq_ready_i) fire_q[fires] <= 1'b0;
      if (answers) answer_q[answering] <= 1'b0;
      if (echoes) echo_q[echoing][echo_word] <= 1'b0;
      if (write) begin
        unique case (16'(place))
          REG_PORT_PEER:
          if (!enabled_q[port] && data_i[31:16] < 16'(N_NODE) &&
              data_i[31:16] != cfg_node_i && data_i[15:0] < 16'(PORTS))
            peer_q[port] <= '{node: node_t'(data_i[31:16]), port: port_t'(data_i)};
          REG_PORT_VECTOR: if (takes_port_vector(data_i)) vector_q[port] <= vector_t'(data_i);
          REG_PORT_EVENTS: events_q[port] <= events_q[port] & ~data_i[1:0];
          REG_PORT_BELLS_RUNG: bells_q[port] <= bells_q[port] & ~data_i;
          REG_PORT_BELLS_MASK: begin
            mask_q[port] <= data_i;
            if ((bells_q[port] & ~data_i & mask_q[port]) != '0) fire_q[port] <= 1'b1;
          end
          default: ;
        endcase
        if (enables || disables) begin
          enabled_q[port] <= enables;
          linked_q[port]  <= 1'b0;
          answer_q[port]  <= 1'b0;
          echo_q[port]    <= '0;
        end
        if (enables) begin
          events_q[port]  <= '0;
          bells_q[port]   <= '0;
          fire_q[port]    <= 1'b0;
          greets_q[port]  <= 1'b1;
          life_q[port]    <= life_q[port] + 1'b1;
          link_q[port]    <= link_q[port] + 1'b1;
          own_written_q[port]  <= '0;
          peer_written_q[port] <= '0;
        end
        if (reaches) begin
          if (in_own) own_written_q[port][word] <= 1'b1;
          if (in_peer) peer_written_q[port][word] <= 1'b1;
        end
      end else if (loses) begin
        linked_q[lost] <= 1'b0;
        echo_q[lost]   <= '0;
        events_q[lost][PORT_EVENT_LINK_DOWN] <= 1'b1;
        if (!events_q[lost][PORT_EVENT_LINK_DOWN]) fire_q[lost] <= 1'b1;
      end else if (taken) begin
        if (goes_down) begin
          linked_q[to] <= 1'b0;
          echo_q[to]   <= '0;
          events_q[to][PORT_EVENT_LINK_DOWN] <= 1'b1;
          if (!events_q[to][PORT_EVENT_LINK_DOWN]) fire_q[to] <= 1'b1;
        end
        if (says_state && said.state inside {8'(PORT_STATE_UP), 8'(PORT_STATE_HELLO)})
          peer_life_q[to] <= said.life;
        if (goes_up) begin
          linked_q[to]    <= 1'b1;
          greets_q[to]    <= 1'b0;
          if (begins) begin
            link_q[to] <= link_q[to] + 1'b1;
            events_q[to][PORT_EVENT_LINK_UP] <= 1'b1;
            if (!events_q[to][PORT_EVENT_LINK_UP]) fire_q[to] <= 1'b1;
            own_written_q[to]  <= '0;
            peer_written_q[to] <= '0;
          end
          if (said.state == 8'(PORT_STATE_HELLO)) answer_q[to] <= 1'b1;
        end
        if (says_bells) begin
          bells_q[to] <= bells_q[to] | arrival_i.data;
          if ((arrival_i.data & ~mask_q[to] & ~bells_q[to]) != '0) fire_q[to] <= 1'b1;
        end
        if (sets_own) begin
          own_written_q[to][arrival_word] <= 1'b1;
          echo_q[to][arrival_word]        <= 1'b1;
        end
        if (tells_peer) peer_written_q[to][arrival_word] <= 1'b1;
      end else if (misled) begin
        answer_q[to] <= 1'b1;
      end
    end
  end

  // ---- Scratchpads: ours, and what is known of the peer's. One thing a cycle writes them.
  spad_t spad;
  logic reads;
  logic [31:0] own_spad, peer_spad;
  assign spad  = write ? {port, word} : {to, arrival_word};
  assign reads = known && !write_i;
  ram_1r1w #(
      .WIDTH(32),
      .DEPTH(PORTS * PORT_SPADS)
  ) u_own_spads (
      .clk_i,
      .write_i        (write ? in_own && reaches : taken && sets_own),
      .write_address_i(spad),
      .write_data_i   (write ? data_i : arrival_i.data),
      .read_i         (echoes || (reads && in_own)),
      .read_address_i (echoes ? {echoing, echo_word} : {port, word}),
      .read_data_o    (own_spad)
  );
  ram_1r1w #(
      .WIDTH(32),
      .DEPTH(PORTS * PORT_SPADS)
  ) u_peer_spads (
      .clk_i,
      .write_i        (write ? in_peer && reaches : taken && tells_peer),
      .write_address_i(spad),
      .write_data_i   (write ? data_i : arrival_i.data),
      .read_i         (reads && in_peer),
      .read_address_i ({port, word}),
      .read_data_o    (peer_spad)
  );

  // ---- Messages: the driver's, answers, echoes. One of these comes between two accesses of the driver's,
  // and an echo between two answers.
  logic out_q, driver_last_q, answer_last_q, yields, answers, echoes, from_spad_q;
  port_t answering, answered_q, echoing, echoed_q;
  word_t echo_word;
  logic [PORTS-1:0] echo_waits;
  port_message_t message_q;
  always_comb for (int unsigned i = 0; i < PORTS; i++) echo_waits[i] = echo_q[i] != '0;
  assign yields = waits || (driver_last_q && (answer_q != '0 || echo_waits != '0));
  assign answers = !out_q && !sends && answer_q != '0 && !echoes;
  assign echoes = !out_q && !known && echo_waits != '0 && (answer_q == '0 || answer_last_q);
  // Ports take turns: whose peer greets or writes without end keeps others from nothing.
  always_comb begin
    answering = '0;
    if (answers) begin
      for (int unsigned i = 0; i < PORTS; i++) if (answer_q[i]) answering = port_t'(i);
      for (int unsigned i = 0; i < PORTS; i++)
        if (answer_q[i] && port_t'(i) < answered_q) answering = port_t'(i);
      if (waits) answering = port;
    end
  end
  always_comb begin
    {echoing, echo_word} = '0;
    if (echoes) begin
      for (int unsigned i = 0; i < PORTS; i++) if (echo_waits[i]) echoing = port_t'(i);
      for (int unsigned i = 0; i < PORTS; i++)
        if (echo_waits[i] && port_t'(i) < echoed_q) echoing = port_t'(i);
      for (int unsigned i = 0; i < PORT_SPADS; i++) if (echo_q[echoing][i]) echo_word = word_t'(i);
    end
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      {out_q, driver_last_q, answer_last_q} <= '0;
      {answered_q, echoed_q} <= '0;
    end else if (out_q) begin
      if (message_ready_i) out_q <= 1'b0;
    end else begin
      out_q <= sends || ((answers || echoes) && enable_i);
      if (known || answers || echoes) driver_last_q <= known;
      if (answers || echoes) answer_last_q <= answers;
      if (answers) answered_q <= answering;
      if (echoes) echoed_q <= echoing;
    end
  end
  port_t speaks;
  port_state_e state;
  assign speaks = sends ? port : answers ? answering : echoing;
  always_comb begin
    state = linked_q[speaks] ? PORT_STATE_UP : PORT_STATE_NO_LINK;
    if (sends) state = enables ? PORT_STATE_HELLO : PORT_STATE_DOWN;
  end
  always_ff @(posedge clk_i) begin
    if (sends || answers || echoes) begin
      message_q.port <= speaks;
      {message_q.node, message_q.peer} <= peer_q[speaks];
      message_q.life <= peer_life_q[speaks];
      message_link_o <= link_q[speaks] + port_link_t'(enables);
      from_spad_q <= echoes;
      if (echoes) begin
        message_q.to   <= 8'(PORT_TO_PEER_SPADS) + 8'({echo_word, 2'd0});
        message_q.data <= '0;
      end else if (!rings || !sends) begin
        message_q.to   <= 8'(PORT_TO_STATE);
        message_q.data <= port_says_t'{life: life_q[speaks] + port_life_t'(enables), state: state,
                                       default: '0};
      end else begin
        message_q.to <= 8'(PORT_TO_BELLS);
        if (in_peer) message_q.to <= 8'(PORT_TO_SPADS) + 8'({word, 2'd0});
        if (in_own) message_q.to <= 8'(PORT_TO_PEER_SPADS) + 8'({word, 2'd0});
        message_q.data <= data_i;
      end
    end
  end
  assign message_valid_o = out_q;
  always_comb begin
    message_o = message_q;
    if (from_spad_q) message_o.data = own_spad;  // nothing else reads it meanwhile
  end
  assign ready_o = !out_q && !yields;

  // ---- Interrupts
  port_t fires;
  always_comb begin
    fires = '0;
    irq_vector_o = '0;
    if (irq_valid_o) begin
      for (int unsigned i = 0; i < PORTS; i++) if (fire_q[i]) fires = port_t'(i);
      irq_vector_o = vector_q[fires];
    end
  end
  assign irq_valid_o = fire_q != '0;

  // ---- Reads. The answer of a scratchpad comes from its memory.
  logic [31:0] value, value_q;
  logic from_own_q, from_peer_q;
  always_comb begin
    value = '1;
    if (known) begin
      unique case (16'(place))
        REG_PORT_CONTROL: value = 32'(enabled_q[port]) << PORT_CONTROL_ENABLE;
        REG_PORT_PEER: value = {16'(peer_q[port].node), 16'(peer_q[port].port)};
        REG_PORT_VECTOR: value = 32'(vector_q[port]);
        REG_PORT_STATUS: value = 32'(linked_q[port]) << PORT_STATUS_LINK_UP;
        REG_PORT_EVENTS: value = 32'(events_q[port]);
        REG_PORT_BELLS_RUNG: value = bells_q[port];
        REG_PORT_BELLS_MASK: value = mask_q[port];
        default: if (in_own || in_peer) value = '0;  // that nobody has written
      endcase
    end else if (overview) begin
      value = '0;
      for (int unsigned i = 0; i < PORTS; i++)
        value[i] = enabled_q[i] && (events_q[i] != '0 || (bells_q[i] & ~mask_q[i]) != '0);
    end
  end
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) rsp_valid_o <= 1'b0;
    else rsp_valid_o <= valid_i && ready_o && !write_i;
  end
  always_ff @(posedge clk_i) begin
    if (valid_i) begin
      value_q    <= value;
      from_own_q  <= reads && in_own && own_written_q[port][word];
      from_peer_q <= reads && in_peer && peer_written_q[port][word];
    end
  end
  assign rsp_data_o = from_own_q ? own_spad : from_peer_q ? peer_spad : value_q;

  assign idle_o = !out_q && answer_q == '0 && echo_waits == '0 && lost_q == '0 && fire_q == '0 && !rsp_valid_o;

  always_comb begin
    event_o = '0;
    if (arrives || rings) begin
      event_o[COUNTER_PORT_MESSAGES] = taken;
      event_o[COUNTER_PORT_REFUSED] = (arrives && !taken) || (rings && !reaches);
    end
  end

  // ---- What is promised
  `EXRNIC_HELD(message_is_held, message_valid_o, message_ready_i, {message_o, message_link_o})
  `EXRNIC_OFFERED(irq_is_offered, irq_valid_o, irq_ready_i)

endmodule
