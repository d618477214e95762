#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_fields.py TTMEMD TTMEM-LOAD SNAPDUMP CALLS [CHECK...]

Every field of a process segment, as docs/layout.md names it, and what becomes of its
process when it says something else: what breaks the structure, or something that the
library guarantees, is quarantined with a text; the rest is believed. Each process has
one wrong field; all of them live at once, beside one that is right. Nothing of that
one may move, whatever the others say, and however they end.
"""

import contextlib
import glob
import json
import mmap
import os
import signal
import struct
import subprocess
import sys

import serve

DIRECTORY, LANES, DEVICES = 0x1000, 0x9000, 0x19000
FAILURES, MARKS, PLACES, EXTENTS = 0x29000, 0x2a000, 0x2c000, 0x50000
EXTENT = 0x20000
LANE, SLOTS, BLOCKS, NAMES, CORE_SETS = 1, 2, 3, 4, 5
ALLOC = 1
MASK = (1 << 64) - 1


class Segment:
    """The file of a process, to be written by somebody else."""

    def __init__(self, path):
        with open(path, 'r+b') as file:
            self.bytes = mmap.mmap(file.fileno(), 0)
        self.extents = {}
        for i in range((len(self.bytes) - EXTENTS) // EXTENT):
            word = self.get(DIRECTORY + 4 * i, '<I')
            if word >> 24 in (LANE, SLOTS, BLOCKS, NAMES, CORE_SETS):
                self.extents[word >> 24, word & 0xffffff] = i

    def close(self):
        self.bytes.close()

    def get(self, off, form='<Q'):
        return struct.unpack_from(form, self.bytes, off)[0]

    def put(self, off, value, form='<Q'):
        bits = 8 * struct.calcsize(form)
        struct.pack_into(form, self.bytes, off, value & (1 << bits) - 1)

    def extent(self, kind, ordinal=0):
        return EXTENTS + self.extents[kind, ordinal] * EXTENT

    def word(self, kind, ordinal=0):
        """Where the directory has the extent."""
        return DIRECTORY + 4 * self.extents[kind, ordinal]

    def seal(self):
        total = 0xcbf29ce484222325
        for byte in self.bytes[:0x7f8]:
            total = (total ^ byte) * 0x100000001b3 & MASK
        self.put(0x7f8, total)

    def lane(self):
        """The control of the lane that has the most records."""
        return max((LANES + 64 * n for n in range(self.get(0x810))),
                   key=lambda off: self.get(off + 8))

    def record(self, figures=range(9)):
        """The last record of an allocation of one of the figures."""
        tail = self.get(self.lane() + 8)
        ring = self.extent(LANE, (self.lane() - LANES) // 64)
        for n in range(tail - 1, max(tail - 2049, -1), -1):
            off = ring + n % 2048 * 64
            w1 = self.get(off + 8)
            if w1 >> 56 == ALLOC and w1 >> 40 & 15 in figures:
                return off
        return serve.fail('there is no record of an allocation')

    def slot(self, scope=False, figures=range(9)):
        """A slot in use, of one of the figures, with a scope if need be."""
        for n in range(2048):
            off = self.extent(SLOTS) + n * 64
            if self.get(off) & 3 == 2 and (
                    not scope or self.get(off + 56) & 0xffff) and \
                    self.get(off + 8) >> 40 & 15 in figures:
                return off
        return serve.fail('there is no slot in use')

    def scope(self):
        """The name that an object has."""
        number = self.get(self.slot(scope=True) + 56) & 0xffff
        return self.extent(NAMES, (number - 1) // 1024) + \
            (number - 1) % 1024 * 128


# -- what is done, and what becomes of it ---------------------------------------

CASES = []


def case(name, text=None, last=None):
    """`text` is that of the quarantine, None: it is believed; `last` is one that
    only comes with the last read, when the process is dead."""
    def take(function):
        CASES.append((name, function, text, last))
        return function
    return take


def word(name, off, value, text=None, form='<Q', sealed=False, last=None):
    """A field at an offset, or where a function says; a value, or from what was."""
    @case(name, text, last)
    def change(segment):
        at = off(segment) if callable(off) else off
        was = segment.get(at, form)
        segment.put(at, value(was) if callable(value) else value, form)
        if sealed:
            segment.seal()


def constant(name, off, value, text=None, form='<I'):
    word(f'header: {name}', off, value, text, form, sealed=True)


def bits(off, shift, width):
    """Of a word: a function that sets them."""
    return lambda value: (
        lambda was: was & ~(((1 << width) - 1) << shift) | value << shift)


def in_lane(off):
    return lambda segment: segment.lane() + off


def in_record(number, figures=range(9)):
    return lambda segment: segment.record(figures) + 8 * number


def in_slot(number, figures=range(9)):
    return lambda segment: segment.slot(figures=figures) + 8 * number


# A buffer's bytes are two words; those of a kernel are size x cores.
BUFFERS, KERNELS = range(5), range(6, 9)


constant('magic', 0x000, 1, 'it is no segment (magic)', '<Q')
constant('version', 0x008, 3, 'version is 3')
constant('header size', 0x00c, 8192, 'header size is 8192')
constant('layout signature', 0x010, 1, 'layout is another one', '<Q')
constant('uuid, in the name', 0x018, lambda was: was ^ 1,
         'name is not the one', '<Q')
constant('uuid, the rest', 0x020, lambda was: was ^ 1, None, '<Q')
constant('boot id', 0x028, lambda was: was ^ 1, None, '<Q')
constant('run id', 0x038, 0x4242, None, '<Q')
constant('pid', 0x048, 0, 'pid is 0')
constant('pid of another', 0x048, 1, 'name is not the one')
constant('uid', 0x04c, 4711)
constant('pid namespace', 0x050, 1, None, '<Q')
constant('start time', 0x058, 1, 'name is not the one', '<Q')
constant('clock kind', 0x060, 9, 'clock kind is 9')
constant('reserved', 0x064, 1)
constant('clock rate', 0x068, 5, 'clock rate is 5', '<Q')
constant('clock base', 0x070, MASK, None, '<Q')
constant('monotonic base', 0x078, MASK, None, '<Q')
constant('realtime base', 0x080, MASK, None, '<Q')
constant('extent size', 0x088, 4096, 'extent size is 4096')
constant('extents max', 0x08c, 9000, 'most extents it may have is 9000')
constant('extents max, too few', 0x08c, 1, 'file size is')
constant('lanes max', 0x090, 9, 'number of lanes is 9')
constant('records per lane', 0x094, 9, 'records of a lane is 9')
constant('devices max', 0x098, 9, 'number of devices is 9')
constant('failures kept', 0x09c, 9, 'failures kept is 9')
constant('marks kept', 0x0a0, 9, 'marks kept is 9')
for n, what in enumerate(('directory', 'lanes', 'devices', 'failures', 'marks',
                          'places', 'extents')):
    constant(f'{what} offset', 0x0a8 + 8 * n, 64, f'{what} offset is 64', '<Q')
constant('comm', 0x0e0, 0x1b5b333141414141, None, '<Q')
constant('command line', 0x0f0, MASK, None, '<Q')
constant('cgroup', 0x2f0, MASK, None, '<Q')
constant('reserved, the rest', 0x3f0, MASK, None, '<Q')
word('header: checksum', 0x7f8, lambda was: was ^ 1, 'checksum is wrong')


@case('header: uuid of nobody', 'uuid is empty')
def uuid_clear(segment):
    segment.put(0x018, 0)
    segment.put(0x020, 0)
    segment.seal()


word('live: state', 0x800, 3, 'its state is 3, which is none')
word('live: ended', 0x800, 2)
word('live: extents high', 0x808, 9000, 'it claims 9000 extents')
word('live: no extents', 0x808, 0)
word('live: lanes', 0x810, 1025, 'it claims 1025 lanes')
word('live: no lanes', 0x810, 0)
word('live: devices', 0x818, 65, 'it claims 65 devices')
word('live: no devices', 0x818, 0, 'which is not there')
word('live: names', 0x820, MASK)
word('live: blocks', 0x828, 1 << 40, f'it claims {1 << 40} counter blocks')
word('live: no blocks', 0x828, 0)
word('live: failures', 0x830, MASK)
word('live: marks', 0x838, MASK)
word('live: closes', 0x840, MASK)
word('live: places', 0x848, 1 << 20, f'it claims {1 << 20} places')
word('live: no places', 0x848, 0)
word('live: core sets', 0x850, MASK)
word('live: lost events', 0x880, MASK)
word('live: lost bytes', 0x900, MASK)
word('live: reserved', 0x980, MASK)

word('extent: type', lambda s: s.word(LANE), 9 << 24, 'impossible word', '<I')
word('extent: ordinal', lambda s: s.word(LANE), 1 << 24 | 1024,
     'impossible word', '<I')
word('extent: two of them', lambda s: s.word(BLOCKS), 2 << 24,
     'claim to be the same', '<I')
word('extent: slots of none', lambda s: s.word(SLOTS), 2 << 24 | 5000,
     'and slots for 5001', '<I')
word('extent: a lane that is away', lambda s: s.word(LANE), 255 << 24,
     None, '<I')
word('extent: no counters', lambda s: s.word(BLOCKS), 0, None, '<I')
word('extent: no names', lambda s: s.word(NAMES), 0, None, '<I')

word('lane: tail', in_lane(8), 1 << 57, 'the tail of lane')
word('lane: tail, behind', in_lane(8), lambda was: was - 1)
word('lane: intent, behind', in_lane(0), lambda was: was - 1, 'and intent')
word('lane: intent, far ahead', in_lane(0), 1 << 60, 'and intent')
word('lane: intent', in_lane(0), lambda was: was + 5000, last='ended with tail')
word('lane: owner', in_lane(16), MASK)
word('lane: reserved', in_lane(24), MASK)

word('record: generation', in_record(0), lambda was: was + (1 << 40))
word('record: state', in_record(0), lambda was: was ^ 3, 'a record of state')
word('record: place', in_record(0), bits(0, 2, 14)(16000), 'place 16000')
word('record: no place', in_record(0), bits(0, 2, 14)(0), 'place 0')
word('record: type', in_record(1), bits(1, 56, 8)(99), 'a record of type 99')
word('record: slot', in_record(1), bits(1, 0, 24)(0xfffffe),
     'names slot 16777214, which is not there')
word('record: stamp', in_record(1), bits(1, 24, 16)(4711))
word('record: figure', in_record(1), bits(1, 40, 4)(12),
     'a record of figure 12')
word('record: flags', in_record(1), bits(1, 44, 12)(0xffe))
word('record: id', in_record(2), MASK)
word('record: address', in_record(3), MASK)
word('record: size', in_record(4, BUFFERS), bits(4, 0, 46)((1 << 46) - 1))
word('record: size of a kernel', in_record(4, KERNELS),
     bits(4, 0, 46)((1 << 46) - 1), 'has an object of 0x')
word('record: place of allocation', in_record(4), bits(4, 46, 14)(16000),
     'of 16000')
word('record: no place of allocation', in_record(4), bits(4, 46, 14)(0), 'of 0')
word('record: used bytes, banks', in_record(5, BUFFERS), MASK)
word('record: program', in_record(5, KERNELS), MASK)
word('record: time', in_record(6), MASK)
word('record: scope, stack', in_record(7), bits(7, 0, 40)((1 << 40) - 1))
word('record: cores', in_record(7), bits(7, 40, 12)(4095))
word('record: core set', in_record(7), bits(7, 52, 12)(4095), 'core set 4095')

word('slot: state', in_slot(0), lambda was: was ^ 3)
word('slot: generation', in_slot(0), lambda was: was + (1 << 40))
word('slot: number', in_slot(1), bits(1, 0, 24)(4711), last='cannot be: w1')
word('slot: place', in_slot(0), bits(0, 2, 14)(16000), last=
     'cannot be: place 16000')
word('slot: no place', in_slot(0), bits(0, 2, 14)(0), last=
     'cannot be: place 0')
word('slot: stamp', in_slot(1), bits(1, 24, 16)(4711))
word('slot: figure', in_slot(1), bits(1, 40, 4)(12), last='cannot be: w1')
word('slot: flags', in_slot(1), bits(1, 44, 12)(0xffe))
word('slot: rank', in_slot(1), bits(1, 56, 8)(77))
word('slot: id', in_slot(2), MASK)
word('slot: address', in_slot(3), MASK)
word('slot: size', in_slot(4, BUFFERS), bits(4, 0, 46)((1 << 46) - 1))
word('slot: size of a kernel', in_slot(4, KERNELS),
     bits(4, 0, 46)((1 << 46) - 1), last='cannot be: w1')
word('slot: place of allocation', in_slot(4), bits(4, 46, 14)(16000), last=
     'of 16000')
word('slot: no place of allocation', in_slot(4), bits(4, 46, 14)(0), last=
     'of 0')
word('slot: used bytes, banks', in_slot(5, BUFFERS), MASK)
word('slot: program', in_slot(5, KERNELS), MASK)
word('slot: time', in_slot(6), MASK)
word('slot: scope, stack', in_slot(7), bits(7, 0, 40)((1 << 40) - 1))
word('slot: cores', in_slot(7), bits(7, 40, 12)(4095))
word('slot: core set', in_slot(7), bits(7, 52, 12)(4095), last=
     'core set 4095')

word('block: owner', lambda s: s.extent(BLOCKS),
     1 << 63 | 60 << 32, 'is of device entry 60, which is not there')
word('block: of nobody', lambda s: s.extent(BLOCKS), 0)
for n, what in ((8, 'era'), (0x10, 'dispatches'), (0x40, 'failures'),
                (0x80, 'allocated'), (0x90, 'freed'), (0xa0, 'live objects'),
                (0xa8, 'live bytes'), (0xb0, 'folded'), (0xb8, 'highest'),
                (0x2c0, 'reserved')):
    word(f'block: {what}', lambda s, n=n: s.extent(BLOCKS) + n, MASK >> 1)

word('device: not ready', DEVICES, 0, 'which is not there')
word('device: logical id', DEVICES, bits(0, 32, 32)(4711))
word('device: era', DEVICES + 8, 77 << 32 | 5)
word('device: facts are being written', DEVICES + 0x10, 1)
for n, what in enumerate((
        'opened', 'closed', 'known', 'chip id', 'PCI address', 'arch',
        'arch, more', 'board', 'board, more', 'DRAM bytes', 'L1 per core',
        'cores', 'L1_SMALL bytes', 'TRACE bytes', 'L1 base', 'L1 top',
        'DRAM banks', 'DRAM per bank', 'DRAM base', 'L1 banks', 'gateway',
        'reserved')):
    word(f'device: {what}', DEVICES + 0x18 + 8 * n, MASK)
word('device: folded', DEVICES + 0x100, MASK)
word('device: peak', DEVICES + 0x108, MASK)

word('name: length', lambda s: s.scope(), 1000, 'the impossible word 0x3e8')
word('name: its own parent', lambda s: s.scope(), lambda was: was | 0xffff << 40,
     'the impossible word 0x')
word('name: none', lambda s: s.scope(), 0)
word('name: private', lambda s: s.scope() + 8, MASK)
word('name: text', lambda s: s.scope() + 16, 0x1b5b333141ff80c0)

word('place: of no device', PLACES + 8, 0, 'which is not there')
word('place: of devices that are not there', PLACES + 8, MASK,
     'which is not there')

# The first is read, and two of its words have limits.
for n, (what, text) in enumerate((
        ('seq', None), ('place', 'on place 18446744073709551614'),
        ('figure', 'of figure 18446744073709551614'), ('time', None),
        ('tid', None), ('scope', 'in scope 18446744073709551614'),
        ('stack', None), ('bytes', None), ('bytes per bank', None),
        ('free per bank', None), ('largest free per bank', None),
        ('program', None), ('stamp', None), ('summary', None),
        ('reserved', None))):
    word(f'failure: {what}', FAILURES + 8 * n, MASK - 1, text)
word('failure: no place', FAILURES + 8, 0)
word('failure: a place that is not there', FAILURES + 8, 16000,
     'on place 16000, which is not there')
for n, what in enumerate(('seq', 'time', 'tid', 'length', 'text')):
    word(f'mark: {what}', MARKS + 8 * n, MASK - 1)


# -- the check --------------------------------------------------------------------


class Crowd:
    """A process for each case, all alike."""

    def __init__(self, place, processes):
        self.process = place.popen(
            [place.programs.load, '--dir', place.base, '--pattern', 'mixed',
             '--events', '400', '--live', '20', '--scopes', '3', '--marks',
             '--failures', '2', '--chip-offset', '7', '--hold', '--json', '-',
             '--processes', str(processes)], stdin=subprocess.PIPE, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.truth = json.loads(self.process.stdout.readline())
        serve.expect('ready', self.process.stdout.readline(), 'ready\n')
        self.pids = [p['pid'] for p in self.truth['processes']]

    def kill(self):
        for pid in self.pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def stop(process):
    """Until every thread of it stands still."""
    def stands():
        for path in glob.glob(f'/proc/{process.pid}/task/*/stat'):
            with open(path, encoding='ascii') as file:
                serve.expect(path, file.read().rpartition(')')[2].split()[0],
                             'T')
    process.send_signal(signal.SIGSTOP)
    serve.wait_for('it stands still', stands)


def segment_change(place, pid, change):
    path, = glob.glob(f'{place.base}/ttmem-*/p.{pid}.*')
    segment = Segment(path)
    try:
        change(segment)
    finally:
        segment.close()


def rows_of(snapshot, control):
    """All that is shown of the one that is right, and of its device."""
    process = dict(snapshot.process(control.pid))
    device = snapshot.device(chip_id='0x1')
    # It is silent after a while.
    is_alive = process['state'] in ('reporting', 'silent')
    return (process['events'], process['missed'], process['objects'],
            process['anomalies'], is_alive,
            [share['figures'] for share in
             snapshot.of_process('shares', control.pid)],
            device['figures'], device['processes'], device['dram_use'],
            device['facts'] if 'facts' in device else device['cores'])


def reasons_of(snapshot):
    return {row['pid']: row['reason'] for row in snapshot['quarantine']}


def told(snapshot, pids, dead):
    """Each as its case says; returns how many are in quarantine."""
    reasons = reasons_of(snapshot)
    states = {p['pid']: p['state'] for p in snapshot['processes']}
    wrong = []
    for pid, (name, _, text, last) in zip(pids, CASES):
        wanted = text or (dead and last)
        reason = reasons.get(pid)
        if wanted and wanted not in (reason or ''):
            wrong.append(f'{name}: {reason!r} and not {wanted!r}')
        elif not wanted and reason and not last:
            wrong.append(f'{name}: in quarantine: {reason}')
        elif not reason and pid not in states:
            wrong.append(f'{name}: it is nowhere')
        elif not reason and dead and states[pid] not in ('died', 'exited'):
            wrong.append(f'{name}: {states[pid]}')
    if wrong:
        serve.fail(f'{len(wrong)}: ' + '; '.join(wrong[:8]))
    return len(reasons)


def check_every_field(place):
    server = place.serve('--max-processes', '1000')
    control = place.run('open 0 chip=1\npush right\nalloc 0 dram 1 0x1000 3M\n'
                        'alloc 0 l1 2 0x1000 4K\ncb 0 1 0 0x19000 4K 64\n'
                        'kernel 0 1 application 33K 65\nsync\n')
    place.settled('before', control)
    # What is live is seen by a scan, which may be ahead of the records.
    place.sees('all records', lambda snapshot: serve.expect(
        'events', snapshot.process(control.pid)['events'], 5))
    right = rows_of(place.snapshot(), control)
    # All that is wrong is wrong from the first look on.
    stop(server.process)
    crowd = Crowd(place, len(CASES))
    for pid, (_, change, _, _) in zip(crowd.pids, CASES):
        segment_change(place, pid, change)
    server.process.send_signal(signal.SIGCONT)

    def looks(dead):
        def look(snapshot):
            kept.append(told(snapshot, crowd.pids, dead))
            serve.expect('the one that is right', rows_of(snapshot, control),
                         right)
        kept = []
        place.sees('dead' if dead else 'alive', look, seconds=60)
        return kept[-1]
    alive = looks(False)
    crowd.kill()
    dead = looks(True)
    print(f'   {len(CASES)} fields: {alive} are refused, '
          f'{dead - alive} at their end; the others are believed')
    snapshot = place.snapshot()
    serve.expect('ttmemd', (snapshot['info']['source'],
                            snapshot['health']['memory_errors'],
                            snapshot['health']['publish_errors']),
                 ('ok', 0, 0))
    control.end()
    serve.expect('status', server.stop(), 0)


CHECKS = [check_every_field]

if __name__ == '__main__':
    sys.exit(serve.run_all(__doc__, CHECKS))
