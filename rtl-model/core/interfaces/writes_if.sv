// SPDX-License-Identifier: BSD-2-Clause
// How far writes to host memory are.

interface writes_if
  import exrnic_core_pkg::*;
();
  write_count_t waiting;  // accepted, and not out
  logic         ends;     // pulse: one more is out

  modport writer(output waiting, ends);
  modport reader(input waiting, ends);

endinterface
