/* SPDX-License-Identifier: Apache-2.0 */
/* docs/snapshot.schema.json, as the build put it into the program. */
#ifndef TTM_DUMP_SCHEMA_TEXT_H
#define TTM_DUMP_SCHEMA_TEXT_H

extern const unsigned char schema_text[];
extern const unsigned long schema_text_size;

#endif
