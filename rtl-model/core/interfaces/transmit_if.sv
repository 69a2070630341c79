// SPDX-License-Identifier: BSD-2-Clause
// A sender's way to efe_tx: room of a peer, a slot of the retransmission buffer, what is to be sent from it.

interface transmit_if
  import exrnic_core_pkg::*;
();
  node_t  node;   // what is the room of this peer?
  logic   prompt;  // window_send: for a frame that waits for no payload
  reads_t slots;  // requester: for so many
  logic   start;  // so many slots are there for a turn,
  logic   room;   // and one more

  logic  alloc_valid;          // there is a slot
  logic  alloc_payload_valid;  // window: also for a segment whose payload is to come
  logic  alloc_ready;          // and it is taken
  slot_t alloc_slot;

  logic     valid;
  logic     ready;
  tx_desc_t desc;

  // Requester: this queue pair goes back; what it sends next follows nothing that it has sent.
  logic        goes_back;
  qpn_t        goes_back_qpn;
  generation_t goes_back_generation;

  // Requester: what that queue pair has sent counts no more; what has not left does not leave.
  logic withdraw_valid;
  logic withdraw_ready;

  // Window: what should have been submitted is dropped.
  logic    drop_valid;
  logic    drop_ready;
  tx_tag_t drop;

  modport requester(
      output node, slots, alloc_ready, valid, desc, goes_back, goes_back_qpn, withdraw_valid,
      output goes_back_generation,
      input start, room, alloc_valid, alloc_slot, ready, withdraw_ready
  );
  modport window(
      output node, prompt, alloc_ready, valid, desc, drop_valid, drop,
      input room, alloc_valid, alloc_payload_valid, alloc_slot, ready, drop_ready
  );
  modport to_requester(
      input node, slots, alloc_ready, valid, desc, goes_back, goes_back_qpn, withdraw_valid,
      input goes_back_generation,
      output start, room, alloc_valid, alloc_slot, ready, withdraw_ready
  );
  modport to_window(
      input node, prompt, alloc_ready, valid, desc, drop_valid, drop,
      output room, alloc_valid, alloc_payload_valid, alloc_slot, ready, drop_ready
  );

endinterface
