#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_devices.py TTMEM-LOAD SEGDUMP

Which chip a logical id means: the same for all processes of a board, another one
by offset, unknown, or never told.
"""

import os
import sys

import loads

BOARDS = ('n150', 'n300', 'galaxy-wormhole', 'p100', 'p150', 'p300',
          'galaxy-blackhole')


def chips_of(place, *options):
    truth = place.truth('--events', '500', *options)
    loads.same(truth, place.segments())
    place.tidy()
    return truth


def check_boards(place):
    chips = set()
    for board in BOARDS:
        truth = chips_of(place, '--board', board, '--devices', '2',
                         '--processes', '2')
        loads.expect(f'chips of {board}', len(truth['chips']), 2)
        chips |= set(truth['chips'])
        devices = truth['processes'][0]['devices']
        loads.expect('board', {d['board'] for d in devices}, {board})
        # The second chip of an n300 hangs on the first: no PCI device.
        loads.expect(f'PCI devices of {board}',
                     [d['pci_address'] is not None for d in devices],
                     [True, board != 'n300'])
    loads.expect('chips of all boards', len(chips), 2 * len(BOARDS))


def check_offsets(place):
    """One chip under two logical ids, one logical id for two chips."""
    first = chips_of(place)
    renamed = chips_of(place, '--logical-offset', '5')
    other = chips_of(place, '--chip-offset', '1')
    loads.expect('the same chip', set(renamed['chips']), set(first['chips']))
    loads.expect('its other name',
                 renamed['processes'][0]['devices'][0]['logical'], 5)
    loads.expect('another chip of the same name',
                 set(other['chips']) & set(first['chips']), set())
    loads.expect('its name',
                 other['processes'][0]['devices'][0]['logical'], 0)


def check_unknown(place):
    truth = chips_of(place, '--no-identity', '--devices', '2')
    loads.expect('chips', sorted(truth['chips']), ['logical 0', 'logical 1'])
    loads.expect('board', truth['processes'][0]['devices'][0]['board'], 'p150')
    truth = chips_of(place, '--implicit', '--devices', '3', '--mesh')
    device = truth['processes'][0]['devices'][0]
    loads.expect('never opened', (device['open'], device['board']),
                 (False, ''))
    truth = chips_of(place, '--implicit', '--processes', '2', '--threads', '2')
    loads.expect('merged', sorted(truth['chips']), ['logical 0'])
    truth = chips_of(place, '--no-close')
    loads.expect('left open', truth['processes'][0]['devices'][0]['open'],
                 True)
    truth = chips_of(place, '--devices', '64', '--mesh')
    loads.expect('all of them', len(truth['chips']), 64)
    # One object each, on all of them.
    loads.expect('objects', truth['objects']['allocated'] * 64,
                 sum(f['alloc_objects'] for f in truth['figures'].values()))
    truth = chips_of(place, '--devices', '7', '--mesh=3')
    loads.expect('of meshes of 3, 3 and 1', len(truth['chips']), 7)


def check_tracking(place):
    """It tracks without being asked, and says so if it cannot."""
    done = place.run('--events', '10', status=1, TTMEM_ENABLED='0')
    if 'TTMEM_ENABLED=0' not in done.stderr:
        loads.fail(f'why not: {done.stderr}')
    place.run('--events', '10', '--untracked')
    loads.expect('segments when untracked', place.segments(), {})
    done = place.run('--dir', '/proc', '--events', '10', status=1)
    if done.stderr.count('ttmem-load: cannot track: ') != 1:
        loads.fail(f'why not: {done.stderr}')
    missing = f'{place.base}/none'
    done = place.run('--dir', missing, '--events', '10', status=1)
    loads.expect('made nothing', os.path.exists(missing), False)


def main():
    load, segdump = loads.arguments(__doc__)
    with loads.Place(load, segdump) as place:
        check_boards(place)
        check_offsets(place)
        check_unknown(place)
        check_tracking(place)
    print('devices: as told')
    return 0


if __name__ == '__main__':
    sys.exit(main())
