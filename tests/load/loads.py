# SPDX-License-Identifier: Apache-2.0
"""Runs ttmem-load in a place of its own and holds what it says against what the
independent reader finds in the segments.

A lock as an aggregator would hold it keeps the segments of processes that ended
with nothing left, which would otherwise be gone.
"""

import fcntl
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

FIGURES = ('dram', 'l1', 'system_memory', 'l1_small', 'trace', 'cb',
           'kernel_application', 'kernel_fabric', 'kernel_dispatch')
FLOWS = ('alloc_objects', 'alloc_bytes', 'free_objects', 'free_bytes',
         'live_objects', 'live_bytes', 'live_requested', 'orphan_objects',
         'orphan_bytes', 'orphan_requested')
TYPES = ('application', 'fabric', 'dispatch')
ANOMALIES = ('free_unknown', 'alloc_live', 'bad_device', 'too_many_devices',
             'bad_kind', 'overflow', 'late_free', 'scope_underflow',
             'scope_too_deep', 'device_changed')


def fail(text):
    print(f'FAIL: {text}')
    sys.exit(1)


def expect(what, found, wanted):
    if found != wanted:
        fail(f'{what}: {found!r} and not {wanted!r}')


def scale():
    """The size of heavy tests, as a factor."""
    return int(os.environ.get('TTMEM_TEST_SCALE', '100')) / 100


def words_of(line):
    """The key=value words of one of segdump's lines."""
    return dict(w.split('=', 1) for w in line.split(' ') if '=' in w)


class Segment:
    """What segdump says about a segment."""

    def __init__(self, segdump, path, check):
        done = subprocess.run([segdump, check, path], capture_output=True,
                              text=True, check=False)
        if done.returncode:
            fail(f'{path}: {done.stderr}')
        self.head = {}
        self.devices = {}
        self.objects = []
        for line in done.stdout.split('\n'):
            kind, _, rest = line.partition(' ')
            if kind == 'device':
                self._device(words_of(rest))
            elif kind == 'figure':
                words = words_of(rest)
                self.devices[words['entry']]['figures'][words['figure']] = \
                    {f: int(words[f]) for f in FLOWS}
            elif kind == 'object':
                self.objects.append(words_of(rest))
            elif re.match(r'[\w.]+=\S*$', line):
                self.head.update(words_of(line))
        self.pid = int(self.head['pid'])
        self.anomalies = {n: int(self.head.get(f'anomaly.{i}', 0))
                          for i, n in enumerate(ANOMALIES)}

    def _device(self, words):
        known = int(words['known'], 16)
        self.devices[words['entry']] = {
            'logical': int(words['logical']),
            'chip_id': words['chip_id'] if known & 1 else None,
            'pci_address': words['pci_address'] if known & 2 else None,
            'board': words['board'], 'open': words['open'] == '1',
            'dispatches': dict(zip(TYPES, map(
                int, words['dispatches'].split(',')))),
            'failures': dict(zip(FIGURES, map(
                int, words['failures'].split(',')))),
            'figures': {f: dict.fromkeys(FLOWS, 0) for f in FIGURES}}

    def named(self):
        """The devices by what the load calls them."""
        return {(d['logical'], d['chip_id']): d for d in self.devices.values()}


def is_nothing(device):
    return not any(v for f in device['figures'].values() for v in f.values())


class Place:
    """A base directory for one test; use it with `with`."""

    def __init__(self, load, segdump, served=True):
        self.load = load
        self.segdump = segdump
        self.base = tempfile.mkdtemp(prefix='ttmem-test.', dir='/dev/shm')
        self.lock = None
        if served:
            folder = f'{self.base}/ttmem-{os.getuid()}'
            os.mkdir(folder, 0o700)
            self.lock = os.open(f'{folder}/ttmemd.lock',
                                os.O_RDWR | os.O_CREAT, 0o600)
            fcntl.lockf(self.lock, fcntl.LOCK_EX, 1, 0)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.lock is not None:
            os.close(self.lock)
        shutil.rmtree(self.base)

    def command(self, *options):
        return [self.load, '--dir', self.base, *map(str, options)]

    def environment(self, **changes):
        env = {k: v for k, v in os.environ.items()
               if not k.startswith(('TTMEM_', 'TT_ALLOC_'))}
        env.update(changes)
        return env

    def run(self, *options, status=0, stdin=None, **changes):
        """Runs it to its end; returns what it printed."""
        where = {'stdin': subprocess.DEVNULL} if stdin is None else \
            {'input': stdin}
        done = subprocess.run(self.command(*options), text=True,
                              capture_output=True, check=False,
                              env=self.environment(**changes), **where)
        if done.returncode != status:
            fail(f'{options}: status {done.returncode} and not {status}\n'
                 f'{done.stdout}{done.stderr}')
        return done

    def truth(self, *options, status=0, stdin=None):
        """Runs it to its end; returns its last document."""
        done = self.run('--json', '-', *options, status=status, stdin=stdin)
        return json.loads(done.stdout.strip().split('\n')[-1])

    def start(self, *options):
        """Runs it with pipes to talk through."""
        return subprocess.Popen(
            self.command(*options), stdin=subprocess.PIPE, text=True,
            stdout=subprocess.PIPE, env=self.environment())

    def segments(self, check='-c'):
        """{pid: segment} of all that is there."""
        found = {}
        for path in glob.glob(f'{self.base}/ttmem-*/p.*'):
            segment = Segment(self.segdump, path, check)
            found[segment.pid] = segment
        return found

    def tidy(self):
        for path in glob.glob(f'{self.base}/ttmem-*/p.*'):
            os.unlink(path)


def same(truth, segments):
    """The truth is what the segments say, exactly."""
    pids = {p['pid'] for p in truth['processes'] if p['events']}
    expect('processes', set(segments), pids)
    for process in truth['processes']:
        if process['pid'] not in segments:
            continue
        segment = segments[process['pid']]
        expect('calls in doubt', process['in_doubt'], [])
        expect('losses', [k for k in segment.head if k[:4] == 'lost'], [])
        expect('anomalies', segment.anomalies, process['anomalies'])
        expect('marks', int(segment.head['marks']), process['marks'])
        expect('failures', int(segment.head['failures']), process['failed'])
        # An object on a mesh is one object, and counts on each device.
        expect('objects', len(segment.objects), process['objects']['live'])
        same_devices(process, segment)
    same_sums(truth)


def same_devices(process, segment):
    named = segment.named()
    for device in process['devices']:
        key = (device['logical'], device['chip_id'])
        found = named.pop(key, None)
        if found is None and is_nothing(device):
            continue  # never opened, and nothing ever happened there
        if found is None:
            fail(f'no device {key} among {list(named)}')
        for what in ('pci_address', 'board', 'open', 'dispatches', 'failures'):
            expect(f'{what} of {key}', found[what], device[what])
        for figure, flows in device['figures'].items():
            expect(f'{figure} of {key}', found['figures'][figure],
                   {f: flows[f] for f in FLOWS})
    expect('devices that nobody named', list(named), [])


def added(parts):
    total = {}
    for part in parts:
        for figure, flows in part['figures'].items():
            for flow, value in flows.items():
                total[figure, flow] = total.get((figure, flow), 0) + value
    return total


def same_sums(truth):
    """Totals are the sum of processes, devices and chips alike."""
    whole = added([truth])
    expect('sum of processes', added(truth['processes']), whole)
    expect('sum of chips', added(truth['chips'].values()), whole)
    expect('events', sum(p['events'] for p in truth['processes']),
           truth['events'])


def arguments(doc):
    if len(sys.argv) != 3:
        print(doc, end='')
        sys.exit(2)
    return sys.argv[1:]
