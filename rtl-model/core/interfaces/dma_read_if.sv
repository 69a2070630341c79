// SPDX-License-Identifier: BSD-2-Clause
// One client's reads of host memory. Its beats come in the order of its requests. Who asks, and who takes
// what comes, may be two blocks.

interface dma_read_if
  import exrnic_core_pkg::*;
();
  logic           valid;
  logic           ready;
  dma_read_req_t  req;
  logic           beat_valid;
  dma_read_beat_t beat;

  modport client(output valid, req, input ready, beat_valid, beat);
  modport asker(output valid, req, input ready);
  modport taker(input beat_valid, beat);
  modport asked(input valid, req, output ready);  // what comes goes where another's goes
  modport server(input valid, req, output ready, beat_valid, beat);

endinterface
