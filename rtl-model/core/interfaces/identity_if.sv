// SPDX-License-Identifier: BSD-2-Clause
// Who this node is: what its board says, and what its agent makes of it (wire/management).

interface identity_if
  import exrnic_core_pkg::*;
();
  logic        power_n;  // reset of what stays when the driver resets the node
  node_id_t    strap;    // NODE_NONE: a fabric's manager says the number
  logic [63:0] guid;
  logic        carrier;
  node_id_t    node;     // NODE_NONE: it has no number
  logic        link_up;  // it has, and a carrier

  modport agent(input power_n, strap, guid, carrier, output node, link_up);
  modport user(input node, link_up);

endinterface
