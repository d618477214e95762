/* SPDX-License-Identifier: Apache-2.0 */
/* What the driver shows of its devices, without a device. */
#ifndef LOAD_FAKE_SYSFS_H
#define LOAD_FAKE_SYSFS_H

#include "options.h"

/* Makes the tree, moves its values for as long as asked. Returns an exit status. */
int load_fake_sysfs(const struct load_options *options);

#endif
