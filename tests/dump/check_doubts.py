#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_doubts.py TTMEMD TTMEM-LOAD SNAPDUMP CALLS TTMEM-DUMP [CHECK...]

No data is never "no leaks": nobody serves, or serves not all, or does not move; who was
asked for is not known; something was lost.
"""

import os
import signal
import subprocess
import sys

import dumps
from dumps import has, has_not, run
from gates import CLEAN, LEAK, LEAKED, gate, left, summary, verdict
import serve


def check_no_data(place):
    """Never "no leaks": gate() looks for that."""
    has(gate(place, status=3), 'no current data')
    serve.expect('unknown', verdict(place, status=3)['leaked_bytes'], None)
    server = place.serve()
    left(place, LEAK)
    os.kill(server.pid, signal.SIGSTOP)
    serve.wait_for('stale', lambda: has(gate(place, status=3)
                                        if run_status(place) == 3 else '',
                                        'does not move'))
    os.kill(server.pid, signal.SIGCONT)
    server.stop(signal.SIGKILL)
    text = gate(place, status=3)
    has(summary(text), 'ttmemd is gone: these figures are ', ' old',
        f'{LEAKED} bytes leaked in 3 objects')
    os.mkdir(f'{place.base}/none')
    gate(place, '--dir', f'{place.base}/none', status=3)


def run_status(place):
    return subprocess.run([dumps.PROGRAM, 'check'], check=False,
                          env=place.environment(),
                          capture_output=True).returncode


def check_incomplete(place):
    place.serve()
    left(place, CLEAN)
    gate(place)
    folder = f'{place.base}/ttmem-{os.getuid()}'
    with open(f'{folder}/lost', 'wb') as file:
        for word in (1, 5, 4096, 0):
            file.write(word.to_bytes(8, 'little'))
    os.chmod(f'{folder}/lost', 0o600)
    serve.wait_for('incomplete', lambda: serve.expect(
        'status', run_status(place), 4))
    has(gate(place, status=4), 'incomplete: ', 'at least 5 objects')
    # A baseline is not made of half of it.
    path = f'{place.files}/baseline'
    gate(place, '--baseline', path, '--update-baseline', status=4)
    serve.expect('written', os.path.exists(path), False)
    left(place, LEAK)
    has(summary(gate(place, status=23)), 'bytes leaked', 'data incomplete')


def check_untracked(place):
    """ttmemd has not looked yet: that is waited for."""
    place.serve()
    dumps.busy(place)
    orphans = ('--errors-for', 'orphaned')
    gate(place, *orphans)
    dumps.mark_untracked(place)
    has(gate(place, *orphans, status=4), 'could not be tracked')


def check_what_is_no_marker(place):
    """ttmemd never tells of those: they are not waited for."""
    place.serve()
    left(place, CLEAN)
    for name in ('u.', 'u.1.2.28', 'u.01.2.28.', 'u.1.2.0.', 'u.1.2.4096.',
                 'u.1.2.28.A0', 'u.1.2.28.0', 'u.1.2.28.' + 17 * '61'):
        with open(f'{place.base}/ttmem-{os.getuid()}/{name}', 'w',
                  encoding='ascii'):
            pass
    gate(place)


def check_unserved(place):
    """A second directory of ours, which another holds."""
    place.serve()
    left(place, CLEAN)
    with dumps.held_directory(place):
        serve.wait_for('not served', lambda: serve.expect(
            'status', run_status(place), 4))
        has(gate(place, status=4), 'does not serve a directory of yours')


def check_dropped(place):
    """The segment may not grow: events are lost, and counted."""
    place.serve()
    subprocess.run(['prlimit', '--fsize=400000', place.programs.load, '-q',
                    '--events', '30000', '--live', '20000'],
                   env=dict(place.environment(), TTMEM_ENABLED='1'),
                   check=True)
    has(gate(place, status=4), 'events lost', 'data incomplete')


def check_rejected_allocations(place):
    """They are not recorded, so nobody knows whether they were freed."""
    place.serve()
    for script, calls, reasons in (
            # The mesh was closed before.
            ('mesh m 0\nmesh_close m\nalloc m dram 2 0 1G\n', 1,
             '1 bad_device'),
            (''.join(f'alloc {n} dram 1 0 1K\nfree {n} dram 1\n'
                     for n in range(65)), 1, '1 too_many_devices'),
            ('alloc 0 9 1 0 1K\nalloc 0 dram 2 0 64T\nalloc 0 l1 3 0 64T\n', 3,
             '1 bad_kind, 2 overflow')):
        left(place, CLEAN + script)
        text = gate(place, status=4)
        reason = f'{calls} call{"s were" if calls > 1 else " was"} ' \
            f'rejected ({reasons}): allocations may be missing'
        has(text, 'incomplete: ttmem-load (pid ', reason)
        has(summary(text), 'data incomplete: ttmem-load (pid ')
        serve.expect('in JSON', [reason in line for line in verdict(
            place, status=4)['incomplete']][-1:], [True])
        has(run(place, status=4).stdout, reason)


def check_a_leak_of_a_forked_child(place):
    """On the mesh that its parent made: recorded as any other."""
    place.serve()
    left(place, 'open 0 chip=1\nopen 1 chip=2\nmesh m 0,1\nfork\n'
         'alloc m dram 5 0 1G\nend\nwait\nclose 0\nclose 1\n')
    has(gate(place, status=23), '1.00 GiB on each of 2 devices: orphaned dram',
        f'{2 << 30} bytes leaked in 1 object (1 process, 2 devices)')


def check_frees_without_an_object_are_noted(place):
    """Freed twice, or with the wrong kind: told, and no reason to fail."""
    place.serve()
    twice = left(place, CLEAN + 'free 0 dram 1\nfree 0 dram 1\n')
    note = 'no object (freed twice, or of another kind or device): process ' \
        'ttmem-load['
    text = gate(place)
    has(text, f'note: 2 frees match {note}{twice}]')
    serve.expect('summary', summary(text),
                 'SUMMARY: ttmem: no leaks (1 process, 1 device); 2 frees '
                 'match no object (1 process)')
    wrong = left(place, 'open 0 chip=1\nalloc 0 dram 1 0 1M\nfree 0 l1 1\n')
    has(gate(place, status=23), f'note: 1 free matches {note}{wrong}]',
        '1048576 bytes leaked in 1 object', '3 frees match no object (2 '
        'processes)')
    serve.expect('in JSON', len(verdict(place, status=23)['notes']), 2)
    has(gate(place, '--github', '--pid', twice),
        f'::warning title=ttmem note::2 frees match {note}{twice}]')


def check_nobody_of_that_name(place):
    place.serve()
    pid = left(place, CLEAN)
    gate(place, '--pid', pid)
    gate(place, '--wait-pid', pid)
    gone = subprocess.Popen(['true'])
    gone.wait()
    for option in ('--pid', '--wait-pid'):
        has(gate(place, option, gone.pid, status=3),
            f'no data: process {gone.pid} never reported')
    for device in ('0', '0-3', 'asic:1'):
        gate(place, '--device', device)
    for device, text in (('7', '7'), ('7-9', 'from 7 to 9'),
                         ('asic:12ab', 'asic:12ab'),
                         ('pci:01:00.0', 'pci:0000:01:00.0')):
        has(gate(place, '--device', f'0,{device}', status=3),
            f'no data: there is no device {text}')


def check_right_after_the_end(place):
    """ttmemd has not looked yet: that is waited for."""
    place.serve()
    for number in range(1, 11):
        subprocess.run([place.programs.load, '-q', '--events', '10', '--leak',
                        '1'], env=dict(place.environment(),
                                       TTMEM_ENABLED='1'), check=True)
        has(gate(place, '--ack', status=23), 'in 1 object (1 process')
        has(gate(place), 'no leaks', f'{number} object')


def check_zombie_is_waited_for(place):
    """Who starts it waits for the check before it asks for its status."""
    place.serve()
    calls = place.calls()
    calls('alloc 1 1000')
    waiting = place.popen([dumps.PROGRAM, 'check', '--wait-pid',
                           str(calls.pid)], stdout=subprocess.PIPE, text=True)
    calls.process.stdin.close()
    has(waiting.communicate(timeout=60)[0], 'orphaned dram',
        '1000 bytes leaked in 1 object (1 process')
    serve.expect('status', waiting.returncode, 23)


def check_system(place):
    """Root's ttmemd is asked for; the user's own is there alone, or has the
    directory."""
    place.serve()
    left(place, CLEAN)
    gate(place)
    has(gate(place, '--system', status=3), 'never started')
    if os.getuid() != 0:
        return
    serve.Server(place, ('--mode', 'system'))
    serve.wait_for('both', lambda: has(run(
        place, '--system', status=4).stdout, 'served by another ttmemd'))
    # Of what the other lists it never tells: that is not waited for.
    dumps.mark_untracked(place)
    has_not(gate(place, '--system', status=4), 'does not know yet')


def check_precedence(place):
    """Where several apply: 2, 1, 3, 23, 5, 4; the summary names all."""
    place.serve()
    left(place, LEAK)
    dumps.mark_untracked(place)
    parts = {3: 'no data: there is no mark', 23: 'bytes leaked',
             5: 'limit exceeded', 4: 'data incomplete'}
    no_mark = ('--since', 'none', '--pid')
    limit = ('--max', 'dram=1')
    quiet = ('--ignore-kind', 'dram,l1')
    for options, status, named in (
            ((*limit, *quiet), 5, (5, 4)), (quiet, 4, (4,)),
            (limit, 23, (23, 5, 4)),
            ((*limit, *no_mark[:2]), 3, (3, 23, 5, 4))):
        has(summary(gate(place, *options, status=status)),
            *(parts[n] for n in named))
    done = run(place, 'check', *limit, *no_mark[:2], '-o', '/none/x',
               status=1)
    has(done.stderr, 'No such file', *parts.values())
    run(place, 'check', *limit, '-o', '/none/x', '--errors-for', 'x',
        status=2)
    has_not(done.stdout, 'SUMMARY')


def check_files_that_fail(place):
    """What cannot be read or written is told, and the last line is there."""
    place.serve()
    left(place, CLEAN)
    for options in (('--suppressions', '/none'), ('--suppressions', '/'),
                    ('--baseline', '/none'), ('--baseline', '/'),
                    ('--baseline', '/dev/null'), ('--from', '/none'),
                    ('--from', '/'), ('--junit', '/none/x'),
                    ('--junit', '/dev/full'), ('-o', '/dev/full'),
                    ('--baseline', '/none/x', '--update-baseline'),
                    ('--from', place.file('json', '{"schema_version":2'))):
        done = run(place, 'check', *options, status=1)
        lines = (done.stderr if '-o' in options else
                 done.stdout).splitlines()
        has(lines[-1], 'SUMMARY: ttmem: ')
        has(done.stderr, 'ttmem-dump: ')
    done = run(place, 'check', '--format', 'json', '--from', '/none',
               status=1)
    serve.expect('no document', done.stdout, '')
    has(done.stderr, 'SUMMARY: ttmem: not checked')


def check_files_without_an_end(place):
    """A device, and a line of 10 GB, are refused at once."""
    long = place.file('long', '{')
    os.truncate(long, 10 * 10**9)
    good = place.file('json', '{"schema_version":2}\n')
    for path in ('/dev/zero', long):
        for options in (('--from', path), ('diff', path, good),
                        ('diff', good, path), ('check', '--from', path),
                        ('check', '--suppressions', path),
                        ('check', '--baseline', path),
                        ('run', '--suppressions', path, '--', 'true')):
            done = run(place, *options, status=1, timeout=10)
            has(done.stderr, f'ttmem-dump: {path}:1: ', 'not text')
    # Lines that people write are short.
    supp = place.file('supp', '#\n' + 'x' * 100000)
    has(run(place, 'check', '--suppressions', supp, status=1).stderr,
        f'{supp}:2: the line is too long')


if __name__ == '__main__':
    sys.exit(dumps.run_all(__doc__, (
        check_no_data, check_incomplete, check_untracked,
        check_what_is_no_marker, check_unserved, check_dropped,
        check_rejected_allocations, check_a_leak_of_a_forked_child,
        check_frees_without_an_object_are_noted,
        check_nobody_of_that_name, check_right_after_the_end,
        check_zombie_is_waited_for, check_system, check_precedence,
        check_files_that_fail, check_files_without_an_end)))
