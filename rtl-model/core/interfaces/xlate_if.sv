// SPDX-License-Identifier: BSD-2-Clause
// One client's way to translation: an STag or a ring, and an offset, become a bus address.

interface xlate_if
  import exrnic_core_pkg::*;
();
  logic       valid;
  logic       ready;
  xlate_req_t req;
  logic       rsp_valid;
  xlate_rsp_t rsp;
  logic       hold;    // the client has an address of a region, and has not asked for a transfer with it,
  logic       let_go;  // which is to be looked up again, or asked for

  modport client(output valid, req, hold, input ready, rsp_valid, rsp, let_go);
  modport server(input valid, req, hold, output ready, rsp_valid, rsp, let_go);

endinterface
