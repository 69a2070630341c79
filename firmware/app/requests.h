/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests of peers that the hardware hands over: each goes to its handler. See README.md. */
#ifndef EXRNIC_FW_REQUESTS_H
#define EXRNIC_FW_REQUESTS_H

/* Line PUNT is up: serves the oldest request in the punt queue. */
void requests_serve(void);

#endif
