/* SPDX-License-Identifier: BSD-2-Clause */
/* Under the name by which programs of JIAJIA include it. */
#include "exrnic/jia.h"
