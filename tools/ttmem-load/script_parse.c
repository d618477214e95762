/* SPDX-License-Identifier: Apache-2.0 */
#include "script_parse.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "board.h"
#include "common/number.h"
#include "common/text.h"
#include "options.h"
#include "worker.h"

struct parsing {
	const struct load_script *script;
	struct script_names *meshes;
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
	mesh = mesh_find(p->meshes, word);
	if (mesh == p->meshes->len)
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

	return kind >= 0 ? (uint64_t)kind :
			   number_read(p, word, UINT32_MAX, "a kind");
}

static uint64_t type_read(struct parsing *p, const char *word)
{
	static const char *const names[] = { "application", "fabric",
		"dispatch" };
	uint64_t i;

	for (i = 0; i < TRUTH_KERNEL_TYPES; i++)
		if (strcmp(word, names[i]) == 0)
			return i;
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
	struct script_names *meshes = p->meshes;
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
		{ "l1_top", &info->l1_top } };
	size_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		if (strcmp(key, sizes[i].key) == 0) {
			*sizes[i].to = size_read(p, value);
			return;
		}
	if (strcmp(key, "chip") == 0) {
		info->chip_id = number_read(p, value, UINT64_MAX, "a chip id");
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
		script_fail(p->script, p->line, "%s",
			strcmp(key, "index") ? "open does not take that" :
					       "index needs board before it");
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
		value = strchr(words[i], '=');
		if (!value)
			script_fail(p->script, p->line, "not KEY=VALUE: %s",
				shown(p, words[i]));
		*value++ = '\0';
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
	case 'c':
		number_add(c, number_read(p, word, UINT32_MAX, "a number"));
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

void script_command_parse(const struct load_script *script,
	struct script_names *meshes, unsigned line, char **words, int words_len,
	struct script_command *ret_command)
{
	struct parsing p = { script, meshes, line, ret_command, "" };
	const struct script_verb *verb = script_verb_find(words[0]);
	const char *letter;
	bool optional = false;
	int at = 1;

	memset(ret_command, 0, sizeof(*ret_command));
	if (!verb)
		script_fail(script, line,
			"unknown event: %s (ttmem-load(1) lists them)",
			shown(&p, words[0]));
	ret_command->verb = verb;
	ret_command->line = line;
	if (verb->flag && words_len > 1 &&
		strcmp(words[words_len - 1], verb->flag) == 0) {
		ret_command->flag = true;
		words_len--;
	}
	for (letter = verb->arguments; *letter && *letter != 'o'; letter++) {
		if (*letter == '|') {
			optional = true;
			continue;
		}
		if (at == words_len && optional)
			break;
		if (at == words_len)
			script_fail(
				script, line, "%s: too few words", verb->name);
		argument_read(&p, *letter, words[at++]);
	}
	if (*letter == 'o')
		open_read(&p, words + at, words_len - at);
	else if (at < words_len)
		script_fail(script, line, "%s: too many words: %s", verb->name,
			shown(&p, words[at]));
}
