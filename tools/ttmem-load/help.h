/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LOAD_HELP_H
#define LOAD_HELP_H

/* What --help prints, on stdout. */
void load_help(void);

#endif
