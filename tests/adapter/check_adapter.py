#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_adapter.py TTMEMD TTMEM-LOAD SNAPDUMP CALLS OLD NEW ALL [CHECK...]

The runtime adapter in three programs: with the interface of older versions, that of
the development version, and one that tells listeners of every thread everything. What they do is
in runtime.cc; what ttmemd must show of it is here.
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                '../serve'))
import serve  # noqa: E402
from serve import expect  # noqa: E402
from steps import Steps  # noqa: E402

OLD, NEW, ALL = 'old', 'new', 'all'
RUNTIMES = {}


def checked(scenario, version):
    """A check that runs a scenario and has `scenario` look at it."""
    def check(place):
        place.serve()
        name = scenario.__name__
        scenario(Steps(place, RUNTIMES[version], name), version)
    check.__name__ = f'check_{scenario.__name__}_{version}'
    return check


BANKS = {'dram': 12, 'l1': 64, 'l1_small': 64, 'trace': 64}


def used(kind, *sizes):
    """What the stand-in's allocator reserves for buffers of these sizes."""
    return sum((-(-size // BANKS[kind]) + 31) // 32 * 32 * BANKS[kind]
               for size in sizes)


def dram(*sizes):
    """Bytes and objects of DRAM."""
    return (used('dram', *sizes), len(sizes))


def l1(*sizes):
    return (used('l1', *sizes), len(sizes))


def buffers_of_a_mesh(runtime, version):
    def one_object(snapshot):
        found = {(o['figure'], o['requested'], o['bytes'], o['banks'],
                  o['devices']) for o in runtime.objects(snapshot)}
        expect('objects', found, {
            ('dram', 5000, used('dram', 5000), 12, 3),
            ('l1', 3000, used('l1', 3000), 64, 1),
            ('system_memory', 700, 700, None, 1)})
        expect('number of objects', len(runtime.objects(snapshot)), 3)
        for device in snapshot['devices']:
            for key, value in {'arch': 'wormhole_b0', 'dram_bytes': 12 << 30,
                               'l1_bytes_per_core': 1499136, 'cores': 64,
                               'l1_base': '0x18000', 'l1_top': '0x160000',
                               'l1_small_bytes': 1 << 15,
                               'trace_bytes': 64 << 20}.items():
                expect(key, device[key], value)
            expect('chip', device['chip_id'], None if version == OLD else
                   hex(0x100 + device['logical']))
    runtime.to('live').seen('one object on its members', {
        0: {'dram': dram(5000), 'system_memory': (700, 1)},
        1: {'dram': dram(5000)},
        2: {'dram': dram(5000), 'l1': l1(3000)}}, look=one_object)
    runtime.go('freed').seen(
        'freed', {0: {'system_memory': (700, 1)}, 1: {}, 2: {}})
    runtime.end()


def sharded_buffers(runtime, _):
    # All 64 banks lose what a shard takes from 4 of them.
    sizes = {'l1': (64 * (1024 + 2016), 2)}

    def sharded(snapshot):
        found = sorted((o['requested'], o['bytes'], o['bytes_per_bank'],
                        o['banks']) for o in runtime.objects(snapshot))
        expect('shards', found, [(4000, 64 * 1024, 1024, 64),
                                 (8000, 64 * 2016, 2016, 64)])
    runtime.to('live').seen('live', {0: sizes, 1: sizes, 2: sizes},
                            look=sharded)
    runtime.end()


def borrowed_cbs(runtime, _):
    def borrowed(snapshot):
        found = sorted((o['borrowed'], o['bytes'], o['size'], o['cores'])
                       for o in runtime.objects(snapshot))
        expect('CBs', found, [(False, 4000, 1000, 4), (True, 0, 3000, 10)])
    runtime.to('planned').seen('a borrowed CB adds 0', {
        0: {'cb': (4000, 2), 'cb_footprint': 4000}}, look=borrowed)
    runtime.end()


def suppressed_captures(runtime, _):
    runtime.to('captured').seen('nothing of the capture', {
        0: {'l1': l1(64), 'l1.alloc_objects': 1}})
    runtime.go('outlived').seen('nor of what outlives it', {
        0: {'l1': l1(64, 32), 'l1.alloc_objects': 2, 'l1.free_objects': 0}})
    runtime.end()


def other_threads(runtime, version):
    live, cb, scope = {
        OLD: (dram(1000), (40, 1), None),
        NEW: (dram(1000), (40, 1), None),
        ALL: (dram(1000, 10000), (1040, 2), 'unguarded')}[version]

    def scoped(snapshot):
        found = {o['requested']: o['scope'] for o in runtime.objects(snapshot)
                 if o['figure'] == 'dram'}
        expect('scope of the guarded', found.pop(1000), 'guarded')
        expect('scope of the others', found,
               {10000: scope} if version == ALL else {})
    runtime.to('threads').seen(
        'threads', {0: {'dram': live, 'cb': cb,
                        'dram.free_bytes': used('dram', 100)}}, look=scoped)
    runtime.end()


def all_cbs_of_a_device(runtime, _):
    each = {'cb': (2500 * 4, 3)}
    runtime.to('planned').seen('programs', {0: each, 1: each, 2: each})
    # Another place: besides those of the mesh.
    runtime.go('replanned').seen(
        'one device', {0: {'cb': (5000 * 4, 5)}, 1: each, 2: each})
    runtime.go('one').seen('one device', {0: {}, 1: each, 2: each})
    runtime.go('all').seen('a mesh', {0: {}, 1: {}, 2: {}})
    runtime.end()


def cbs_of_members(runtime, _):
    def of_mesh(snapshot):
        expect('CBs', sorted(o['devices'] for o in runtime.objects(snapshot)),
               [3, 3, 3, 3])
    each = {'cb': (4 * (500 + 1000 + 500), 4)}
    more = {'cb': (4 * (500 + 1000 + 500) + 10 * 100, 5)}
    runtime.to('planned').seen(
        'one object per CB', {0: each, 1: each, 2: each}, look=of_mesh)
    runtime.go('again').seen('upsert', {0: each, 1: more, 2: each})
    runtime.go('freed').seen('freed', {0: {}, 1: {}, 2: {}})
    runtime.end()


def program_memory(runtime, _):
    def told_apart(snapshot):
        found = sorted((o['dataflow'], o['scratchpad'], o['borrowed'],
                        o['size']) for o in runtime.objects(snapshot))
        expect('program memory', found, [
            (False, True, False, 50), (True, False, False, 1000),
            (True, False, True, 300)])
    each = {'cb': (4 * 1000 + 10 * 50, 3)}
    runtime.to('planned').seen('as CBs', {0: each, 1: each, 2: each},
                               look=told_apart)
    runtime.go('freed').seen('freed', {0: {}, 1: {}, 2: {}})
    runtime.end()


def cbs_without_programs(runtime, _):
    def unclaimed(snapshot):
        expect('programs', {o['program'] for o in runtime.objects(snapshot)},
               {'0x0'})
    runtime.to('planned').seen(
        'by place', {0: {'cb': (1200 * 4 + 1000 * 10, 2)}}, look=unclaimed)
    runtime.end()


def scopes(runtime, _):
    def scoped(snapshot):
        found = {o['requested']: o['scope'] for o in runtime.objects(snapshot)}
        expect('scopes', found, {1: 'ttnn.to_memory_config', 2: 'ttnn.matmul',
                                 3: None, 4: 'thrown', 5: None})
    runtime.to('scopes').seen(
        'scopes', {0: {'dram': dram(1, 2, 3, 4, 5)}}, look=scoped)
    runtime.end()


def exceptions(runtime, _):
    sizes = [384 * n for n in range(1, 9)]

    def scoped(snapshot):
        found = {o['requested'] // 384: o['scope']
                 for o in runtime.objects(snapshot)}
        expect('scopes', found, {1: None, 2: 'works', 3: None, 4: 'inner',
                                 5: 'outer', 6: 'outer', 7: None, 8: None})
    runtime.to('thrown').seen('thrown', {0: {'dram': dram(*sizes)}},
                              look=scoped)
    runtime.end()


def program_cache(runtime, version):
    """The program cache is not cleared: no leak. A tensor that is forgotten is."""
    cbs = {'cb': (4 * 1500, 2), 'kernel_application': (5 * 2000, 1),
           'dispatches.kernel_application': 3}
    live = dict(cbs, dram=dram(40960, 9216, 8192),
                l1=l1(*() if version == OLD else (128,)))

    def told_apart(snapshot):
        found = sorted((o['figure'], o['requested'], o['persistent'],
                        o['trace_storage'])
                       for o in runtime.objects(snapshot)
                       if o['figure'] in ('dram', 'l1'))
        expect('objects', found, [
            ('dram', 8192, False, True), ('dram', 9216, False, False),
            ('dram', 40960, True, False)] + (
                [] if version == OLD else [('l1', 128, True, False)]))
    everywhere = {0: live, 1: live, 2: live}
    runtime.to('cached').seen('cached', everywhere, look=told_apart)
    # A part of the mesh shares its devices with the whole.
    runtime.go('part').seen('part', everywhere)
    runtime.go('closed')
    runtime.end()

    def left(snapshot):
        expect('state', snapshot.process(runtime.pid)['state'], 'exited')
        expect('leaks', sorted((o['figure'], o['requested'])
                               for o in runtime.objects(snapshot)
                               if o['leak_class'] != 'persistent'),
               [('dram', 8192), ('dram', 9216)])
    runtime.place.sees('the end', left, '--objects')


def failures(runtime, _):
    unknown = (None,) * 4

    def told(snapshot):
        rows = sorted((f['figure'], f['bytes'], f['bytes_per_bank'],
                       f['free_per_bank'], f['largest_free_per_bank'],
                       f['program']) for f in snapshot['failures'])
        expect('failures', sorted(rows, key=str), sorted([
            ('l1_small', 1048576, 16384, 12288, 8192, None),
            ('l1', 4096, 1024, None, None, None),
            ('cb', None, 200000 - 0x18000, 131072 - 0x18000,
             131072 - 0x18000, hex(77)),
            ('cb', None, 2000000 - 0x18000, 1499136 - 0x18000,
             1499136 - 0x18000, None),
            ('dram', None, *unknown)], key=str))
    runtime.to('failed').seen('failed', {
        0: {'failures.l1': 1, 'failures.l1_small': 1},
        1: {'failures.l1_small': 1},
        2: {'failures.dram': 1, 'failures.l1_small': 1}}, look=told)
    runtime.end()


def call_sites(runtime, _):
    kernel = {'kernel_application': (8000, 1),
              'dispatches.kernel_application': 1,
              'ring_bytes.kernel_application': 8000}
    small = (used('l1_small', 2048), 1)
    first = {**kernel, 'kernel_fabric': (57344 * 16, 1), 'cb': (640, 1)}

    def known(snapshot):
        chips = {d['logical']: (d['chip_id'], d['pci_address'], d['board'])
                 for d in snapshot['devices']}
        expect('chips', chips, {
            0: ('0xabc', '0000:03:00.0', 'n150'), 1: ('0xdef', None, None)})
    runtime.to('called').seen('called', {
        0: first, 1: {**kernel, 'l1_small': small}}, look=known)
    runtime.go('closed').seen('closed', {
        0: {'kernel_fabric': (57344 * 16, 1)},
        1: {'l1_small.orphaned': small}})
    runtime.go('late').seen(
        'late', {0: {'kernel_fabric': (57344 * 16, 1)}, 1: {}},
        anomalies={'late_free': 1})
    runtime.end()


def events_by_call_site(runtime, _):
    def unscoped(snapshot):
        expect('scopes', [o['scope'] for o in runtime.objects(snapshot)],
               [None])
    runtime.to('without').seen(
        'buffers alone', {0: {'l1': l1(64)}}, look=unscoped)
    runtime.end()


def captures(runtime, _):
    runtime.to('captured').seen('beside captures', {
        0: {'dram.alloc_bytes': used('dram', 10, 100),
            'dram.free_bytes': used('dram', 10, 100)}})
    runtime.end()


def destruction(runtime, version):
    runtime.to('before').seen('before', {3: {
        'dram': dram(100), 'cb': (4000, 1),
        'l1.free_bytes': used('l1', 7)}})
    runtime.end()

    def exited(snapshot):
        expect('state', snapshot.process(runtime.pid)['state'], 'exited')
    # Old versions tell nobody of what static destructors do.
    trace = used('trace', 5)
    left = {'dram.orphaned': dram(100)} if version != ALL else {
        'dram.free_bytes': used('dram', 100), 'trace.alloc_bytes': trace,
        'trace.free_bytes': trace}
    runtime.seen('after', {3: left}, look=exited)


SCENARIOS = (buffers_of_a_mesh, sharded_buffers, borrowed_cbs,
             suppressed_captures, other_threads, all_cbs_of_a_device,
             cbs_of_members, program_memory, cbs_without_programs, scopes,
             exceptions, program_cache, failures, call_sites,
             events_by_call_site, captures, destruction)


if __name__ == '__main__':
    if len(sys.argv) < 8:
        print(__doc__, end='')
        sys.exit(2)
    for which in (OLD, NEW, ALL):
        RUNTIMES[which] = os.path.abspath(sys.argv.pop(5))
    sys.exit(serve.run_all(__doc__, [checked(s, v) for v in RUNTIMES
                                     for s in SCENARIOS
                                     if (s, v) != (program_memory, OLD)]))
