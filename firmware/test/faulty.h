/* SPDX-License-Identifier: BSD-2-Clause */
/* What faulty_main.c is told in the place of a command. EXRNIC_FW_OP_QUERY is the first. */
#ifndef EXRNIC_FW_FAULTY_H
#define EXRNIC_FW_FAULTY_H

enum faulty {
  FAULTY_ASSERT = 1,
  FAULTY_NOT,
  FAULTY_LOAD_NOWHERE,
  FAULTY_STORE_UNALIGNED,
  FAULTY_JUMP_OUTSIDE,
  FAULTY_SPIN,
  FAULTY_READ_WRITE_ONLY
};
#define FAULTY_WATCHDOG_CYCLES 5000

#endif
