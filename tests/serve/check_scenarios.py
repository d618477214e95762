#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_scenarios.py TTMEMD TTMEM-LOAD SNAPDUMP CALLS [CHECK...]

What a runtime does to its devices, event by event, and the figures that an operator
then sees: meshes, buffers of each kind, circular buffers, and all of it together.
"""

import sys

import serve
from serve import KIB, MIB
from stories import FABRIC, L1_306, NOTHING, mib, percent, story


# -- meshes -------------------------------------------------------------------

FOUR = '''
    open 0 board=galaxy-wormhole index=0
    open 1 board=galaxy-wormhole index=1
    open 2 board=galaxy-wormhole index=2
    open 3 board=galaxy-wormhole index=3
    mesh m 0,1,2,3
    '''


def on_four(values):
    return dict.fromkeys(range(4), values)


def check_circular_buffers_on_four_devices(place):
    story(place, FOUR + '''
        cb m 1 0 0x19000 4K 64
        sync
        cb_free m 1 0
        sync
        ''', on_four({'cb': (256 * KIB, 1), 'l1_use': 256 * KIB}),
          on_four(NOTHING))


def check_kernels_on_four_devices(place):
    story(place, FOUR + '''
        kernel m 1 application 33K 65
        sync
        kernel m 1 application 33K 65
        sync
        destroy m 1
        sync
        ''', on_four({'kernel_application': (2145 * KIB, 1),
                      'l1_use': 2145 * KIB}),
          on_four({'kernel_application': (2145 * KIB, 1),
                   'dispatches.kernel_application': 1}),
          on_four(NOTHING))
    serve.expect('for people', mib(2145 * KIB), '2.1')


def check_buffers_on_four_devices(place):
    story(place, FOUR + '''
        alloc m dram 1 0x1000 3M
        sync
        free 2 dram 1
        sync
        free m dram 1
        sync
        ''', on_four({'dram': (3 * MIB, 1), 'dram_use': 3 * MIB}),
          {**on_four({'dram': (3 * MIB, 1), 'dram_use': 3 * MIB}),
           2: NOTHING},
          on_four(NOTHING))


# -- buffers ------------------------------------------------------------------


def check_each_kind_of_buffer(place):
    script = 'open 0 board=p150\n'
    kinds = ('dram', 'l1', 'l1_small', 'trace', 'system_memory')
    sizes = dict(zip(kinds, (5 * MIB, 3 * MIB, 24 * KIB, 2 * MIB, MIB)))
    steps, wanted = [], {}
    for number, kind in enumerate(kinds):
        script += f'alloc 0 {kind} {number} 0x{number + 1}00000' \
            f' {sizes[kind]}\nsync\n'
        wanted = dict(wanted, **{kind: (sizes[kind], 1)})
        steps.append(wanted)
    for number, kind in enumerate(kinds):
        script += f'free 0 {kind} {number}\nsync\n'
        wanted = {k: v for k, v in wanted.items() if k != kind}
        steps.append(wanted)
    steps = [dict(step, dram_use=sum(step.get(k, (0,))[0]
                                     for k in ('dram', 'trace')),
                  l1_use=sum(step.get(k, (0,))[0]
                             for k in ('l1', 'l1_small')))
             for step in steps]
    serve.expect('in the end', {k: v for k, v in steps[-1].items() if v}, {})
    story(place, script, *steps)


def check_one_id_in_each_kind(place):
    """An address or an id may be live once in each of them."""
    story(place, '''
        open 0 board=p150
        alloc 0 dram 7 0x1000 100
        alloc 0 l1 7 0x1000 200
        alloc 0 l1_small 7 0x1000 300
        alloc 0 trace 7 0x1000 400
        sync
        free 0 l1 7
        sync
        ''', {'dram': (100, 1), 'l1': (200, 1), 'l1_small': (300, 1),
              'trace': (400, 1)},
          {'dram': (100, 1), 'l1_small': (300, 1), 'trace': (400, 1)})


def check_free_twice_stays_at_zero(place):
    load = story(place, '''
        open 0 board=p150
        alloc 0 dram 1 0 1M
        free 0 dram 1
        free 0 dram 1
        cb_free 0 1 1
        unload 0 5
        sync
        ''', dict(NOTHING, **{'dram.free_objects': 1}))
    process = place.snapshot().process(load.pid)
    serve.expect('anomalies', process['anomalies']['free_unknown'], 3)


def check_peak_stays(place):
    """39 buffers of 1 MiB together, then 42 of 12 MiB, then none."""
    lines = ['open 0 board=p150']
    lines += [f'alloc 0 l1 {i} 0x100000 1K' for i in range(38)]
    lines += ['alloc 0 l1 38 0x100000 986K', 'sync']
    lines += ['alloc 0 l1 39 0x100000 5M', 'alloc 0 l1 40 0x100000 5M',
              'alloc 0 l1 41 0x100000 1M', 'sync']
    lines += [f'free 0 l1 {i}' for i in range(42)] + ['sync']
    load = story(place, '\n'.join(lines) + '\n',
                 {'l1': (MIB, 39), 'l1_use': MIB},
                 {'l1': (12 * MIB, 42), 'l1_use': 12 * MIB,
                  'l1_tensix_peak': 12 * MIB},
                 dict(NOTHING, l1_tensix_peak=12 * MIB))
    snapshot = place.snapshot()
    share, = snapshot.of_process('shares', load.pid)
    serve.expect('of the process', share['figures']['l1']['peak_bytes'],
                 12 * MIB)


def check_brief_peak(place):
    """Buffers that are gone before ttmemd looks: the process knows its own peak."""
    lines = ['open 0 board=p150']
    for i in range(20):
        lines += [f'alloc 0 dram {i} 0x100000 {i + 1}M', f'free 0 dram {i}']
    lines += ['alloc 0 dram 99 0x100000 1M', 'sync']
    load = story(place, '\n'.join(lines) + '\n', {'dram': (MIB, 1)})
    snapshot = place.snapshot()
    share, = snapshot.of_process('shares', load.pid)
    peak = share['figures']['dram']['peak_bytes']
    device = snapshot['devices'][share['device']]
    serve.expect('of the process', peak, 20 * MIB)
    serve.expect('of the device', (device['figures']['dram']['peak_bytes'],
                                   device['dram_peak']), (peak, peak))


def check_age_counts_to_now(place):
    """Nothing happens for a while: nothing is published, and ages grow."""
    story(place, 'alloc 0 dram 1 0x100000 1M\nsync\n', {'dram': (MIB, 1)})
    first = place.snapshot('--objects')
    second = place.snapshot('--objects')
    for snapshot in first, second:
        row, = snapshot['objects']
        serve.expect('age', row['age_ns'],
                     snapshot['info']['taken_ns'] - row['allocated_ns'])
    serve.expect('taken later',
                 second['info']['taken_ns'] > first['info']['taken_ns'], True)


# -- circular buffers ---------------------------------------------------------


def check_borrowed_circular_buffers_add_nothing(place):
    load = story(place, '''
        open 0 board=p150
        alloc 0 l1 1 0x100000 1M
        cb 0 7 0 0x100000 16K 64 borrowed
        sync
        cb 0 7 1 0x19000 1K 64
        sync
        destroy 0 7
        sync
        ''', {'l1': (MIB, 1), 'cb': (0, 1), 'cb_footprint': 0, 'l1_use': MIB},
                 {'l1': (MIB, 1), 'cb': (64 * KIB, 2),
                  'cb_footprint': 64 * KIB, 'l1_use': MIB + 64 * KIB},
                 {'l1': (MIB, 1), 'l1_use': MIB})
    load.end()


def check_planning_anew_replaces(place):
    load = story(place, '''
        open 0 board=p150
        cb 0 7 0 0x19000 4K 64
        cb 0 7 1 0x1a000 4K 64
        sync
        cb 0 7 0 0x19000 8K 64
        cb 0 7 1 0x1b000 2K 64
        sync
        cb_free_all 0
        sync
        ''', {'cb': (512 * KIB, 2), 'cb_footprint': 512 * KIB},
                 {'cb': (640 * KIB, 2), 'cb_footprint': 640 * KIB,
                  'cb.alloc_objects': 4, 'cb.free_objects': 2},
                 NOTHING)
    process = place.snapshot().process(load.pid)
    serve.expect('anomalies', sum(process['anomalies'].values()), 0)


def check_footprint_is_not_the_sum(place):
    """Programs take turns on the same addresses; CBs of one program at one address
    are on different cores, of which there are so many."""
    story(place, '''
        open 0 chip=1 l1=1M cores=64 l1_base=0x19000 l1_top=1M
        cb 0 1 0 0x19000 4K 64
        cb 0 2 0 0x19000 4K 64
        cb 0 3 0 0x19000 8K 32
        sync
        destroy 0 1
        destroy 0 2
        sync
        cb 0 3 1 0x19000 8K 16
        sync
        cb 0 3 2 0x19000 8K 64
        sync
        ''', {'cb': (768 * KIB, 3), 'cb_footprint': (256 + 128) * KIB,
              'l1_use': (256 + 128) * KIB},
          {'cb': (256 * KIB, 1), 'cb_footprint': 256 * KIB},
          {'cb': (384 * KIB, 2), 'cb_footprint': 384 * KIB},
          {'cb': (896 * KIB, 3), 'cb_footprint': 512 * KIB,
           'l1_use': 512 * KIB})


def check_footprint_of_a_device_beside_a_busy_one(place):
    """L1 of the first never rests; what the other one has is measured, too."""
    place.serve()
    turn = 'alloc 0 l1 1 0x80000 4K\nsleep 1\nfree 0 l1 1\n'
    load = place.run(
        'open 0 chip=1 l1=1M cores=64 l1_base=0x19000 l1_top=1M\n'
        'open 1 chip=2 l1=1M cores=64 l1_base=0x19000 l1_top=1M\n'
        'cb 0 1 0 0x19000 4K 64\nsync\n' + 500 * turn +
        'cb 1 1 0 0x19000 4K 64\n' + 60_000 * turn)
    load.release()
    place.sees('the footprint', lambda s: serve.expect(
        'footprint', s.device(logical=1)['cb_footprint'], 256 * KIB))
    serve.expect('the load runs', load.process.poll(), None)


def check_headroom(place):
    """Between the buffers, from the top, and the CBs, from the base."""
    load = story(place, '''
        open 0 chip=1 l1=1M cores=64 l1_base=0x10000 l1_top=0x100000
        sync
        alloc 0 l1 1 0xc0000 256K
        sync
        cb 0 7 0 0x10000 64K 64
        sync
        cb 0 8 0 0x10000 0xb8000 64
        sync
        destroy 0 8
        sync
        free 0 l1 1
        destroy 0 7
        sync
        ''', {'headroom': 0xf0000},
                 {'headroom': 0xb0000, 'l1': (256 * KIB, 1)},
                 {'headroom': 0xa0000, 'l1': (256 * KIB, 1),
                  'cb': (4 * MIB, 1)},
                 {'headroom': -0x8000, 'clash_program': '0x8',
                  'l1': (256 * KIB, 1), 'cb': ((0x10000 + 0xb8000) * 64, 2)},
                 {'headroom': 0xa0000, 'l1': (256 * KIB, 1),
                  'cb': (4 * MIB, 1)},
                 {'headroom': 0xf0000})
    load.end()


def check_headroom_unknown_without_facts(place):
    load = story(place, '''
        open 0 chip=1
        sync
        alloc 0 l1 1 0xc0000 256K
        sync
        cb 0 7 0 0x10000 64K 64
        sync
        ''', {'headroom': None},
                 {'headroom': None, 'l1': (256 * KIB, 1)},
                 {'headroom': 0xa0000, 'l1': (256 * KIB, 1),
                  'cb': (4 * MIB, 1)})
    process = place.snapshot().device(logical=0)['clash_process']
    serve.expect('whose', place.snapshot()['processes'][process]['pid'],
                 load.pid)


# -- all together -------------------------------------------------------------


def check_breakdown_of_48_mib(place):
    load = story(place, L1_306 + '''
        alloc 0 l1 1 0x100000 44564480
        cb 0 7 0 0x19000 52428 68
        kernel 0 7 application 104857 21
        sync
        ''', {'l1': (44564480, 1), 'cb': (3565104, 1),
              'kernel_application': (2201997, 1), 'l1_use': 50331581,
              'l1_bytes': 306 * MIB})
    device = place.snapshot().device(logical=0)
    live = {f: device['figures'][f]['live_bytes'] for f in serve.FIGURES}
    total = device['l1_bytes']
    found = [(mib(x), percent(x, total)) for x in (
        live['l1'], live['cb'], live['kernel_application'], device['l1_use'])]
    serve.expect('for people', found, [('42.5', '13.9'), ('3.4', '1.1'),
                                       ('2.1', '0.7'), ('48.0', '15.7')])
    serve.expect('of', mib(total), '306.0')
    load.end()


def check_program_destroy_restores_zero(place):
    story(place, '''
        open 0 board=p150
        kernel 0 7 application 50K 64
        cb 0 7 0 0x19000 4K 64
        cb 0 7 1 0x1a000 4K 64
        kernel 0 8 application 50K 64
        cb 0 8 0 0x19000 4K 64
        sync
        destroy 0 7
        sync
        destroy 0 8
        sync
        ''', {'kernel_application': (6400 * KIB, 2), 'cb': (768 * KIB, 3)},
          {'kernel_application': (3200 * KIB, 1), 'cb': (256 * KIB, 1)},
          NOTHING)


def check_closed_device_leaves_orphans(place):
    script = '''
        open 0 board=p150
        push "op conv"
        alloc 0 dram 1 0x1000 1M
        pop
        alloc 0 l1 2 0x2000 64K
        cb 0 7 0 0x19000 4K 64
        kernel 0 7 application 10K 10
        close 0
        sync
        free 0 dram 1
        sync
        open 0 board=p150
        alloc 0 dram 5 0x1000 2M
        sync
        '''
    left = {'dram.orphaned': (MIB, 1), 'l1.orphaned': (64 * KIB, 1),
            'cb.orphaned': (256 * KIB, 1),
            'kernel_application.orphaned': (100 * KIB, 1)}
    late = dict(left, **{'dram.orphaned': (0, 0)})
    load = story(place, script, dict(NOTHING, **left), dict(NOTHING, **late),
                 dict(late, dram=(2 * MIB, 1), dram_use=2 * MIB))
    snapshot = place.snapshot('--objects')
    serve.expect('late', snapshot.process(load.pid)['anomalies']['late_free'],
                 1)
    found = {o['figure']: (o['leak_class'], o['orphaned'], o['bytes'])
             for o in snapshot['objects']}
    serve.expect('objects', found, {
        'dram': ('live', False, 2 * MIB),
        'l1': ('orphaned', True, 64 * KIB),
        'cb': ('orphaned', True, 256 * KIB),
        'kernel_application': ('orphaned', True, 100 * KIB)})
    load.end()


def check_device_facts(place):
    story(place, 'open 0 board=n300 index=1\nopen 1 chip=5\nsync\n', {
        0: {'board': 'n300', 'arch': 'wormhole_b0', 'cores': 64,
            'l1_bytes_per_core': 1499136, 'l1_bytes': 64 * 1499136,
            'dram_bytes': 12 << 30, 'identity': 'chip', 'processes': 1},
        1: {'board': None, 'arch': None, 'cores': None, 'l1_bytes': None,
            'dram_bytes': None, 'chip_id': '0x5', 'pci_address': None}})


def check_objects_say_who_and_what(place):
    load = story(place, '''
        open 0 board=p150
        push "op ttnn.matmul"
        alloc 0 dram 0x77 0x1000 1M 1100000
        push "program cache" persistent
        alloc 0 l1_small 0x78 0x2000 1K
        pop
        pop
        cb 0 7 3 0x19000 4K 64
        kernel 0 7 fabric 57344 16
        sync
        ''', {'dram': (1100000, 1), 'l1_small': (KIB, 1), 'cb': (256 * KIB, 1),
              'kernel_fabric': (FABRIC, 1)}, options=('--objects',))
    snapshot = place.snapshot('--objects')
    fields = ('id', 'bytes', 'requested', 'cores', 'banks', 'bytes_per_bank',
              'address', 'program', 'scope', 'leak_class', 'borrowed',
              'in_ring')
    found = {o['figure']: tuple(o[f] for f in fields)
             for o in snapshot['objects']}
    serve.expect('objects', found, {
        'dram': ('0x77', 1100000, MIB, None, 1, 1100000, '0x1000', None,
                 'op ttnn.matmul', 'live', False, False),
        'l1_small': ('0x78', KIB, KIB, None, None, None, '0x2000', None,
                     'program cache', 'persistent', False, False),
        'cb': ('0x3', 256 * KIB, 256 * KIB, 64, None, None, '0x19000', '0x7', None,
               'live', False, False),
        'kernel_fabric': ('0x7', FABRIC, FABRIC, 16, None, None, None, '0x7',
                          None, 'persistent', False, False)})
    serve.expect('sizes', {o['figure']: o['size'] for o in snapshot['objects']},
                 {'dram': MIB, 'l1_small': KIB, 'cb': 4 * KIB,
                  'kernel_fabric': 57344})
    serve.expect('one cut', snapshot['info']['objects_consistent'], True)
    process = snapshot.process(load.pid)
    serve.expect('state', process['state'], 'reporting')
    serve.expect('command', process['cmdline'][0], place.programs.load)


def check_two_processes_on_one_device(place):
    place.serve()
    loads = [place.run(f'''
        open 0 board=p150 index=2
        alloc 0 dram 1 0x1000 {size}M
        kernel 0 1 application 100K 80
        sync
        free 0 dram 1
        sync
        ''') for size in (1, 2)]

    def look(wanted, of_each):
        def both(snapshot):
            serve.shows(snapshot.device(logical=0), wanted)
            for load, size in zip(loads, of_each):
                share, = snapshot.of_process('shares', load.pid)
                serve.shows(share, {
                    'dram': (size * MIB, int(size > 0)),
                    'kernel_application': (8000 * KIB, 1)})
        place.settled('both', *loads, look=both)
    kernels = {'kernel_application': (16000 * KIB, 2), 'processes': 2}
    look(dict(kernels, dram=(3 * MIB, 2)), (1, 2))
    loads[0].go()
    look(dict(kernels, dram=(2 * MIB, 1)), (0, 2))


def check_history_shows_use_over_time(place):
    story(place, '''
        open 0 board=p150
        alloc 0 dram 1 0x1000 3M
        alloc 0 l1 1 0x100000 2M
        sync
        ''', {'dram': (3 * MIB, 1), 'l1': (2 * MIB, 1)})

    def look(snapshot):
        history = snapshot.one('histories', interval_ns=10 ** 9)['points']
        if not history['rows']:
            serve.fail('no points')
        last = dict(zip(history['columns'], history['rows'][-1]))
        serve.expect('point', [last[k] for k in (
            'dram_use', 'l1_use', 'dram_use_max', 'processes')],
                     [3 * MIB, 2 * MIB, 3 * MIB, 1])
    place.sees('history', look, '--histories')


def check_distributions_count_every_event(place):
    lines = ['open 0 board=p150']
    lines += [f'alloc 0 dram {i} 0x1000 {(i + 1) * 4096}' for i in range(100)]
    lines += [f'free 0 dram {i}' for i in range(50)] + ['sync']
    story(place, '\n'.join(lines) + '\n', {
        'dram': (sum((i + 1) * 4096 for i in range(50, 100)), 50)})

    def look(snapshot):
        size = snapshot.one('distributions', figure='dram', kind='bytes')
        life = snapshot.one('distributions', figure='dram',
                            kind='lifetime_ns')
        serve.expect('totals', (size['total'], life['total']), (100, 50))
        for name, wanted in (('min', 4096), ('p50', 50 * 4096),
                             ('p90', 90 * 4096), ('max', 100 * 4096)):
            if abs(size[name] - wanted) > wanted / 20:
                serve.fail(f'{name}: {size[name]} and not about {wanted}')
    place.sees('distributions', look, '--distributions')


CHECKS = [f for n, f in list(globals().items()) if n.startswith('check_')]

if __name__ == '__main__':
    sys.exit(serve.run_all(__doc__, CHECKS))
