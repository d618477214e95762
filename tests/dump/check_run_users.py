#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_run_users.py TTMEMD TTMEM-LOAD SNAPDUMP CALLS TTMEM-DUMP [CHECK...]

run by users whom root's ttmemd serves, and run by root with descendants who are somebody
else. Needs root, for the users, and is skipped without.
"""

import fcntl
import os
import shutil
import subprocess
import sys

import dumps
from dumps import has
from runs import first_said
import serve

MIB = dumps.MIB
# Numbers that nobody has: no names are needed for them.
USER = 61300
USERS = 20


def program(place):
    """ttmem-dump where the users can run it."""
    beside = f'{os.path.dirname(place.programs.load)}/ttmem-dump'
    if os.path.dirname(place.programs.load).endswith('/programs/all'):
        return shutil.copy(dumps.PROGRAM, beside)
    return dumps.PROGRAM


def gate(place, *words, user=None, status=0):
    """ttmem-dump run, of that user; returns (stdout, stderr)."""
    how = {} if user is None else {'user': user, 'group': user,
                                   'extra_groups': []}
    done = subprocess.run([program(place), 'run', *words], text=True, cwd='/',
                          env=place.environment(), check=False, timeout=120,
                          stdin=subprocess.DEVNULL, capture_output=True, **how)
    if done.returncode != status:
        serve.fail(f'{words}: status {done.returncode} and not {status}\n'
                   f'{done.stdout[-2000:]}{done.stderr[-2000:]}')
    serve.expect('directories', [n for n in os.listdir(place.base)
                                 if n.startswith('ttmem-run')], [])
    return done.stdout, done.stderr


def load_of(place, *options):
    return (place.programs.load, '-q', '--events', '10', *options)


def check_first_run_of_a_user(place):
    """ttmemd learns of the directory before the command runs, however short that is."""
    place.serve(mode='system')
    for number in range(USERS):
        leaks = number % 2
        text, _ = gate(place, '--', *load_of(place, '--leak', str(leaks)),
                       user=USER + number, status=23 if leaks else 0)
        has(text, 'leaked in 1 object' if leaks else 'no leaks (1 process')


def check_first_run_where_the_name_is_taken(place):
    """By somebody else: the library takes another one, and so does run."""
    place.serve(mode='system')
    os.mkdir(f'{place.base}/ttmem-{USER}', 0o700)
    for _ in range(2):
        gate(place, '--', *load_of(place), user=USER)
    serve.expect('directories', len([
        n for n in os.listdir(place.base)
        if n.startswith(f'ttmem-{USER}.')]), 1)


def check_directory_that_is_not_served(place):
    """Its lock is held by another process: ttmemd says so, and so does run."""
    place.serve(mode='system')
    made = f'{place.base}/made'
    os.mkdir(made, 0o700)
    with open(f'{made}/ttmemd.lock', 'w', encoding='ascii') as lock:
        fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 0)
        os.chown(f'{made}/ttmemd.lock', USER, USER)
        os.chown(made, USER, USER)
        os.rename(made, f'{place.base}/ttmem-{USER}')
        text, error = gate(place, '--', 'touch', f'{place.base}/ran',
                           user=USER, status=3)
    has(text, 'SUMMARY: ttmem: not checked: the command was not run')
    has(error, f'{place.base}: your directory is not served after 5 s: ',
        f'ttmem-{USER}: served by another ttmemd (pid {os.getpid()})')
    serve.expect('ran', os.path.exists(f'{place.base}/ran'), False)


def as_user(user, *command):
    return ('setpriv', f'--reuid={user}', f'--regid={user}', '--clear-groups',
            *command)


def check_descendants_of_other_users(place):
    """Root's run serves them, with a ttmemd of its own or with the common one."""
    script = '"$@" && ' + ' '.join(load_of(place, '--leak', '1'))
    for where in ('private', 'common'):
        if where == 'common':
            place.serve(mode='system')
        for number in range(3):
            text, _ = gate(place, '--', 'sh', '-c', script, 'sh', *as_user(
                USER + number, *load_of(place, '--leak', '2')), status=23)
            has(text, f'{3 * MIB} bytes leaked in 3 objects (2 processes, 1 '
                'device)')


def check_descendants_whom_ttmemd_does_not_serve(place):
    """The common ttmemd is for root only."""
    place.serve()
    process = place.popen(
        [dumps.PROGRAM, 'run', '--', *as_user(USER, place.programs.calls)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True)
    has(first_said(process), 'ttmem-dump: calls (pid ',
        'has libttmem, but runs as another user, who is not served here')
    text = process.communicate(timeout=60)[0]
    serve.expect(text, process.returncode, 3)
    has(text, 'incomplete: calls (pid ', 'no data: COMMAND never reported')


def check_others_do_not_find_the_directory(place):
    """They could put something into it: its name is COMMAND's alone."""
    process = place.popen([dumps.PROGRAM, 'run', '--', place.programs.calls],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True)
    process.stdin.write('alloc 1 1000\n')
    process.stdin.flush()
    serve.expect('calls', process.stdout.readline(), 'done\n')
    outer, = [f'{place.base}/{n}' for n in os.listdir(place.base)]
    inner, = [n for n in os.listdir(outer) if n != 'ttmemd.log']
    done = subprocess.run(['ls', outer], user=USER, group=USER,
                          extra_groups=[], check=False, capture_output=True)
    serve.expect('listed', (done.returncode != 0, done.stdout), (True, b''))
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{pid}/cmdline', 'rb') as file:
                serve.expect(f'told by {pid}', inner.encode() in file.read(),
                             False)
        except OSError:
            pass  # it has ended
    process.communicate(timeout=60)
    serve.expect('status', process.returncode, 23)


def main(checks):
    if len(sys.argv) < 6:
        print(__doc__, end='')
        return 2
    if os.getuid() != 0:
        print('skipped: needs root')
        return 77
    dumps.PROGRAM = os.path.abspath(sys.argv.pop(5))
    return serve.run_for_users(__doc__, checks, USER)


if __name__ == '__main__':
    sys.exit(main((
        check_first_run_of_a_user, check_first_run_where_the_name_is_taken,
        check_directory_that_is_not_served, check_descendants_of_other_users,
        check_descendants_whom_ttmemd_does_not_serve,
        check_others_do_not_find_the_directory)))
