/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TTMEM_VERSION_H
#define TTMEM_VERSION_H

/* The only place that states the version: the build reads it from here. */
#define TTMEM_VERSION_MAJOR 0
#define TTMEM_VERSION_MINOR 1
#define TTMEM_VERSION_PATCH 0

#endif
