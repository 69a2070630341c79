// SPDX-License-Identifier: BSD-2-Clause
// What is set: straps, and registers of the driver.

interface settings_if
  import exrnic_core_pkg::*;
();
  node_id_t    node;  // NODE_NONE: it has no number
  logic [63:0] now;  // device time, ns
  chunk_t      mtu;
  logic [31:0] rto_cycles;
  logic [7:0]  retry_limit;
  logic [15:0] combine_cycles;
  logic [23:0] load_cycles;
  logic        pull_by_firmware;
  logic        erratum;  // flags ERRATA, pull_beside_push
  pkeys_t      pkeys;
  logic [15:0] max_payload;   // of PCIe, bytes: of a write,
  logic [15:0] max_read;      // of a read
  logic [5:0]  read_timeout;  // see READ_TIMEOUT_SHIFT
  window_shift_t window_shift;  // the core's own strap, which the source uses, too

  modport source(output node, now, mtu, rto_cycles, retry_limit, combine_cycles, load_cycles,
                 pull_by_firmware, erratum, pkeys, max_payload, max_read, read_timeout,
                 input window_shift);
  modport user(input node, now, mtu, rto_cycles, retry_limit, combine_cycles, load_cycles,
               pull_by_firmware, erratum, pkeys, max_payload, max_read, read_timeout, window_shift);

endinterface
