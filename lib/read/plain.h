/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows as our own writer writes them, read without taking a document apart: there
 * may be millions. Whatever else a row may look like is for parse.c.
 */
#ifndef TTM_READ_PLAIN_H
#define TTM_READ_PLAIN_H

#include "read/snapshot.h"

/*
 * Reads the row that begins `at`: keys in the order of the fields, no blanks, no
 * escapes, no value that is not right. Returns where it ends; NULL: it is not like
 * that, and `row` holds something of it.
 */
const char *ttm_plain_row(struct ttmem_snapshot *snapshot,
	enum ttm_record_id record, const char *at, const char *end, char *row);

#endif
