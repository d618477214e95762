#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_tools.py TTMEMD TTMEM-LOAD SNAPDUMP CALLS TTMEM-DUMP [CHECK...]

diff, doctor and clean: what changed, what is wrong, and what can go.
"""

import fcntl
import json
import os
import signal
import subprocess
import sys
import time

import dumps
from dumps import has, has_not, row, run
import serve

MIB = dumps.MIB


def folder(place):
    return f'{place.base}/ttmem-{os.getuid()}'


def names(place, prefix):
    return sorted(n for n in os.listdir(folder(place)) if n.startswith(prefix))


def load_and_end(place, script):
    """Runs a script to its end; returns what it did."""
    path = place.file('script', script)
    done = subprocess.run([place.programs.load, '--script', path, '--json',
                           '-'], env=place.environment(), check=False,
                          capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


# -- diff ---------------------------------------------------------------------


def check_diff(place):
    place.serve()
    stays = place.run('open 0 chip=1\npush "weights"\nalloc 0 dram 1 0 4M\n'
                      'push "kv \\x1b[31m"\nsync\nalloc 0 dram 2 0 2M\n'
                      'alloc 0 dram 3 0 1M\nsync\n')
    goes = place.run('open 1 chip=2\nalloc 1 l1 1 0 64K\nsync\n'
                     'free 1 l1 1\nsync\n')
    dumps.settle(place, stays, goes)
    old = dumps.recorded(place)
    serve.expect('nothing', run(place, 'diff', old, old).stdout.splitlines()[
        -1], 'no change')
    stays.go()
    goes.go()
    goes.end()
    comes = place.run('open 1 chip=2\npush "new"\nalloc 1 trace 1 0 16M\n'
                      'sync\n')
    place.settled('all', stays, comes, goes, look=lambda s: serve.expect(
        'state', s.process(goes.pid)['state'], 'exited'))
    new = dumps.recorded(place)
    text = run(place, 'diff', '--bytes', old, new).stdout
    has_not(text, '\x1b')
    devices, processes = text.split('\nProcesses')[0], text.split(
        '\nProcesses')[1].split('\nObjects')[0]
    objects = text.split('\nObjects')[1]
    serve.expect('devices', [row(devices, 'grew'), row(devices, 'grew', 1),
                             row(devices, 'shrank')], [
        ['grew', '+16777216', '0', '16777216', '+1', '1', 'trace'],
        ['grew', '+3145728', '4194304', '7340032', '+2', '0', 'dram'],
        ['shrank', '-65536', '65536', '0', '-1', '1', 'l1']])
    serve.expect('came', row(processes, 'came')[1:],
                 ['+16777216', '-', '16777216', '+1',
                  f'ttmem-load[{comes.pid}]'])
    serve.expect('went', row(processes, 'went')[1:],
                 ['-65536', '65536', '-', '-1', f'ttmem-load[{goes.pid}]'])
    serve.expect('grew', row(processes, 'grew')[1:],
                 ['+3145728', '4194304', '7340032', '+2',
                  f'ttmem-load[{stays.pid}]'])
    serve.expect('scope', row(objects, 'came', 1)[1:],
                 ['+3145728', '-', '3145728', '+2', '0',
                  f'ttmem-load[{stays.pid}]', 'dram', r'kv \x1b[31m'])
    has_not(objects, 'weights')
    only = run(place, 'diff', '--kind', 'trace', '--top', 'all', old,
               new).stdout
    has(only, '+16.0 MiB')
    has_not(only, 'dram', '  l1')
    only = run(place, 'diff', '--scope', 'kv*', old, new).stdout
    has(only, r'kv \x1b[31m')
    has_not(only, 'new')
    only = run(place, 'diff', '--device', 'asic:2', '--pid', comes.pid, old,
               new).stdout
    has(only, '+16.0 MiB')
    has_not(only, f'ttmem-load[{stays.pid}]')
    done = run(place, 'diff', old, f'{place.files}/none', status=1)
    has(done.stderr, 'No such file')
    run(place, 'diff', old, place.file('json', ''), status=3)


# -- doctor -------------------------------------------------------------------


def doctor(place, *options, status=1, **how):
    return run(place, 'doctor', *options, status=status, **how).stdout


def check_doctor_all_is_well(place):
    server = place.serve()
    load = place.run('open 0 chip=1\nalloc 0 dram 1 0 1M\nsync\n')
    dumps.settle(place, load)
    text = doctor(place, '--pid', load.pid, status=0)
    has(text, f'base directory: {place.base} (TTMEM_DIR)', 'all is well',
        f'1 segment, served by ttmemd (pid {server.pid})',
        f'ttmemd: pid {server.pid}', 'libttmem is in it', 'holds its lock',
        'ttmemd knows it: reporting, 1 objects', 'devices: 1 seen')
    has_not(text, 'BAD')
    has(doctor(place, status=0), 'all is well')


def check_doctor_bases(place):
    has(doctor(place, '--dir', f'{place.base}/none'), 'BAD   base directory',
        'No such file', '--dir')
    has(doctor(place, '--dir', '/proc'), 'must be on a tmpfs')
    os.mkdir(f'{place.base}/open')
    os.chmod(f'{place.base}/open', 0o777)
    has(doctor(place, '--dir', f'{place.base}/open'), 'sticky')
    text = doctor(place)
    has(text, 'ok    base directory', 'there is none yet', 'never started',
        'start ttmemd', 'not well')
    place.serve()
    doctor(place, status=0)
    has(doctor(place, '--system'), 'never started')


def check_doctor_ttmemd_gone_or_stopped(place):
    server = place.serve()
    os.kill(server.pid, signal.SIGSTOP)
    serve.wait_for('stale', lambda: has(doctor(place), 'does not move'))
    os.kill(server.pid, signal.SIGCONT)
    server.stop(signal.SIGKILL)
    has(doctor(place), 'served by nobody', 'ttmemd is gone', 'old')


def check_doctor_markers(place):
    place.serve()
    start = open('/proc/self/stat', encoding='ascii').read().rsplit(
        ')', 1)[1].split()[19]
    path = f'{folder(place)}/u.{os.getpid()}.{start}.28.'
    with open(path, 'w', encoding='ascii'):
        pass
    text = doctor(place, '--pid', os.getpid())
    has(text, f'pid {os.getpid()} asked to be tracked and could not be: No '
        'space left on device', 'make room', 'it asked to be tracked')
    os.unlink(path)


def check_doctor_processes(place):
    server = place.serve()
    # Neither library nor segment.
    text = doctor(place, '--pid', server.pid)
    has(text, 'libttmem.so is not in it', 'no segment', 'does not know it',
        'without TTMEM_ENABLED=1')
    # Tracked, but it has done nothing yet; and then elsewhere.
    calls = place.calls()
    calls('free 1')
    text = doctor(place, '--pid', calls.pid)
    has(text, 'libttmem is in it', 'no segment', 'started with tracking on')
    calls.end()
    os.mkdir(f'{place.base}/other', 0o700)
    calls = place.calls(TTMEM_DIR=f'{place.base}/other')
    calls('alloc 1 1000')
    has(doctor(place, '--pid', calls.pid),
        f'its base directory is {place.base}/other', 'use --dir')
    calls.end()
    calls = place.calls(TTMEM_ENABLED='0')
    calls('alloc 1 1000')
    has(doctor(place, '--pid', calls.pid), 'but with 0')
    calls.end()
    gone = subprocess.Popen(['true'])
    gone.wait()
    has(doctor(place, '--pid', gone.pid), 'there is no such process')


# -- clean --------------------------------------------------------------------


LEAK = 'open 0 chip=1\npush "a"\nalloc 0 dram 1 0 3M\nalloc 0 l1 2 0 1M\n' \
    'cb 0 9 1 0x20000 16K 4\n'


def check_clean(place):
    truth = load_and_end(place, LEAK + 'kill\n')
    pid = truth['processes'][0]['pid']
    alive = place.run(LEAK + 'sync\n')
    segments = names(place, 'p.')
    serve.expect('segments', len(segments), 2)
    gone = subprocess.Popen(['true'])
    gone.wait()
    for name in (f'u.{gone.pid}.12345.28.', f'u.{os.getpid()}.0.28.', '.new.a',
                 '.new.b', 'mine', 'p.1.2.3', 'aggregate'):
        with open(f'{folder(place)}/{name}', 'w', encoding='ascii'):
            pass
    hour_ago = time.time() - 3600
    os.utime(f'{folder(place)}/.new.a', (hour_ago, hour_ago))
    before = sorted(os.listdir(folder(place)))
    text = run(place, 'clean', '--dry-run', '--bytes').stdout
    wanted = [
        f'segment of pid {pid}, 3 objects, {4 * MIB + 4 * 16 * 1024}',
        f'marker of pid {gone.pid}, untracked: No space left on device',
        '.new.a: unfinished file']
    has(text, *wanted, '3 to remove, with 3 objects of 4259840; 3 kept')
    serve.expect('lines', text.count('would remove '), 3)
    serve.expect('dry', sorted(os.listdir(folder(place))), before)
    text = run(place, 'clean', '--bytes').stdout
    has(text, *wanted, '3 removed')
    left = set(os.listdir(folder(place)))
    serve.expect('left', left, set(before) - {
        next(s for s in segments if s.startswith(f'p.{pid}.')),
        f'u.{gone.pid}.12345.28.', '.new.a'})
    has(run(place, 'clean').stdout, '0 removed')
    # Nothing of the one that lives was touched.
    for name in ('p.1.2.3', '.new.b', f'u.{os.getpid()}.0.28.', 'aggregate'):
        os.unlink(f'{folder(place)}/{name}')
    place.serve()
    dumps.settle(place, alive)
    alive.end()


def check_clean_leaves_served_segments_alone(place):
    truth = load_and_end(place, LEAK + 'kill\n')
    pid = truth['processes'][0]['pid']
    with open(f'{folder(place)}/ttmemd.lock', 'w', encoding='ascii') as lock:
        fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 0)
        with open(f'{folder(place)}/u.{pid}.1.28.', 'w', encoding='ascii'):
            pass
        text = run(place, 'clean').stdout
        has(text, f'served by ttmemd (pid {os.getpid()})', '1 removed',
            'marker')
        serve.expect('segments', len(names(place, 'p.')), 1)
    has(run(place, 'clean').stdout, '1 removed, with 3 objects')


def check_clean_exec(place):
    """A process that became another program has left its segment."""
    calls = place.calls()
    calls('alloc 1 1000')
    has(run(place, 'clean').stdout, '0 removed', '0 kept')
    calls('exec')
    has(run(place, 'clean').stdout, '1 removed, with 1 objects')
    calls.end()


def check_clean_lost(place):
    load_and_end(place, LEAK)
    run(place, 'clean')
    with open(f'{folder(place)}/lost', 'wb') as file:
        for word in (1, 5, 4096, 0):
            file.write(word.to_bytes(8, 'little'))
    os.chmod(f'{folder(place)}/lost', 0o600)
    place.serve()
    serve.wait_for('incomplete', lambda: has(
        run(place, status=4).stdout, 'at least 5 objects (4096 bytes)'))
    has(run(place, 'clean').stdout, '0 removed')
    has(run(place, 'clean', '--lost').stdout, 'count of losses', '5 objects')

    def attempt():
        try:
            run(place)
        except serve.Failed as failed:
            serve.fail(str(failed)[:100])
    serve.wait_for('forgotten', attempt)


def check_clean_one_at_a_time(place):
    load_and_end(place, LEAK + 'kill\n')
    with open(f'{folder(place)}/lost', 'w+b') as lost:
        os.fchmod(lost.fileno(), 0o600)
        fcntl.lockf(lost, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 0)
        done = run(place, 'clean', status=1)
        has(done.stderr, 'somebody else is cleaning')
        serve.expect('segments', len(names(place, 'p.')), 1)
    done = run(place, 'clean', '--dir', f'{place.base}/none', status=1)
    has(done.stderr, 'No such file')


if __name__ == '__main__':
    sys.exit(dumps.run_all(__doc__, (
        check_diff, check_doctor_all_is_well, check_doctor_bases,
        check_doctor_ttmemd_gone_or_stopped, check_doctor_markers,
        check_doctor_processes, check_clean,
        check_clean_leaves_served_segments_alone, check_clean_exec,
        check_clean_lost, check_clean_one_at_a_time)))
