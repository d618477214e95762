/* SPDX-License-Identifier: Apache-2.0 */
/* Values of a snapshot, any of which may be unknown: "-" as text, never 0. */
#ifndef TTM_COMMON_VALUE_H
#define TTM_COMMON_VALUE_H

#include <stddef.h>
#include <stdint.h>

#include <ttmem/reader.h>

/* Fits every text below. */
#define TTM_VALUE_SIZE 48u

/* All return `buffer`. */
const char *ttm_count_text(uint64_t count, char buffer[static TTM_VALUE_SIZE]);
/* "0000:01:00.0" */
const char *ttm_pci_text(uint64_t address, char buffer[static TTM_VALUE_SIZE]);
/* The name of the user, or the number. */
const char *ttm_user_text(uint64_t uid, char buffer[static TTM_VALUE_SIZE]);
const char *ttm_unknown_text(char buffer[static TTM_VALUE_SIZE]);

/* For counts of what went wrong: what is not known is not told of. */
static inline uint64_t ttm_value_or_0(uint64_t value)
{
	return value == TTMEM_UNKNOWN ? 0 : value;
}

/*
 * Makes room for one more element of a list of `len`, in an array of *room that may move.
 * Returns the array, or NULL: no memory, and all is as it was.
 */
void *ttm_list_grow(void *list, size_t len, size_t *room, size_t size);

/* The sum, unknown if one of them is. */
uint64_t ttm_value_add(uint64_t a, uint64_t b);
/* How long before `now_ns` it was; unknown if later. Times as in snapshots. */
uint64_t ttm_value_ago(uint64_t now_ns, uint64_t time_ns);

#endif
