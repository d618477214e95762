/* SPDX-License-Identifier: Apache-2.0 */
/* telemetry: [sysfs] -> probe -> report -> rows */
/*
 * Small files of the kernel that hold one value each. Any of them may be missing,
 * refuse to be read, say nonsense, or not return for as long as a device is being
 * reset: these functions wait, so only threads that nobody waits for call them.
 *
 * All return 0 or a negative errno: what open(2) or read(2) said; -EBADMSG for what is
 * not such a value; -EMSGSIZE for one that is too long, -ERANGE too large;
 * -ENAMETOOLONG for the path. Outputs are written on success only.
 */
#ifndef TTM_DAEMON_SYSFS_H
#define TTM_DAEMON_SYSFS_H

#include <stddef.h>
#include <stdint.h>

#define TTM_SYSFS_PATH_SIZE 512u

/* "directory/name". */
int ttm_sysfs_path(char ret_path[TTM_SYSFS_PATH_SIZE], const char *directory,
	const char *name);

/*
 * Names are below a directory that is open: a walk along long paths, many times a
 * second, costs more than the reading.
 */

/* A directory, for nothing but that. Returns its descriptor or a negative errno. */
int ttm_sysfs_open(int dir, const char *name);

/* All of a file, at most `size` bytes: -EMSGSIZE beyond. */
int ttm_sysfs_bytes(int dir, const char *name, char *ret_bytes, size_t size,
	size_t *ret_len);

/* One line of text, zero-padded to `size` bytes. */
int ttm_sysfs_text(int dir, const char *name, char *ret_text, size_t size);

/* Decimal; never all ones, which is unknown. */
int ttm_sysfs_unsigned(int dir, const char *name, uint64_t *ret_value);

/* Decimal with a sign; never INT64_MIN. */
int ttm_sysfs_signed(int dir, const char *name, int64_t *ret_value);

/* Hexadecimal, with or without 0x; never all ones. */
int ttm_sysfs_hex(int dir, const char *name, uint64_t *ret_value);

/* The PCI address that is the last part of what a link says. */
int ttm_sysfs_pci_link(int dir, const char *name, uint64_t *ret_address);

/* The first directory in a directory whose name starts so, as ttm_sysfs_open(). */
int ttm_sysfs_open_first(int dir, const char *name, const char *prefix);

#endif
