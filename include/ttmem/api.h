/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TTMEM_API_H
#define TTMEM_API_H

#if defined(__GNUC__)
#define TTMEM_API __attribute__((visibility("default")))
#else
#define TTMEM_API
#endif

#ifdef __cplusplus
/* A function may be called as the struct that it fills: gcc -Wshadow minds. */
#define TTMEM_BEGIN                                                            \
	_Pragma("GCC diagnostic push")                                         \
		_Pragma("GCC diagnostic ignored \"-Wshadow\"") extern "C"      \
	{
#define TTMEM_END                                                              \
	}                                                                      \
	_Pragma("GCC diagnostic pop")
#else
#define TTMEM_BEGIN
#define TTMEM_END
#endif

#endif
