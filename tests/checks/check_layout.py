#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/layout.md and lib/shm/layout.h say the same.

The page is what other implementations are written from; the header is what this
one is. Each row of the page is looked up in NAMES and held against what a small
compiled program says about the header. A row without an entry is a fault, and
so is a member or enumerator of the header that the page leaves out.
"""

import os
import re
import subprocess
import sys
import tempfile

import tree

PAGE = 'docs/layout.md'
HEADER = 'lib/shm/layout.h'

CONST = 'ttm_header_const'
# {heading: {what the page calls it: (struct, member)}}
NAMES = {
    'Constant part': {n: (CONST, m) for n, m in {
        'magic': 'magic', 'version': 'version', 'header size': 'header_size',
        'layout signature': 'signature', 'uuid': 'uuid', 'boot id': 'boot_id',
        'run id': 'run_id', 'pid': 'pid', 'uid': 'uid',
        'pid namespace': 'pid_namespace', 'start time': 'start_time',
        'clock kind': 'clock_kind', 'clock rate': 'clock_hz',
        'clock base': 'clock_base', 'monotonic base': 'monotonic_base_ns',
        'realtime base': 'realtime_base_ns', 'extent size': 'extent_size',
        'extents max': 'extents_max', 'lanes max': 'lanes_max',
        'records per lane': 'lane_records', 'devices max': 'devices_max',
        'failures kept': 'failures_kept', 'marks kept': 'marks_kept',
        'offsets': 'directory_off', 'comm': 'comm',
        'command line': 'cmdline', 'cgroup': 'cgroup',
        'checksum': 'checksum'}.items()},
    'Live part': {n: ('ttm_header_live', m) for n, m in {
        'state': 'state', 'extents high': 'extents_high',
        'lanes': 'lanes_len', 'devices': 'devices_len', 'names': 'names_len',
        'blocks': 'blocks_len', 'failures': 'failures_len',
        'marks': 'marks_len', 'closes': 'closes', 'places': 'places_len',
        'core sets': 'core_sets_len', 'lost events, 16 words by reason':
        'lost_events', 'lost bytes, 16 words by reason':
        'lost_bytes'}.items()},
    'Lane control': {n: ('ttm_lane_control', n)
                     for n in ('intent', 'tail', 'owner')},
    'Counter block': {
        **{n: ('ttm_block_device', m) for n, m in {
            'era': 'era', 'dispatches': 'dispatches',
            'failures': 'failures', 'figure 0': 'figures[0]',
            'figure 8': 'figures[8]'}.items()},
        **{n: ('ttm_block_lane', m) for n, m in {
            'owner': 'owner', 'anomalies': 'anomalies',
            'lost events': 'lost_events',
            'lost bytes': 'lost_bytes'}.items()}},
    'Device entry': {n: ('ttm_device', m) for n, m in {
        'head': 'head', 'era': 'era', 'seq': 'seq', 'opened': 'opened',
        'closed': 'closed', 'known': 'facts.known',
        'chip id': 'facts.chip_id', 'PCI address': 'facts.pci_address',
        'arch': 'facts.arch', 'board': 'facts.board',
        'DRAM bytes': 'facts.dram_bytes',
        'L1 per core': 'facts.l1_bytes_per_core', 'cores': 'facts.cores',
        'L1_SMALL bytes': 'facts.l1_small_bytes',
        'TRACE bytes': 'facts.trace_bytes', 'L1 base': 'facts.l1_base',
        'L1 top': 'facts.l1_top', 'DRAM banks': 'facts.dram_banks',
        'DRAM per bank': 'facts.dram_bank_bytes',
        'DRAM base': 'facts.dram_base', 'L1 banks': 'facts.l1_banks',
        'gateway': 'facts.gateway', 'figure 0': 'totals[0]',
        'figure 8': 'totals[8]'}.items()},
    'Name': {n: ('ttm_failure', m) for n, m in {
        'seq': 'seq', 'place': 'place', 'figure': 'figure', 'time': 'time',
        'tid': 'tid', 'scope': 'scope', 'stack': 'stack', 'bytes': 'bytes',
        'bytes per bank': 'bytes_per_bank', 'free per bank': 'free_per_bank',
        'largest free': 'largest_free_per_bank', 'program': 'program',
        'stamp': 'stamp', 'summary': 'summary'}.items()},
}
# The one-line structs of the last section.
ROWS = {
    'name': ('ttm_name', {'length': 'length', 'private': 'hash',
                          'text': 'text'}),
    'core set': ('ttm_core_set', {'rows': 'rows', 'cores': 'cores'}),
    'mark': ('ttm_mark', {'seq': 'seq', 'time': 'time', 'tid': 'tid',
                          'length': 'length', 'text': 'text'}),
}
FIGURE = {'objects allocated': 'alloc_objects', 'bytes allocated':
          'alloc_bytes', 'objects freed': 'free_objects', 'bytes freed':
          'free_bytes', 'live objects': 'live_objects', 'live bytes':
          'live_bytes', 'the part of the live bytes': 'folded',
          'highest live bytes': 'high'}
# {start of the page's list: (enum prefix, {page's word: enumerator})}
LISTS = {
    'Record types:': ('TTM_RECORD_', None),
    'Figures, here and everywhere:': ('TTMEM_FIGURE_', None),
    'Slot states:': ('TTM_SLOT_', None),
    'Flags:': ('TTM_FLAG_', {
        'borrowed': 'BORROWED', 'in the ring': 'IN_RING',
        'persistent': 'PERSISTENT', 'dataflow': 'DATAFLOW',
        'scratchpad': 'SCRATCHPAD', 'trace': 'TRACE', 'per core': 'PER_CORE',
        'uncounted': 'UNCOUNTED', 'replaced': 'REPLACED'}),
    'Anomalies:': ('TTMEM_ANOMALY_', {
        'free of an unknown object': 'FREE_UNKNOWN',
        'allocation of a live id': 'ALLOC_LIVE', 'bad device': 'BAD_DEVICE',
        'too many devices': 'TOO_MANY_DEVICES', 'bad kind': 'BAD_KIND',
        'overflow': 'OVERFLOW', 'late free': 'LATE_FREE',
        'scope pop without push': 'SCOPE_UNDERFLOW',
        'scopes too deep': 'SCOPE_TOO_DEEP',
        'an open id became another chip': 'DEVICE_CHANGED'}),
    'Losses:': ('TTMEM_LOSS_', {
        'no slot': 'NO_SLOT', 'no index memory': 'NO_INDEX',
        'no lane': 'NO_LANE', 'nested': 'NESTED',
        'no name': 'NO_NAME', 'no place': 'NO_PLACE'}),
}
EXTENTS = {'unused': 'UNUSED', 'LANE': 'LANE', 'SLOTS': 'SLOTS',
           'BLOCKS': 'BLOCKS', 'NAMES': 'NAMES', 'being made': 'CLAIMED'}
PLACES = {'header': ('TTM_HEADER_OFF', 'sizeof(struct ttm_header)', None),
          'extent directory': ('TTM_DIRECTORY_OFF', '4u', 'TTM_EXTENTS_MAX'),
          'lane controls': ('TTM_LANES_OFF', 'sizeof(struct ttm_lane_control)',
                            'TTM_LANES_MAX'),
          'devices': ('TTM_DEVICES_OFF', 'sizeof(struct ttm_device)',
                      'TTM_DEVICES_MAX'),
          'failures': ('TTM_FAILURES_OFF', 'sizeof(struct ttm_failure)',
                       'TTM_FAILURES_KEPT'),
          'marks': ('TTM_MARKS_OFF', 'sizeof(struct ttm_mark)',
                    'TTM_MARKS_KEPT'),
          'places': ('TTM_PLACES_OFF', '8u', 'TTM_PLACES_MAX'),
          'extent 0': ('TTM_EXTENTS_OFF', 'TTM_EXTENT_SIZE', None),
          'extent 1': ('(TTM_EXTENTS_OFF + TTM_EXTENT_SIZE)',
                       'TTM_EXTENT_SIZE', None)}
BITS = {'w0': {'state': 'TTM_W0(0, 0, 3ull)',
               'place': 'TTM_W0(0, 0x3fff, 0)',
               'generation': 'TTM_W0(0xffffffffffff, 0, 0)'},
        'w1': {'slot number': 'TTM_W1(~0u & 0xffffff, 0, 0, 0, 0)',
               'stamp': 'TTM_W1(0, 0xffff, 0, 0, 0)',
               'figure': 'TTM_W1(0, 0, 0xf, 0, 0)',
               'flags': 'TTM_W1(0, 0, 0, 0xfff, 0)',
               'record type': 'TTM_W1(0, 0, 0, 0, 0xff)'},
        'w4': {'size': 'TTM_W4(TTM_OBJECT_BYTES_MAX, 0)',
               'place of allocation': 'TTM_W4(0, 0x3fff)'},
        'w5': {'used bytes of a buffer': 'TTM_W5(TTM_OBJECT_BYTES_MAX, 0)',
               'banks on which the allocator reserves it':
               'TTM_W5(0, TTM_BANKS_MAX)'},
        'w7': {'scope': 'TTM_W7(0xffff, 0, 0, 0)',
               'stack id': 'TTM_W7(0, 0xffffff, 0, 0)',
               'count of cores': 'TTM_W7(0, 0, TTM_CORES_MAX, 0)',
               'core set': 'TTM_W7(0, 0, 0, TTM_CORE_SETS_MAX)'}}
# Enumerators that name a number of things, a group or a filler.
NOT_VALUES = {'TTMEM_FIGURE_KERNEL'}


class Page:
    """The layout page, cut into its sections."""

    def __init__(self, text):
        self.faults = []
        self.questions = []
        self.sections = {}
        heading = ''
        for line in text.split('\n'):
            match = re.match(r'#+ (.*)', line)
            heading = match[1].split(',')[0] if match else heading
            self.sections.setdefault(heading, []).append(line)

    def fault(self, text):
        self.faults.append(f'{PAGE}: {text}')

    def lines(self, heading):
        if heading not in self.sections:
            self.fault(f'no section {heading}')
        return self.sections.get(heading, [])

    def prose(self, start):
        """From `start` to the end of its sentence or paragraph."""
        whole = '\n'.join(sum(self.sections.values(), []))
        match = re.search(re.escape(start) + r'(.*?)(\n\n|\.\s|\.$)', whole,
                          re.DOTALL)
        if not match:
            self.fault(f'nothing about {start}')
            return ''
        return re.sub(r'\s+', ' ', match[1])

    def ask(self, expression, wanted, what):
        """To be compiled: `expression` has to be `wanted`."""
        self.questions.append((expression, wanted, what))


def number(text):
    return int(text.replace(',', ''), 0)


def at(struct, member):
    return f'offsetof(struct {struct}, {member})'


def size(struct, member):
    return f'sizeof(((struct {struct} *)0)->{member})'


def ask_row(page, heading, off, name, covered):
    entry = NAMES[heading].get(name)
    if entry is None:
        if not name.startswith('reserved'):
            page.fault(f'{heading}: unknown field {name!r}')
        return None
    covered.add((entry[0], re.split(r'[\[.]', entry[1])[0]))
    if entry[1].startswith('facts.'):
        covered.add(('ttm_device_facts', entry[1][6:]))
    base = 0x800 if heading == 'Live part' else 0
    page.ask(at(*entry), number(off) - base, f'{heading}: {name}')
    return entry


def ask_tables(page, covered):
    """The tables of the header."""
    for heading in ('Constant part', 'Live part'):
        rows = 0
        for line in page.lines(heading):
            cells = [c.strip() for c in line.strip('|').split('|')]
            if not re.match(r'0x[0-9a-f]+$', cells[0]):
                continue
            rows += 1
            name = cells[2] if heading == 'Constant part' else cells[1]
            entry = ask_row(page, heading, cells[0], name, covered)
            if entry and heading == 'Constant part' and ' x ' not in cells[1]:
                page.ask(size(*entry), number(cells[1]),
                         f'bytes of {name}')
        if rows < 10:
            page.fault(f'{heading}: only {rows} rows')
    # One row of the page stands for seven members in a row.
    names = ('directory', 'lanes', 'devices', 'failures', 'marks', 'places',
             'extents')
    for i, name in enumerate(names):
        covered.add((CONST, name + '_off'))
        page.ask(at(CONST, name + '_off'), 0xa8 + 8 * i, f'offset of {name}')


def ask_drawings(page, covered):
    """The indented drawings: an offset, two blanks, a name."""
    for heading in ('Lane control', 'Counter block', 'Device entry', 'Name'):
        rows = 0
        for line in page.lines(heading):
            match = re.match(r'    (0x[0-9a-f]+)  (.*?)(  .*)?$', line)
            if not match:
                continue
            rows += 1
            ask_row(page, heading, match[1], match[2].strip(), covered)
            member = NAMES[heading].get(match[2].strip(), ('', ''))[1]
            bit = re.match(r'\s+(\d+)(\s|$)', match[3] or '')
            if member.startswith('facts.') and bit:
                page.ask('TTM_FACT_' + member[6:].upper(), int(bit[1]),
                         f'known bit of {match[2].strip()}')
        if rows < 3:
            page.fault(f'{heading}: only {rows} rows')
    covered.add(('ttm_block_device', 'owner'))


def ask_one_liners(page, covered):
    for line in page.lines('Name'):
        match = re.match(r'    ([a-z ]+?)\s{2,}(0x.*)$', line)
        if not match:
            continue
        struct, members = ROWS.get(match[1], (None, {}))
        for part in re.finditer(r'(0x[0-9a-f]+) (.*?)(?=\s{2,}0x|$)',
                                match[2]):
            word = re.split(r' \||,', part[2])[0].strip()
            if word not in members:
                page.fault(f'{match[1]}: unknown field {word!r}')
                continue
            covered.add((struct, members[word]))
            page.ask(at(struct, members[word]), number(part[1]),
                     f'{match[1]}: {word}')
    text = page.prose('A figure:')
    for off, word in re.findall(r'(0x[0-9a-f]{2}) ([a-z ]+)', text):
        member = next((m for w, m in FIGURE.items() if word.startswith(w)),
                      None)
        if member is None:
            page.fault(f'a figure: unknown field {word!r}')
            continue
        covered.add(('ttm_counters', member))
        page.ask(at('ttm_counters', member), number(off), f'figure: {word}')
    for off, word in re.findall(r'(0x[0-9a-f]{2}) (folded|peak)',
                                '\n'.join(page.lines('Device entry'))):
        covered.add(('ttm_device_total', word))
        page.ask(at('ttm_device_total', word), number(off), f'total: {word}')


def ask_lists(page, covered):
    """`0 this, 1 that (remark), ...`"""
    for start, (prefix, words) in LISTS.items():
        text = re.sub(r'\([^)]*\)', '', page.prose(start))
        for item in re.finditer(r'(?:^|, | )(\d+) +([A-Za-z_][^,:;]*)', text):
            word = item[2].strip()
            name = word.upper() if words is None else next(
                (n for w, n in words.items() if word.startswith(w)), None)
            if name is None:
                page.fault(f'{start} unknown: {word!r}')
                continue
            if (prefix, name) == ('TTMEM_FIGURE_', 'NONE'):
                page.ask('TTM_FIGURE_NONE', int(item[1]), f'{start} {word}')
                continue
            if prefix == 'TTM_RECORD_':
                name = name.split(' ')[0].rstrip('.')
            covered.add(prefix + name)
            page.ask(prefix + name, int(item[1]), f'{start} {word}')
    rows = [line for line in page.lines('Extent directory')
            if re.match(r'\| \d', line)]
    for line in rows:
        match = re.match(r'\| (\d+)(?: (\w+))? \| ([\w ]+)', line)
        word = match[2] or match[3].strip()
        covered.add('TTM_EXTENT_' + EXTENTS.get(word, word))
        page.ask('TTM_EXTENT_' + EXTENTS.get(word, word), int(match[1]),
                 f'extent type {word}')


def ask_places(page):
    for line in page.lines('The file'):
        match = re.match(r'    (0x[0-9a-f]+)  (.+?)(?:\s{2,}(.*))?$', line)
        if not match or match[2] == 'reserved':
            continue
        if match[2] not in PLACES:
            page.fault(f'the file: unknown part {match[2]!r}')
            continue
        off, one, count = PLACES[match[2]]
        page.ask(off, number(match[1]), f'place of {match[2]}')
        amount = re.match(r'([\d,]+) (?:x ([\d,]+) bytes|words of|KiB)',
                          match[3] or '')
        if amount is None:
            page.fault(f'the file: how much is {match[3]!r}?')
        elif count is None:
            page.ask(one, number(amount[1]) * 1024, f'size of {match[2]}')
        else:
            page.ask(count, number(amount[1]), f'number of {match[2]}')
            if amount[2]:
                page.ask(one, number(amount[2]), f'one of {match[2]}')
    for kind, one, many in (('LANE', 'ttm_words', 'TTM_LANE_RECORDS'),
                            ('SLOTS', 'ttm_words', 'TTM_SLOTS_PER_EXTENT'),
                            ('BLOCKS', 'ttm_block_device',
                             'TTM_BLOCKS_PER_EXTENT'),
                            ('NAMES', 'ttm_name', 'TTM_NAMES_PER_EXTENT'),
                            ('CORE_SETS', 'ttm_core_set',
                             'TTM_CORE_SETS_PER_EXTENT')):
        text = '\n'.join(page.lines('Extent directory'))
        match = re.search(kind + r' \| ([\d,]+) [a-z ]+ of ([\d,]+) bytes',
                          text)
        if not match:
            page.fault(f'extent type {kind}: how many of what?')
            continue
        page.ask(many, number(match[1]), f'{kind}: how many')
        page.ask(f'sizeof(struct {one})', number(match[2]), f'{kind}: bytes')


def ask_bits(page):
    for word, fields in BITS.items():
        text = page.prose(word + ': bits ')
        text = re.sub(r'\([^)]*\)', '', text)
        seen = 0
        for part in re.finditer(r'(\d+)-(\d+) ([^,]+)', text):
            if part[3].strip() not in fields:
                page.fault(f'{word}: unknown bits {part[3]!r}')
                continue
            seen += 1
            low, high = int(part[1]), int(part[2])
            page.ask(fields[part[3].strip()],
                     ((1 << (high - low + 1)) - 1) << low,
                     f'{word}: {part[3].strip()}')
        if seen != len(fields):
            page.fault(f'{word}: {seen} of {len(fields)} fields')


def ask_rest(page):
    whole = '\n'.join(sum(page.sections.values(), []))
    page.ask('TTM_SEGMENT_MAGIC',
             int.from_bytes(b'TTMEMSEG', 'little'), 'magic')
    version = re.search(r'\| version \| (\d+) \|', whole)
    page.ask('TTM_SEGMENT_VERSION', int(version[1]), 'version')
    page.ask('TTM_SLOT_NONE', 0xffffff, 'no slot')
    page.ask('TTM_BLOCK_VALID', 1 << 63, 'valid block')
    page.ask('TTM_BLOCK_LANE_WIDE', 0xff, 'block of a lane alone')
    page.ask('TTM_DEVICE_HEAD(1, 0)', 1 << 32, 'device head')
    page.ask('TTM_ERA(1, 0)', 1 << 32, 'epoch in the era')
    page.ask('TTM_TAGGED(1, 0)', 1 << 48, 'tag')
    page.ask('TTM_NAME_LENGTH(~0ull)', 0xffff, 'length of a name')
    page.ask('TTM_NAME_TRUNCATED', 1 << 32, 'name truncated')
    page.ask('TTM_NAME_PARENT(0xffffull << 40)', 0xffff, 'parent of a name')
    page.ask('TTM_OPERATION_RECORDS_MAX', int(re.search(
        r'up to `tail` \+ (\d)', whole)[1]), 'records of an operation')
    for bits, name in re.findall(r'(\d) (ready|current|open)\b', page.prose(
            'logical id << 32 |')):
        page.ask('TTM_DEVICE_' + name.upper(), int(bits), f'head: {name}')
    texts = {'text, 112 bytes': 'TTM_NAME_SIZE',
             'text, 96 bytes': 'TTM_MARK_SIZE'}
    for text, macro in texts.items():
        if text not in whole:
            page.fault(f'no {text}')
        page.ask(macro, int(re.search(r'\d+', text)[0]), macro)


def members(text):
    """{struct: [member]} of the header, reserved ones left out."""
    found = {}
    for match in re.finditer(r'struct (ttm_\w+) \{(.*?)\n\};', text,
                             re.DOTALL):
        names = re.findall(r'(\w+)(?:\[[^\]]*\])?;', match[2])
        found[match[1]] = [n for n in names if not n.startswith('reserved')]
    return found


def left_out(root, covered):
    """Members and enumerators of the headers that no row mentioned."""
    faults = []
    text = tree.without_comments(tree.read(root, HEADER))
    structs = members(text)
    for struct in ('ttm_header', 'ttm_words'):
        structs.pop(struct, None)
    faults += [f'{PAGE}: nothing about {m} of struct {s}'
               for s, names in structs.items() for m in names
               if (s, m) not in covered]
    text += tree.without_comments(tree.read(root, 'include/ttmem/ttmem.h'))
    prefixes = [p for p, _ in LISTS.values()] + ['TTM_EXTENT_']
    for match in re.finditer(r'enum \w+ \{(.*?)\}', text, re.DOTALL):
        for name in re.findall(r'(\w+) =', match[1]):
            if name.startswith(tuple(prefixes)) and name not in covered and \
                    name not in NOT_VALUES:
                faults.append(f'{PAGE}: nothing about {name}')
    return faults


def answers(root, questions, header='shm/layout.h'):
    """What the compiler makes of the header."""
    code = ['#include <stdio.h>', f'#include "{header}"',
            'int main(void)', '{']
    code += [f'\tprintf("%llu\\n", (unsigned long long)({q[0]}));'
             for q in questions]
    code += ['\treturn 0;', '}', '']
    with tempfile.TemporaryDirectory() as folder:
        tree.make(folder, {'ask.c': '\n'.join(code)})
        program = os.path.join(folder, 'ask')
        cc = os.environ.get('CC', 'cc').split()
        built = subprocess.run(
            [*cc, '-std=c11', '-w', '-I' + os.path.join(root, 'include'),
             '-I' + os.path.join(root, 'lib'), program + '.c', '-o', program],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if built.returncode != 0:
            return None, built.stdout.decode()
        out = subprocess.run([program], stdout=subprocess.PIPE, check=True)
        return [int(n) for n in out.stdout.split()], ''


def check(root):
    page = Page(tree.read(root, PAGE))
    covered = set()
    ask_tables(page, covered)
    ask_drawings(page, covered)
    ask_one_liners(page, covered)
    ask_lists(page, covered)
    ask_places(page)
    ask_bits(page)
    ask_rest(page)
    said, trouble = answers(root, page.questions)
    if said is None:
        return page.faults + [f'{HEADER}: cannot be asked:\n{trouble}']
    faults = page.faults + left_out(root, covered)
    for (expression, wanted, what), is_now in zip(page.questions, said):
        if is_now != wanted:
            faults.append(f'{what}: the page says {wanted:#x}, '
                          f'the header {is_now:#x} ({expression})')
    check.asked = len(page.questions)
    return faults


def changed(root, name, old, new):
    """The faults after one change to a copy of the real tree."""
    content = {n: tree.read(root, n) for n in tree.files(root)
               if n == PAGE or n == HEADER or n.startswith('include/ttmem/')}
    if old not in content[name]:
        sys.exit(f'self-test: {old!r} is not in {name}')
    content[name] = content[name].replace(old, new, 1)
    return '\n'.join(tree.found_in(check, content))


def self_test(root):
    """Small lies on either side are found."""
    for name, old, new, wanted in (
            (PAGE, '| 0x04c | 4 | uid', '| 0x050 | 4 | uid', 'uid'),
            (PAGE, '| 0x060 | 4 | clock kind', '| 0x060 | 8 | clock kind',
             'bytes of clock kind'),
            (PAGE, '0x08  tail', '0x18  tail', 'tail'),
            (PAGE, '3 DISPATCH', '5 DISPATCH', 'DISPATCH'),
            (PAGE, '2 bad device', '3 bad device', 'bad device'),
            (PAGE, '24-39 stamp', '24-40 stamp', 'stamp'),
            (PAGE, '46-59 place of allocation.', '46-60 place of allocation.',
             'place of allocation'),
            (PAGE, '0x29000  failures', '0x29400  failures', 'failures'),
            (PAGE, '    0x020  closed', '    0x020  shut', 'shut'),
            (HEADER, 'TTM_RECORD_MARK = 7,', 'TTM_RECORD_MARK = 17,', 'MARK'),
            (HEADER, 'TTM_FLAG_REPLACED = 512,', 'TTM_FLAG_REPLACED = 512,\n'
             'TTM_FLAG_NEW = 1024,', 'nothing about TTM_FLAG_NEW'),
            (HEADER, 'uint64_t owner;\n\tuint64_t reserved[5];',
             'uint64_t owner;\n\tuint64_t extra;\n\tuint64_t reserved[4];',
             'nothing about extra')):
        found = changed(root, name, old, new)
        if wanted not in found:
            sys.exit(f'self-test: {old!r} as {new!r} was not found: {found}')


if __name__ == '__main__':
    top = tree.root_argument()
    found_faults = check(top)
    if not found_faults:
        self_test(top)
        check(top)
    tree.report('layout', found_faults, f'{check.asked} facts')
