/* SPDX-License-Identifier: Apache-2.0 */
/* The names of values: one table for outputs, flags and files. */
#ifndef TTM_READ_NAMES_H
#define TTM_READ_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include <ttmem/reader.h>

/*
 * Of the places of an array, those from here on are reserved: without a meaning in
 * this version, and 0 unless a newer ttmemd gives them one.
 */
size_t ttm_names_known(enum ttmem_names set);

/* The key of a place of an array: its name, or "reserved_N". */
const char *ttm_names_key(enum ttmem_names set, size_t place);

#endif
