// SPDX-License-Identifier: BSD-2-Clause
// Types inside efe_rx.

package efe_rx_pkg;
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;

  // What can be said of a frame without knowing what came before it.
  typedef enum logic [2:0] {
    VERDICT_GOOD,
    VERDICT_DISABLED,
    VERDICT_FCS,
    VERDICT_MALFORMED,
    VERDICT_MISDIRECTED
  } verdict_e;

  // Greatest segment, wherever it starts in its first word.
  localparam int unsigned RxSlotBytes = MTU_MAX + 64;
  localparam int unsigned RxWords = RX_SLOTS * RxSlotBytes / DATA_BYTES;
  typedef logic [$clog2(RxWords)-1:0] rx_word_t;
  localparam int unsigned RxSlotWords = RxSlotBytes / DATA_BYTES;
  typedef logic [$clog2(RxSlotWords+1)-1:0] rx_slot_words_t;  // a number of words
  typedef logic [$clog2(RX_SLOTS)-1:0] rx_slot_t;
  typedef logic [$clog2(RX_SLOTS):0] rx_slots_t;  // a number of slots

  // A refusal of ours: of a segment of that session of ours, and its number.
  typedef struct packed {
    logic [15:0] session;
    logic [7:0]  number;  // 0: none
  } refusal_id_t;

  // What is kept of a segment until its end.
  typedef struct packed {
    logic [31:0] seq;      // of a refusal of ours: which, refusal_id_t
    logic [15:0] session;  // 0: it was sent once
    logic        epoch;    // of its sender, see efe_rx
    logic        refusal;  // it has no number: it is a refusal of ours
  } placing_t;

  // Numbers from the expected one on of which segments are held; and slots that are left to those
  // that are expected; and most slots that what is sent once may have.
  localparam int unsigned RxWindow = 32;
  localparam int unsigned RxSlotsInOrder = RX_SLOTS / 4;
  localparam int unsigned RxSlotsOnce = RX_SLOTS / 4;  // a power of two

endpackage
