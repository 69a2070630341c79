// SPDX-License-Identifier: BSD-2-Clause
// The requester's ways to translation of its payload, and to a change of a region: one of them at a time.

module xlate_turns (
    xlate_if.server payload,
    xlate_if.server change,

    xlate_if.client xlate
);

  assign xlate.valid = payload.valid || change.valid;
  assign xlate.hold = payload.hold || change.hold;
  assign xlate.req = change.valid ? change.req : payload.req;
  assign payload.ready = xlate.ready;
  assign payload.rsp_valid = xlate.rsp_valid;
  assign payload.rsp = xlate.rsp;
  assign payload.let_go = xlate.let_go;
  assign change.ready = xlate.ready;
  assign change.rsp_valid = xlate.rsp_valid;
  assign change.rsp = xlate.rsp;
  assign change.let_go = xlate.let_go;

endmodule
