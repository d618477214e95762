#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_run_ends.py TTMEMD TTMEM-LOAD SNAPDUMP CALLS TTMEM-DUMP [CHECK...]

run, whoever is killed and however many there are: nothing is left behind, and nobody
disturbs another. TTMEM_TEST_SCALE sets how many, in percent.
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import time

import dumps
from dumps import has, run
from runs import gate, load_of, nothing_left, of_place
import serve

MIB = dumps.MIB
SCALE = int(os.environ.get('TTMEM_TEST_SCALE', '100'))
DIFFERENT = max(50 * SCALE // 100, 10)
SHARED = max(10 * SCALE // 100, 5)
KILLS = max(20 * SCALE // 100, 5)


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


def check_killed_at_any_time(place):
    """Also while it starts ttmemd, and while it ends it."""
    chance = random.Random(7)
    for _ in range(KILLS):
        process = place.popen(
            [dumps.PROGRAM, 'run', '--', 'sh', '-c',
             '(setsid sleep 500 &); exec sleep 500'],
            stdout=subprocess.DEVNULL)
        time.sleep(chance.random() * 0.1)  # any time will do
        process.kill()
        process.wait()
    serve.wait_for('tidy', lambda: nothing_left(place), 60)
    serve.expect('files', os.listdir(place.base), [])


def check_inner_one_when_the_outer_is_killed(place):
    """Its command does not want to end, and is not the outer one's own."""
    inner = f'{place.base}/inner'
    os.mkdir(inner, 0o700)
    process = place.popen(
        [dumps.PROGRAM, 'run', '--', 'env', f'TTMEM_DIR={inner}',
         dumps.PROGRAM, 'run', '--', 'sh', '-c', 'trap "" TERM; echo ready; '
         'while :; do sleep 0.05; done'], stdout=subprocess.PIPE, text=True)
    serve.expect('ready', process.stdout.readline(), 'ready\n')
    process.kill()
    process.wait()
    serve.wait_for('tidy', lambda: nothing_left(place), 60)
    serve.wait_for('files', lambda: serve.expect(
        'files', os.listdir(inner), []))


def parts_of(place):
    """Pids of the processes of a private run: ttmemd and guard."""
    ttmemd, = [pid for pid, line in of_place(place)
               if line.startswith(b'ttmemd\0')]
    with open(f'/proc/{ttmemd}/stat', encoding='ascii') as file:
        guard = int(file.read().rsplit(')', 1)[1].split()[1])
    return {'ttmemd': ttmemd, 'guard': guard}


def started(place):
    """A run whose command has an object and waits for the end of its input."""
    process = place.popen([dumps.PROGRAM, 'run', '--', place.programs.calls],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True)
    process.stdin.write('alloc 1 1000\n')
    process.stdin.flush()
    serve.expect('calls', process.stdout.readline(), 'done\n')
    return process


def check_ttmemd_or_guard_is_killed(place):
    for part in ('ttmemd', 'guard'):
        process = started(place)
        os.kill(parts_of(place)[part], signal.SIGKILL)
        text = process.communicate(timeout=60)[0]
        serve.expect(part, process.returncode, 3)
        has(text, 'no current data: ttmemd is gone: these figures are')
        serve.wait_for('tidy', lambda: nothing_left(place))
    serve.expect('files', os.listdir(place.base), [])


def check_ttmemd_restarts_when_the_command_ends(place):
    """It is waited for, whether it ended in order or was killed."""
    for mode in ('user', 'system') if os.getuid() == 0 else ('user',):
        server = place.serve(mode=mode)
        for sign in (signal.SIGTERM, signal.SIGKILL):
            process = started(place)
            server.stop(sign)
            process.stdin.close()
            serve.wait_for('the command is gone', lambda: serve.expect(
                'commands', [pid for pid, line in of_place(place)
                             if line.startswith(place.programs.calls.encode())],
                []))
            server = serve.Server(place, ('--mode', mode))
            text = process.stdout.read()
            serve.expect(text, process.wait(60), 23)
            has(text, '1000 bytes leaked in 1 object (1 process, 1 device)')
            server.wait_ready()
        server.stop()
        checking = place.popen([dumps.PROGRAM, 'check'], text=True,
                               stdout=subprocess.PIPE)
        server = serve.Server(place, ('--mode', mode))
        has(checking.communicate(timeout=60)[0], '2000 bytes leaked')
        serve.expect('status', checking.returncode, 23)
        server.stop()
        for name in os.listdir(place.base):
            shutil.rmtree(f'{place.base}/{name}')


def check_run_and_guard_are_killed(place):
    """Then nobody is left to tidy up, but for clean, later."""
    process = started(place)
    guard = parts_of(place)['guard']
    os.kill(guard, signal.SIGSTOP)
    process.kill()
    os.kill(guard, signal.SIGKILL)
    process.communicate()
    serve.wait_for('ttmemd goes, too', lambda: serve.expect(
        'processes', of_place(place), []))
    name, = os.listdir(place.base)
    has(run(place, 'clean').stdout, f'kept {name}: directory of a run that '
        'was killed: it is less than a minute old')
    hour_ago = time.time() - 3600
    os.utime(f'{place.base}/{name}', (hour_ago, hour_ago))
    has(run(place, 'clean', '--dry-run').stdout, f'would remove {name}: ')
    has(run(place, 'clean').stdout, f'removed {name}: ', '1 removed')
    serve.expect('files', os.listdir(place.base), [])
    # One that is there is left alone, however old it is.
    process = started(place)
    name, = os.listdir(place.base)
    os.utime(f'{place.base}/{name}', (hour_ago, hour_ago))
    has(run(place, 'clean').stdout, '0 removed', '; 0 kept')
    process.communicate(timeout=60)
    serve.expect('status', process.returncode, 23)


def check_readers_that_go(place):
    """Whoever reads the report is gone, or never was there."""
    leak = load_of(place, '--leak', '1')
    for redirection, status in (
            ('| true; exit ${PIPESTATUS[0]}', 1), ('>&-', 1), ('>/dev/full', 1),
            ('<&-', 23), ('2>&-', 23), ('<&- >&- 2>&-', 1)):
        done = subprocess.run(
            ['bash', '-c', f'"$@" {redirection}', 'bash', dumps.PROGRAM,
             'run', '--', *leak], env=place.environment(), cwd='/',
            capture_output=True, check=False, timeout=120)
        # A pipe may still be open when it is written to.
        if done.returncode != status and redirection[0] != '|':
            serve.fail(f'{redirection}: {done.returncode} and not {status}')
        nothing_left(place)
    # The command is not told of our ignoring the signal.
    gate(place, '--', 'bash', '-c', 'kill -PIPE $$', status=141)


def check_signals_that_are_ignored(place):
    """By whoever starts it; COMMAND finds them as they were."""
    for number, name in ((signal.SIGCHLD, 'CHLD'), (signal.SIGPIPE, 'PIPE'),
                         (signal.SIGINT, 'INT'), (signal.SIGTERM, 'TERM')):
        done = subprocess.run(
            ['env', f'--ignore-signal={name}', dumps.PROGRAM, 'run', '--',
             'grep', 'SigIgn', '/proc/self/status'], check=False, text=True,
            capture_output=True, env=place.environment(), timeout=120)
        serve.expect(f'status with {name}', done.returncode, 3)
        serve.expect(name, int(done.stdout.split()[1], 16) >>
                     (number - 1) & 1, 1)
        nothing_left(place)


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
        text = process.communicate(timeout=300)[0]
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
        check_killed_itself, check_killed_at_any_time,
        check_inner_one_when_the_outer_is_killed,
        check_ttmemd_or_guard_is_killed,
        check_ttmemd_restarts_when_the_command_ends, check_run_and_guard_are_killed,
        check_readers_that_go, check_signals_that_are_ignored,
        check_many_in_different_directories,
        check_many_in_one_directory)))
