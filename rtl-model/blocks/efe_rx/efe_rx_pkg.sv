// SPDX-License-Identifier: BSD-2-Clause
// Types inside efe_rx.

package efe_rx_pkg;
  import exrnic_core_pkg::*;

  // What can be said of a frame without knowing what came before it.
  typedef enum logic [2:0] {
    VERDICT_GOOD,
    VERDICT_DISABLED,
    VERDICT_FCS,
    VERDICT_MALFORMED,
    VERDICT_MISDIRECTED
  } verdict_e;

  localparam int unsigned RxWords = RX_BYTES / DATA_BYTES;
  typedef logic [$clog2(RxWords)-1:0] rx_word_t;
  typedef logic [$clog2(RxWords):0] rx_words_t;  // a number of words

  // Segments received and not yet placed.
  localparam int unsigned RxFrames = 128;

endpackage
