/* SPDX-License-Identifier: Apache-2.0 */
/* A library as others have them: with much thread-local storage. */
#include <string.h>

#define LARGE 4096

__thread char large_tls_block[LARGE];

__attribute__((visibility("default"))) int large_tls_touch(int value);

int large_tls_touch(int value)
{
	memset(large_tls_block, value, LARGE);
	return large_tls_block[LARGE - 1];
}
