#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_namespaces.py TTMEMD TTMEM-LOAD SNAPDUMP CALLS [CHECK...]

Processes that are not where ttmemd is: in other pid and user namespaces, daemons,
zombies, without their leader, or in several directories. Most of it needs root and
unshare(1), and is skipped without.
"""

import os
import shutil
import signal
import subprocess
import sys
import time

import serve
from serve import MIB, nameless

PID_NAMESPACE = ('unshare', '--pid', '--fork', '--kill-child', '--mount-proc')
# Its own user namespace, where it is root; outside it is who it was.
USER_NAMESPACE = ('unshare', '--user', '--map-root-user', '--pid', '--fork',
                  '--kill-child', '--mount-proc')
HAS = 'open 0 chip=7\nalloc 0 dram 1 0x1000 {size}M\nsync\n' \
    'alloc 0 dram 2 0x1000 {size}M\nsync\n'
# What the rounds of ttmemd are apart; the bounds are for busy machines.
ROUND_S = 1
BUSY_S = 5


def can(*prefix):
    return shutil.which(prefix[0]) and subprocess.run(
        [*prefix, 'true'], capture_output=True, check=False).returncode == 0


def states(snapshot):
    return sorted(p['state'] for p in snapshot['processes'])


def has(snapshot, pid, state, objects):
    process = snapshot.process(pid)
    serve.expect(f'process {pid}', (process['state'], process['objects']),
                 (state, objects))
    return process


def stays(place, look):
    """`look` is content with each snapshot for some rounds."""
    end = time.monotonic() + 2.5 * ROUND_S
    while time.monotonic() < end:
        look(place.snapshot())
        time.sleep(0.1)


def child_of(pid):
    """The only child, seen from here."""
    with open(f'/proc/{pid}/task/{pid}/children', encoding='ascii') as file:
        found = file.read().split()
    serve.expect(f'children of {pid}', len(found), 1)
    return int(found[0])


def namespace_of(pid):
    return os.stat(f'/proc/{pid}/ns/pid').st_ino


def start_served(place, *options, prefix=(), mode='user'):
    """A ttmemd in a namespace: its pid is not the one that it has here."""
    server = serve.Server(place, ('--mode', mode, *options), prefix=prefix)

    def published():
        if server.process.poll() is not None:
            serve.fail(f'ttmemd ended: {server.said()}')
        serve.expect('source', place.snapshot()['info']['source'], 'ok')
    serve.wait_for('ttmemd publishes', published)
    return server


def seen_dead(place, pid, objects, begin, options=()):
    """Waits for its retirement; returns how long that took."""
    place.sees('dead', lambda s: has(s, pid, 'died', objects), *options)
    return time.monotonic() - begin


def bounded(what, seconds, bound):
    print(f'   {what}: {1000 * seconds:.0f} ms')
    if seconds > bound:
        serve.fail(f'{what} took {seconds:.2f} s, more than {bound} s')


# -- where processes are ------------------------------------------------------


def check_in_another_pid_namespace(place):
    """Below ttmemd's: its pids are others, its end is heard of all the same."""
    place.serve()
    calls = place.calls(prefix=PID_NAMESPACE)
    calls('alloc 1 1000')
    calls('alloc 2 3000')
    pid = calls.ask_pid()
    inner = child_of(calls.process.pid)
    if pid == inner:
        serve.fail('it has the same pid here')

    def look(snapshot):
        process = has(snapshot, pid, 'reporting', 2)
        serve.expect('namespace', process['pid_namespace'],
                     namespace_of(inner))
        serve.expect('figures', snapshot['devices'][0]['dram_use'], 4000)
    place.sees('there', look)
    begin = time.monotonic()
    os.kill(inner, signal.SIGKILL)
    bounded('death in a namespace below', seen_dead(place, pid, 2, begin),
            BUSY_S)
    serve.expect('left', place.snapshot()['devices'][0]['figures']['dram']
                 ['orphaned_bytes'], 4000)


def check_same_pids_in_two_namespaces(place):
    """Two processes that have one pid, each of its own namespace."""
    place.serve()
    loads = [place.run(HAS.format(size=size), prefix=PID_NAMESPACE)
             for size in (1, 2)]
    serve.expect('pids', loads[0].pid, loads[1].pid)

    def both(snapshot):
        serve.expect('states', states(snapshot), ['reporting'] * 2)
        serve.expect('pids', {p['pid'] for p in snapshot['processes']},
                     {loads[0].pid})
        serve.expect('namespaces', len({p['pid_namespace'] for p in
                                        snapshot['processes']}), 2)
        serve.shows(snapshot.device(chip_id='0x7'), {'dram': (3 * MIB, 2)})
    place.sees('both', both)
    os.kill(child_of(loads[0].process.pid), signal.SIGKILL)

    def one(snapshot):
        serve.expect('states', states(snapshot), ['died', 'reporting'])
        serve.shows(snapshot.device(chip_id='0x7'), {
            'dram': (2 * MIB, 1), 'dram.orphaned': (MIB, 1)})
    place.sees('one of them', one)
    loads[1].go()
    place.sees('goes on', lambda s: serve.shows(
        s.device(chip_id='0x7'), {'dram': (4 * MIB, 2),
                                  'dram.orphaned': (MIB, 1)}))


def check_in_a_sibling_namespace(place):
    """Neither sees the other: only the lock tells, and it is asked each round."""
    start_served(place, prefix=PID_NAMESPACE)
    calls = place.calls(prefix=PID_NAMESPACE)
    calls('alloc 1 1000')
    pid = calls.ask_pid()
    place.sees('there', lambda s: nameless(s, 'reporting', 1))
    times = []
    begin = time.monotonic()
    os.kill(child_of(calls.process.pid), signal.SIGKILL)
    times.append(seen_dead(place, pid, 1, begin))
    # Others follow: not all of them at the best moment of a round.
    for i in range(4):
        load = place.run(HAS.format(size=1), prefix=PID_NAMESPACE)
        place.sees('another', lambda s: serve.expect(
            'states', states(s).count('reporting'), 1))
        time.sleep(0.23 * i)
        begin = time.monotonic()
        os.kill(child_of(load.process.pid), signal.SIGKILL)
        place.sees('dead', lambda s, n=i + 2: serve.expect(
            'states', states(s), ['died'] * n))
        times.append(time.monotonic() - begin)
    print('   each: ' + ', '.join(f'{1000 * t:.0f} ms' for t in times))
    bounded('death in a sibling namespace', max(times), ROUND_S + BUSY_S)


def check_sibling_without_lock(place):
    """It closed its descriptors, and ttmemd cannot see it: alive or dead is unknown."""
    start_served(place, prefix=PID_NAMESPACE)
    calls = place.calls(prefix=PID_NAMESPACE)
    calls('alloc 1 1000')
    place.sees('there', lambda s: nameless(s, 'reporting', 1))
    calls('close')
    place.sees('unknown', lambda s: nameless(s, 'unknown', 1))
    stays(place, lambda s: nameless(s, 'unknown', 1))
    calls('alloc 2 1000')
    place.sees('goes on', lambda s: nameless(s, 'unknown', 2))


def check_unknown_is_shown_and_not_retired(place):
    """In a namespace below, without its lock; its namespace is not empty."""
    server = place.serve()
    calls = place.calls(prefix=PID_NAMESPACE)
    calls('close')
    pid = calls.ask_pid()
    calls('alloc 1 1000')
    calls('close')

    # With its pid only if ttmemd saw it while it had its lock.
    def there(snapshot):
        serve.expect('objects', [p['objects'] for p in snapshot['processes']],
                     [1])
        serve.expect('another pid', {p['pid'] for p in snapshot['processes']} -
                     {pid, None}, set())
    place.sees('there', there)
    server.stop(signal.SIGKILL)
    place.serve()

    def unknown(snapshot):
        nameless(snapshot, 'unknown', 1)
        serve.expect('figures', snapshot['devices'][0]['dram_use'], 1000)
    place.sees('unknown', unknown)
    stays(place, unknown)
    calls('alloc 2 2000')
    place.sees('is followed', lambda s: nameless(s, 'unknown', 2))
    begin = time.monotonic()
    calls.tell('exit')
    bounded('a namespace that is empty',
            seen_dead(place, pid, 2, begin), 2 * ROUND_S + BUSY_S)


def check_in_a_user_namespace(place):
    """Root in there, and nobody special out here: the directory's owner counts."""
    user = 61234
    place.serve(mode='system')
    calls = place.calls(prefix=USER_NAMESPACE, user=user)
    calls('alloc 1 1000')
    pid = calls.ask_pid()

    def look(snapshot):
        process = has(snapshot, pid, 'reporting', 1)
        serve.expect('directory', snapshot['directories']
                     [process['directory']]['uid'], user)
        serve.expect('owner', process['uid'], user)
    place.sees('there', look)
    serve.expect('directories', [n for n in os.listdir(place.base)
                                 if n != 'ttmem-system'], ['ttmem-0'])
    begin = time.monotonic()
    os.kill(child_of(calls.process.pid), signal.SIGKILL)
    bounded('death in a user namespace', seen_dead(place, pid, 1, begin),
            BUSY_S)
    # Root's own finds the name taken, and gets another directory.
    load = place.run(HAS.format(size=1))
    place.sees('root has another', lambda s: serve.expect(
        'owners', sorted(d['uid'] for d in s['directories']), [0, user]))
    place.sees('and is served', lambda s: has(s, load.pid, 'reporting', 1))


def check_directory_in_a_container(place):
    """Another mount namespace, where the directory has another name."""
    place.serve()
    inner = os.path.join(place.files, 'inner')
    os.mkdir(inner)
    prefix = ('unshare', '--mount', '--pid', '--fork', '--kill-child', 'sh',
              '-c', f'mount -t proc proc /proc && mount --bind {place.base} '
              f'{inner} && exec "$@"', 'sh')
    calls = place.calls(prefix=prefix, TTMEM_DIR=inner)
    calls('alloc 1 1000')
    pid = calls.ask_pid()
    place.sees('there', lambda s: has(s, pid, 'reporting', 1))
    begin = time.monotonic()
    os.kill(child_of(calls.process.pid), signal.SIGKILL)
    bounded('death in a container', seen_dead(place, pid, 1, begin), BUSY_S)


# -- what processes become ----------------------------------------------------


def check_exec_to_another_program(place):
    """What the first one left is left; what comes then is another."""
    place.serve()
    calls = place.calls()
    calls('alloc 1 1000')
    place.sees('there', lambda s: has(s, calls.pid, 'reporting', 1))
    begin = time.monotonic()
    calls('exec')
    bounded('exec', seen_dead(place, calls.pid, 1, begin), 3 * ROUND_S + BUSY_S)
    calls('alloc 1 3000')

    def look(snapshot):
        serve.expect('states', states(snapshot), ['died', 'reporting'])
        sums = snapshot['devices'][0]['figures']['dram']
        serve.expect('sums', (sums['live_bytes'], sums['orphaned_bytes']),
                     (3000, 1000))
    place.sees('both', look)
    calls.end()


def check_daemon(place):
    """Its first process ends; what it had is left, what comes is the child's."""
    place.serve()
    calls = place.calls()
    calls('alloc 1 1000')
    parent = calls.pid
    place.sees('there', lambda s: has(s, parent, 'reporting', 1))
    calls('daemon')
    calls('alloc 2 2000')
    child = calls.ask_pid()

    def look(snapshot):
        has(snapshot, parent, 'died', 1)
        has(snapshot, child, 'reporting', 1)
        sums = snapshot['devices'][0]['figures']['dram']
        serve.expect('sums', (sums['live_bytes'], sums['orphaned_bytes']),
                     (2000, 1000))
    place.sees('both', look)
    calls('free 2')
    calls.tell('exit')
    place.sees('it ends', lambda s: serve.expect(
        'objects', [p['objects'] for p in s.all('processes', pid=child)
                    if p['state'] not in ('died', 'exited')], []))


def check_daemon_that_closes_everything(place):
    """As daemons do, with the lock among it: it lives, for it has it mapped."""
    place.serve()
    calls = place.calls()
    calls('daemon')
    calls('alloc 1 1000')
    pid = calls.ask_pid()
    place.sees('there', lambda s: has(s, pid, 'reporting', 1))
    calls('close')
    calls('alloc 2 2000')
    place.sees('goes on', lambda s: has(s, pid, 'reporting', 2))
    time.sleep(2.5 * ROUND_S)
    has(place.snapshot(), pid, 'reporting', 2)
    begin = time.monotonic()
    calls.tell('exit')
    bounded('death without lock', seen_dead(place, pid, 2, begin), BUSY_S)


def check_zombie(place):
    """Its parent does not wait: it is dead at once, for the kernel says so."""
    place.serve()
    calls = place.calls()
    calls('alloc 1 1000')
    place.sees('there', lambda s: has(s, calls.pid, 'reporting', 1))
    begin = time.monotonic()
    calls.tell('exit')
    bounded('a zombie', seen_dead(place, calls.pid, 1, begin), BUSY_S)
    with open(f'/proc/{calls.pid}/stat', encoding='ascii') as file:
        serve.expect('it is one', file.read().split(') ')[1][0], 'Z')


def check_zombie_leader_with_threads(place):
    """The first thread has ended, the process has not."""
    place.serve()
    calls = place.calls()
    calls('alloc 1 1000')
    place.sees('there', lambda s: has(s, calls.pid, 'reporting', 1))
    calls('leave')

    def leader_is_zombie():
        with open(f'/proc/{calls.pid}/stat', encoding='ascii') as file:
            serve.expect('leader', file.read().split(') ')[1][0], 'Z')
    serve.wait_for('the leader ends', leader_is_zombie)
    time.sleep(2.5 * ROUND_S)
    has(place.snapshot(), calls.pid, 'reporting', 1)
    calls('alloc 2 2000')
    place.sees('goes on', lambda s: has(s, calls.pid, 'reporting', 2))
    begin = time.monotonic()
    calls.tell('exit')
    bounded('its end', seen_dead(place, calls.pid, 2, begin), BUSY_S)


def check_zombie_leader_without_lock(place):
    """Nothing tells whether it has the segment: unknown until it ends."""
    place.serve()
    calls = place.calls()
    calls('alloc 1 1000')
    place.sees('there', lambda s: has(s, calls.pid, 'reporting', 1))
    calls('close')
    calls('leave')
    place.sees('unknown', lambda s: has(s, calls.pid, 'unknown', 1))
    calls('alloc 2 2000')
    place.sees('is followed', lambda s: has(s, calls.pid, 'unknown', 2))
    begin = time.monotonic()
    calls.tell('exit')
    bounded('its end', seen_dead(place, calls.pid, 2, begin), BUSY_S)


# -- several directories ------------------------------------------------------


class Room:
    """A pid namespace of one's own, in which pids can be chosen."""

    def __init__(self, place):
        self.init = place.popen([*PID_NAMESPACE, 'sh', '-c',
                                 'echo; exec sleep 1000'],
                                stdout=subprocess.PIPE, text=True)
        self.init.stdout.readline()
        self.enter = ('nsenter', '--target', str(child_of(self.init.pid)),
                      '--mount', '--pid')

    def next_is(self, pid):
        """The next process there has this pid."""
        subprocess.run([*self.enter, 'sh', '-c',
                        f'echo {pid - 1} >/proc/sys/kernel/ns_last_pid'],
                       check=True)


def check_reused_pid(place):
    """Another process has the pid by now: whoever looks, it is not the first."""
    room = Room(place)
    first = place.calls(prefix=room.enter)
    first('alloc 1 1000')
    pid = first.ask_pid()
    server = start_served(place, prefix=room.enter)
    place.sees('there', lambda s: has(s, pid, 'reporting', 1))

    def replaced(objects):
        """Dies, and the pid is taken again; returns who took it."""
        os.kill(child_of(first.process.pid), signal.SIGKILL)
        first.process.wait()
        room.next_is(pid)
        other = place.calls(prefix=room.enter)
        for i in range(objects):
            other(f'alloc {i} 2000')
        serve.expect('its pid', other.ask_pid(), pid)
        return other

    def both(objects, dead):
        def look(snapshot):
            serve.expect('both', sorted(
                (p['state'], p['objects'])
                for p in snapshot.all('processes', pid=pid)),
                sorted([('reporting', objects)] + dead))
        return look
    # ttmemd has a pidfd of the first, and does not see it go.
    ttmemd = child_of(server.process.pid)
    os.kill(ttmemd, signal.SIGSTOP)
    first = replaced(2)
    server.process.send_signal(signal.SIGCONT)  # nsenter stops with it
    os.kill(ttmemd, signal.SIGCONT)
    place.sees('the second', both(2, [('died', 1)]))
    # And one that never saw it.
    os.kill(ttmemd, signal.SIGTERM)
    server.process.wait(serve.PATIENCE_S)
    first = replaced(3)
    start_served(place, prefix=room.enter)
    place.sees('the third', both(3, [('died', 1), ('died', 2)]))


def check_two_directories_of_one_user(place):
    """Somebody had the name, for a while."""
    user, other = 61234, 61235
    name = f'{place.base}/ttmem-{user}'
    os.mkdir(name, 0o700)
    os.chown(name, other, other)
    place.serve(mode='system')
    loads = [place.run(HAS.format(size=1), user=user)]
    shutil.rmtree(name)
    loads.append(place.run(HAS.format(size=2), user=user))
    serve.expect('directories', sum(
        os.stat(f'{place.base}/{n}').st_uid == user
        for n in os.listdir(place.base)), 2)

    def both(snapshot):
        serve.expect('served', [(d['state'], d['own']) for d in
                                snapshot.all('directories', uid=user)],
                     [('served', True)] * 2)
        serve.expect('in both', len({p['directory'] for p in
                                     snapshot['processes']}), 2)
    place.settled('as the user', *loads, look=both, user=user)
    for load in loads:
        os.kill(load.pid, signal.SIGKILL)
    place.sees('both end', lambda s: serve.expect(
        'states', states(s), ['died'] * 2), user=user)
    serve.expect('left', place.snapshot().device(chip_id='0x7')['figures']
                 ['dram']['orphaned_bytes'], 3 * MIB)


def check_users_ttmemd_serves_both(place):
    """The same by a ttmemd of the user's own."""
    user, other = 61234, 61235
    name = f'{place.base}/ttmem-{user}'
    os.mkdir(name, 0o700)
    os.chown(name, other, other)
    first = place.run(HAS.format(size=1), user=user)
    shutil.rmtree(name)
    second = place.run(HAS.format(size=2), user=user)
    place.serve(user=user)
    place.settled('both', first, second, user=user)


# -- running ------------------------------------------------------------------

NEED = {
    check_in_another_pid_namespace: PID_NAMESPACE,
    check_same_pids_in_two_namespaces: PID_NAMESPACE,
    check_in_a_sibling_namespace: PID_NAMESPACE,
    check_sibling_without_lock: PID_NAMESPACE,
    check_unknown_is_shown_and_not_retired: PID_NAMESPACE,
    check_reused_pid: PID_NAMESPACE,
    check_directory_in_a_container: ('unshare', '--mount', '--pid', '--fork'),
    check_in_a_user_namespace: USER_NAMESPACE,
    check_two_directories_of_one_user: ('true',),
    check_users_ttmemd_serves_both: ('true',),
}
CHECKS = [f for n, f in list(globals().items()) if n.startswith('check_')]


def main():
    is_root = os.getuid() == 0
    able = [c for c in CHECKS
            if c not in NEED or (is_root and can(*NEED[c]))]
    status = serve.run_for_users(__doc__, able, 61234)
    for check in CHECKS:
        if check not in able:
            print(f'skipped: {check.__name__}: it needs root and namespaces')
    return status or (0 if len(able) == len(CHECKS) else 77)


if __name__ == '__main__':
    sys.exit(main())
