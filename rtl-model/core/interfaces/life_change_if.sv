// SPDX-License-Identifier: BSD-2-Clause
// A queue pair begins a life, or in one it has goes back behind all that it has sent.

interface life_change_if
  import exrnic_core_pkg::*;
();
  logic        goes_back;  // pulses: it sends again what is lost, in this life,
  logic        begins;     // or this life of it begins
  qpn_t        qpn;
  generation_t generation;

  modport source(output goes_back, begins, qpn, generation);
  modport user(input goes_back, begins, qpn, generation);

endinterface
