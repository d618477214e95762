/* SPDX-License-Identifier: Apache-2.0 */
/* A place where a test may kill ttmemd; nothing in a normal build. */
#ifndef TTM_DAEMON_TESTPOINT_H
#define TTM_DAEMON_TESTPOINT_H

#ifdef TTM_TESTPOINTS
void ttm_testpoint(const char *label);
#define TTM_TESTPOINT(label) ttm_testpoint(label)
#else
#define TTM_TESTPOINT(label)                                                   \
	do {                                                                   \
	} while (0)
#endif

#endif
