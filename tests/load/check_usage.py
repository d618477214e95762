#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_usage.py TTMEM-LOAD SEGDUMP

What is typed wrong is told, once, with status 2, and nothing happens; and how a
load is held, stopped and watched.
"""

import glob
import json
import os
import pty
import select
import signal
import subprocess
import sys
import time

import loads

WRONG = (
    ('--nonsense',),
    ('--events',),
    ('--events', 'many'),
    ('--events', '0'),
    ('--events', '-1'),
    ('--events', '1e3'),
    ('--events', '0x'),
    ('--events', '18446744073709551616'),
    ('--processes', '0'),
    ('--processes', '1025'),
    ('--threads', '1024'),
    ('--devices', '65'),
    ('--board', 'n151'),
    ('--pattern', 'chrun'),
    ('--seconds', '0'),
    ('--seconds', '1e3'),
    ('--rate', '-5'),
    ('--size', '10-5'),
    ('--size', '0'),
    ('--size', '1K-'),
    ('--size', '1KB'),
    ('--leak-size', '64T'),
    ('--leak-kind', 'cb'),
    ('--crash=hup',),
    ('--cross-free', '101'),
    ('--mesh=yes',),
    ('--mesh=0',),
    ('--mesh=65',),
    ('--shrink', '101'),
    ('--dir', 'relative'),
    ('--script', '-', '--pattern', 'churn'),
    ('--leak', '1', '--script', '-', '--json', '-'),
    ('argument',),
)


def check_wrong(place):
    for options in WRONG:
        done = place.run(*options, status=2)
        lines = done.stderr.split('\n')
        if len(lines) != 2 or not lines[0].startswith('ttmem-load: ') or \
                done.stdout:
            loads.fail(f'{options}: {done.stdout}{done.stderr}')
    loads.expect('segments', place.segments(), {})


def check_help(place):
    told = place.run('--help').stdout
    for word in ('--processes', '--crash-after', 'inference',
                 'galaxy-blackhole'):
        if word not in told:
            loads.fail(f'--help does not tell {word}')
    if max(map(len, told.split('\n'))) > 80:
        loads.fail('--help is wider than 80')
    if not place.run('--version').stdout.startswith('ttmem-load '):
        loads.fail('--version')


def check_outputs(place):
    """People get a summary, files a document, pipes nothing that moves."""
    done = place.run('--events', '1000', '--leak', '2', '--size', '1K-2K')
    loads.expect('stdout', done.stdout, '')
    if 'left: 2 dram, 2.00 MiB\n' not in done.stderr or \
            '\r' in done.stderr or '\x1b' in done.stderr:
        loads.fail(f'summary: {done.stderr!r}')
    path = f'{place.base}/truth.json'
    done = place.run('--events', '1000', '--json', path, '-q')
    loads.expect('said', done.stdout + done.stderr, '')
    with open(path, encoding='utf-8') as file:
        loads.expect('phase', json.load(file)['phase'], 'end')
    place.run('--events', '10', '--json', '/proc/none/x', status=1)


def check_hold(place):
    """Ends by signal, by time, and not by a stdin that was never open."""
    for number in (signal.SIGTERM, signal.SIGINT):
        process = subprocess.Popen(
            place.command('--pattern', 'hold', '--objects', '10',
                          '--processes', '2', '-q'),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
            env=place.environment())
        loads.expect('said', process.stdout.readline(), 'ready\n')
        # It would have ended by now if it looked at /dev/null.
        time.sleep(0.1)
        loads.expect('still there', process.poll(), None)
        process.send_signal(number)
        loads.expect('status', process.wait(), 0)
        process.stdout.close()
    begin = time.monotonic()
    place.run('--pattern', 'hold', '--hold-seconds', '0.3', '-q')
    if time.monotonic() - begin < 0.3:
        loads.fail('held too short')


def check_stopped(place):
    """A signal in the middle ends it early, but in order."""
    process = place.start('--seconds', '600', '--json', '-', '--rate', '100')
    # Not read yet: it is being written.
    while not glob.glob(f'{place.base}/ttmem-*/p.*'):
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    truth = json.loads(process.stdout.read())
    loads.expect('status', process.wait(), 0)
    loads.expect('left', sum(f['live_objects'] + f['orphan_objects']
                             for f in truth['figures'].values()), 0)
    process.stdin.close()
    process.stdout.close()


def check_parent_killed(place):
    """The children do not outlive it."""
    process = place.start('--pattern', 'hold', '--processes', '2')
    loads.expect('said', process.stdout.readline(), 'ready\n')
    with open(f'/proc/{process.pid}/task/{process.pid}/children',
              encoding='ascii') as file:
        children = file.read().split()
    loads.expect('children', len(children), 2)
    process.kill()
    process.wait()
    process.stdin.close()
    process.stdout.close()
    until = time.monotonic() + 10
    while any(os.path.exists(f'/proc/{c}/exe') for c in children):
        if time.monotonic() > until:
            loads.fail('a child is left')
        time.sleep(0.01)


def check_children_ignored(place):
    """Whoever started it may ignore SIGCHLD: that is inherited, and it ends all
    the same, with what became of its processes."""
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        process = subprocess.Popen(
            place.command('--events', '1000', '--processes', '2', '--crash',
                          '--json', '-'), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, text=True, env=place.environment())
    finally:
        signal.signal(signal.SIGCHLD, before)
    try:
        said, _ = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        loads.fail('it does not end when SIGCHLD is ignored')
    loads.expect('status', process.returncode, 0)
    loads.expect('signals', [p['signal'] for p in
                             json.loads(said)['processes']], [9, 9])


def check_terminal(place):
    """Progress on a terminal, cleared at the end."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(place.command('--seconds', '1'), stderr=theirs,
                               stdin=subprocess.DEVNULL,
                               env=place.environment())
    os.close(theirs)
    told = b''
    while select.select([ours], [], [], 20)[0]:
        try:
            told += os.read(ours, 4096)
        except OSError:
            break
    os.close(ours)
    loads.expect('status', process.wait(), 0)
    shown = told.count(b'% ')
    if not 1 <= shown <= 6 or b'\r\x1b[K' not in told:
        loads.fail(f'shown {shown} times: {told!r}')


def main():
    load, segdump = loads.arguments(__doc__)
    with loads.Place(load, segdump, served=False) as place:
        check_wrong(place)
        check_help(place)
        check_outputs(place)
        place.tidy()
        check_hold(place)
        check_stopped(place)
        check_parent_killed(place)
        check_children_ignored(place)
        check_terminal(place)
    print('usage: as documented')
    return 0


if __name__ == '__main__':
    sys.exit(main())
