#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_log.py TTMEMD TTMEM-LOAD SNAPDUMP CALLS [CHECK...]

What `ttmemd --log-events` prints: a line for each event, with what it adds and what
that makes.
"""

import re
import sys

import serve
from serve import KIB
from stories import FABRIC, look_at


def log_of(place, script, wanted):
    """Events, each at a sync of its own, and the lines about them."""
    server = place.serve('--log-events')
    load = serve.Load(place, script)
    load.to_sync()
    place.settled('begin', load)
    while load.truth['phase'] != 'end':
        load.go()

    def attempt():
        lines = [re.sub(r' by process .*', '', x) for x in server.lines()
                 if 'DEVICE_' not in x]
        serve.expect('lines', lines, wanted)
    serve.wait_for('log', attempt)


def check_log_of_kernels_of_one_core(place):
    log_of(place, '''
        open 0 chip=1
        sync
        kernel 0 1 fabric 57344 1
        sync
        kernel 0 2 fabric 57344 1
        sync
        kernel 0 3 dispatch 47104 1
        sync
        kernel 0 4 dispatch 47104 1
        sync
        kernel 0 5 application 128K 1
        ''', [
            '[KERNEL_LOAD] Fabric kernel on device 0:'
            ' +0.055 MiB (total 0.055 MiB)',
            '[KERNEL_LOAD] Fabric kernel on device 0:'
            ' +0.055 MiB (total 0.109 MiB)',
            '[KERNEL_LOAD] Dispatch kernel on device 0:'
            ' +0.045 MiB (total 0.154 MiB)',
            '[KERNEL_LOAD] Dispatch kernel on device 0:'
            ' +0.045 MiB (total 0.199 MiB)',
            '[KERNEL_LOAD] Application kernel on device 0:'
            ' +0.125 MiB (total 0.324 MiB)'])


def check_log_of_system_kernels(place):
    log_of(place, '''
        open 0 chip=1
        sync
        kernel 0 1 fabric 57344 16
        kernel 0 2 dispatch 47104 2
        unload 0 1
        unload 0 2
        ''', [
            '[KERNEL_LOAD] Fabric kernel on device 0:'
            ' +0.875 MiB (total 0.875 MiB)',
            '[KERNEL_LOAD] Dispatch kernel on device 0:'
            ' +0.090 MiB (total 0.965 MiB)',
            '[KERNEL_UNLOAD] Fabric kernel on device 0:'
            ' -0.875 MiB (total 0.090 MiB)',
            '[KERNEL_UNLOAD] Dispatch kernel on device 0:'
            ' -0.090 MiB (total 0.000 MiB)'])


def check_log_of_a_mesh(place):
    """CBs of 0.25 MiB and kernels of 2.1 MiB on each of four devices."""
    log_of(place, '''
        open 0 chip=1
        open 1 chip=2
        open 2 chip=3
        open 3 chip=4
        mesh m 0,1,2,3
        sync
        cb m 1 0 0x19000 4K 64
        sync
        kernel m 1 application 33K 65
        ''', [f'[CB_ALLOC] Circular buffer on device {d}:'
              ' +0.250 MiB (total 0.250 MiB)' for d in range(4)] +
           ['[KERNEL_LOAD] Application kernel on device '
            f'{d}: +2.095 MiB (total 2.095 MiB)' for d in range(4)])


def check_log_of_parts_of_a_mesh(place):
    """Each line has the total of its own device; a part that is freed is a line for
    each device that it leaves."""
    log_of(place, '''
        open 0 chip=1
        open 1 chip=2
        open 2 chip=3
        mesh m 0,1,2
        mesh n 1,2
        sync
        alloc 1 dram 1 0 1M
        sync
        alloc m dram 2 0x1000 2M
        sync
        free 0 dram 2
        sync
        alloc n dram 3 0x2000 4M
        sync
        free n dram 2
        sync
        kernel m 9 application 1M 1
        sync
        kernel n 9 application 1M 1
        sync
        unload 2 9
        sync
        destroy m 9
        ''', ['[ALLOC] DRAM buffer on device 1: +1.000 MiB (total 1.000 MiB)',
              '[ALLOC] DRAM buffer on device 0: +2.000 MiB (total 2.000 MiB)',
              '[ALLOC] DRAM buffer on device 1: +2.000 MiB (total 3.000 MiB)',
              '[ALLOC] DRAM buffer on device 2: +2.000 MiB (total 2.000 MiB)',
              '[FREE] DRAM buffer on device 0: -2.000 MiB (total 0.000 MiB)',
              '[ALLOC] DRAM buffer on device 1: +4.000 MiB (total 7.000 MiB)',
              '[ALLOC] DRAM buffer on device 2: +4.000 MiB (total 6.000 MiB)',
              '[FREE] DRAM buffer on device 1: -2.000 MiB (total 5.000 MiB)',
              '[FREE] DRAM buffer on device 2: -2.000 MiB (total 4.000 MiB)',
              *['[KERNEL_LOAD] Application kernel on device '
                f'{d}: +1.000 MiB (total 1.000 MiB)' for d in range(3)],
              '[DISPATCH] on device 1', '[DISPATCH] on device 2',
              '[KERNEL_UNLOAD] Application kernel on device 2:'
              ' -1.000 MiB (total 0.000 MiB)',
              '[KERNEL_UNLOAD] Application kernel on device 0:'
              ' -1.000 MiB (total 0.000 MiB)',
              '[KERNEL_UNLOAD] Application kernel on device 1:'
              ' -1.000 MiB (total 0.000 MiB)'])


def check_log_of_buffers(place):
    log_of(place, '''
        open 0 chip=1
        sync
        alloc 0 dram 1 0 1M
        sync
        alloc 0 l1 2 0x2000 512K
        sync
        alloc 0 l1_small 3 0 256K
        sync
        alloc 0 trace 4 0 2M
        sync
        free 0 dram 1
        sync
        failed 0 dram 3M
        ''', ['[ALLOC] DRAM buffer on device 0: +1.000 MiB (total 1.000 MiB)',
              '[ALLOC] L1 buffer on device 0: +0.500 MiB (total 0.500 MiB)',
              '[ALLOC] L1_SMALL buffer on device 0:'
              ' +0.250 MiB (total 0.250 MiB)',
              '[ALLOC] TRACE buffer on device 0: +2.000 MiB (total 2.000 MiB)',
              '[FREE] DRAM buffer on device 0: -1.000 MiB (total 0.000 MiB)',
              '[ALLOC_FAILED] on device 0: 3.000 MiB'])


def check_log_of_what_is_wrong(place):
    """With the reason as all other outputs name it."""
    log_of(place, '''
        open 0 chip=1
        sync
        free 0 dram 1
        sync
        alloc 0 9 1 0 1M
        sync
        pop
        ''', ['[ANOMALY] on device 0: free_unknown',
              '[ANOMALY]: bad_kind',
              '[ANOMALY]: scope_underflow'])


def check_log_of_what_happened_before(place):
    """As far as it is still to be read; nothing from before a restart."""
    load = place.run('''
        open 0 chip=1
        kernel 0 1 fabric 57344 16
        kernel 0 2 dispatch 47104 2
        sync
        unload 0 1
        sync
        unload 0 2
        sync
        ''')
    said = []
    for _ in range(3):
        server = place.serve('--log-events')
        place.settled('served', load)
        serve.expect('status', server.stop(), 0)
        said.append([re.sub(r' by .*', '', x) for x in server.lines()])
        load.go()
    serve.expect('lines', said, [
        ['[DEVICE_OPEN] on device 0',
         '[KERNEL_LOAD] Fabric kernel on device 0:'
         ' +0.875 MiB (total 0.875 MiB)',
         '[KERNEL_LOAD] Dispatch kernel on device 0:'
         ' +0.090 MiB (total 0.965 MiB)'], [], []])


def check_log_of_a_device_that_was_closed_since(place):
    """What was on it is orphaned when the records are read: no total has it."""
    load = place.run('''
        open 0 chip=1
        alloc 0 dram 1 0 1M
        free 0 dram 1
        alloc 0 dram 2 0 2M
        close 0
        open 0 chip=1
        alloc 0 dram 3 0 4M
        sync
        ''')
    server = place.serve('--log-events')
    place.settled('served', load)
    serve.expect('status', server.stop(), 0)
    serve.expect('lines',
                 [x for x in server.lines() if 'DEVICE_' not in x], [
        '[ALLOC] DRAM buffer on device 0: +1.000 MiB (total unknown)',
        '[FREE] DRAM buffer on device 0: -1.000 MiB (total unknown)',
        '[ALLOC] DRAM buffer on device 0: +2.000 MiB (total unknown)',
        '[ALLOC] DRAM buffer on device 0: +4.000 MiB (total 4.000 MiB)'])


def check_log_has_150_lines_for_each_device(place):
    """A CB for each of 150 programs, on four devices."""
    server = place.serve('--log-events')
    lines = [f'open {d} chip={d + 1}' for d in range(4)] + ['mesh m 0,1,2,3']
    lines += [f'cb m {p} 0 0x19000 4K 64' for p in range(150)] + ['sync']
    load = place.run('\n'.join(lines) + '\n')
    look_at(place, load, dict.fromkeys(range(4), {
        'cb': (150 * 256 * KIB, 150), 'cb_footprint': 256 * KIB,
        'l1_use': 256 * KIB}))

    def attempt():
        found = [re.search(r'CB_ALLOC.*(device [0-3]):', x)[1]
                 for x in server.lines() if 'CB_ALLOC' in x]
        serve.expect('lines', {d: found.count(d) for d in set(found)},
                     {f'device {d}': 150 for d in range(4)})
    serve.wait_for('log', attempt)


def check_no_log_unless_asked(place):
    server = place.serve()
    load = place.run('open 0 chip=1\nkernel 0 1 fabric 57344 16\nsync\n')
    look_at(place, load, {'kernel_fabric': (FABRIC, 1)})
    serve.expect('lines', server.lines(), [])
    serve.expect('lines on stderr', len(server.said().splitlines()), 1)


CHECKS = [f for n, f in list(globals().items()) if n.startswith('check_')]

if __name__ == '__main__':
    sys.exit(serve.run_all(__doc__, CHECKS))
