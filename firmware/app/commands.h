/* SPDX-License-Identifier: BSD-2-Clause */
/* Commands of the driver to firmware (enum exrnic_fw_op). One handler each; see README.md. */
#ifndef EXRNIC_FW_COMMANDS_H
#define EXRNIC_FW_COMMANDS_H

#include "exrnic_hw.h"

/* FW_VERSION, as in the head of the image, comes from CMakeLists.txt. */

/* Before the first command. */
void commands_start(void);

/* Serves the command that line COMMAND speaks of. */
void commands_serve(void);

#endif
