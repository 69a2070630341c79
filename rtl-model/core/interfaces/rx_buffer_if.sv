// SPDX-License-Identifier: BSD-2-Clause
// The receive buffer, as who writes to host memory reads it.

interface rx_buffer_if
  import exrnic_core_pkg::*;
();
  rx_address_t address;
  data_t       data;
  logic        done;  // pulse: a segment of node `node` is placed
  node_t       node;

  modport reader(output address, done, node, input data);
  modport buffer(input address, done, node, output data);

endinterface
