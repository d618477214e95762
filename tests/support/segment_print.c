/* SPDX-License-Identifier: Apache-2.0 */
#include "support/segment_reader.h"

#include <inttypes.h>

static const char *const figure_names[SEGMENT_FIGURES] = { "dram", "l1",
	"system_memory", "l1_small", "trace", "cb", "kernel_application",
	"kernel_fabric", "kernel_dispatch" };

static const char *const type_names[SEGMENT_RECORD_TYPES] = { "NOOP", "ALLOC",
	"FREE", "DISPATCH", "ANOMALY", "LOSS", "FAILURE", "MARK", "DEVICE_OPEN",
	"DEVICE_CLOSE", "SHRINK" };

static const char *figure_name(unsigned figure)
{
	return figure < SEGMENT_FIGURES ? figure_names[figure] : "none";
}

static void print_hex(FILE *file, const uint8_t *bytes, size_t size)
{
	size_t i;

	for (i = 0; i < size; i++)
		fprintf(file, "%02x", bytes[i]);
	fputc('\n', file);
}

/* Spaces and what is not printable as \xNN: a value is one word. */
static void print_text(FILE *file, const char *text)
{
	for (; *text; text++)
		if (*text > ' ' && *text < 0x7f && *text != '\\')
			fputc(*text, file);
		else
			fprintf(file, "\\x%02x", (unsigned char)*text);
}

/* Device entries, as in 0,2,3; - is none. */
static void print_members(FILE *file, uint64_t members)
{
	if (!members)
		fputc('-', file);
	for (; members; members &= members - 1)
		fprintf(file, "%d%s", __builtin_ctzll(members),
			members & (members - 1) ? "," : "");
}

/* All ones are a value that nobody told. */
static void print_known(FILE *file, const char *key, uint64_t value)
{
	if (value == UINT64_MAX)
		fprintf(file, " %s=-", key);
	else
		fprintf(file, " %s=%" PRIu64, key, value);
}

static void print_header(const struct segment *s, FILE *file)
{
	unsigned i;

	fprintf(file, "version=%" PRIu32 "\n", s->version);
	fprintf(file, "uuid=");
	print_hex(file, s->uuid, 16);
	fprintf(file, "run_id=");
	print_hex(file, s->run_id, 16);
	fprintf(file,
		"pid=%" PRIu32 "\nuid=%" PRIu32 "\nstart_time=%" PRIu64
		"\ncomm=",
		s->pid, s->uid, s->start_time);
	print_text(file, s->comm);
	fprintf(file,
		"\nstate=%" PRIu64 "\nsize=%zu\nallocated=%" PRIu64
		"\nextents=%" PRIu64 "\nlanes=%" PRIu64 "\ndevices=%" PRIu64
		"\nnames=%" PRIu64 "\nblocks=%" PRIu64 "\nfailures=%" PRIu64
		"\nmarks=%" PRIu64 "\ncloses=%" PRIu64 "\nplaces=%" PRIu64
		"\ncore_sets=%" PRIu64 "\n",
		s->state, s->size, s->allocated, s->extents_high,
		s->lanes_count, s->devices_count, s->names_count,
		s->blocks_count, s->failures_count, s->marks_count, s->closes,
		s->places_count, s->core_sets_count);
	fprintf(file,
		"slots_used=%" PRIu64 "\nslots_writing=%" PRIu64
		"\nlanes_broken=%" PRIu64 "\nlanes_overrun=%" PRIu64
		"\nlive=%zu\n",
		s->slots_used, s->slots_writing, s->lanes_broken,
		s->lanes_overrun, s->objects_len);
	for (i = 0; i < SEGMENT_REASONS; i++)
		if (s->anomalies[i])
			fprintf(file, "anomaly.%u=%" PRIu64 "\n", i,
				s->anomalies[i]);
	for (i = 0; i < SEGMENT_REASONS; i++)
		if (s->lost_events[i])
			fprintf(file,
				"lost.%u=%" PRIu64 "\nlost_bytes.%u=%" PRIu64
				"\n",
				i, s->lost_events[i], i, s->lost_bytes[i]);
}

static void print_figure(
	const struct segment *s, FILE *file, unsigned entry, unsigned figure)
{
	const struct segment_flow *f = &s->devices[entry].figures[figure];

	if (!f->alloc_objects && !f->slot_objects && !f->orphan_objects)
		return;
	fprintf(file,
		"figure entry=%u figure=%s alloc_objects=%" PRIu64
		" alloc_bytes=%" PRIu64 " free_objects=%" PRIu64
		" free_bytes=%" PRIu64 " live_objects=%" PRIu64
		" live_bytes=%" PRIu64 " live_requested=%" PRIu64
		" orphan_objects=%" PRIu64 " orphan_bytes=%" PRIu64
		" orphan_requested=%" PRIu64 " peak_bytes=%" PRId64 "\n",
		entry, figure_name(figure), f->alloc_objects, f->alloc_bytes,
		f->free_objects, f->free_bytes, f->slot_objects, f->slot_bytes,
		f->slot_requested, f->orphan_objects, f->orphan_bytes,
		f->orphan_requested, f->peak_bytes);
}

static void print_device(const struct segment *s, FILE *file, unsigned entry)
{
	const struct segment_device *d = &s->devices[entry];
	unsigned i;

	if (!d->used)
		return;
	fprintf(file,
		"device entry=%u logical=%" PRIu32 " current=%d open=%d "
		"epoch=%" PRIu32 " known=0x%" PRIx64 " chip_id=0x%" PRIx64
		" pci_address=0x%" PRIx64 " arch=",
		entry, d->logical, d->current, d->open, d->epoch, d->known,
		d->chip_id, d->pci_address);
	print_text(file, d->arch);
	fprintf(file, " board=");
	print_text(file, d->board);
	fprintf(file,
		" dispatches=%" PRIu64 ",%" PRIu64 ",%" PRIu64
		" failures=%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
		",%" PRIu64 ",%" PRIu64 "\n",
		d->dispatches[0], d->dispatches[1], d->dispatches[2],
		d->failures[0], d->failures[1], d->failures[2], d->failures[3],
		d->failures[4], d->failures[5]);
	for (i = 0; i < SEGMENT_FIGURES; i++)
		print_figure(s, file, entry, i);
}

static void print_words(
	const struct segment *s, FILE *file, const struct segment_words *w)
{
	const char *name = segment_name(s, w->scope);

	fputs("entries=", file);
	print_members(file, w->members);
	fprintf(file,
		" place=%u alloc_place=%u figure=%s id=%" PRIu64
		" slot=%" PRIu32 " generation=%" PRIu64 " bytes=%" PRIu64
		" size=%" PRIu64 " banks=%" PRIu32 " cores=%" PRIu32
		" core_set=%" PRIu32 " program=%" PRIu64 " w3=0x%" PRIx64
		" w5=0x%" PRIx64 " flags=%u stamp=%u scope=",
		w->place, w->alloc_place, figure_name(w->figure), w->id,
		w->slot, w->generation, w->bytes, w->size, w->banks, w->cores,
		w->core_set, w->program, w->w[3], w->w[5], w->flags, w->stamp);
	print_text(file, name ? name : "?");
	fputc('\n', file);
}

static void print_lane(const struct segment *s, FILE *file, size_t number)
{
	const struct segment_lane *lane = &s->lanes[number];
	size_t i;

	fprintf(file,
		"lane number=%zu intent=%" PRIu64 " tail=%" PRIu64
		" tid=%" PRIu32 "\n",
		number, lane->intent, lane->tail, lane->tid);
	for (i = 0; i < lane->records_len; i++) {
		fprintf(file, "record lane=%zu number=%" PRIu64 " type=%s ",
			number, lane->first + i,
			type_names[lane->records[i].type]);
		print_words(s, file, &lane->records[i]);
	}
}

static void print_failure(FILE *file, const struct segment_failure *f)
{
	fprintf(file, "failure number=%" PRIu64 " entries=", f->number);
	print_members(file, f->members);
	fprintf(file, " figure=%s", figure_name(f->figure));
	print_known(file, "bytes", f->bytes);
	print_known(file, "bytes_per_bank", f->bytes_per_bank);
	print_known(file, "free_per_bank", f->free_per_bank);
	print_known(file, "largest_free_per_bank", f->largest_free_per_bank);
	print_known(file, "program", f->program);
	fprintf(file, " scope=%" PRIu32 "\n", f->scope);
}

static void print_texts(const struct segment *s, FILE *file)
{
	size_t i;

	for (i = 0; i < s->names_len; i++) {
		fprintf(file,
			"name id=%" PRIu32 " parent=%" PRIu32
			" truncated=%d text=",
			s->names[i].id, s->names[i].parent,
			s->names[i].truncated);
		print_text(file, s->names[i].text);
		fputc('\n', file);
	}
	for (i = 0; i < s->failures_len; i++)
		print_failure(file, &s->failures[i]);
	for (i = 0; i < s->marks_len; i++) {
		fprintf(file,
			"mark number=%" PRIu64 " text=", s->marks[i].number);
		print_text(file, s->marks[i].text);
		fputc('\n', file);
	}
}

void segment_print(const struct segment *segment, FILE *file, bool with_records)
{
	size_t i;

	print_header(segment, file);
	for (i = 0; i < SEGMENT_DEVICES; i++)
		print_device(segment, file, (unsigned)i);
	for (i = 0; i < segment->objects_len; i++) {
		fprintf(file, "object orphan=%d orphans=",
			segment->objects[i].orphan);
		print_members(file, segment->objects[i].orphans);
		fputc(' ', file);
		print_words(segment, file, &segment->objects[i]);
	}
	print_texts(segment, file);
	for (i = 0; with_records && i < segment->lanes_len; i++)
		print_lane(segment, file, i);
}
