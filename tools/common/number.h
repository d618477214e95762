/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as people type them, taken strictly. */
#ifndef TTM_COMMON_NUMBER_H
#define TTM_COMMON_NUMBER_H

#include <stdint.h>

/*
 * Decimal, or hexadecimal after 0x; nothing before or after it. Returns 0,
 * -EINVAL for what is no number, -ERANGE beyond 64 bits.
 */
int ttm_number_parse(const char *text, uint64_t *ret_value);

/* The same with K, M, G or T behind it, powers of 1024. */
int ttm_size_parse(const char *text, uint64_t *ret_bytes);

/* A decimal fraction, not negative, no exponent. Returns 0 or -EINVAL. */
int ttm_fraction_parse(const char *text, double *ret_value);

#endif
