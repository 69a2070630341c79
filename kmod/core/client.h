/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The core's side of struct exrnic_client. */
#ifndef EXRNIC_CLIENT_H
#define EXRNIC_CLIENT_H

#include "device.h"

void exrnic_clients_begin(struct exrnic_device *edev);
/* On return nobody has an object of the device. */
void exrnic_clients_end(struct exrnic_device *edev);
void exrnic_clients_tell(struct exrnic_device *edev, u32 notices);

#endif
