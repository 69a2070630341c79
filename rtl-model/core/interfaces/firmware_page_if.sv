// SPDX-License-Identifier: BSD-2-Clause
// Doorbells and blocks of user pages that are firmware's.

interface firmware_page_if
  import exrnic_pkg::*;
  import exrnic_core_pkg::*;
();
  logic      active;  // it takes them
  logic      valid;   // pulse
  page_t     page;
  doorbell_t bell;
  logic      whole;  // with a block
  wqe_slot_t block;
  logic      drop;  // the block that page `drop_page` gathers is void
  page_t     drop_page;

  modport pages(output valid, page, bell, whole, block, input active, drop, drop_page);
  modport firmware(input valid, page, bell, whole, block, output active, drop, drop_page);

endinterface
