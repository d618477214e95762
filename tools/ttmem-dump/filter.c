/* SPDX-License-Identifier: Apache-2.0 */
/* event -> lane -> drain -> apply -> publish -> read -> [render] */
#include "filter.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/number.h"

#define LOGICAL_MAX UINT32_MAX
#define PID_MAX INT32_MAX
#define PART_SIZE 64u

/* -- lists --------------------------------------------------------------------- */

/* Each part of "a,b,c". */
static void parts_each(
	void *at, const char *option, const char *value, ttm_option_take *take)
{
	char part[PART_SIZE];
	size_t length;

	for (;; value += length + 1) {
		length = strcspn(value, ",");
		if (length == 0 || length >= sizeof(part))
			ttm_error_usage("--%s: not a list: %s", option, value);
		memcpy(part, value, length);
		part[length] = '\0';
		take(at, option, part);
		if (!value[length])
			return;
	}
}

/* -- devices ------------------------------------------------------------------- */

/* "2-5". */
static bool range_parse(
	const char *part, struct ttm_device_selector *ret_selector)
{
	const char *dash = strchr(part, '-');
	char first[PART_SIZE];
	size_t length = (size_t)(dash - part);

	memcpy(first, part, length);
	first[length] = '\0';
	ret_selector->by = TTM_DEVICE_BY_NUMBER;
	return ttm_number_parse(first, &ret_selector->first) == 0 &&
		ttm_number_parse(dash + 1, &ret_selector->last) == 0 &&
		ret_selector->first <= ret_selector->last &&
		ret_selector->last <= LOGICAL_MAX;
}

static bool selector_parse(
	const char *part, struct ttm_device_selector *ret_selector)
{
	if (strchr(part, '-'))
		return range_parse(part, ret_selector);
	return ttm_device_parse(part, ret_selector);
}

static void device_take(void *at, const char *option, const char *part)
{
	struct dump_filter *filter = at;
	struct ttm_device_selector selector = { TTM_DEVICE_BY_NUMBER, 0, 0 };

	if (!selector_parse(part, &selector))
		ttm_error_usage("--%s: not a device: %s (0, 2-3, logical:0, "
				"asic:HEX, ..HEX or pci:BDF)",
			option, part);
	if (filter->devices_len == DUMP_SELECTORS_MAX)
		ttm_error_usage(
			"--%s: more than %u", option, DUMP_SELECTORS_MAX);
	filter->devices[filter->devices_len++] = selector;
}

void dump_filter_add_devices(void *at, const char *option, const char *value)
{
	parts_each(at, option, value, device_take);
}

/* -- processes, scopes, kinds ---------------------------------------------------- */

static void pid_take(void *at, const char *option, const char *part)
{
	struct dump_filter *filter = at;
	uint64_t pid;

	if (ttm_number_parse(part, &pid) < 0 || pid == 0 || pid > PID_MAX)
		ttm_error_usage("--%s: not a pid: %s", option, part);
	if (filter->pids_len == DUMP_PIDS_MAX)
		ttm_error_usage("--%s: more than %u", option, DUMP_PIDS_MAX);
	filter->pids[filter->pids_len++] = pid;
}

void dump_filter_add_pids(void *at, const char *option, const char *value)
{
	parts_each(at, option, value, pid_take);
}

void dump_filter_add_scope(void *at, const char *option, const char *value)
{
	struct dump_filter *filter = at;

	if (filter->scopes_len == DUMP_SCOPES_MAX)
		ttm_error_usage("--%s: more than %u", option, DUMP_SCOPES_MAX);
	filter->scopes[filter->scopes_len++] = value;
}

const char *dump_kind_choice(struct ttm_choice *choice, const char *given)
{
	uint64_t figure;

	ttm_choice_begin(choice, given);
	for (figure = 0; figure < TTMEM_FIGURES; figure++)
		ttm_choice_add(choice, ttmem_name(TTMEM_NAMES_FIGURE, figure));
	ttm_choice_add(choice, "kernel");
	return ttm_choice_text(choice);
}

uint32_t dump_kind_find(const char *name)
{
	uint64_t figure;

	if (strcmp(name, "kernel") == 0)
		return 7u << TTMEM_FIGURE_KERNEL;
	return ttmem_name_parse(TTMEM_NAMES_FIGURE, name, &figure) == 0 ?
		1u << figure :
		0;
}

static void kind_take(void *at, const char *option, const char *part)
{
	uint32_t figures = dump_kind_find(part);
	struct ttm_choice choice;

	if (!figures)
		ttm_error_usage("--%s: unknown kind: %s %s", option, part,
			dump_kind_choice(&choice, part));
	*(uint32_t *)at |= figures;
}

void dump_filter_add_kinds(void *at, const char *option, const char *value)
{
	parts_each(at, option, value, kind_take);
}

/* -- asking --------------------------------------------------------------------- */

bool dump_filter_is_set(const struct dump_filter *filter)
{
	return filter->devices_len || filter->pids_len || filter->scopes_len ||
		filter->figures;
}

bool dump_has_figure(const struct dump_filter *filter, uint64_t figure)
{
	return !filter->figures ||
		(figure < TTMEM_FIGURES && filter->figures >> figure & 1);
}

bool dump_has_scope(const struct dump_filter *filter, const char *scope)
{
	size_t i;

	for (i = 0; i < filter->scopes_len; i++)
		if (fnmatch(filter->scopes[i], scope ? scope : "", 0) == 0)
			return true;
	return filter->scopes_len == 0;
}
