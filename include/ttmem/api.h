/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TTMEM_API_H
#define TTMEM_API_H

#if defined(__GNUC__)
#define TTMEM_API __attribute__((visibility("default")))
#else
#define TTMEM_API
#endif

#ifdef __cplusplus
#define TTMEM_BEGIN extern "C" {
#define TTMEM_END }
#else
#define TTMEM_BEGIN
#define TTMEM_END
#endif

#endif
