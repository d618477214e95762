#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_users.py TTMEMD TTMEM-LOAD SNAPDUMP CALLS TTMEM-DUMP TTMEM-TOP [CHECK...]

The leak gate where root's ttmemd serves several users: whose leaks count, and who
acknowledges them. Needs root, for the users, and is skipped without.
"""

import fcntl
import json
import os
import shutil
import signal
import stat
import subprocess
import sys

import dumps
from dumps import has, has_not
import serve
import check_strangers
from serve import MIB

ALICE, BOB, CAROL = 61234, 61235, 61236
TOOLS = {}


def tool(place, name):
    """Beside the others, where those were copied for users to run."""
    folder = os.path.dirname(place.programs.load)
    if not folder.endswith('/programs/all'):
        return TOOLS[name]
    path = f'{folder}/{name}'
    if not os.path.exists(path):
        shutil.copy(TOOLS[name], path)
    return path


def run(place, user, name, *options):
    return subprocess.run(
        [tool(place, name), *map(str, options)], text=True, cwd='/',
        env=place.environment(), capture_output=True, check=False, user=user,
        group=user, extra_groups=[], timeout=serve.PATIENCE_S)


def gate(place, user, *options, status):
    """check, as that user; returns all that it says."""
    done = run(place, user, 'ttmem-dump', 'check', *options)
    if done.returncode != status:
        serve.fail(f'{user}: {options}: status {done.returncode} and not '
                   f'{status}\n{done.stdout}{done.stderr}')
    if options[:2] == ('--format', 'json'):
        dumps.json_is_good(done.stdout)
    return done.stdout + done.stderr


def leak(place, user, size):
    """A process of the user dies and leaves so many MiB."""
    load = place.run(f'alloc 0 dram 1 0 {size}M\nsync\nsync\n', user=user)
    os.kill(load.pid, signal.SIGKILL)
    place.sees('its end', lambda s: serve.expect(
        'state', s.process(load.pid)['state'], 'died'))
    return load.pid


def shown(place, user):
    """{pid: state} in ttmem-top, which shows dead ones if they left something."""
    text = run(place, user, 'ttmem-top', '--once', '--view',
               'processes').stdout
    words = [line.split() for line in text.splitlines()]
    return {int(w[0]): w[2] for w in words
            if len(w) > 2 and w[0].isdigit() and w[2].isascii() and
            w[2][0].isalpha()}


def home(place):
    return os.path.dirname(place.snapshot()['info']['path'])


def check_whose_leaks_count(place):
    place.serve(mode='system')
    leak(place, ALICE, 1)
    leak(place, BOB, 2)
    text = gate(place, ALICE, status=23)
    has(text, f'{MIB} bytes leaked in 1 object (1 process',
        f'{2 * MIB} bytes in 1 object of other users',
        'leak: 1.00 MiB in 1 object', "another user's: 2.00 MiB in 1 object")
    has_not(text, 'leak: 2.00 MiB')
    found = json.loads(run(place, ALICE, 'ttmem-dump', 'check', '--format',
                           'json').stdout)
    dumps.json_is_good(json.dumps(found))
    serve.expect('bytes', (found['leaked_bytes'], [
        r['bytes'] for r in found['other_users']]), (MIB, [2 * MIB]))
    # Who has none is told of the others, and nothing fails.
    has(gate(place, CAROL, status=0), 'no leaks (0 processes',
        f'{3 * MIB} bytes in 2 objects of other users')
    # All of them, for those who want it, and for root.
    for text in (gate(place, CAROL, '--all-users', status=23),
                 gate(place, ALICE, '--all-users', status=23),
                 gate(place, 0, status=23)):
        has(text, f'{3 * MIB} bytes leaked in 2 objects (2 processes')
        has_not(text, 'other users', "another user's")
    # One user's, whoever asks.
    for user in (0, ALICE):
        text = gate(place, user, '--user', BOB, status=23)
        has(text, f'{2 * MIB} bytes leaked')
        has_not(text, 'other users')
        has(gate(place, user, '--user', CAROL, status=0), 'no leaks')
    has(gate(place, 0, '--user', 'root', status=0), 'no leaks')
    has(gate(place, 0, '--user', 'nobody-has-this-name', status=2),
        '--user: no such user')
    gate(place, 0, '--user', BOB, '--all-users', status=2)


def check_doubts_about_others(place):
    """What is not known about one user makes no other's check fail."""
    place.serve(mode='system')
    place.run('alloc 0 dram 1 0 1M\nfree 0 dram 1\nsync\n', user=BOB).end()

    def mark():
        path = f'{place.base}/ttmem-{BOB}/u.{os.getpid()}.0.28.'
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
    check_strangers.as_user(BOB, mark)
    place.sees('the marker', lambda s: serve.expect(
        'untracked', len(s['untracked']), 1))
    serve.wait_for('his directory is served', lambda: has(
        gate(place, BOB, status=4), 'could not be tracked'))
    has(gate(place, 0, status=4), 'could not be tracked')
    has_not(gate(place, ALICE, status=0), 'could not be tracked')
    has(gate(place, ALICE, '--all-users', status=4), 'could not be tracked')


def check_ack_of_a_user(place):
    """It is for the user's own processes, and for the user alone."""
    place.serve(mode='system')
    alices = leak(place, ALICE, 1)
    bobs = leak(place, BOB, 2)
    serve.expect('before', shown(place, ALICE),
                 {alices: 'died+leak', bobs: 'died+leak'})
    gate(place, ALICE, '--ack', status=23)
    has(gate(place, ALICE, status=0), 'no leaks',
        f'{MIB} bytes in 1 object acknowledged',
        f'{2 * MIB} bytes in 1 object of other users')
    serve.expect('her view', shown(place, ALICE),
                 {bobs: 'died+leak'})
    report = run(place, ALICE, 'ttmem-dump').stdout
    has(report, 'Retired processes: 2, 1 left something, 1 acknowledged')
    has(gate(place, 0, status=23), f'{3 * MIB} bytes leaked')
    serve.expect('another\'s view', shown(place, BOB),
                 {alices: 'died+leak', bobs: 'died+leak'})
    # Those of others are not hers, and she is told.
    has(gate(place, ALICE, '--ack', '--all-users', status=1),
        '1 process is not acknowledged: only the owner and root can')
    gate(place, ALICE, '--all-users', status=23)
    gate(place, BOB, status=23)


def ack_as_root(place):
    """For all, and for one."""
    alices = leak(place, ALICE, 1)
    bobs = leak(place, BOB, 2)
    roots = leak(place, 0, 4)
    has(gate(place, 0, '--user', BOB, '--ack', status=23),
        f'{2 * MIB} bytes leaked in 1 object')
    has(gate(place, 0, status=23), f'{5 * MIB} bytes leaked',
        f'{2 * MIB} bytes in 1 object acknowledged')
    serve.expect('what root sees', shown(place, 0), {
        alices: 'died+leak', roots: 'died+leak'})
    # For him, too: it is acknowledged for everybody.
    has(gate(place, BOB, status=0), 'no leaks', 'acknowledged')
    serve.expect('he sees it as a leak', bobs in shown(place, BOB), False)
    gate(place, ALICE, status=23)
    has(gate(place, 0, '--ack', status=23), f'{5 * MIB} bytes leaked')
    for user in (0, ALICE, BOB):
        has(gate(place, user, '--all-users', status=0), 'no leaks')
    # In files of root's own.
    st = os.stat(f'{home(place)}/acknowledged')
    serve.expect('file', (st.st_uid, stat.S_IMODE(st.st_mode)), (0, 0o644))
    for user in (ALICE, BOB):
        serve.expect(f'in the directory of {user}', [
            n for n in os.listdir(f'{place.base}/ttmem-{user}')
            if 'acknowledged' in n], [])
    # What comes later counts.
    leak(place, ALICE, 8)
    has(gate(place, 0, status=23), f'{8 * MIB} bytes leaked')
    gate(place, ALICE, status=23)


def check_ack_of_root(place):
    server = place.serve(mode='system')
    ack_as_root(place)
    # It stays after ttmemd was started anew.
    serve.expect('status', server.stop(), 0)
    place.serve(mode='system')
    has(gate(place, 0, status=23), f'{8 * MIB} bytes leaked',
        f'{7 * MIB} bytes in 3 objects acknowledged')


def check_ack_of_root_under_another_name(place):
    """Somebody took the name of the directory."""
    check_strangers.as_user(CAROL, lambda: os.mkdir(
        f'{place.base}/ttmem-system'))
    place.serve(mode='system')
    ack_as_root(place)


def check_nobody_else_acknowledges_for_all(place):
    """Neither by a file, nor does a lock make root wait."""
    place.serve(mode='system')
    leak(place, ALICE, 1)
    uuid = place.snapshot().one('processes', uid=ALICE)['uuid'].replace(
        '-', '')

    def forge():
        folder = f'{place.base}/ttmem-{BOB}'
        os.mkdir(folder, 0o755)
        check_strangers.write(f'{folder}/acknowledged',
                              f'{uuid}\n'.encode(), 0o644)
        fcntl.flock(os.open(home_of_root, os.O_RDONLY), fcntl.LOCK_SH)
    home_of_root = home(place)
    with check_strangers.meanwhile(BOB, forge):
        gate(place, ALICE, status=23)
        gate(place, CAROL, '--all-users', status=23)
        gate(place, 0, '--ack', status=23)
        has(gate(place, 0, status=0), 'acknowledged')


CHECKS = [f for n, f in list(globals().items())
          if n.startswith('check_') and callable(f)]


def main():
    if os.getuid() != 0:
        print('skipped: it needs root, for other users')
        return 77
    if len(sys.argv) < 7:
        print(__doc__, end='')
        return 2
    TOOLS['ttmem-dump'] = os.path.abspath(sys.argv.pop(5))
    TOOLS['ttmem-top'] = os.path.abspath(sys.argv.pop(5))
    return serve.run_for_users(__doc__, CHECKS, ALICE)


if __name__ == '__main__':
    sys.exit(main())
