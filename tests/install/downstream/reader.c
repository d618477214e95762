/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include <ttmem/reader.h>

int main(void)
{
	struct ttmem_reader_status status;
	struct ttmem_reader *reader = NULL;

	status.size = sizeof(status);
	if (ttmem_reader_open(NULL, &reader) < 0 ||
		ttmem_reader_status(reader, &status) < 0)
		return 1;
	puts(ttmem_name(TTMEM_NAMES_SOURCE, status.state));
	ttmem_reader_close(&reader);
	return 0;
}
