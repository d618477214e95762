/* SPDX-License-Identifier: Apache-2.0 */
/* What keys and clicks do to the state. */
#ifndef TTM_TOP_INPUT_H
#define TTM_TOP_INPUT_H

#include "ttmem-top/model/state.h"
#include "ttmem-top/views/grid.h"
#include "ttmem-top/views/keys.h"

/*
 * `grid` is what the user sees. Rows are made anew where the state asks for others.
 * A signal is sent from here, after it was confirmed.
 */
void top_input_apply(struct top_model *model, struct top_state *state,
	const struct top_grid *grid, const struct top_input *input,
	uint64_t now_ns);

/* Shown in the last line for a while. */
__attribute__((format(printf, 3, 4))) void top_message(
	struct top_state *state, uint64_t now_ns, const char *format, ...);

/* Within the folder: input_window.c. True: the key is used up. */
bool top_input_window(struct top_model *model, struct top_state *state,
	const struct top_grid *grid, const struct top_input *input,
	uint64_t now_ns);
void top_window_open(
	struct top_state *state, enum top_mode mode, size_t choice);
/* To one more or less of `len`, in bounds. */
size_t top_choice_move(size_t choice, size_t len, int by);

#endif
