// SPDX-License-Identifier: BSD-2-Clause
// An access of the host's CPUs: stores are posted, loads are answered in order, one after the other.

interface access_if;
  logic        valid;
  logic        ready;
  logic        write;
  logic [31:0] address;  // in its BAR
  logic [3:0]  size;     // bytes
  logic [63:0] data;
  logic        rsp_valid;
  logic [63:0] rsp_data;

  modport host(output valid, write, address, size, data, input ready, rsp_valid, rsp_data);
  modport device(input valid, write, address, size, data, output ready, rsp_valid, rsp_data);

endinterface
