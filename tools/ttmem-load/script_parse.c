/* SPDX-License-Identifier: Apache-2.0 */
#include "script_parse.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "board.h"
#include "common/choice.h"
#include "common/number.h"
#include "common/text.h"
#include "options.h"
#include "worker.h"

struct parsing {
	const struct load_script *script;
	struct script_names *names;
	unsigned line;
	struct script_command *command;
	char shown[96]; /* a word made fit to be printed */
};

/* -- words ------------------------------------------------------------------------- */

/* Reads what follows a backslash; returns where it goes on, or NULL. */
static const char *escape_read(const char *at, char *ret_char)
{
	char digits[3] = { 0 };

	if (*at == '"' || *at == '\\') {
		*ret_char = *at;
		return at + 1;
	}
	if (*at != 'x' || !isxdigit((unsigned char)at[1]) ||
		!isxdigit((unsigned char)at[2]))
		return NULL;
	memcpy(digits, at + 1, 2);
	*ret_char = (char)strtoul(digits, NULL, 16);
	return *ret_char ? at + 3 : NULL;
}

/* The word may grow shorter, never longer: it is written where it was read. */
static char *word_read(char *at, const char **ret_why)
{
	bool quoted = false;
	char *to = at;
	const char *from = at;

	for (; *from && (quoted || !isspace((unsigned char)*from));) {
		if (*from == '"') {
			quoted = !quoted;
			from++;
		} else if (*from == '\\' && quoted) {
			from = escape_read(from + 1, to++);
			if (!from) {
				*ret_why = "in quotes, \\ goes before \", \\ "
					   "or xNN";
				return NULL;
			}
		} else {
			*to++ = *from++;
		}
	}
	if (quoted) {
		*ret_why = "a quote is not closed";
		return NULL;
	}
	at += from - at;
	if (*at)
		*at++ = '\0';
	*to = '\0';
	return at;
}

int script_words(
	char *line, char *words[SCRIPT_WORDS_MAX], const char **ret_why)
{
	int len = 0;

	for (;;) {
		while (isspace((unsigned char)*line))
			line++;
		if (!*line || *line == '#')
			return len;
		if (len == SCRIPT_WORDS_MAX) {
			*ret_why = "too many words";
			return -1;
		}
		words[len++] = line;
		line = word_read(line, ret_why);
		if (!line)
			return -1;
	}
}

/* -- arguments ----------------------------------------------------------------------- */

static const char *shown(struct parsing *p, const char *word)
{
	return ttm_text_escape(word, p->shown, sizeof(p->shown));
}

/* Suggests the closest valid word, or lists all of them. */
__attribute__((noreturn)) static void word_refuse(struct parsing *p,
	const char *what, const char *word, const char *const valid[],
	size_t len)
{
	struct ttm_choice choice;
	size_t i;

	ttm_choice_begin(&choice, word);
	for (i = 0; i < len; i++)
		ttm_choice_add(&choice, valid[i]);
	script_fail(p->script, p->line, "%s: %s %s", what, shown(p, word),
		ttm_choice_text(&choice));
}

static char *text_copy(const char *text)
{
	char *copy = load_memory(strlen(text) + 1, 1);

	return strcpy(copy, text);
}

static uint64_t number_read(
	struct parsing *p, const char *word, uint64_t most, const char *what)
{
	uint64_t value;

	if (ttm_number_parse(word, &value) < 0 || value > most)
		script_fail(
			p->script, p->line, "not %s: %s", what, shown(p, word));
	return value;
}

static uint64_t size_read(struct parsing *p, const char *word)
{
	uint64_t bytes;

	if (ttm_size_parse(word, &bytes) < 0)
		script_fail(
			p->script, p->line, "not a size: %s", shown(p, word));
	return bytes;
}

static size_t mesh_find(const struct script_names *meshes, const char *name)
{
	size_t i;

	for (i = 0; i < meshes->len; i++)
		if (strcmp(meshes->names[i], name) == 0)
			break;
	return i;
}

static struct model_device device_read(struct parsing *p, const char *word)
{
	struct model_device device = { 0, false };
	uint64_t value;
	size_t mesh;

	if (ttm_number_parse(word, &value) == 0 && value <= UINT32_MAX) {
		device.number = (uint32_t)value;
		return device;
	}
	mesh = mesh_find(p->names, word);
	if (mesh == p->names->len)
		script_fail(p->script, p->line,
			"neither a device nor a mesh: %s", shown(p, word));
	device.number = (uint32_t)mesh;
	device.is_mesh = true;
	return device;
}

/* A name, or a number, which need not be one of those that there are. */
static uint64_t kind_read(struct parsing *p, const char *word)
{
	int kind = load_kind_find(word);

	if (kind >= 0)
		return (uint64_t)kind;
	if (!isdigit((unsigned char)word[0]))
		word_refuse(p, "unknown kind", word, load_figure_names,
			TRUTH_KINDS);
	return number_read(p, word, UINT32_MAX, "a kind");
}

static uint64_t type_read(struct parsing *p, const char *word)
{
	static const char *const names[] = { "application", "fabric",
		"dispatch" };
	uint64_t i;

	for (i = 0; i < TRUTH_KERNEL_TYPES; i++)
		if (strcmp(word, names[i]) == 0)
			return i;
	if (!isdigit((unsigned char)word[0]))
		word_refuse(p, "unknown kernel type", word, names,
			TRUTH_KERNEL_TYPES);
	return number_read(p, word, UINT32_MAX, "a kernel type");
}

static uint64_t signal_read(struct parsing *p, const char *word)
{
	int number = load_signal_find(word);

	if (number == 0)
		script_fail(p->script, p->line,
			"not kill, abort, segv or term: %s", shown(p, word));
	return (uint64_t)number;
}

static void list_read(struct parsing *p, char *word)
{
	struct script_command *c = p->command;
	char *rest = word;
	char *one;

	c->devices = load_memory(strlen(word) + 1, sizeof(c->devices[0]));
	while ((one = strsep(&rest, ",")) != NULL)
		c->devices[c->devices_len++] = (uint32_t)number_read(
			p, one, UINT32_MAX, "a device");
}

/* The name of a mesh that is being opened: a name that there is already means a
 * new mesh from now on. */
static void mesh_name_read(struct parsing *p, const char *word)
{
	struct script_names *meshes = p->names;
	size_t mesh = mesh_find(meshes, word);

	if (!isalpha((unsigned char)word[0]))
		script_fail(p->script, p->line,
			"a mesh's name begins with a letter: %s",
			shown(p, word));
	if (mesh == meshes->len) {
		meshes->names = realloc(meshes->names,
			(meshes->len + 1) * sizeof(meshes->names[0]));
		if (!meshes->names)
			script_fail(p->script, p->line, "no memory");
		meshes->names[meshes->len++] = text_copy(word);
	}
	p->command->device.number = (uint32_t)mesh;
	p->command->device.is_mesh = true;
}

/* Cuts KEY=VALUE in two; returns the value. */
static char *value_cut(struct parsing *p, char *word)
{
	char *value = strchr(word, '=');

	if (!value)
		script_fail(p->script, p->line, "not KEY=VALUE: %s",
			shown(p, word));
	*value = '\0';
	return value + 1;
}

/* -- cores --------------------------------------------------------------------------- */

/* X,Y or X,Y-X,Y. */
static void range_read(
	struct parsing *p, const char *word, struct ttmem_core_range *ret_range)
{
	struct ttmem_core_range *r = ret_range;
	int end = 0, more = 0;

	if (sscanf(word, "%u,%u%n-%u,%u%n", &r->first_x, &r->first_y, &end,
		    &r->last_x, &r->last_y, &more) < 4) {
		r->last_x = r->first_x;
		r->last_y = r->first_y;
		more = end;
	}
	if (!end || word[more] || r->first_x > r->last_x ||
		r->first_y > r->last_y || r->last_x > 31 || r->last_y > 30)
		script_fail(p->script, p->line, "not a range of cores: %s",
			shown(p, word));
}

/* Ranges may overlap: each core counts once. */
static uint32_t cores_count(const struct script_cores *cores)
{
	uint32_t rows[31] = { 0 }, count = 0, x, y;
	size_t i;

	for (i = 0; i < cores->ranges_len; i++)
		for (y = cores->ranges[i].first_y; y <= cores->ranges[i].last_y;
			y++)
			for (x = cores->ranges[i].first_x;
				x <= cores->ranges[i].last_x; x++)
				rows[y] |= 1u << x;
	for (y = 0; y < 31; y++)
		count += (uint32_t)__builtin_popcount(rows[y]);
	return count;
}

static void cores_define(struct parsing *p, char **words, int words_len)
{
	struct script_names *names = p->names;
	struct script_cores *cores = load_memory(1, sizeof(*cores));
	int i;

	if (words_len < 2)
		script_fail(p->script, p->line, "cores: too few words");
	if (!isalpha((unsigned char)words[0][0]))
		script_fail(p->script, p->line,
			"a core set's name begins with a letter: %s",
			shown(p, words[0]));
	names->cores = realloc(
		names->cores, (names->cores_len + 1) * sizeof(names->cores[0]));
	if (!names->cores)
		script_fail(p->script, p->line, "no memory");
	names->cores[names->cores_len++] = cores;
	cores->name = text_copy(words[0]);
	cores->ranges = load_memory(
		(size_t)words_len - 1, sizeof(cores->ranges[0]));
	for (i = 1; i < words_len; i++)
		range_read(p, words[i], &cores->ranges[cores->ranges_len++]);
	cores->count = cores_count(cores);
}

/* A number, or the name of a core set. */
static void cores_read(struct parsing *p, const char *word)
{
	struct script_command *c = p->command;
	size_t i;

	for (i = p->names->cores_len; i-- > 0;)
		if (strcmp(p->names->cores[i]->name, word) == 0) {
			c->cores = p->names->cores[i];
			c->cores_count = c->cores->count;
			return;
		}
	if (isalpha((unsigned char)word[0]))
		script_fail(p->script, p->line,
			"neither a number nor a core set: %s", shown(p, word));
	c->cores_count = (uint32_t)number_read(p, word, UINT32_MAX, "a number");
}

/* -- allocators ---------------------------------------------------------------------- */

/* A word that is a flag by itself; false: it is not. */
static bool flag_read(struct parsing *p, const char *word,
	const char *const names[], const uint32_t flags[], size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (strcmp(word, names[i]) == 0) {
			p->command->flags |= flags[i];
			return true;
		}
	return false;
}

static void alloc_read(struct parsing *p, char **words, int words_len)
{
	static const char *const names[] = { "persistent", "trace", "per_core",
		"banks", "per_bank", "cores" };
	static const uint32_t flags[] = { TTMEM_BUFFER_PERSISTENT,
		TTMEM_BUFFER_TRACE, TTMEM_BUFFER_PER_CORE };
	struct script_command *c = p->command;
	char *value;
	int i;

	for (i = 0; i < words_len; i++) {
		if (flag_read(p, words[i], names, flags, 3))
			continue;
		if (!strchr(words[i], '='))
			word_refuse(
				p, "alloc: too many words", words[i], names, 6);
		value = value_cut(p, words[i]);
		if (strcmp(words[i], "banks") == 0)
			c->banks = (uint32_t)number_read(
				p, value, UINT32_MAX, "a number");
		else if (strcmp(words[i], "per_bank") == 0)
			c->bytes_per_bank = size_read(p, value);
		else if (strcmp(words[i], "cores") == 0)
			cores_read(p, value);
		else
			word_refuse(p, "alloc: unknown key", words[i],
				names + 3, 3);
	}
}

static void failed_read(struct parsing *p, char **words, int words_len)
{
	static const char *const keys[] = { "per_bank", "free", "largest",
		"program" };
	struct script_command *c = p->command;
	char *value;
	int i;

	for (i = 0; i < words_len; i++) {
		if (!strchr(words[i], '='))
			word_refuse(
				p, "failed: too many words", words[i], keys, 4);
		value = value_cut(p, words[i]);
		if (strcmp(words[i], "per_bank") == 0)
			c->bytes_per_bank = size_read(p, value);
		else if (strcmp(words[i], "free") == 0)
			c->free_per_bank = size_read(p, value);
		else if (strcmp(words[i], "largest") == 0)
			c->largest_free_per_bank = size_read(p, value);
		else if (strcmp(words[i], "program") == 0)
			c->program = number_read(
				p, value, UINT64_MAX, "a program");
		else
			word_refuse(
				p, "failed: unknown key", words[i], keys, 4);
	}
}

static void cb_flags_read(struct parsing *p, char **words, int words_len)
{
	static const char *const names[] = { "borrowed", "dataflow",
		"scratchpad" };
	static const uint32_t flags[] = { TTMEM_CB_BORROWED, TTMEM_CB_DATAFLOW,
		TTMEM_CB_SCRATCHPAD };
	int i;

	for (i = 0; i < words_len; i++)
		if (!flag_read(p, words[i], names, flags, 3))
			word_refuse(
				p, "cb: too many words", words[i], names, 3);
}

/* -- open ------------------------------------------------------------------------------ */

static uint64_t pci_read(struct parsing *p, const char *word)
{
	unsigned domain, bus, device, function;
	int end = 0;

	if (sscanf(word, "%x:%x:%x.%x%n", &domain, &bus, &device, &function,
		    &end) != 4 ||
		word[end] || bus > 0xff || device > 0x1f || function > 7)
		script_fail(p->script, p->line, "not a PCI address: %s",
			shown(p, word));
	return TTMEM_PCI_ADDRESS(domain, bus, device, function);
}

static const struct load_board *board_read(struct parsing *p, const char *word)
{
	const struct load_board *board = load_board_find(word);

	if (!board)
		script_fail(p->script, p->line, "unknown board: %s",
			shown(p, word));
	return board;
}

static void name_read(
	struct parsing *p, const char *word, char ret_name[static 16])
{
	if (strlen(word) > 16)
		script_fail(p->script, p->line, "longer than 16 bytes: %s",
			shown(p, word));
	memset(ret_name, 0, 16);
	memcpy(ret_name, word, strlen(word));
}

/* Those of fact_read(). */
__attribute__((noreturn)) static void fact_refuse(
	struct parsing *p, const char *key)
{
	static const char *const keys[] = { "board", "index", "chip", "pci",
		"gateway", "arch", "dram", "l1", "cores", "l1_small", "trace",
		"l1_base", "l1_top", "dram_banks", "dram_bank", "dram_base",
		"l1_banks" };

	if (strcmp(key, "index") == 0)
		script_fail(p->script, p->line, "index needs board before it");
	word_refuse(p, "open: unknown key", key, keys,
		sizeof(keys) / sizeof(keys[0]));
}

static void fact_read(struct parsing *p, const char *key, const char *value,
	const struct load_board **board)
{
	struct ttmem_device_info *info = &p->command->info;
	const struct {
		const char *key;
		uint64_t *to;
	} sizes[] = { { "dram", &info->dram_bytes },
		{ "l1", &info->l1_bytes_per_core }, { "cores", &info->cores },
		{ "l1_small", &info->l1_small_bytes },
		{ "trace", &info->trace_bytes }, { "l1_base", &info->l1_base },
		{ "l1_top", &info->l1_top },
		{ "dram_banks", &info->dram_banks },
		{ "dram_bank", &info->dram_bank_bytes },
		{ "dram_base", &info->dram_base },
		{ "l1_banks", &info->l1_banks } };
	size_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		if (strcmp(key, sizes[i].key) == 0) {
			*sizes[i].to = size_read(p, value);
			return;
		}
	if (strcmp(key, "chip") == 0) {
		info->chip_id = number_read(p, value, UINT64_MAX, "a chip id");
	} else if (strcmp(key, "gateway") == 0) {
		info->gateway = number_read(p, value, UINT64_MAX, "a chip id");
	} else if (strcmp(key, "pci") == 0) {
		info->pci_address = pci_read(p, value);
	} else if (strcmp(key, "arch") == 0) {
		name_read(p, value, info->arch);
	} else if (strcmp(key, "board") == 0) {
		*board = board_read(p, value);
		load_board_describe(*board, info);
	} else if (strcmp(key, "index") == 0 && *board) {
		load_board_identify(*board,
			number_read(p, value, UINT16_MAX, "an index"), info);
	} else {
		fact_refuse(p, key);
	}
}

static void open_read(struct parsing *p, char **words, int words_len)
{
	const struct load_board *board = NULL;
	char *value;
	int i;

	ttmem_device_info_init(&p->command->info, p->command->device.number);
	if (p->command->device.is_mesh)
		script_fail(p->script, p->line, "a mesh cannot be opened");
	for (i = 0; i < words_len; i++) {
		value = value_cut(p, words[i]);
		fact_read(p, words[i], value, &board);
	}
}

/* -- a line --------------------------------------------------------------------------- */

static void number_add(struct script_command *command, uint64_t value)
{
	command->numbers[command->numbers_len++] = value;
}

static void argument_read(struct parsing *p, char letter, char *word)
{
	struct script_command *c = p->command;

	switch (letter) {
	case 'd':
		c->device = device_read(p, word);
		break;
	case 'm':
		mesh_name_read(p, word);
		break;
	case 'k':
		number_add(c, kind_read(p, word));
		break;
	case 't':
		number_add(c, type_read(p, word));
		break;
	case 'n':
		number_add(c, number_read(p, word, UINT64_MAX, "a number"));
		break;
	case 'K':
		if (strcmp(word, "cb") == 0)
			number_add(c, TTMEM_FIGURE_CB);
		else
			number_add(c, kind_read(p, word));
		break;
	case 'c':
		cores_read(p, word);
		break;
	case 'e':
		number_add(c, number_read(p, word, 255, "an exit status"));
		break;
	case 'g':
		number_add(c, signal_read(p, word));
		break;
	case 's':
		number_add(c, size_read(p, word));
		break;
	case 'l':
		list_read(p, word);
		break;
	default:
		c->text = text_copy(word);
		break;
	}
}

/* What follows the arguments that have their place. */
static void rest_read(
	struct parsing *p, char letter, char **words, int words_len)
{
	switch (letter) {
	case 'o':
		open_read(p, words, words_len);
		break;
	case 'a':
		alloc_read(p, words, words_len);
		break;
	case 'f':
		failed_read(p, words, words_len);
		break;
	case 'b':
		cb_flags_read(p, words, words_len);
		break;
	case 'r':
		cores_define(p, words, words_len);
		break;
	default:
		if (words_len)
			script_fail(p->script, p->line,
				"%s: too many words: %s",
				p->command->verb->name, shown(p, words[0]));
		break;
	}
}

__attribute__((noreturn)) static void event_refuse(
	struct parsing *p, const char *word)
{
	const char *names[SCRIPT_VERBS_MAX];
	size_t len = script_verb_names(names);

	word_refuse(p, "unknown event", word, names, len);
}

void script_command_parse(const struct load_script *script,
	struct script_names *names, unsigned line, char **words, int words_len,
	struct script_command *ret_command)
{
	struct parsing p = { script, names, line, ret_command, "" };
	const struct script_verb *verb = script_verb_find(words[0]);
	const char *letter;
	bool optional = false;
	int at = 1;

	memset(ret_command, 0, sizeof(*ret_command));
	ret_command->bytes_per_bank = TTMEM_UNKNOWN;
	ret_command->free_per_bank = TTMEM_UNKNOWN;
	ret_command->largest_free_per_bank = TTMEM_UNKNOWN;
	ret_command->program = TTMEM_UNKNOWN;
	if (!verb)
		event_refuse(&p, words[0]);
	ret_command->verb = verb;
	ret_command->line = line;
	if (verb->flag && words_len > 1 &&
		strcmp(words[words_len - 1], verb->flag) == 0) {
		ret_command->flag = true;
		words_len--;
	}
	for (letter = verb->arguments; *letter && !strchr("oafbr", *letter);
		letter++) {
		if (*letter == '|') {
			optional = true;
			continue;
		}
		/* Words that are no numbers may follow a number left out. */
		if (optional &&
			(at == words_len ||
				(*letter == 's' &&
					!isdigit((unsigned char)words[at][0]))))
			continue;
		if (at == words_len)
			script_fail(
				script, line, "%s: too few words", verb->name);
		argument_read(&p, *letter, words[at++]);
	}
	rest_read(&p, *letter, words + at, words_len - at);
}
