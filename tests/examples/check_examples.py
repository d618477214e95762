#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_examples.py TTMEMD TTMEM-LOAD SNAPDUMP CALLS FOLDER LIBRARIES \\
           EMBED-C DEVICES-C EMBED-CC SIZES CHECK...

The programs of examples/, beside a real ttmemd. FOLDER is examples/; LIBRARIES is the
folder of the shared libraries; EMBED-CC is - where there is no C++. CHECKs are the names
of the functions below that are to be run.
"""

import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                '../serve'))
import serve  # noqa: E402
from serve import KIB, MIB, expect, shows  # noqa: E402

FILES = {}


def run(place, *command, status=0, **environment):
    """(pid, stdout) of an example, run to its end."""
    env = dict(place.environment(), TTMEM_ENABLED='1',
               TTMEM_LIBRARY_DIR=FILES['libraries'],
               PYTHONPATH=os.path.join(FILES['folder'], 'python'),
               PYTHONDONTWRITEBYTECODE='1', **environment)
    process = subprocess.Popen(command, env=env, text=True, cwd=place.files,
                               stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT)
    place.started.append(process)
    said, _ = process.communicate(timeout=60)
    if process.returncode != status:
        serve.fail(f'{command}: status {process.returncode}: {said}')
    return process.pid, said


def python(place, name, *options, **how):
    return run(place, sys.executable, *options,
               os.path.join(FILES['folder'], 'python', name), **how)


def left_behind(place, pid):
    """(figure, requested, class, scope) of what the ended process left."""
    def ended(snapshot):
        expect('state', snapshot.process(pid)['state'], 'exited')
    snapshot = place.sees('the end', ended, '--objects')
    return sorted((o['figure'], o['requested'], o['leak_class'], o['scope'])
                  for o in snapshot.of_process('objects', pid))


def check_c(place):
    place.serve()
    pid, said = run(place, FILES['embed_c'])
    expect('said', said, 'device 0: DRAM 1048576, L1 65536, CBs 262144 '
           'bytes\ndevice 0: DRAM 1048576, L1 0, CBs 0 bytes\n')
    expect('left', left_behind(place, pid),
           [('dram', MIB, 'orphaned', 'op matmul')])
    _, said = run(place, FILES['devices_c'])
    expect('devices', said, 'device 0 n150: DRAM 0, L1 0, left behind '
           '1048576 bytes of DRAM\n')


def check_c_says_why_there_are_no_figures(place):
    _, said = run(place, FILES['devices_c'], status=1)
    if not said.strip():
        serve.fail('no reason')
    _, said = run(place, '/usr/bin/env', 'TTMEM_ENABLED=0', FILES['embed_c'])
    expect('said', said, 2 * 'tracking is off: set TTMEM_ENABLED=1\n')


def check_cpp(place):
    place.serve()
    pid, said = run(place, FILES['embed_cc'])
    expect('said', said,
           f'inside: L1 {8 * MIB}, DRAM {4 * (2 * MIB + 4 * KIB)} bytes\n'
           f'after: L1 0, DRAM {4 * 4 * KIB} bytes\n')
    expect('left', left_behind(place, pid),
           [('dram', 4096, 'persistent', 'program cache')])


def check_python_leaks_are_told(place):
    place.serve()
    pid, said = python(place, 'leak.py')
    expect('said', said, 'left on the devices:\n'
           'device 0: dram: +1048576 bytes, +1 objects\n'
           'device 1: trace: +4096 bytes, +1 objects\n'
           '  dram 0x2: 1048576 bytes, op careless\n'
           '  trace 0x3: 4096 bytes, op careless\n')
    expect('left', left_behind(place, pid), [
        ('dram', MIB, 'orphaned', 'op careless'),
        ('trace', 4096, 'orphaned', 'op careless')])

    def careful(snapshot):
        rows = {r['logical']: r for r in snapshot.of_process('shares', pid)}
        shows(rows[1], {'trace.orphaned': (4096, 1),
                        'dram.alloc_bytes': MIB, 'dram.free_bytes': MIB})
    place.sees('the careful one', careful)


def check_python_leaks_are_found_without_ttmemd(place):
    _, said = python(place, 'leak.py')
    expect('said', said, 'left on the devices:\n'
           'device 0: dram: +1048576 bytes, +1 objects\n'
           'device 1: trace: +4096 bytes, +1 objects\n')


def check_python_says_that_it_is_off(place):
    _, said = run(place, '/usr/bin/env', 'TTMEM_ENABLED=0', sys.executable,
                  os.path.join(FILES['folder'], 'python/leak.py'), status=1)
    if 'NotTracked: tracking is off: set TTMEM_ENABLED=1' not in said:
        serve.fail(said)


def check_python_layouts(place):
    _, header = run(place, FILES['sizes'])
    _, said = run(place, sys.executable, '-c', '''
import ctypes, ttmem
for name, type_ in (('ttmem_usage_figure', ttmem.Figure),
                    ('ttmem_usage', ttmem.Usage),
                    ('ttmem_core_range', ttmem.CoreRange),
                    ('ttmem_buffer', ttmem.Buffer),
                    ('ttmem_failure', ttmem.Failure),
                    ('ttmem_status', ttmem.Status)):
    print(name, ctypes.sizeof(type_))
    for field, _ in type_._fields_:
        at = getattr(type_, field)
        print(f'{name}.{field}', at.offset, at.size)
''')
    expect('layouts', said, header)


def with_pytest():
    """An interpreter that has it: the system's may, where ours does not."""
    for path in (sys.executable, '/usr/bin/python3'):
        if os.path.exists(path) and subprocess.run(
                [path, '-c', 'import pytest'], check=False,
                capture_output=True).returncode == 0:
            return path
    return None


def check_pytest_fails_a_leaking_test(place):
    place.serve()
    _, said = run(place, with_pytest(), '-m', 'pytest', '-rA', '-p',
                  'no:cacheprovider', '-p', 'pytest_ttmem', os.path.join(
                      FILES['folder'], 'python/example_tests.py'), status=1)
    for wanted in ('3 passed, 1 error',
                   'ERROR at teardown of test_that_leaks',
                   'ttmem.Leak: left on the devices:',
                   'device 0: l1: +2048 bytes, +1 objects',
                   'l1 0x2: 2048 bytes, op leaky'):
        if wanted not in said:
            serve.fail(f'no {wanted!r} in:\n{said}')
    if said.count('ERROR at') != 1:
        serve.fail(f'others are blamed:\n{said}')


if __name__ == '__main__':
    NAMES = ('folder', 'libraries', 'embed_c', 'devices_c', 'embed_cc',
             'sizes')
    if len(sys.argv) < 6 + len(NAMES):
        print(__doc__, end='')
        sys.exit(2)
    if check_pytest_fails_a_leaking_test.__name__ in sys.argv and \
            not with_pytest():
        print('skipped: no python3-pytest')
        sys.exit(77)
    FILES.update((name, os.path.abspath(sys.argv.pop(5))) for name in NAMES)
    sys.exit(serve.run_all(__doc__, [
        value for name, value in sorted(globals().items())
        if name.startswith('check_') and name in sys.argv[5:]]))
