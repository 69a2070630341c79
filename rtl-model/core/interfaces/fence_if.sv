// SPDX-License-Identifier: BSD-2-Clause
// A question, one at a time: when is all written that was accepted by now?

interface fence_if;
  logic ask;   // pulse
  logic done;  // pulse: now

  modport asker(output ask, input done);
  modport writer(input ask, output done);

endinterface
