// SPDX-License-Identifier: BSD-2-Clause
// The work requests of a turn: what it wants of them, and the one that is handed out.

interface work_batch_if
  import exrnic_pkg::*;
  import requester_pkg::*;
();
  logic start;  // pulse: hand out the first work request
  logic next;   // pulse: hand out the next one
  logic taken;  // pulse: the one in hand has ended
  logic over;   // the turn is

  logic done;  // pulse: it is handed out,
  logic torn;  // or it is not there, or not as a whole: for another turn
  logic last;  // no other follows in this turn
  work_request_t request;  // from the cycle behind `done` to the next one
  logic ahead;      // the next one is checked, and its payload begins with
  sge_t ahead_sge;  // this element,
  logic ahead_pulls;  // or a PULL is for it

  modport turn(output start, next, taken, over, input done, torn, last, request, ahead, ahead_sge,
               ahead_pulls);
  modport batch(input start, next, taken, over, output done, torn, last, request, ahead, ahead_sge,
                ahead_pulls);

endinterface
