#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_patterns.py TTMEM-LOAD SEGDUMP

Whatever the pattern, the load says exactly what the segments hold: while it
holds, and after its end.
"""

import json
import sys

import loads

EVENTS = int(20000 * loads.scale()) + 1000
PATTERNS = ('churn', 'inference', 'cb', 'kernels', 'mixed')
# Besides one process with one thread on one device.
WHERE = (
    (),
    ('--processes', '2', '--threads', '2', '--devices', '3'),
    ('--devices', '4', '--mesh', '--threads', '2', '--board',
     'galaxy-wormhole'),
    # Meshes of three and of two, whose buffers are freed in parts.
    ('--devices', '5', '--mesh=3', '--shrink', '40', '--board', 'n150'),
    ('--no-banks', '--devices', '32', '--mesh'),
    ('--threads', '3', '--cross-free', '30', '--scopes', '50', '--marks',
     '--failures', '7', '--board', 'n300', '--devices', '2'),
)


def check_banks(pattern, truth, where):
    """A lockstep allocator reserves more than was asked for, and tells so."""
    l1 = truth['figures']['l1']
    if '--no-banks' in where:
        loads.expect(f'{pattern}: used', l1['alloc_bytes'],
                     l1['alloc_requested'])
    elif l1['alloc_objects'] and \
            l1['alloc_bytes'] <= l1['alloc_requested']:
        loads.fail(f'{pattern}: no sharded buffer: {l1}')


def check_end(load, segdump, pattern, where):
    with loads.Place(load, segdump) as place:
        truth = place.truth('--pattern', pattern, '--events', EVENTS, *where)
        loads.same(truth, place.segments())
        left = sum(f['live_objects'] + f['orphan_objects']
                   for f in truth['figures'].values())
        loads.expect(f'{pattern}: objects left', left, 0)
        loads.expect(f'{pattern}: anomalies',
                     sum(truth['anomalies'].values()), 0)
        check_banks(pattern, truth, where)
        threads = sum(p['threads'] for p in truth['processes'])
        if not 0.9 * EVENTS < truth['events'] / threads < 1.1 * EVENTS + 200:
            loads.fail(f'{pattern}: {truth["events"]} events')


def check_held(load, segdump, pattern, where):
    with loads.Place(load, segdump, served=False) as place:
        process = place.start('--pattern', pattern, '--events', EVENTS,
                              '--hold', '--json', '-', *where)
        held = json.loads(process.stdout.readline())
        loads.expect('phase', held['phase'], 'hold')
        loads.expect('said', process.stdout.readline(), 'ready\n')
        loads.same(held, place.segments())
        if not any(f['live_objects'] for f in held['figures'].values()):
            loads.fail(f'{pattern}: nothing is held')
        process.stdin.close()
        last = json.loads(process.stdout.readline())
        loads.expect('phase', last['phase'], 'end')
        loads.expect('status', process.wait(), 0)
        process.stdout.close()
        loads.expect('segments that stay', place.segments(), {})


def main():
    load, segdump = loads.arguments(__doc__)
    for pattern in PATTERNS:
        for where in WHERE:
            check_end(load, segdump, pattern, where)
            check_held(load, segdump, pattern, where)
    check_held(load, segdump, 'hold', ('--objects', '3000'))
    print(f'patterns: {len(PATTERNS) + 1}')
    return 0


if __name__ == '__main__':
    sys.exit(main())
