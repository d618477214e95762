#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_run.py TTMEMD TTMEM-LOAD SNAPDUMP CALLS TTMEM-DUMP [CHECK...]

run, the leak gate around one command: with a ttmemd of its own and with the common one;
nothing is left behind, whoever is killed.
"""

import os
import signal
import subprocess
import sys
import time

import dumps
from dumps import has, has_not, run
import serve

MIB = dumps.MIB
DIFFERENT, SHARED = 50, 10


def load_of(place, *options):
    return (place.programs.load, '-q', '--events', '100', *options)


def gate(place, *options, status=0, **how):
    """Returns what is printed; nothing is left behind."""
    done = run(place, 'run', *options, status=status, **how)
    last = done.stdout.splitlines()[-1]
    if not last.startswith('SUMMARY: ttmem: '):
        serve.fail(f'the last line is {last!r}')
    nothing_left(place)
    return done.stdout


def of_place(place):
    """Processes that have to do with the place; ttmemd of a test is none."""
    found = []
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{pid}/cmdline', 'rb') as file:
                line = file.read()
            with open(f'/proc/{pid}/environ', 'rb') as file:
                environment = file.read()
        except OSError:
            continue
        if f'{place.base}/ttmem-run'.encode() in line + environment or \
                (b'TTMEM_RUN_ID=' in environment and
                 place.base.encode() in environment):
            found.append((int(pid), line))
    return found


def nothing_left(place):
    serve.expect('directories', [n for n in os.listdir(place.base)
                                 if n.startswith('ttmem-run')], [])
    serve.expect('processes', of_place(place), [])


def check_leaks_are_named(place):
    for _ in ('private', 'common'):
        text = gate(place, '--', *load_of(place, '--leak', '3'), status=23)
        for number in range(3):
            has(text, '1.00 MiB in 1 object of 1.00 MiB: orphaned dram, scope '
                f'"leak {number}", device 0, process ttmem-load[')
        serve.expect('lines', len(text.splitlines()), 4)
        has(text, f'SUMMARY: ttmem: {3 * MIB} bytes leaked in 3 objects '
            '(1 process, 1 device)')
        text = gate(place, '--', *load_of(place))
        serve.expect('clean', text,
                     'SUMMARY: ttmem: no leaks (1 process, 1 device)\n')
        if _ == 'private':
            serve.expect('files', os.listdir(place.base), [])
            place.serve()


def check_status_of_the_command(place):
    leak = ' '.join(load_of(place, '--leak', '1'))
    for command, status in (('exit 7', 7), ('kill -9 $$', 137),
                            ('kill -TERM $$', 143)):
        has(gate(place, '--', 'sh', '-c', f'{leak}; {command}',
                 status=status), 'bytes leaked in 1 object')
    done = run(place, 'run', '--', 'no-such-command', status=127)
    has(done.stderr, 'no-such-command: No such file')
    done = run(place, 'run', '--', '/etc/passwd', status=126)
    has(done.stderr, 'Permission denied')
    run(place, 'run', status=2)
    nothing_left(place)


def check_orphans_of_a_killed_command(place):
    """The command itself has the objects, and is killed."""
    process = place.popen([dumps.PROGRAM, 'run', '--', place.programs.calls],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True)
    for line in ('alloc 1 1000', 'alloc 2 500'):
        process.stdin.write(f'{line}\n')
        process.stdin.flush()
        serve.expect('calls', process.stdout.readline(), 'done\n')
    pids = [pid for pid, line in of_place(place)
            if place.programs.calls.encode() in line and
            b'ttmem-dump' not in line]
    serve.expect('pids', len(pids), 1)
    os.kill(pids[0], signal.SIGKILL)
    text = process.stdout.read()
    serve.expect('status', process.wait(20), 137)
    has(text, '1000 B in 1 object of 1000 B: orphaned dram',
        '1500 bytes leaked in 2 objects (1 process, 1 device)')
    nothing_left(place)


def check_never_reported(place):
    has(gate(place, '--', 'true', status=3), 'COMMAND never reported')
    gate(place, '--', 'false', status=1)
    place.serve()
    has(gate(place, '--', 'true', status=3), 'COMMAND never reported')
    has_not(gate(place, '--', 'true', status=3), 'no leaks')


def check_daemons_are_waited_for(place):
    leak = ' '.join(load_of(place, '--leak', '2'))
    line = f"(setsid sh -c 'sleep 1; {leak}' >/dev/null 2>&1 &) ; exit 0"
    for _ in ('private', 'common'):
        begin = time.monotonic()
        has(gate(place, '--', 'sh', '-c', line, status=23),
            'bytes leaked in 2 objects')
        if time.monotonic() - begin < 1:
            serve.fail('it was not waited for')
        if _ == 'private':
            place.serve()


def check_settle_bounds_the_wait(place):
    calls = place.programs.calls
    line = (f'(echo alloc 1 1000; sleep 4) | {calls} & '
            f'sleep 1; exit 0')
    begin = time.monotonic()
    done = run(place, 'run', '--settle', '0.3', '--', 'sh', '-c',
               f'exec >/dev/null 2>&1 </dev/null; {line}', status=23)
    if time.monotonic() - begin > 3.5:
        serve.fail('it was waited for too long')
    has(done.stdout, 'live dram', '1000 bytes leaked in 1 object')
    has(done.stderr, 'still running')
    serve.wait_for('gone', lambda: nothing_left(place))


def check_stdin_and_signals(place):
    done = run(place, 'run', '--', 'cat', stdin='hello\n', status=3)
    has(done.stdout, 'hello\n')
    for sign, name in ((signal.SIGTERM, 'TERM'), (signal.SIGUSR1, 'USR1'),
                       (signal.SIGINT, 'INT')):
        process = place.popen(
            [dumps.PROGRAM, 'run', '--', 'bash', '-c',
             f'trap "exit 42" {name}; echo ready; while :; do sleep 0.05; '
             'done'], stdout=subprocess.PIPE, text=True)
        serve.expect('ready', process.stdout.readline(), 'ready\n')
        process.send_signal(sign)
        serve.expect(name, process.wait(20), 42)
        nothing_left(place)


def check_killed_itself(place):
    for server in (False, True):
        if server:
            place.serve()
        process = place.popen(
            [dumps.PROGRAM, 'run', '--', 'sh', '-c',
             '(setsid sleep 50 &); echo ready; sleep 50'],
            stdout=subprocess.PIPE, text=True)
        serve.expect('ready', process.stdout.readline(), 'ready\n')
        process.kill()
        process.wait()
        serve.wait_for('tidy', lambda: nothing_left(place))


def check_environment(place):
    text = gate(place, '--', 'sh', '-c',
                'echo $TTMEM_ENABLED ${#TTMEM_RUN_ID} $TTMEM_DIR',
                status=3, environment={'TTMEM_ENABLED': '0'})
    has(text, f'1 16 {place.base}/ttmem-run.')
    place.serve()
    text = gate(place, '--dir', place.base, '--', 'sh', '-c',
                'echo $TTMEM_DIR', status=3,
                environment={'TTMEM_DIR': '/elsewhere'})
    has(text, f'{place.base}\n')


def check_only_its_own(place):
    """What others leave on the same ttmemd is theirs."""
    place.serve()
    other = place.run('open 0 chip=1\nalloc 0 dram 1 0 1M\nsync\n')
    subprocess.run([place.programs.load, '-q', '--events', '10', '--leak',
                    '5'], env=place.environment(), check=True)
    with open(f'{place.base}/ttmem-{os.getuid()}/u.{os.getpid()}.0.28.', 'w',
              encoding='ascii'):
        pass
    gate(place, '--', *load_of(place))
    has(gate(place, '--ack', '--', *load_of(place, '--leak', '1'), status=23),
        'in 1 object (1 process')
    other.end()


def check_ttmemd(place):
    done = run(place, 'run', '--ttmemd', '/none', '--', 'true', status=1)
    has(done.stderr, 'cannot start ttmemd: /none')
    has(done.stdout, 'SUMMARY: ttmem: not checked')
    nothing_left(place)
    gate(place, '--ttmemd', place.programs.ttmemd, '--', *load_of(place))
    # The common one dies under it.
    server = place.serve()
    text = gate(place, '--', 'sh', '-c', f'kill -9 {server.pid}; ' +
                ' '.join(load_of(place, '--leak', '1')), status=3)
    has(text, 'ttmemd is gone: these figures are')
    # Its figures are no reason not to start another.
    gate(place, '--', *load_of(place))


def many(place, environments):
    """As many at once; each sees only its own."""
    runs = []
    for number, environment in enumerate(environments):
        leaks = number % 3
        runs.append((leaks, subprocess.Popen(
            [dumps.PROGRAM, 'run', '--', *load_of(place, '--leak',
                                                  str(leaks))],
            env=dict(place.environment(), **environment), text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)))
    for leaks, process in runs:
        text = process.communicate(timeout=100)[0]
        serve.expect(text, process.returncode, 23 if leaks else 0)
        has(text, f'{leaks * MIB} bytes leaked in {leaks} object' if leaks
            else 'no leaks (1 process')


def check_many_in_different_directories(place):
    bases = [f'{place.base}/{number}' for number in range(DIFFERENT)]
    for base in bases:
        os.mkdir(base, 0o700)
    many(place, [{'TTMEM_DIR': base} for base in bases])
    for base in bases:
        serve.expect('left', os.listdir(base), [])
    nothing_left(place)


def check_many_in_one_directory(place):
    many(place, [{}] * SHARED)
    serve.expect('left', os.listdir(place.base), [])
    place.serve()
    many(place, [{}] * SHARED)
    nothing_left(place)


if __name__ == '__main__':
    sys.exit(dumps.run_all(__doc__, (
        check_leaks_are_named, check_status_of_the_command,
        check_orphans_of_a_killed_command, check_never_reported,
        check_daemons_are_waited_for, check_settle_bounds_the_wait,
        check_stdin_and_signals, check_killed_itself, check_environment,
        check_only_its_own, check_ttmemd,
        check_many_in_different_directories, check_many_in_one_directory)))
