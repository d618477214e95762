#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_hosts.py TTMEMD TTMEM-LOAD SNAPDUMP CALLS [CHECK...]

Hosts where something is missing: room, descriptors, memory, files that somebody
removed, /proc. ttmemd serves what it can, says what it cannot, and recovers. Most of
it needs root and is skipped without.

The wall clock is stepped for ttmemd alone, by a library that is preloaded: anything
else would hit everybody on the machine.
"""

import mmap
import os
import resource
import shutil
import signal
import struct
import subprocess
import sys
import time

import serve
from room import Ballast, Crowd, small_filesystem, works
from serve import MIB
from serve import MIB

USER = 61234
HAS = 'open 0 chip={chip}\nalloc 0 dram 1 0x1000 {size}M\nsync\n' \
    'alloc 0 dram 2 0x1000 {size}M\nsync\n'


def has(snapshot, pid, state, objects):
    process = snapshot.process(pid)
    serve.expect(f'process {pid}', (process['state'], process['objects']),
                 (state, objects))


def says(server, text):
    def attempt():
        if text not in server.said():
            serve.fail(f'{server.said()[-800:]!r}')
    serve.wait_for(f'ttmemd says {text!r}', attempt)


# -- room ---------------------------------------------------------------------


def check_full_filesystem(place):
    with small_filesystem(place, '48m'):
        server = place.serve()
        stays = place.run(HAS.format(chip=1, size=1))
        dies = place.run(HAS.format(chip=1, size=2))
        place.settled('before', stays, dies)
        ballast = Ballast(place)
        # What there is goes on.
        stays.go()
        place.settled('while it is full', stays, dies)
        # What ends cannot be written down: it is shown on, and nothing is lost.
        os.kill(dies.pid, signal.SIGKILL)
        says(server, 'cannot retire process')

        def kept(snapshot):
            if not snapshot['health']['retire_errors']:
                serve.fail('no errors')
            process = snapshot.process(dies.pid)
            if process['state'] in ('died', 'exited'):
                serve.fail('it is retired without being written down')
            serve.expect('objects', process['objects'], 1)
        place.sees('not retired', kept)
        # Programs that come now run all the same.
        late = place.calls()
        late('alloc 1 1000')
        late('free 1')
        late.end()
        ballast.drop()
        begin = time.monotonic()
        place.sees('with room', lambda s: has(s, dies.pid, 'died', 1))
        print(f'   retired {time.monotonic() - begin:.2f} s after there was '
              'room')
        place.sees('right', lambda s: [
            serve.same_process(s, load.truth['processes'][0])
            for load in (stays, dies)])
        again = place.run(HAS.format(chip=3, size=1))
        place.sees('who comes then', lambda s: has(
            s, again.pid, 'reporting', 1))
        serve.expect('status', server.stop(), 0)


def check_aggregate_that_cannot_grow(place):
    """More objects than it has rows for, and no room for a larger one."""
    with small_filesystem(place, '96m'):
        server = place.serve()
        load = place.run(HAS.format(chip=1, size=1))
        place.settled('before', load)
        server.process.send_signal(signal.SIGSTOP)
        crowd = Crowd(place, '--objects', '60000')
        ballast = Ballast(place)
        server.process.send_signal(signal.SIGCONT)
        says(server, 'No space left')
        serve.expect('it runs', server.process.poll(), None)

        def short(snapshot):
            serve.expect('source', snapshot['info']['source'], 'ok')
            unlisted = snapshot['health']['objects_unlisted']
            if unlisted < 50000:
                serve.fail(f'{unlisted} objects are left out')
            serve.expect('objects', unlisted + len(snapshot['objects']),
                         sum(p['objects'] for p in snapshot['processes']))
            # Sums need no rows.
            for truth in (load.truth, crowd.truth):
                serve.same_process(snapshot, truth['processes'][0])
        place.sees('what fits', short, '--objects')
        load.go()
        place.sees('it goes on', short, '--objects')
        ballast.drop()
        begin = time.monotonic()
        place.settled('with room', load, crowd)
        print(f'   right {time.monotonic() - begin:.2f} s after there was room')
        crowd.end()
        serve.expect('status', server.stop(), 0)


def lives(server):
    if server.process.poll() is not None:
        serve.fail(f'ttmemd ended: {server.process.returncode}')


def check_start_without_room(place):
    """It starts, says that it cannot publish, and does so once it can."""
    with small_filesystem(place, '16m'):
        load = place.run(HAS.format(chip=1, size=1))
        dies = place.run(HAS.format(chip=1, size=2))
        ballast = Ballast(place)
        server = serve.Server(place, ('--mode', 'user'))
        says(server, 'cannot publish: No space left')
        status, _, error = place.dump()
        serve.expect('a reader is told',
                     'ttmemd runs but has published nothing' in error, True)
        serve.expect('status of the reader', status != 0, True)
        # Programs that come and end meanwhile are found.
        load.go()
        os.kill(dies.pid, signal.SIGKILL)
        dies.process.wait()
        lives(server)
        ballast.drop()
        place.sees('with room', lambda s: has(s, dies.pid, 'died', 1))
        place.settled('with room', load, dies)
        says(server, 'publishing again')
        serve.expect('status', server.stop(), 0)


def check_start_in_the_room_of_a_predecessor(place):
    """What a ttmemd that ended left is replaced where there is no room for both."""
    with small_filesystem(place, '16m'):
        load = place.run(HAS.format(chip=1, size=1))
        first = place.serve()
        place.settled('before', load)
        serve.expect('status', first.stop(), 0)
        Ballast(place)
        server = place.serve()
        load.go()
        place.settled('without room', load)
        serve.expect('restarts',
                     place.snapshot()['health']['restarts'], 1)
        serve.expect('status', server.stop(), 0)


def check_start_without_inodes(place):
    """It waits for its directory, and can be told to stop meanwhile."""
    with small_filesystem(place, '16m', inodes=2):
        taken = f'{place.base}/taken'
        os.mkdir(taken)
        for sign in (signal.SIGTERM, None):
            server = serve.Server(place, ('--mode', 'user'))
            says(server, 'No space left on device; retrying every second')
            lives(server)
            if sign:
                serve.expect('status', server.stop(sign), 0)
        subprocess.run(['mount', '-o', 'remount,nr_inodes=64', place.base],
                       check=True)
        os.rmdir(taken)
        server.wait_ready()
        load = place.run(HAS.format(chip=1, size=1))
        place.settled('with inodes', load)
        serve.expect('status', server.stop(), 0)


# -- descriptors and memory ---------------------------------------------------


def check_descriptors_run_out(place):
    """Some are served; the others when there is room."""
    server = serve.Server(place, ('--mode', 'user', '--verbose'),
                          prefix=('prlimit', '--nofile=72:72')).wait_ready()
    first = Crowd(place, '--processes', '10', '--objects', '10')
    place.settled('the first', first)
    more = Crowd(place, '--processes', '60', '--objects', '10')

    def some(snapshot):
        if not snapshot['health']['open_errors']:
            serve.fail('nothing is said')
        rows = [p for p in snapshot['processes']
                if p['state'] in ('reporting', 'silent')]
        if len(rows) < 20:
            serve.fail(f'{len(rows)} are served')
        for row in rows:
            serve.expect(f'objects of {row["pid"]}', row['objects'], 10)
    found = place.sees('some', some)
    print(f'   {len(found["processes"])} of 70 are served; '
          f'{found["health"]["open_errors"]} errors')
    for process in first.truth['processes']:
        serve.same_process(found, process)
    says(server, 'Too many open files')
    more.end()
    first.end()
    third = Crowd(place, '--processes', '20', '--objects', '10')
    place.sees('the last', lambda s: [serve.same_process(s, p)
                                      for p in third.truth['processes']])
    serve.expect('it is the same', place.snapshot()['info']['pid'],
                 server.pid)
    third.end()
    serve.expect('status', server.stop(), 0)


def check_memory_runs_out(place):
    server = place.serve()
    load = place.run(HAS.format(chip=1, size=1))
    place.settled('before', load)
    with open(f'/proc/{server.pid}/statm', encoding='ascii') as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    limit = used + 6 * MIB
    resource.prlimit(server.pid, resource.RLIMIT_AS,
                     (limit, resource.RLIM_INFINITY))
    crowd = Crowd(place, '--objects', '200000')

    # It may be short for the mirror or for a larger aggregate; where that cannot
    # be published, the log tells.
    def short():
        health = place.snapshot()['health']
        if not health['memory_errors'] and \
                'Cannot allocate memory' not in server.said():
            serve.fail(f'nothing is said: {server.said()!r}')
    serve.wait_for('short', short)
    serve.expect('it runs', server.process.poll(), None)
    load.go()
    resource.prlimit(server.pid, resource.RLIMIT_AS,
                     (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    begin = time.monotonic()
    place.settled('with memory', load, crowd)
    print(f'   right {time.monotonic() - begin:.2f} s later')
    crowd.end()
    serve.expect('status', server.stop(), 0)


# -- chips that somebody makes up -----------------------------------------------


def told_by(place, user, chips):
    place.run(''.join(
        f'open {d} chip={c:#x}\nalloc {d} dram 1 0x1000 1M\n'
        for d, c in enumerate(chips)) + 'sync\n', user=user)


def check_one_user_makes_up_chips(place):
    """Those that others tell of are shown all the same."""
    place.serve(mode='system')
    for p in range(5):
        told_by(place, USER, range(0x1000 * (p + 1), 0x1000 * (p + 1) + 64))
    told_by(place, None, (0x9000, 0x9001))

    def look(snapshot):
        serve.expect('devices', len(snapshot['devices']), 64 + 1 + 2)
        for chip in 0x9000, 0x9001:
            serve.shows(snapshot.device(chip_id=f'{chip:#x}'),
                        {'dram': (MIB, 1)})
    place.sees('both', look)


# -- files that somebody removed ----------------------------------------------


def empty(folder):
    for name in os.listdir(folder):
        os.unlink(f'{folder}/{name}')


def check_segments_are_removed(place):
    """As logind does at the last logout: who runs on is followed on."""
    server = place.serve(mode='system')
    folder = f'{place.base}/ttmem-{USER}'
    calls = place.calls(user=USER)
    calls('alloc 1 1000')
    place.sees('there', lambda s: has(s, calls.pid, 'reporting', 1))
    empty(folder)
    calls('alloc 2 2000')
    place.sees('without its name', lambda s: has(s, calls.pid, 'reporting', 2))
    serve.wait_for('its lock again', lambda: serve.expect(
        'files', 'ttmemd.lock' in os.listdir(folder), True))
    shutil.rmtree(folder)
    calls('alloc 3 3000')
    place.sees('without a directory', lambda s: has(
        s, calls.pid, 'reporting', 3))
    # Another comes, and makes a new directory.
    other = place.calls(user=USER)
    other('alloc 1 500')

    def both(snapshot):
        has(snapshot, calls.pid, 'reporting', 3)
        has(snapshot, other.pid, 'reporting', 1)
        serve.expect('figures', snapshot['devices'][0]['dram_use'], 6500)
    place.sees('both', both)
    calls('free 3')
    place.sees('goes on', lambda s: has(s, calls.pid, 'reporting', 2))
    calls.tell('exit')
    gone = place.sees('its end', lambda s: serve.expect(
        'reporting', [p['pid'] for p in s['processes']
                      if p['state'] in ('reporting', 'silent')], [other.pid]))
    print(f'   after its end: {gone.brief("processes")}')
    other('free 1')
    other.end()
    serve.expect('status', server.stop(), 0)


def check_everything_of_a_user_is_removed(place):
    """The same for a ttmemd of the user's own: it makes its aggregate anew."""
    server = place.serve(user=USER)
    folder = f'{place.base}/ttmem-{USER}'
    calls = place.calls(user=USER)
    calls('alloc 1 1000')
    place.sees('there', lambda s: has(s, calls.pid, 'reporting', 1),
               user=USER)
    empty(folder)
    calls('alloc 2 2000')
    place.sees('files are removed', lambda s: has(
        s, calls.pid, 'reporting', 2), user=USER)
    # And its directory.
    shutil.rmtree(folder)
    calls('alloc 3 3000')
    place.sees('the directory is removed', lambda s: has(
        s, calls.pid, 'reporting', 3), user=USER)
    says(server, 'was removed; publishing in')
    other = place.calls(user=USER)
    other('alloc 1 500')

    def both(snapshot):
        has(snapshot, calls.pid, 'reporting', 3)
        has(snapshot, other.pid, 'reporting', 1)
        serve.expect('figures', snapshot['devices'][0]['dram_use'], 6500)
    place.sees('both', both, user=USER)
    # Renamed, it is another one's as well.
    os.rename(folder, f'{place.base}/elsewhere')
    calls('alloc 4 4000')
    place.sees('the directory is moved away', lambda s: has(
        s, calls.pid, 'reporting', 4), user=USER)
    calls.end()
    other.end()
    serve.expect('status', server.stop(), 0)


def check_home_of_a_system_is_removed(place):
    """Root's makes ttmem-system anew, with its lock."""
    server = place.serve(mode='system')
    folder = f'{place.base}/ttmem-system'
    calls = place.calls(user=USER)
    calls('alloc 1 1000')
    place.sees('there', lambda s: has(s, calls.pid, 'reporting', 1))
    shutil.rmtree(folder)
    calls('alloc 2 2000')
    place.sees('anew', lambda s: has(s, calls.pid, 'reporting', 2))
    second = serve.Server(place, ('--mode', 'system'))
    serve.expect('a second one', second.process.wait(serve.PATIENCE_S), 1)
    calls.end()
    serve.expect('status', server.stop(), 0)


# -- /proc --------------------------------------------------------------------


def served_without(place, prefix, mode='user'):
    server = serve.Server(place, ('--mode', mode), prefix=prefix)

    def published():
        if server.process.poll() is not None:
            serve.fail(f'ttmemd ended: {server.said()}')
        serve.expect('source', place.snapshot()['info']['source'], 'ok')
    serve.wait_for('ttmemd publishes', published)
    return server


def lives_and_dies(place, user=None):
    """Start, events, the end by a signal, exec: all of it is seen."""
    calls = place.calls(user=user)
    calls('alloc 1 1000')
    place.sees('there', lambda s: has(s, calls.pid, 'reporting', 1))
    calls('alloc 2 1000')
    place.sees('events', lambda s: has(s, calls.pid, 'reporting', 2))
    begin = time.monotonic()
    calls.tell('exit')
    place.sees('its end', lambda s: has(s, calls.pid, 'died', 2))
    print(f'   its end is seen after {time.monotonic() - begin:.2f} s')
    calls = place.calls(user=user)
    calls('alloc 1 1000')
    place.sees('there', lambda s: has(s, calls.pid, 'reporting', 1))
    begin = time.monotonic()
    calls('exec')
    place.sees('exec', lambda s: has(s, calls.pid, 'died', 1))
    print(f'   exec is seen after {time.monotonic() - begin:.2f} s')
    # Without its lock it lives, or who knows; it is never taken for dead.
    calls('alloc 2 1000')
    calls('close')
    time.sleep(2.5)
    live = [p['state'] for p in place.snapshot().all('processes',
                                                     pid=calls.pid)
            if p['state'] != 'died']
    if live not in (['reporting'], ['unknown']):
        serve.fail(f'without its lock it is {live}')
    calls.tell('exit')
    place.sees('its end', lambda s: serve.expect(
        'states', [p['state'] for p in s.all('processes', pid=calls.pid)],
        ['died'] * 2))


def check_hidden_proc(place):
    """Root's, but without the right to see others in /proc."""
    served_without(place, (
        'unshare', '--mount', 'sh', '-c',
        'mount -t proc -o hidepid=2 proc /proc && exec "$@"', 'sh',
        'setpriv', '--bounding-set', '-sys_ptrace', '--inh-caps',
        '-sys_ptrace'), mode='system')
    lives_and_dies(place, USER)


def check_no_proc(place):
    """No pid can be proven: processes are shown without one."""
    served_without(place, ('unshare', '--mount', 'sh', '-c',
                           'mount -t tmpfs none /proc && exec "$@"', 'sh'))
    calls = place.calls()
    calls('alloc 1 1000')
    place.sees('there', lambda s: has(s, None, 'reporting', 1))
    calls('alloc 2 1000')
    place.sees('events', lambda s: has(s, None, 'reporting', 2))
    calls.tell('exit')
    # What is shown of the dead is what they said themselves.
    place.sees('its end', lambda s: has(s, calls.pid, 'died', 2))


# -- clocks -------------------------------------------------------------------


def check_other_clocks(place):
    """A process whose monotonic clock is another: a time namespace."""
    place.serve()
    ahead = place.calls(prefix=('unshare', '--time', '--monotonic', '100000',
                                '--boottime', '100000', '--fork'))
    ahead('alloc 1 1000')
    pid = ahead.ask_pid()
    place.sees('ahead', lambda s: has(s, pid, 'reporting', 1))
    load = place.run(HAS.format(chip=1, size=1))
    place.sees('and one that is not', lambda s: has(
        s, load.pid, 'reporting', 1))
    ahead('free 1')
    ahead('alloc 2 3000')
    place.sees('goes on', lambda s: has(s, pid, 'reporting', 1))
    snapshot = place.snapshot('--objects')
    for process in snapshot['processes']:
        age = snapshot['info']['taken_ns'] - (process['last_event_ns'] or 0)
        if not -1e9 < age < 60e9:
            serve.fail(f'the last event of {process["pid"]} is '
                       f'{age / 1e9:.0f} s old')
    ahead.tell('exit')
    place.sees('its end', lambda s: has(s, pid, 'died', 1))


class Faults:
    """A ttmemd whose wall clock and allocations are at our mercy."""

    def __init__(self, place):
        path = place.file('faults', '\0' * 16)
        with open(path, 'r+b') as file:
            self.words = mmap.mmap(file.fileno(), 16)
        self.server = serve.Server(
            place, ('--mode', 'user'), prefix=(
                '/usr/bin/env', f'LD_PRELOAD={os.environ["HOST_FAULTS"]}',
                f'HOST_FAULTS={path}')).wait_ready()

    def set(self, step_s=0, each=0):
        """The clock is off by so much; each so many-th allocation fails."""
        struct.pack_into('<qq', self.words, 0, step_s * 10 ** 9, each)


def check_clock_steps(place):
    """By an hour, years, and back: nothing but what is said to be the time."""
    faults = Faults(place)
    load = place.run(HAS.format(chip=1, size=1))
    place.settled('before', load)
    for step_s in (3600, -3600, 10 * 365 * 86400, -20 * 365 * 86400, 0):
        faults.set(step_s=step_s)
        other = place.run(HAS.format(chip=2, size=2))

        def look(snapshot, step_s=step_s, other=other):
            info = snapshot['info']
            off_s = info['realtime_ns'] / 1e9 - time.time() - step_s
            if not -30 < off_s < 30:
                serve.fail(f'the clock is {off_s:.0f} s away')
            serve.expect('source', info['source'], 'ok')
            for truth in (load.truth, other.truth):
                serve.same_process(snapshot, truth['processes'][0])
            for process in snapshot.all('processes', pid=other.pid):
                age = info['taken_ns'] - process['last_event_ns']
                if not -1e9 < age < 60e9:
                    serve.fail(f'an event is {age / 1e9:.0f} s old')
        place.sees(f'a step of {step_s} s', look)
        os.kill(other.pid, signal.SIGKILL)
        place.sees('its end', lambda s, o=other: has(s, o.pid, 'died', 1))
    load.go()
    place.sees('right', lambda s: serve.same_process(
        s, load.truth['processes'][0]))
    serve.expect('status', faults.server.stop(), 0)


def check_allocations_fail(place):
    """Some, many, nearly all: it serves what it can, and catches up."""
    faults = Faults(place)
    stays = place.run(HAS.format(chip=1, size=1))
    place.settled('before', stays)
    errors = 0
    for each in (20, 3, 1):
        faults.set(each=each)
        begin = time.monotonic()
        crowd = Crowd(place, '--processes', '4', '--objects', '3000',
                      '--scopes', '5', '--chip-offset', '3')
        dies = place.run(HAS.format(chip=2, size=2))
        os.kill(dies.pid, signal.SIGKILL)
        while time.monotonic() - begin < 1.5:
            serve.expect('it runs', faults.server.process.poll(), None)
            time.sleep(0.05)
        faults.set()
        snapshot = place.sees('with memory', lambda s, c=crowd, d=dies: [
            has(s, d.pid, 'died', 1),
            *(serve.same_process(s, truth) for truth in
              (stays.truth['processes'][0], *c.truth['processes']))])
        crowd.end()
        # Where none succeeds, those of the watch are mostly the only ones: it
        # counts a segment that it had no memory for as one it could not open.
        health = snapshot['health']
        more = health['memory_errors'] + health['open_errors']
        if more <= errors:
            serve.fail(f'no errors with one of {each}')
        print(f'   one of {each} fails: {more - errors} errors')
        errors = more
    stays.go()
    place.sees('right', lambda s: serve.same_process(
        s, stays.truth['processes'][0]))
    serve.expect('status', faults.server.stop(), 0)


# -- running ------------------------------------------------------------------

MOUNT = ('unshare', '--mount', 'mount', '-t', 'tmpfs', 'none', '/tmp')
NEED = {
    check_full_filesystem: MOUNT,
    check_aggregate_that_cannot_grow: MOUNT,
    check_start_without_room: MOUNT,
    check_start_in_the_room_of_a_predecessor: MOUNT,
    check_start_without_inodes: MOUNT,
    check_one_user_makes_up_chips: ('true',),
    check_segments_are_removed: ('true',),
    check_everything_of_a_user_is_removed: ('true',),
    check_home_of_a_system_is_removed: ('true',),
    check_hidden_proc: ('unshare', '--mount', 'mount', '-t', 'proc', '-o',
                        'hidepid=2', 'proc', '/proc'),
    check_no_proc: MOUNT,
    check_other_clocks: ('unshare', '--time', '--monotonic', '1', '--fork',
                         'true'),
}
CHECKS = [f for n, f in list(globals().items()) if n.startswith('check_')]


def is_sanitized():
    """Such programs need far more address space than they may have here."""
    with open(sys.argv[1], 'rb') as file:
        return b'__asan_init' in file.read()


def main():
    is_root = os.getuid() == 0
    able = [c for c in CHECKS
            if c not in NEED or (is_root and works(*NEED[c]))]
    if len(sys.argv) > 1 and is_sanitized():
        able.remove(check_memory_runs_out)
    if 'HOST_FAULTS' not in os.environ:
        able = [c for c in able
                if c not in (check_clock_steps, check_allocations_fail)]
    status = serve.run_for_users(__doc__, able, USER)
    for check in CHECKS:
        if check not in able:
            print(f'skipped: {check.__name__}: it needs root and namespaces, '
                  'and no sanitizers')
    return status or (0 if len(able) == len(CHECKS) else 77)


if __name__ == '__main__':
    sys.exit(main())
