/* SPDX-License-Identifier: Apache-2.0 */
/* sd_notify(3), as far as it is needed. */
#ifndef TTMEMD_NOTIFY_H
#define TTMEMD_NOTIFY_H

#include <stdint.h>

/*
 * Sends the state to $NOTIFY_SOCKET. Returns 1, 0 if nobody asked, or a negative
 * errno.
 */
int notify_send(const char *state);

/* How often WATCHDOG=1 is expected, at the latest; 0: not at all. */
uint64_t notify_watchdog_us(void);

#endif
