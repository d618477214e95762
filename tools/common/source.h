/* SPDX-License-Identifier: Apache-2.0 */
/* A ttmemd to read from, and what its state makes of its figures. */
#ifndef TTM_COMMON_SOURCE_H
#define TTM_COMMON_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ttmem/reader.h>

/*
 * `dir` is the base directory, NULL for the usual ones; `system`: root's ttmemd.
 * Returns 0 or an exit status, and has told why on stderr. End the reader with
 * ttmem_reader_close().
 */
int ttm_source_open(
	const char *dir, bool system, struct ttmem_reader **ret_reader);

/* The exit status, enum ttm_exit, for an enum ttmem_source. */
int ttm_source_status(uint64_t state);

/*
 * One line for people about figures that there are, of the ttmemd `pid` and `age`
 * old, as the tool writes that; "" if all is well. False, and nothing is written:
 * there are none in such a state.
 */
bool ttm_source_text(uint64_t state, uint64_t pid, const char *age,
	char *ret_text, size_t ret_text_size);

#endif
