// SPDX-License-Identifier: BSD-2-Clause
// The work requests of a turn: what it wants of its batch, and the one that is handed out.

interface work_batch_if
  import requester_pkg::*;
();
  logic start;  // pulse, when idle: fetch, then hand out the first work request
  logic next;   // pulse: hand out the next one
  logic more;   // pulse: fetch ahead, if there is room for it
  logic idle;   // nothing is being fetched

  logic done;  // pulse: it is handed out,
  logic torn;  // or it is not there, or not as a whole: for another turn
  logic last;  // no other follows in this turn
  work_request_t request;  // from the cycle behind `done` to the next one

  modport turn(output start, next, more, input idle, done, torn, last, request);
  modport batch(input start, next, more, output idle, done, torn, last, request);

endinterface
