/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef EXRNIC_PORT_H
#define EXRNIC_PORT_H

#include "device.h"

/* The control vector has fired; false: no port is open. */
bool exrnic_ports_interrupt(struct exrnic_device *edev);

#endif
