#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_adapter.py TTMEMD TTMEM-LOAD SNAPDUMP CALLS OLD NEW ALL [CHECK...]

The runtime adapter in three programs: with the interface of older versions, that of
newer ones, and one that tells processors of every thread everything. What they do is
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


def buffers_of_a_mesh(runtime, _):
    def charged(snapshot):
        found = {(o['figure'], o['charged'])
                 for o in runtime.objects(snapshot)}
        expect('charged', found, {('dram', 5 * 32 * 12), ('l1', 3 * 32 * 64),
                                  ('system_memory', None)})
        for device in snapshot['devices']:
            for key, value in {'arch': 'wormhole_b0', 'dram_bytes': 12 << 30,
                               'l1_bytes_per_core': 1499136, 'cores': 64,
                               'l1_base': '0x18000', 'l1_top': '0x160000',
                               'l1_small_bytes': 1 << 15,
                               'trace_bytes': 64 << 20}.items():
                expect(key, device[key], value)
    runtime.to('live').seen('once per member', {
        0: {'dram': (5000, 1), 'system_memory': (700, 1)},
        1: {'dram': (5000, 1)},
        2: {'dram': (5000, 1), 'l1': (3000, 1)}}, look=charged)
    runtime.go('freed').seen(
        'freed', {0: {'system_memory': (700, 1)}, 1: {}, 2: {}})
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
    only_real = {0: {'l1': (64, 1), 'l1.alloc_objects': 1}}
    runtime.to('captured').seen('nothing of the capture', only_real)
    runtime.go('outlived').seen('nor of what outlives it', only_real)
    runtime.end()


def other_threads(runtime, version):
    dram, cb, scope = {
        OLD: ((1000, 1), (40, 1), None),
        NEW: ((11000, 2), (40, 1), None),
        ALL: ((11000, 2), (1040, 2), 'unguarded')}[version]

    def scoped(snapshot):
        found = {o['size']: o['scope'] for o in runtime.objects(snapshot)
                 if o['figure'] == 'dram'}
        expect('scope of the guarded', found.pop(1000), 'guarded')
        expect('scope of the others', found,
               {} if version == OLD else {10000: scope})
    runtime.to('threads').seen(
        'threads', {0: {'dram': dram, 'cb': cb, 'dram.free_bytes': 100}},
        look=scoped)
    runtime.end()


def all_cbs_of_a_device(runtime, _):
    each = {'cb': (2500 * 4, 3)}
    runtime.to('planned').seen('programs', {0: each, 1: each, 2: each})
    runtime.go('replanned').seen(
        'upsert', {0: {'cb': (3500 * 4, 3)}, 1: each, 2: each})
    runtime.go('one').seen('one device', {0: {}, 1: each, 2: each})
    runtime.go('all').seen('a mesh', {0: {}, 1: {}, 2: {}})
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
        found = {o['size']: o['scope'] for o in runtime.objects(snapshot)}
        expect('scopes', found, {1: 'ttnn.to_memory_config', 2: 'ttnn.matmul',
                                 3: None, 4: 'thrown', 5: None})
    runtime.to('scopes').seen('scopes', {0: {'dram': (15, 5)}}, look=scoped)
    runtime.end()


def call_sites(runtime, _):
    kernel = {'kernel_application': (8000, 1),
              'dispatches.kernel_application': 1,
              'ring_bytes.kernel_application': 8000}
    first = {**kernel, 'kernel_fabric': (57344 * 16, 1), 'cb': (640, 1),
             'failures.l1': 1}

    def known(snapshot):
        chips = {d['logical']: (d['chip_id'], d['pci_address'], d['board'])
                 for d in snapshot['devices']}
        expect('chips', chips, {
            0: ('0xabc', '0000:03:00.0', 'n150'),
            1: ('0xdef', None, None), 2: (None, None, None)})
        failure = snapshot.one('failures')
        expect('failure', (failure['figure'], failure['size'],
                           failure['largest_free']), ('l1', 1 << 20, 4096))
    runtime.to('called').seen('called', {
        0: first, 1: {**kernel, 'l1_small': (256, 1)}, 2: kernel}, look=known)
    runtime.go('closed').seen('closed', {
        0: {'kernel_fabric': (57344 * 16, 1)},
        1: {'l1_small.orphaned': (256, 1)}, 2: {}})
    runtime.go('late').seen(
        'late', {0: {'kernel_fabric': (57344 * 16, 1)}, 1: {}, 2: {}},
        anomalies={'late_free': 1})
    runtime.end()


def events_by_call_site(runtime, _):
    def unscoped(snapshot):
        expect('scopes', [o['scope'] for o in runtime.objects(snapshot)],
               [None])
    runtime.to('without').seen(
        'buffers alone', {0: {'l1': (64, 1)}}, look=unscoped)
    runtime.end()


def captures(runtime, _):
    runtime.to('captured').seen('beside captures', {
        0: {'dram.alloc_bytes': 110, 'dram.free_bytes': 110}})
    runtime.end()


def destruction(runtime, version):
    runtime.to('before').seen('before', {3: {
        'dram': (100, 1), 'cb': (4000, 1), 'l1.free_bytes': 7}})
    runtime.end()

    def exited(snapshot):
        expect('state', snapshot.process(runtime.pid)['state'], 'exited')
    # Old versions tell nobody of what static destructors do.
    left = {'dram.orphaned': (100, 1)} if version == OLD else {
        'dram.free_bytes': 100, 'trace.alloc_bytes': 5, 'trace.free_bytes': 5}
    runtime.seen('after', {3: left}, look=exited)


SCENARIOS = (buffers_of_a_mesh, borrowed_cbs, suppressed_captures,
             other_threads, all_cbs_of_a_device, cbs_without_programs, scopes,
             call_sites, events_by_call_site, captures, destruction)


if __name__ == '__main__':
    if len(sys.argv) < 8:
        print(__doc__, end='')
        sys.exit(2)
    for which in (OLD, NEW, ALL):
        RUNTIMES[which] = os.path.abspath(sys.argv.pop(5))
    sys.exit(serve.run_all(__doc__, [checked(s, v) for v in RUNTIMES
                                     for s in SCENARIOS]))
