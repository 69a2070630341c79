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
  FAULTY_READ_WRITE_ONLY,
  FAULTY_HOARD, /* from now on requests of peers are left where they are, without a watch-dog */
  FAULTY_WILD,  /* direct commands that the hardware refuses; their statuses go to FW_WORDS */
  FAULTY_RAISE  /* wakes the processes of all channels, and more, as many times as FW_WORDS says */
};
/* What FAULTY_WILD tries is in the order of its answers. It takes from FW_WORDS: an STag, its
   domain, high and low half of an offset in it. */
enum faulty_wild {
  WILD_NO_STAG,
  WILD_ALL_OF_MEMORY,
  WILD_NO_WRITE_RIGHT,
  WILD_WRITE_WITHOUT_ASKING,
  WILD_TOO_LONG,
  WILD_ACROSS,
  WILD_OTHER_DOMAIN,
  WILD_BEHIND_THE_REGION,
  WILD_NO_COMMAND,
  WILD_ANSWER_TO_NOBODY,
  WILD_FOR_NOBODY, /* of another generation of the queue pair */
  WILDS
};
#define FAULTY_WATCHDOG_CYCLES 5000

#endif
