#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_kernels.py TTMEMD TTMEM-LOAD SNAPDUMP CALLS [CHECK...]

Kernels by type, size and core; programs that are dispatched again; kernels in the
reserved ring; and the way back to nothing.
"""

import sys

import serve
from serve import KIB, MIB
from stories import DISPATCH, FABRIC, L1_306, NOTHING, look_at, mib, story


# -- kernels: their types, their sizes, their cores ---------------------------


def check_fabric_kernel_is_896_kib(place):
    story(place, '''
        open 0 board=n150
        kernel 0 1 fabric 57344 16
        sync
        unload 0 1
        sync
        ''', {'kernel_fabric': (917504, 1), 'l1_use': FABRIC,
              'l1_tensix_use': 0},
          NOTHING)


def check_dispatch_kernel_is_92_kib(place):
    story(place, '''
        open 0 board=n150
        kernel 0 2 dispatch 47104 2
        sync
        unload 0 2
        sync
        ''', {'kernel_dispatch': (94208, 1), 'l1_use': DISPATCH,
              'l1_tensix_use': DISPATCH},
          NOTHING)


def check_system_kernels_are_988_kib_on_each_device(place):
    each = {'kernel_fabric': (FABRIC, 1), 'kernel_dispatch': (DISPATCH, 1),
            'l1_use': 988 * KIB, 'l1_tensix_use': DISPATCH,
            'kernel_fabric.alloc_bytes': FABRIC,
            'kernel_dispatch.alloc_bytes': DISPATCH}
    story(place, '''
        open 0 board=n300 index=0
        open 1 board=n300 index=1
        mesh both 0,1
        kernel both 1 fabric 56K 16
        kernel both 2 dispatch 46K 2
        sync
        unload both 1
        sync
        unload both 2
        sync
        ''', {0: each, 1: each},
          dict.fromkeys((0, 1), {'kernel_dispatch': (DISPATCH, 1),
                                 'l1_use': DISPATCH}),
          {0: NOTHING, 1: NOTHING})


def check_system_kernels_of_eight_ethernet_cores_are_540_kib(place):
    story(place, '''
        open 0 board=n150
        kernel 0 1 fabric 56K 8
        kernel 0 2 dispatch 46K 2
        sync
        ''', {'kernel_fabric': (448 * KIB, 1),
              'kernel_dispatch': (DISPATCH, 1), 'l1_use': 540 * KIB})


def check_application_kernel_on_80_cores_is_8000_kib(place):
    load = story(place, '''
        open 0 board=galaxy-wormhole
        kernel 0 7 application 100K 80
        sync
        unload 0 7
        sync
        ''', {'kernel_application': (8000 * KIB, 1), 'l1_use': 8000 * KIB,
              'l1_tensix_use': 8000 * KIB},
                 NOTHING)
    serve.expect('for people', mib(8000 * KIB), '7.8')
    load.end()


TYPES = '''
    {open}
    kernel 0 1 fabric 56K 1
    kernel 0 2 fabric 56K 1
    kernel 0 3 dispatch 46K 1
    kernel 0 4 dispatch 46K 1
    kernel 0 10 application 24K 1
    kernel 0 11 application 24K 1
    kernel 0 12 application 24K 1
    kernel 0 13 application 24K 1
    kernel 0 14 application 24K 1
    cb 0 10 0 0x19000 43K 50
    sync
    '''
TYPES_FIGURES = {'kernel_fabric': (112 * KIB, 2),
                 'kernel_dispatch': (92 * KIB, 2),
                 'kernel_application': (120 * KIB, 5), 'cb': (2150 * KIB, 1)}


def check_table_of_kernels_by_type(place):
    load = story(place, TYPES.format(open=L1_306), dict(
        TYPES_FIGURES, l1_bytes=306 * MIB, l1_use=(2150 + 324) * KIB))
    device = place.snapshot().device(logical=0)
    kernels = sum(device['figures'][f]['live_bytes'] for f in serve.KERNELS)
    serve.expect('kernels', kernels, 324 * KIB)
    serve.expect('L1 buffers', device['figures']['l1']['live_bytes'], 0)
    serve.expect('CBs', mib(device['figures']['cb']['live_bytes']), '2.1')
    serve.expect('total', mib(device['l1_use']), '2.4')
    serve.expect('of', mib(device['l1_bytes'], 0), '306')
    load.end()


def check_unload_counts_down_its_own_type(place):
    one_fabric = {'kernel_fabric': (56 * KIB, 1)}
    one_dispatch = {'kernel_dispatch': (46 * KIB, 1)}
    story(place, TYPES.format(open=L1_306) + '''
        unload 0 2
        sync
        unload 0 4
        sync
        unload 0 14
        sync
        cb_free 0 10 0
        unload 0 1
        unload 0 3
        unload 0 10
        unload 0 11
        unload 0 12
        unload 0 13
        sync
        ''', TYPES_FIGURES,
          {**TYPES_FIGURES, **one_fabric},
          {**TYPES_FIGURES, **one_fabric, **one_dispatch},
          {**TYPES_FIGURES, **one_fabric, **one_dispatch,
           'kernel_application': (96 * KIB, 4)},
          NOTHING)


def check_death_takes_kernels_of_each_type_away(place):
    load = story(place, TYPES.format(open=L1_306) + 'kill\n', TYPES_FIGURES)
    load.release()
    load.to_sync()
    look_at(place, load, dict(NOTHING, **{
        f'{figure}.orphaned': value
        for figure, value in TYPES_FIGURES.items()}))


def check_type_guessed_by_size(place):
    """For callers that cannot know it."""
    place.serve()
    calls = place.calls()
    for line in ('guess 1 57344 16', 'guess 2 47104 2', 'guess 3 131072 1',
                 'guess 4 57345 1'):
        calls(line)
    place.sees('guessed', lambda s: serve.shows(s.device(logical=0), {
        'kernel_fabric': (FABRIC, 1), 'kernel_dispatch': (DISPATCH, 1),
        'kernel_application': (128 * KIB + 57345, 2)}))
    calls.end()


# -- programs that are dispatched ---------------------------------------------


def check_cached_dispatches_add_no_bytes(place):
    """Loaded once, dispatched often: both are to be seen."""
    kernel = {'kernel_application': (8000 * KIB, 1), 'l1_use': 8000 * KIB,
              'kernel_application.alloc_objects': 1,
              'kernel_application.alloc_bytes': 8000 * KIB}
    again = '        kernel 0 7 application 100K 80\n'
    story(place, 'open 0 board=n150\n' + again + 'sync\n' + again +
          'sync\n' + again * 98 + 'sync\ndestroy 0 7\nsync\n',
          dict(kernel, **{'dispatches.kernel_application': 0}),
          dict(kernel, **{'dispatches.kernel_application': 1}),
          dict(kernel, **{'dispatches.kernel_application': 99}),
          dict(NOTHING, **{'dispatches.kernel_application': 99,
                           'kernel_application.free_objects': 1}))


def check_kernel_of_another_size_replaces(place):
    story(place, '''
        open 0 board=n150
        kernel 0 7 application 100K 80
        sync
        kernel 0 7 application 50K 80
        sync
        kernel 0 7 application 50K 40
        sync
        ''', {'kernel_application': (8000 * KIB, 1)},
          {'kernel_application': (4000 * KIB, 1)},
          {'kernel_application': (2000 * KIB, 1),
           'dispatches.kernel_application': 0,
           'kernel_application.alloc_objects': 3,
           'kernel_application.free_objects': 2})


def check_kernels_in_the_ring_are_shown_and_not_added(place):
    story(place, '''
        open 0 board=n150
        kernel 0 7 application 69K 64 ring
        alloc 0 l1 1 0x100000 1M
        sync
        kernel 0 8 application 10K 10
        sync
        ''', {'kernel_application': (69 * 64 * KIB, 1), 'l1': (MIB, 1),
              'ring_bytes.kernel_application': 69 * 64 * KIB, 'l1_use': MIB,
              'l1_tensix_use': MIB},
          {'kernel_application': (69 * 64 * KIB + 100 * KIB, 2),
           'l1': (MIB, 1), 'ring_bytes.kernel_application': 69 * 64 * KIB,
           'l1_use': MIB + 100 * KIB})


def check_binary_in_dram_is_dram(place):
    """The copy of a kernel that waits in DRAM is no kernel in L1."""
    story(place, '''
        open 0 board=n150
        alloc 0 dram 1 0x1000 100K
        sync
        kernel 0 7 application 100K 80
        sync
        ''', {'dram': (100 * KIB, 1), 'dram_use': 100 * KIB, 'l1_use': 0},
          {'dram': (100 * KIB, 1), 'dram_use': 100 * KIB,
           'kernel_application': (8000 * KIB, 1), 'l1_use': 8000 * KIB})


def check_program_without_kernels(place):
    story(place, '''
        open 0 board=n150
        cb 0 7 0 0x19000 1K 1
        kernel 0 7 application 0 80
        sync
        destroy 0 7
        sync
        ''', {'kernel_application': (0, 1), 'cb': (KIB, 1), 'l1_use': KIB},
          NOTHING)


def check_kernels_loaded_before_ttmemd_started(place):
    """All that is warm by then is seen all the same."""
    load = place.run('''
        open 0 board=n150
        kernel 0 1 fabric 57344 16
        kernel 0 2 dispatch 47104 2
        kernel 0 7 application 100K 80
        kernel 0 7 application 100K 80
        sync
        kernel 0 7 application 100K 80
        sync
        ''')
    place.serve()
    wanted = {'kernel_fabric': (FABRIC, 1), 'kernel_dispatch': (DISPATCH, 1),
              'kernel_application': (8000 * KIB, 1),
              'l1_use': (988 + 8000) * KIB}
    look_at(place, load, dict(wanted, **{'dispatches.kernel_application': 1}))
    load.go()
    look_at(place, load, dict(wanted, **{'dispatches.kernel_application': 2}))


CHECKS = [f for n, f in list(globals().items()) if n.startswith('check_')]

if __name__ == '__main__':
    sys.exit(serve.run_all(__doc__, CHECKS))
