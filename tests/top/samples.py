# SPDX-License-Identifier: Apache-2.0
"""Recordings for ttmem-top to replay, made up: each is a list of documents as
docs/snapshot.schema.json has them.

All is of one second, NOW, so that screens of them can be compared. Sums are sums: a
device has what its processes have there. What a sample does not say is unknown.
"""

import copy
import json
import math
import random

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
SECOND = 10**9
NOW = 100_000 * SECOND
REALTIME = 1_767_225_600 * SECOND  # 2026-01-01 00:00:00 UTC
BUFFERS = ('dram', 'l1', 'system_memory', 'l1_small', 'trace')
KERNELS = ('kernel_application', 'kernel_fabric', 'kernel_dispatch')
FAILURES = BUFFERS + ('cb',)
FIGURES = FAILURES + KERNELS
ANOMALIES = ('free_unknown', 'alloc_live', 'bad_device', 'too_many_devices',
             'bad_kind', 'overflow', 'late_free', 'scope_underflow',
             'scope_too_deep', 'device_changed')
LOSSES = ('no_slot', 'no_index', 'no_lane', 'nested', 'no_name', 'no_place')
READINGS = ('aiclk_mhz', 'temperature_mc', 'power_uw', 'fan_rpm')
COLUMNS = ('time_ns', 'dram_use', 'l1_use', 'dram_use_max', 'l1_use_max',
           'events', 'processes', *(f'live_bytes.{f}' for f in FIGURES))
SUMS = ('live_bytes', 'live_objects', 'orphaned_bytes', 'orphaned_objects',
        'peak_bytes', 'alloc_objects', 'alloc_bytes', 'free_objects',
        'free_bytes', 'requested_bytes')


def sums(live=0, objects=None, orphaned=0, orphans=0, peak=None,
         requested=None):
    objects = (1 if live else 0) if objects is None else objects
    return {'live_bytes': live, 'live_objects': objects,
            'orphaned_bytes': orphaned, 'orphaned_objects': orphans,
            'peak_bytes': live + orphaned if peak is None else peak,
            'alloc_objects': objects + orphans, 'alloc_bytes': live + orphaned,
            'free_objects': 0, 'free_bytes': 0,
            'requested_bytes': live if requested is None else requested}


def added(parts):
    total = {f: dict.fromkeys(SUMS, 0) for f in FIGURES}
    for part in parts:
        for figure, values in part.items():
            for key, value in values.items():
                total[figure][key] += value
    return total


def label(logicals):
    """As the reader has it: "0-3,7"."""
    runs = []
    for logical in sorted(logicals):
        if runs and logical == runs[-1][1] + 1:
            runs[-1][1] = logical
        else:
            runs.append([logical, logical])
    return ','.join(str(first) if first == last else f'{first}-{last}'
                    for first, last in runs)


class Sample:
    """One document, row by row."""

    def __init__(self, source='ok', age_ns=6_000_000):
        self.info = {
            'source': source, 'error': 0, 'publication': 1000,
            'monotonic_ns': NOW, 'realtime_ns': REALTIME,
            'taken_ns': NOW + age_ns, 'age_ns': age_ns, 'mode': 'user',
            'pid': 4711, 'uid': 0, 'started_ns': NOW - 7500 * SECOND,
            'objects_used': 0, 'objects_listed': True,
            'histories_listed': True, 'distributions_listed': True,
            'objects_consistent': True, 'uuid': '11' * 16, 'boot_id': '22' * 16,
            'version': '0.1.0', 'path': '/run/ttmem/ttmem-0/aggregate'}
        self.health = {
            'rounds': 750000, 'events': 123456, 'missed': 0, 'scans': 3,
            'publish_ns': 23508, 'publish_max_ns': 4081746, 'round_ns': 8789,
            'round_max_ns': 24061401, 'attached': 0, 'mirror_bytes': 224176,
            'refused': 0, 'over_limit': 0, 'open_errors': 0,
            'retire_errors': 0, 'publish_errors': 0, 'memory_errors': 0,
            'inotify': True, 'restarts': 0,
            'started_ns': NOW - 7500 * SECOND, 'rows_unlisted': 0,
            'objects_unlisted': 0}
        self.directories = [{
            'state': 'served', 'own': True, 'device': 27, 'inode': 14129,
            'uid': 0, 'holder': None, 'error': 0, 'attached': 0, 'retired': 0,
            'lost_segments': 0, 'lost_objects': 0, 'lost_bytes': 0,
            'lost_markers': 0, 'dropped_processes': 0, 'dropped_objects': 0,
            'dropped_bytes': 0, 'path': '/run/ttmem/ttmem-0'}]
        self.tables = {name: [] for name in (
            'devices', 'processes', 'shares', 'places', 'marks', 'failures',
            'quarantine', 'untracked', 'telemetry', 'holders',
            'distributions', 'histories', 'objects')}

    def add(self, table, row):
        self.tables[table].append(row)
        return len(self.tables[table]) - 1

    def device(self, logical, **more):
        return self.add('devices', {
            'identity': 'chip', 'chip_id': f'{0x7700000400000001 + logical:#x}',
            'pci_address': f'0004:{logical:02x}:00.0', 'logical': logical,
            'arch': 'blackhole', 'board': 'p150', 'capacity_source': 'told',
            'dram_bytes': 32 * GIB, 'l1_bytes': 180 * MIB,
            'l1_bytes_per_core': 1536 * KIB, 'cores': 120,
            'l1_small_bytes': 24 * KIB, 'trace_bytes': 128 * MIB,
            'l1_base': '0x19400', 'l1_top': '0x17a000',
            'events_per_s': 0, 'alloc_bytes_per_s': 0, 'free_bytes_per_s': 0,
            'headroom': None, **more})

    def telemetry(self, device, mc=45500, uw=61_000_000, mhz=1350, **more):
        row = self.tables['devices'][device]
        ages = dict.fromkeys(READINGS, 300_000_000)
        return self.add('telemetry', {
            'device': device, 'number': device, 'chip_id': row['chip_id'],
            'pci_address': row['pci_address'], 'arch': row['arch'],
            'card_type': 'p150a', 'serial': f'01000145117{device:05d}',
            'firmware': '18.10.0.0', 'sensor': 'blackhole', 'aiclk_mhz': mhz,
            'temperature_mc': mc, 'temperature_max_mc': 83000,
            'power_uw': uw, 'power_max_uw': 300_000_000, 'fan_rpm': 1560,
            'therm_trips': 0, 'holders': 1, 'holders_hidden': 0,
            'holders_unlisted': 0, 'rounds': 9, 'busy_ns': None,
            'ages_ns': ages, 'errors': dict.fromkeys(READINGS, 0), **more})

    def process(self, pid, comm, state='reporting', cgroup='/', args=(),
                **more):
        return self.add('processes', {
            'state': state, 'uuid': f'{pid:032x}', 'run_id': None,
            'directory': 0, 'pid': pid, 'uid': 0,
            'pid_namespace': 4026531836, 'start_time': 70000 + pid,
            'started_ns': NOW - pid * SECOND, 'last_event_ns': NOW - SECOND,
            'retired_ns': NOW - 60 * SECOND if state in ('exited', 'died')
            else None, 'events': 10 * pid, 'events_per_s': pid % 997,
            'missed': 0, 'in_flight': 0, 'lanes': 1, 'objects': 0,
            'unlisted': 0, 'anomalies': dict.fromkeys(ANOMALIES, 0),
            'lost_events': dict.fromkeys(LOSSES, 0),
            'lost_bytes': dict.fromkeys(LOSSES, 0), 'comm': comm,
            'cgroup': cgroup, 'cmdline': [comm, *args], **more})

    def share(self, process, device, figures, **more):
        """Figures as {name: sums(...)}."""
        return self.add('shares', {
            'process': process, 'device': device, 'entry': device,
            'logical': self.tables['devices'][device]['logical'],
            'open': True, 'epoch': 0, 'opened_ns': NOW - 60 * SECOND,
            'closed_ns': None, 'cb_footprint': figures.get('cb', sums())[
                'live_bytes'], 'cb_footprint_exact': True, 'headroom': None, 'clash_program': None,
            'dispatches': dict.fromkeys(KERNELS, 0),
            'failures': dict.fromkeys(FAILURES, 0),
            'ring_bytes': dict.fromkeys(KERNELS, 0),
            'figures': added([figures]), **more})

    def place(self, *shares):
        """The place of these shares, which are one process's."""
        rows = [self.tables['shares'][share] for share in shares]
        place = {'process': rows[0]['process'],
                 'label': label(row['logical'] for row in rows),
                 'devices': [row['device'] for row in rows],
                 'usages': list(shares)}
        if place not in self.tables['places']:
            return self.add('places', place)
        return self.tables['places'].index(place)

    def objects(self, shares, figure, number, used, scope, orphaned=(),
                **more):
        """On one share or several; `orphaned` on some of them."""
        shares = (shares,) if isinstance(shares, int) else tuple(shares)
        live = [share for share in shares if share not in orphaned]
        places = {'place': self.place(*shares),
                  'live_place': self.place(*live) if live else None,
                  'orphaned_place': self.place(*orphaned) if orphaned
                  else None}
        process = self.tables['shares'][shares[0]]['process']
        for at in range(number):
            self.add('objects', {
                'process': process, **places, 'devices': len(shares),
                'orphaned_devices': len(orphaned), 'figure': figure,
                'leak_class': 'orphaned' if orphaned else 'live',
                'orphaned': not live, 'persistent': False, 'borrowed': False,
                'in_ring': False, 'dataflow': False, 'scratchpad': False,
                'trace_storage': False, 'per_core': False, 'bytes': used,
                'total_bytes': used * len(shares), 'requested': used,
                'size': used, 'banks': 8, 'bytes_per_bank': used // 8,
                'cores': None,
                'id': f'{0x1000 + len(self.tables["objects"]):#x}',
                'address': f'{0x100000 * (at + 1):#x}', 'program': None,
                'allocated_ns': NOW - 30 * SECOND, 'age_ns': 30 * SECOND,
                'stack': 0, 'scope': scope, 'scope_path': scope, **more})

    def failure(self, share, figure, size, scope, **more):
        """Of an allocator that knows all about it."""
        return self.add('failures', {
            'process': self.tables['shares'][share]['process'],
            'place': self.place(share),
            'number': len(self.tables['failures']), 'figure': figure,
            'bytes': size, 'bytes_per_bank': size // 8,
            'free_per_bank': size // 4, 'largest_free_per_bank': size // 16,
            'program': None, 'time_ns': NOW, 'tid': 1, 'scope': scope,
            'scope_path': scope, **more})

    def holder(self, telemetry, pid, comm, **more):
        return self.add('holders', {
            'telemetry': telemetry,
            'device': self.tables['telemetry'][telemetry]['device'],
            'process': None, 'reporting': False, 'pid': pid, 'uid': 0,
            'start_time': 5, 'seen_ns': NOW - 100 * SECOND, 'comm': comm,
            'cmdline': [comm], **more})

    def history(self, device, dram, l1, interval=1, points=300):
        """Both are of now; before, they moved."""
        rows = []
        for at in range(points):
            ago = points - 1 - at
            then = round(dram * (1 - 0.25 * abs(math.sin(ago / 60))))
            l1_then = round(l1 * (1 - 0.6 * abs(math.sin(ago / 9))))
            rows.append([NOW - ago * interval * SECOND, then, l1_then,
                         round(then * 1.01), l1_then, 1000, 2, then, l1_then,
                         0, 0, 0, 0, 0, 0, 0])
        self.add('histories', {
            'device': device, 'interval_ns': interval * SECOND,
            'points': {'columns': list(COLUMNS), 'rows': rows}})

    def histories(self):
        """Of all devices, as they are now."""
        rows = self.document()['devices']
        for at, row in enumerate(rows):
            for interval, points in ((1, 300), (10, 360), (60, 1440)):
                self.history(at, row['dram_use'], row['l1_tensix_use'],
                             interval, points)

    def distribution(self, device, figure, kind, middle):
        self.add('distributions', {
            'device': device, 'figure': figure, 'kind': kind, 'total': 1000,
            'min': middle // 8, 'max': middle * 40, 'mean': middle * 2,
            'p50': middle, 'p90': middle * 4, 'p99': middle * 16,
            'p999': middle * 32})

    def document(self):
        tables = copy.deepcopy(self.tables)
        live = [p for p in tables['processes']
                if p['state'] not in ('exited', 'died', 'ended')]
        self.health['attached'] = self.directories[0]['attached'] = len(live)
        self.info['objects_used'] = len(tables['objects'])
        for at, process in enumerate(tables['processes']):
            process['objects'] = sum(o['process'] == at
                                     for o in tables['objects']) \
                if len(tables['objects']) < 1000 else 20
        for at, device in enumerate(tables['devices']):
            device_sum(tables, at, device)
        return {'schema_version': 2, 'info': self.info, 'health': self.health,
                'directories': self.directories, **tables}


def device_sum(tables, at, device):
    """What its processes have there."""
    shares = [s for s in tables['shares'] if s['device'] == at]
    device.setdefault('figures', added(s['figures'] for s in shares))
    taken = {f: v['live_bytes']
             for f, v in device['figures'].items()}
    cb = sum(s['cb_footprint'] for s in shares)
    l1 = taken['l1'] + taken['l1_small'] + cb + \
        taken['kernel_application'] + taken['kernel_dispatch']
    for key, value in {
            'dram_use': taken['dram'] + taken['trace'],
            'l1_tensix_use': l1, 'l1_use': l1 + taken['kernel_fabric'],
            'dram_peak': (taken['dram'] + taken['trace']) * 17 // 16,
            'l1_tensix_peak': l1 * 9 // 8, 'cb_footprint': cb,
            'cb_footprint_exact': True,
            'clash_process': None, 'clash_program': None,
            'processes': len({s['process'] for s in shares if tables[
                'processes'][s['process']]['state'] in ('reporting',
                                                        'silent')}),
            'dispatches': dict.fromkeys(KERNELS, 0),
            'failures': dict.fromkeys(FAILURES, 0),
            'ring_bytes': dict.fromkeys(KERNELS, 0)}.items():
        device.setdefault(key, value)


# -- the samples --------------------------------------------------------------


def workload(scale=1.0):
    """A little of everything that a kernel and a buffer can be."""
    return {
        'dram': sums(int(20 * GIB * scale), 40, peak=int(21 * GIB * scale)),
        'l1': sums(int(60 * MIB * scale), 12, peak=int(80 * MIB * scale)),
        'l1_small': sums(int(1 * MIB * scale), 2),
        'trace': sums(int(48 * MIB * scale), 1),
        'system_memory': sums(int(256 * MIB * scale), 1),
        'cb': sums(int(30 * MIB * scale), 8, peak=int(31 * MIB * scale)),
        'kernel_application': sums(int(4 * MIB * scale), 6),
        'kernel_fabric': sums(896 * KIB, 1),
        'kernel_dispatch': sums(92 * KIB, 2),
    }


def small():
    """Two devices and four processes, one of which has left something."""
    sample = Sample()
    for logical in (0, 1):
        device = sample.device(logical, headroom=412_000 - 500_000 * logical,
                               events_per_s=312)
        sample.telemetry(device, 45500 + 20000 * logical)
        for figure in ('dram', 'l1', 'cb'):
            sample.distribution(device, figure, 'bytes', 64 * KIB)
            sample.distribution(device, figure, 'lifetime_ns', 3_000_000)
    serve = sample.process(
        1001, 'llama-serve', args=('--model', 'llama-70b', '--port', '8000'),
        cgroup='/system.slice/docker-3f9c1b7a0d52.scope')
    train = sample.process(2002, 'train-loop', 'silent',
                           '/user.slice/user-1000.slice/session-4.scope')
    dead = sample.process(3003, 'pytest', 'died')
    sample.process(4004, 'whisper', 'unknown')
    first = sample.share(serve, 0, workload())
    sample.share(serve, 1, workload(0.5))
    second = sample.share(train, 1, workload(0.9))
    third = sample.share(dead, 0, {'dram': sums(
        orphaned=192 * MIB, orphans=2)})
    sample.objects(first, 'dram', 4, 240 * MIB, 'model.layers.0.attention')
    sample.objects(first, 'dram', 2, 512 * MIB, 'kv_cache')
    sample.objects(first, 'l1', 3, 20 * MIB, 'ttnn.matmul')
    sample.objects(second, 'dram', 2, 1 * GIB, 'optimizer.state')
    sample.objects(third, 'dram', 2, 96 * MIB, 'test_resnet[batch1]',
                   orphaned=(third,))
    sample.holder(0, 1001, 'llama-serve', process=serve, reporting=True)
    sample.holder(1, 5005, 'jupyter-lab')
    sample.histories()
    return [sample.document()]


def moving(count=5):
    """The small one, a second later each time, with more of llama-serve."""
    documents = []
    for at in range(count):
        document = small()[0]
        document['histories'] = document['histories'][::3]
        for key in ('monotonic_ns', 'realtime_ns', 'taken_ns'):
            document['info'][key] += at * SECOND
        document['info']['publication'] += at
        device = document['devices'][0]
        for row in (device, document['shares'][0]):
            row['figures']['dram']['live_bytes'] += at * GIB
            row['figures']['dram']['peak_bytes'] += at * GIB
        device['dram_use'] += at * GIB
        device['dram_peak'] += at * GIB
        documents.append(document)
    return documents


def big(devices=32, processes=500, objects=1000):
    """As much as a large host has."""
    sample = Sample()
    chance = random.Random(7)
    for logical in range(devices):
        at = sample.device(logical, events_per_s=1000 + logical,
                           board='galaxy-blackhole')
        sample.telemetry(at, 40000 + 1000 * logical)
        sample.history(at, (8 + logical % 5 * 5) * GIB,
                       (40 + logical) * MIB, points=120)
    for number in range(processes):
        process = sample.process(10000 + number, f'worker-{number:03d}',
                                 'reporting' if number % 7 else 'silent',
                                 f'/job/{number % 9}')
        share = sample.share(process, number % devices, workload(
            chance.randrange(10, 60) / 1000))
        sample.objects(share, 'dram', objects // processes, 3 * MIB,
                       f'layer.{number % 13}')
    return [sample.document()]


def mesh():
    """Eight devices: objects on all of them, one of them orphaned on four."""
    sample = Sample()
    for logical in range(8):
        sample.device(logical)
    serve = sample.process(1001, 'serve')
    main = sample.process(24816, 'main', 'died')
    serves = [sample.share(serve, at, {
        'dram': sums(*((3 * MIB, 2) if at > 3 else (1 * MIB, 1)),
                     *(() if at > 3 else (2 * MIB, 1)),
                     requested=(5 * MIB // 2) if at > 3 else 1 * MIB),
        'l1': sums(*((64 * KIB, 1) if at == 2 else ()))})
        for at in range(8)]
    mains = [sample.share(main, at, {
        'dram': sums(orphaned=1 * MIB, orphans=1)}, open=False)
        for at in range(8)]
    sample.objects(mains, 'dram', 1, 1 * MIB, 'op matmul', orphaned=mains,
                   age_ns=76_000_000)
    sample.objects(serves, 'dram', 1, 2 * MIB, 'kv_cache',
                   orphaned=serves[:4], requested=3 * MIB // 2, scope_path='session 7 > kv_cache')
    sample.objects(serves, 'dram', 1, 1 * MIB, 'weights')
    sample.objects(serves[2], 'l1', 1, 64 * KIB, 'halo', banks=None,
                   bytes_per_bank=None)
    sample.failure(serves[1], 'l1', 96 * MIB, 'op matmul',
                   place=sample.place(*serves), largest_free_per_bank=None)
    return [sample.document()]


HOSTILE = (
    '\x1b[2J\x1b[HPWNED', 'two\nlines', 'tab\tbell\a', '\x1b]0;title\x07x',
    '\x9b31mred', 'right\u202eto left', '漢字プロセス', 'combi\u0301ning\u0300',
    'back\b\b\b\bspace', '\u200b\ufeffzero', '%s%n%d', '',
    'emoji 👩‍👩‍👧‍👦 family', 'x' * 300, '\x0e\x0fshift', '\x1bc', '\x85next',
)


def hostile():
    """Whoever chose these names means no good."""
    sample = Sample()
    for logical in (0, 1):
        sample.telemetry(sample.device(logical, arch='\x1b[7mblack\nhole',
                                       board='p150\x1b[0m\r'))
    for number, name in enumerate(HOSTILE):
        process = sample.process(6000 + number, name, cgroup=name,
                                 args=(name, 'END'))
        share = sample.share(process, number % 2, workload(0.01))
        sample.objects(share, 'dram', 1, 3 * MIB, name)
        sample.add('marks', {'process': process, 'number': number,
                             'time_ns': NOW, 'tid': 1, 'text': name})
        sample.failure(share, 'l1', 1 * MIB, name)
        sample.holder(number % 2, 7000 + number, name)
    return [sample.document()]


def unknown():
    """Nobody knows anything but that there is something."""
    sample = Sample()
    nothing = dict.fromkeys((
        'chip_id', 'pci_address', 'arch', 'board', 'capacity_source',
        'dram_bytes', 'l1_bytes', 'l1_bytes_per_core', 'cores',
        'l1_small_bytes', 'trace_bytes', 'l1_base', 'l1_top'))
    sample.device(0, identity='logical', **nothing)
    sample.device(1)
    sample.telemetry(1, None, None, None, fan_rpm=None)
    process = sample.process(1001, None, 'unknown', None, started_ns=None,
                             last_event_ns=None, uid=None)
    sample.tables['processes'][process]['cmdline'] = []
    share = sample.share(process, 0, {'dram': sums(1 * MIB, 1)})
    sample.objects(share, 'dram', 1, 1 * MIB, None, address=None,
                   allocated_ns=None, age_ns=None)
    document = sample.document()
    document['health'] = dict.fromkeys(document['health'])
    return [document]


def empty():
    """Not even that."""
    return [{'schema_version': 2}]


def troubled():
    """All that can go wrong has."""
    document = small()[0]
    document['health'].update(
        missed=1234, refused=2, over_limit=3, open_errors=4, retire_errors=5,
        publish_errors=6, memory_errors=7, restarts=8, inotify=False,
        rows_unlisted=9, objects_unlisted=10)
    document['directories'][0].update(
        lost_segments=2, lost_objects=30, lost_bytes=40 * MIB, lost_markers=1,
        dropped_processes=3, dropped_objects=33, dropped_bytes=44 * MIB)
    process = document['processes'][0]
    process['anomalies'].update(free_unknown=17, late_free=3)
    process['lost_events'].update(no_slot=55)
    process['lost_bytes'].update(no_slot=66 * MIB)
    process['missed'] = 1234
    document['failures'] = [{
        'process': 0, 'place': 0, 'number': 1, 'figure': 'l1',
        'bytes': 96 * MIB, 'bytes_per_bank': 12 * MIB,
        'free_per_bank': 20 * MIB, 'largest_free_per_bank': 5 * MIB,
        'program': None, 'time_ns': NOW - 9 * SECOND, 'tid': 1,
        'scope': 'ttnn.matmul', 'scope_path': 'step 3 > ttnn.matmul'}]
    document['marks'] = [{'process': 0, 'number': 1, 'tid': 1, 'text': 'warm',
                          'time_ns': NOW - 99 * SECOND}]
    document['quarantine'] = [{
        'directory': 0, 'time_ns': NOW - 5 * SECOND, 'uid': 0, 'pid': 8008,
        'name': 'p.8008.1.0123456789abcdef', 'reason': 'a text is torn'}]
    document['untracked'] = [{'directory': 0, 'pid': 9009, 'error': 28,
                              'start_time': 5, 'run_id': None, 'alive': True}]
    document['telemetry'][1].update(
        temperature_mc=None, busy_ns=NOW - 40 * SECOND)
    document['telemetry'][1]['errors'].update(temperature_mc=5)
    document['telemetry'][1]['ages_ns'] = dict.fromkeys(
        READINGS, 40 * SECOND)
    return [document]


def dead():
    """ttmemd is gone since a while."""
    document = small()[0]
    document['info'].update(source='dead', age_ns=95 * SECOND,
                            taken_ns=NOW + 95 * SECOND)
    return [document]


def none():
    """There never was one."""
    return [{'schema_version': 2, 'info': {'source': 'never_started',
                                           'error': -2}}]


SAMPLES = {f.__name__: f for f in (small, moving, big, mesh, hostile, unknown,
                                   empty, troubled, dead, none)}


def write(name, path):
    """Writes a sample as JSON lines; returns its documents."""
    documents = SAMPLES[name]()
    with open(path, 'w', encoding='utf-8') as file:
        for document in documents:
            file.write(json.dumps(document) + '\n')
    return documents
