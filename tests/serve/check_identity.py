#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_identity.py TTMEMD TTMEM-LOAD SNAPDUMP CALLS [CHECK...]

A device is a chip, whatever its processes call it: by its unique id, else by its PCI
address, else by its logical id, and then it says so.
"""

import sys

import serve
from serve import KIB, MIB

BUS_1 = '0000:01:00.0'
BUS_2 = '0000:02:00.0'


def used(size, text):
    """A script that opens devices and allocates so much on each of them."""
    ids = [line.split()[1] for line in text.strip().splitlines()]
    return text + ''.join(f'alloc {i} dram 1 0x1000 {size}\n'
                          for i in ids) + 'sync\n'


def devices(snapshot):
    """{(identity, chip, pci, logical): DRAM bytes} of all devices in use."""
    return {(d['identity'], d['chip_id'], d['pci_address'], d['logical']):
            d['dram_use'] for d in snapshot['devices'] if d['dram_use']}


def sees(place, wanted, *loads):
    def look(snapshot):
        serve.expect('devices', devices(snapshot), wanted)
    return place.settled('devices', *loads, look=look)


def sizes_told(snapshot, wanted):
    """{chip: DRAM objects whose size records told}"""
    serve.expect('objects by chip', {
        snapshot['devices'][d['device']]['chip_id']: d['total']
        for d in snapshot.all('distributions', figure='dram', kind='bytes')},
                 wanted)


# -- chips --------------------------------------------------------------------


def check_two_chips_that_both_are_called_0(place):
    place.serve()
    loads = [place.run(used(size, f'open 0 chip={chip} pci={pci}\n'))
             for size, chip, pci in (('1M', '0xa', BUS_1),
                                     ('2M', '0xb', BUS_2))]
    snapshot = sees(place, {('chip', '0xa', BUS_1, 0): MIB,
                            ('chip', '0xb', BUS_2, 0): 2 * MIB}, *loads)
    for load, chip in zip(loads, ('0xa', '0xb')):
        share, = snapshot.of_process('shares', load.pid)
        serve.expect('its chip',
                     snapshot['devices'][share['device']]['chip_id'], chip)


def check_one_chip_that_is_called_0_and_3(place):
    place.serve()
    loads = [place.run(used(size, f'open {name} chip=0xa\n'))
             for size, name in (('1M', 3), ('2M', 0))]
    snapshot = sees(place, {('chip', '0xa', None, 0): 3 * MIB}, *loads)
    serve.expect('processes', snapshot.device(chip_id='0xa')['processes'], 2)
    serve.expect('each by its own name', sorted(
        s['logical'] for s in snapshot['shares']), [0, 3])


def check_boards_by_offsets(place):
    """The same with boards as ttmem-load knows them: two chips in common."""
    place.serve()
    loads = [place.run(used('1M', ''.join(
        f'open {i} board=n300 index={i + first}\n' for i in range(4))))
             for first in (0, 2)]
    place.settled('both', *loads, look=lambda s: serve.expect(
        'processes by chip', sorted(d['processes'] for d in s['devices']),
        [1, 1, 1, 1, 2, 2]))


def check_one_process_with_one_chip_twice(place):
    """Two logical ids of one process for the same chip: their sum."""
    place.serve()
    load = place.run(used('1M', 'open 0 chip=0xa\nopen 5 chip=0xa\n'))
    sees(place, {('chip', '0xa', None, 0): 2 * MIB}, load)


def check_capacity_told_by_one_holds_for_all(place):
    place.serve()
    first = place.run(used('1M', 'open 0 chip=0xa\n'))
    second = place.run(used('1M', 'open 0 chip=0xa l1=1M cores=64 dram=12G\n'))
    place.settled('facts', first, second, look=lambda s: serve.expect(
        'facts', [s.device(chip_id='0xa')[k]
                  for k in ('l1_bytes', 'dram_bytes', 'dram_use')],
        [64 * MIB, 12 << 30, 2 * MIB]))


# -- PCI addresses ------------------------------------------------------------


def check_address_alone(place):
    place.serve()
    loads = [place.run(used(size, f'open {name} pci={BUS_1}\n'))
             for size, name in (('1M', 0), ('2M', 1))]
    sees(place, {('pci', None, BUS_1, 0): 3 * MIB}, *loads)


def check_address_first_then_chip_and_address(place):
    place.serve()
    first = place.run(used('1M', f'open 0 pci={BUS_1}\n'))
    sees(place, {('pci', None, BUS_1, 0): MIB}, first)
    second = place.run(used('2M', f'open 0 chip=0xa pci={BUS_1}\n'))
    sees(place, {('chip', '0xa', BUS_1, 0): 3 * MIB}, first, second)


def check_chip_and_address_first_then_address(place):
    place.serve()
    first = place.run(used('2M', f'open 0 chip=0xa pci={BUS_1}\n'))
    sees(place, {('chip', '0xa', BUS_1, 0): 2 * MIB}, first)
    second = place.run(used('1M', f'open 7 pci={BUS_1}\n'))
    sees(place, {('chip', '0xa', BUS_1, 0): 3 * MIB}, first, second)


def check_chip_whose_address_comes_later(place):
    """Three processes: the chip alone, the address alone, then both."""
    place.serve()
    first = place.run(used('1M', 'open 0 chip=0xa\n'))
    second = place.run(used('2M', f'open 0 pci={BUS_1}\n'))
    sees(place, {('chip', '0xa', None, 0): MIB,
                 ('pci', None, BUS_1, 0): 2 * MIB}, first, second)
    third = place.run(used('4M', f'open 0 chip=0xa pci={BUS_1}\n'))
    sees(place, {('chip', '0xa', BUS_1, 0): 7 * MIB}, first, second, third)


def check_two_chips_behind_one_address(place):
    """One chip of such a board is reached through the other."""
    place.serve()
    board = place.run(used('1M', f'open 0 chip=0xa pci={BUS_1}\n'
                                 f'open 1 chip=0xb pci={BUS_1}\n'))
    both = {('chip', '0xa', BUS_1, 0): MIB, ('chip', '0xb', BUS_1, 1): MIB}
    sees(place, both, board)
    # Which of the two somebody means who says the address only is not known.
    other = place.run(used('4M', f'open 0 pci={BUS_1}\n'))
    sees(place, {**both, ('pci', None, BUS_1, 0): 4 * MIB}, board, other)


def check_second_chip_behind_the_address_comes_later(place):
    place.serve()
    first = place.run(used('1M', f'open 0 chip=0xa pci={BUS_1}\n'))
    other = place.run(used('4M', f'open 0 pci={BUS_1}\n'))
    sees(place, {('chip', '0xa', BUS_1, 0): 5 * MIB}, first, other)
    second = place.run(used('2M', f'open 1 chip=0xb pci={BUS_1}\n'))
    sees(place, {('chip', '0xa', BUS_1, 0): MIB,
                 ('chip', '0xb', BUS_1, 1): 2 * MIB,
                 ('pci', None, BUS_1, 0): 4 * MIB}, first, other, second)


# -- unidentified -------------------------------------------------------------


def check_unidentified_are_merged_by_logical_id(place):
    place.serve()
    loads = [place.run(used(size, 'open 0\nopen 1\n'))
             for size in ('1M', '2M')]
    sees(place, {('logical', None, None, 0): 3 * MIB,
                 ('logical', None, None, 1): 3 * MIB}, *loads)


def check_never_opened_is_unidentified(place):
    place.serve()
    load = place.run('alloc 4 dram 1 0x1000 1M\nsync\n')
    snapshot = sees(place, {('logical', None, None, 4): MIB}, load)
    share, = snapshot['shares']
    serve.expect('open', share['open'], False)


def check_unidentified_and_identified_are_apart(place):
    place.serve()
    loads = [place.run(used('1M', 'open 0 chip=0xa\n')),
             place.run(used('2M', f'open 0 pci={BUS_1}\n')),
             place.run(used('4M', 'open 0\n')),
             place.run('alloc 0 dram 1 0x1000 8M\nsync\n')]
    sees(place, {('chip', '0xa', None, 0): MIB,
                 ('pci', None, BUS_1, 0): 2 * MIB,
                 ('logical', None, None, 0): 12 * MIB}, *loads)


# -- identity that comes later ------------------------------------------------


def check_opened_later_moves_with_all_its_figures(place):
    place.serve()
    bystander = place.run('alloc 0 dram 9 0x1000 64K\nsync\n')
    load = place.run('''
        alloc 0 dram 1 0x1000 1M
        alloc 0 dram 2 0x1000 1M
        free 0 dram 2
        alloc 0 l1 1 0x100000 32K
        cb 0 7 0 0x19000 4K 64
        kernel 0 7 application 10K 10
        kernel 0 7 application 10K 10
        failed 0 l1 1M
        sync
        open 0 chip=0xa l1=1M cores=64 l1_base=0x19000 l1_top=1M
        sync
        ''')
    apart = {'dram': (MIB, 1), 'dram.alloc_objects': 2, 'dram.free_objects': 1,
             'l1': (32 * KIB, 1), 'cb': (256 * KIB, 1),
             'kernel_application': (100 * KIB, 1),
             'dispatches.kernel_application': 1, 'failures.l1': 1,
             'l1_use': 388 * KIB, 'processes': 1}
    left = {'dram': (64 * KIB, 1), 'dram.alloc_objects': 1,
            'dram.free_objects': 0, 'dispatches.kernel_application': 0,
            'failures.l1': 0, 'l1_use': 0, 'processes': 1}
    together = {**apart, 'dram': (MIB + 64 * KIB, 2), 'dram.alloc_objects': 3,
                'processes': 2}

    def before(snapshot):
        serve.shows(snapshot.device(identity='logical'), together)

    def after(snapshot):
        serve.shows(snapshot.device(identity='logical'), left)
        serve.shows(snapshot.device(chip_id='0xa'),
                    {**apart, 'headroom': 0x100000 - 0x1a000})
        for row in snapshot.of_process('objects', load.pid):
            spot = snapshot['places'][row['place']]
            serve.expect('chip of an object', [
                snapshot['devices'][at]['chip_id']
                for at in spot['devices']], ['0xa'])
    place.settled('before', bystander, load, look=before)
    load.go()
    place.settled('after', bystander, load, look=after,
                  options=('--objects',))


def check_opened_later_by_all_leaves_nothing(place):
    """The device that nobody means any more is empty, or not there."""
    place.serve()
    load = place.run('alloc 0 dram 1 0x1000 1M\nsync\nopen 0 chip=0xa\nsync\n')
    sees(place, {('logical', None, None, 0): MIB}, load)
    load.go()
    snapshot = sees(place, {('chip', '0xa', None, 0): MIB}, load)
    for device in snapshot.all('devices', identity='logical'):
        serve.shows(device, {'processes': 0, 'dram_use': 0,
                             'dram.alloc_objects': 0})


def check_opened_later_as_two_chips_leaves_sizes(place):
    """Both were device 0 that nobody knew: sums are each chip's own; the sizes that
    records told stay with device 0, and go with it."""
    place.serve()
    loads = [place.run(''.join(f'alloc 0 dram {i} 0x1000 1M\n'
                               for i in range(1, objects + 1)) +
                       f'sync\nopen 0 chip={chip}\nsync\n')
             for objects, chip in ((1, '0xa'), (3, '0xb'))]

    def look(sizes, objects):
        def at(snapshot):
            sizes_told(snapshot, sizes)
            for chip, wanted in objects.items():
                serve.shows(snapshot.device(chip_id=chip),
                            {'dram': (wanted * MIB, wanted)})
        return at

    for load, sizes, objects in ((None, {None: 4}, {None: 4}),
                                 (loads[0], {None: 4}, {None: 3, '0xa': 1}),
                                 (loads[1], {}, {'0xa': 1, '0xb': 3})):
        if load:
            load.go()
        place.settled('sizes', *loads, options=('--distributions',),
                      look=look(sizes, objects))


def check_more_chips_than_a_host_has(place):
    """Made up by somebody: the rest is one, and nothing is missing."""
    place.serve()
    for p in range(2):
        place.run(''.join(
            f'open {d} chip={0x1000 * p + d:#x}\nalloc {d} dram 1 0x1000 1M\n'
            for d in range(64)) + 'sync\n')

    def look(snapshot):
        rest = snapshot.device(logical=None)
        serve.expect('chip', rest['chip_id'], None)
        serve.expect('devices', len(snapshot['devices']), 65)
        serve.shows(rest, {'dram': ((128 - 64) * MIB, 128 - 64)})
        serve.expect('objects', sum(
            d['figures']['dram']['live_objects']
            for d in snapshot['devices']), 128)
    place.sees('all', look)
    place.run('open 0 chip=0x9000\nalloc 0 dram 1 0x1000 1M\nsync\n')
    place.sees('one more', lambda s: serve.shows(
        s.device(logical=None), {'dram': (65 * MIB, 65)}))


def check_logical_id_that_becomes_another_chip(place):
    """After a reset a logical id may mean another chip: what was there is left."""
    place.serve()
    load = place.run('''
        open 0 chip=0xa
        alloc 0 dram 1 0x1000 1M
        sync
        close 0
        open 0 chip=0xb
        alloc 0 dram 2 0x1000 2M
        sync
        ''')
    sees(place, {('chip', '0xa', None, 0): MIB}, load)
    load.go()

    def look(snapshot):
        serve.shows(snapshot.device(chip_id='0xa'),
                    {'dram.orphaned': (MIB, 1), 'dram_use': 0})
        serve.shows(snapshot.device(chip_id='0xb'), {'dram': (2 * MIB, 1)})
        sizes_told(snapshot, {'0xa': 1, '0xb': 1})
    place.settled('another chip', load, look=look,
                  options=('--distributions',))


def check_identity_survives_the_process(place):
    """What a dead process left is still on its chip, and moves with news of it."""
    place.serve()
    first = place.run(used('1M', f'open 0 pci={BUS_1}\n') + 'kill\n')
    first.go()
    place.settled('dead', first, look=lambda s: serve.shows(
        s.device(pci_address=BUS_1), {'dram.orphaned': (MIB, 1)}))
    second = place.run(used('2M', f'open 0 chip=0xa pci={BUS_1}\n'))
    place.settled('news', first, second, look=lambda s: serve.shows(
        s.device(chip_id='0xa'), {'dram.orphaned': (MIB, 1),
                                  'dram': (2 * MIB, 1)}))


CHECKS = [f for n, f in list(globals().items()) if n.startswith('check_')]

if __name__ == '__main__':
    sys.exit(serve.run_all(__doc__, CHECKS))
