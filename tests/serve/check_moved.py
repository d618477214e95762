#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_moved.py TTMEMD TTMEM-LOAD SNAPDUMP CALLS [CHECK...]

A user's directory that is renamed while ttmemd runs, away and back, or to another name
that is served as well: its processes are shown while it is there, what they did is
counted once, and they are retired once. Records that were there when it comes back are
not read, for they may have been: distributions have none of them twice. Most of it needs root and is skipped without.
"""

import ctypes
import fcntl
import os
import signal
import sys

import serve

USER = 61234
# A chip that is known by its id stays known while nobody has it.
STEPS = 'open 0 chip=1\n' + ''.join(
    f'alloc 0 dram {n} {n * 0x10000:#x} {n}K\n' + ('sync\n' if n > 4 else '')
    for n in range(1, 12))


def folder_of(place, uid):
    return f'{place.base}/ttmem-{uid}'


def told(snapshot, kind='bytes'):
    """How many records are in the distributions."""
    return sum(row['total'] for row in snapshot['distributions']
               if row['kind'] == kind)


def state_of(process):
    return {'silent': 'reporting'}.get(process['state'], process['state'])


def shows(pids, did, records, state='reporting'):
    """These processes alone with so many allocations, and how many records are in
    the distributions (a number, or what it may be)."""
    may_be = records if isinstance(records, tuple) else (records,)

    def look(snapshot):
        serve.expect('allocations', sum(
            d['figures']['dram']['alloc_objects']
            for d in snapshot['devices']), did)
        if told(snapshot) not in may_be:
            serve.expect('in distributions', told(snapshot), may_be)
        serve.expect('processes', sorted((p['pid'] or 0, state_of(p))
                                         for p in snapshot['processes']),
                     sorted((pid, state) for pid in pids))
    return look


def starts(place, user=None):
    """A process that has allocated five times, and does so once for each go()."""
    return place.run(STEPS, user)


def holder_of(path):
    """Whether anybody has the lock of a directory."""
    with open(f'{path}/ttmemd.lock', 'r+b') as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1)
        except OSError:
            return True
    return False


def exchange(one, other):
    """At one blow: whoever finds no home makes one."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.renameat2(-1, one.encode(), -1, other.encode(), 2):
        raise OSError(ctypes.get_errno(), f'{one} and {other}')


def check_away_and_back(place):
    server = place.serve(mode='system')
    folder = folder_of(place, USER)
    away = f'{place.base}/away'
    load = starts(place, USER)
    place.sees('before', shows([load.pid], 5, 5), '--distributions')
    for turn in range(3):
        os.rename(folder, away)
        place.sees('away', shows([], 0, 5), '--distributions')
        load.go()
        os.rename(away, folder)
        place.sees('back', shows([load.pid], 6 + turn, 5), '--distributions')
        row, = place.snapshot()['processes']
        serve.expect('missed', row['missed'], row['events'])
    os.kill(load.pid, signal.SIGKILL)
    place.sees('its end', shows([load.pid], 8, 5, 'died'), '--distributions')
    serve.expect('status', server.stop(), 0)


def check_ends_while_it_is_away(place):
    server = place.serve(mode='system')
    folder = folder_of(place, USER)
    away = f'{place.base}/away'
    load = starts(place, USER)
    place.sees('before', shows([load.pid], 5, 5), '--distributions')
    os.rename(folder, away)
    place.sees('away', shows([], 0, 5), '--distributions')
    load.go()
    os.kill(load.pid, signal.SIGKILL)
    load.process.wait(serve.PATIENCE_S)
    for _ in range(2):
        os.rename(away, folder)
        place.sees('back', shows([load.pid], 6, 5, 'died'), '--distributions')
        os.rename(folder, away)
        place.sees('away again', shows([], 0, 5), '--distributions')
    os.rename(away, folder)
    # Whoever takes over finds the same, but begins distributions anew.
    server.stop(signal.SIGKILL)
    server = place.serve(mode='system')
    place.sees('another', shows([load.pid], 6, 0, 'died'), '--distributions')
    serve.expect('segments', [n for n in os.listdir(folder)
                              if n.startswith('p.')], [])
    serve.expect('status', server.stop(), 0)


def check_ttmemd_is_killed_while_it_is_away(place):
    server = place.serve(mode='system')
    folder = folder_of(place, USER)
    away = f'{place.base}/away'
    load = starts(place, USER)
    place.sees('before', shows([load.pid], 5, 5), '--distributions')
    os.rename(folder, away)
    place.sees('away', shows([], 0, 5), '--distributions')
    for _ in range(2):
        server.stop(signal.SIGKILL)
        server = place.serve(mode='system')
        place.sees('another', shows([], 0, 0), '--distributions')
    load.go()
    os.rename(away, folder)
    place.sees('back', shows([load.pid], 6, 0), '--distributions')
    serve.expect('status', server.stop(), 0)


def check_device_without_an_identity(place):
    """It goes with its last process, and is another one when that comes back."""
    server = place.serve(mode='system')
    folder = folder_of(place, USER)
    away = f'{place.base}/away'
    calls = place.calls(user=USER)
    for number in range(1, 6):
        calls(f'alloc {number} 1000')
    place.sees('before', shows([calls.pid], 5, 5), '--distributions')
    os.rename(folder, away)
    place.sees('away', shows([], 0, 0), '--distributions')
    calls('alloc 6 1000')
    os.rename(away, folder)
    place.sees('back', shows([calls.pid], 6, 0), '--distributions')
    serve.expect('status', server.stop(), 0)


def check_another_name_that_is_served(place):
    server = place.serve(mode='system')
    names = [folder_of(place, USER), f'{folder_of(place, USER)}.1']
    load = starts(place, USER)
    place.sees('before', shows([load.pid], 5, 5), '--distributions')
    for turn in range(4):
        os.rename(*names)
        names.reverse()

        def moved(snapshot):
            shows([load.pid], 5 + turn, 5 + turn)(snapshot)
            serve.expect('directories', [d['path'] for d in
                                         snapshot['directories']], names[:1])
        place.sees('moved', moved, '--distributions')
        serve.expect('its lock is held', holder_of(names[0]), True)
        load.go()
        place.sees('goes on', shows([load.pid], 6 + turn, 6 + turn),
                   '--distributions')
    os.kill(load.pid, signal.SIGKILL)
    place.sees('its end', shows([load.pid], 9, 9, 'died'), '--distributions')
    serve.expect('status', server.stop(), 0)


def check_home_of_a_user(place):
    """Its own directory, in which it publishes: it makes another one meanwhile."""
    server = place.serve()
    folder = folder_of(place, os.getuid())
    away = f'{place.base}/away'
    load = starts(place)
    place.sees('before', shows([load.pid], 5, 5), '--distributions')
    os.rename(folder, away)
    place.sees('away', shows([], 0, 5), '--distributions')
    exchange(away, folder)
    load.go()
    # It may be back before that, and then the record is read.
    place.sees('back', shows([load.pid], 6, (5, 6)), '--distributions')
    serve.expect('its lock is held', holder_of(folder), True)
    os.kill(load.pid, signal.SIGKILL)
    place.sees('its end', shows([load.pid], 6, (5, 6), 'died'),
               '--distributions')
    serve.expect('status', server.stop(), 0)


CHECKS = [f for n, f in list(globals().items()) if n.startswith('check_')]


def main():
    if os.getuid() == 0:
        return serve.run_for_users(__doc__, CHECKS, USER)
    status = serve.run_for_users(__doc__, [check_home_of_a_user], USER)
    print('skipped: what needs another user')
    return status or 77


if __name__ == '__main__':
    sys.exit(main())
