// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXRNIC_LIBVERBS_OWN_FIRMWARE_H
#define EXRNIC_LIBVERBS_OWN_FIRMWARE_H

#include "firmware/image/firmware_image.h"

namespace exrnic {

// The image that was built with the library, and is part of it: there is none to look for, and it
// is always of the same release.
FirmwareImage OwnFirmware();

}  // namespace exrnic

#endif  // EXRNIC_LIBVERBS_OWN_FIRMWARE_H
