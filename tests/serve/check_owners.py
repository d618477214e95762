#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_owners.py TTMEMD TTMEM-LOAD SNAPDUMP CALLS [CHECK...]

Whose pid is published. A user forges segments with the pid and the start time of a
victim, which are public, and the victim is never shown; processes that change their
user, or are in other namespaces, are shown all the same. Needs root, for the users, and
is skipped without.
"""

import ctypes
import fcntl
import os
import signal
import struct
import subprocess
import sys

import check_namespaces as namespaces
import check_strangers as strangers
import serve
from check_strangers import STRANGER

OTHER = STRANGER + 7
CLONE_FILES = 0x400
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
SYS_CLONE = {'x86_64': 56, 'aarch64': 220}
OFD_SETLK = 37
PID_NAMESPACE = 0x50  # in the header of a segment
LAST_PID = '/proc/sys/kernel/ns_last_pid'
TRIES = 200


def start_of(pid):
    with open(f'/proc/{pid}/stat', encoding='utf-8') as file:
        return int(file.read().rpartition(')')[2].split()[19])


def alive(snapshot):
    return [p for p in snapshot.all('processes', uid=STRANGER)
            if p['state'] not in ('died', 'exited')]


class Scene:
    """Root's ttmemd, a victim of root's, and the segment of a stranger."""

    def __init__(self, place):
        self.place = place
        self.server = place.serve(mode='system')
        self.victim = place.popen(['sleep', '1000']).pid
        self.folder = strangers.folder_of(place, STRANGER)
        load = place.run(strangers.HAS.format(chip=2, size=8), user=STRANGER)
        _, self.data = strangers.segment_of(place, STRANGER)
        strangers.finish(load)
        place.sees('it ends', lambda s: serve.expect(
            'alive', alive(s), []))

    def forged(self, victim=None):
        """The path and the bytes of a segment that says it is the victim's."""
        victim = victim or self.victim
        name, data = strangers.forged(
            self.data, pid=victim, start=start_of(victim),
            uuid=b'forged'.ljust(16, b'f'))
        return f'{self.folder}/{name}', data

    def put(self, path, data, hold=None):
        """As a user: the segment appears complete, and held as `hold` does."""
        new = f'{self.folder}/new'
        strangers.write(new, data)
        fd = os.open(new, os.O_RDWR)
        if hold:
            hold(fd)
        os.rename(new, path)

    def shows(self, what, look):
        """Waits for that; the victim is not published at any time until then."""
        published = []

        def look_at(snapshot):
            rows = alive(snapshot)
            published.extend(row['pid'] for row in rows)
            look(rows)
        self.place.sees(what, look_at)
        if self.victim in published:
            serve.fail(f'{what}: the victim was shown')


def one_of(pid, namespace=None):
    def look(rows):
        serve.expect('pids', [row['pid'] for row in rows], [pid])
        if namespace:
            serve.expect('namespace', rows[0]['pid_namespace'], namespace)
    return look


def lock_posix(fd):
    fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 0)


def lock_ofd(fd):
    fcntl.fcntl(fd, OFD_SETLK, struct.pack(
        'hhqqi4x', fcntl.F_WRLCK, os.SEEK_SET, 0, 1, 0))


# -- forged pids --------------------------------------------------------------


def check_the_pid_of_a_victim_is_not_published(place):
    """The stranger holds the lock: it is the stranger's pid that counts."""
    scene = Scene(place)
    path, data = scene.forged()
    with strangers.meanwhile(STRANGER, lambda: scene.put(
            path, data, lock_posix)) as pid:
        scene.shows('the stranger', one_of(pid))
        row = place.snapshot().one('processes', uid=STRANGER, pid=pid)
        serve.expect('start time', row['start_time'], start_of(pid))


def check_a_lock_without_pid_publishes_none(place):
    """A lock of an open file description has no process."""
    scene = Scene(place)
    path, data = scene.forged()
    with strangers.meanwhile(STRANGER, lambda: scene.put(
            path, data, lock_ofd)):
        scene.shows('nobody', one_of(None))


def check_a_segment_without_lock_publishes_none(place):
    """The victim runs, but does not have it mapped: the segment is a dead one's."""
    scene = Scene(place)
    path, data = scene.forged()
    with strangers.meanwhile(STRANGER, lambda: scene.put(path, data)):
        scene.shows('nobody', lambda rows: serve.expect('alive', rows, []))
        place.sees('it is retired', lambda s: serve.expect(
            'states', [p['state'] for p in s.all(
                'processes', pid=scene.victim)], ['died']))


def check_another_namespace_publishes_none(place):
    """The header says it is elsewhere, and somebody may write the file."""
    scene = Scene(place)
    data = bytearray(scene.data)
    struct.pack_into('<Q', data, PID_NAMESPACE, 12345)
    scene.data = data
    path, data = scene.forged()
    with strangers.meanwhile(STRANGER, lambda: scene.put(path, data)):
        scene.shows('nobody', one_of(None))


def lock_by_another(fd):
    """A process that shares our descriptors takes the lock and ends."""
    libc = ctypes.CDLL(None)
    pid = libc.syscall(SYS_CLONE[os.uname().machine],
                       CLONE_FILES | signal.SIGCHLD, 0, 0, 0, 0)
    if pid == 0:
        lock_posix(fd)
        os._exit(0)
    os.waitpid(pid, 0)
    return pid


def victim_with(pid):
    """Starts a process of root's that has this pid; None: it could not be had."""
    for _ in range(TRIES):
        try:
            with open(LAST_PID, 'w', encoding='ascii') as file:
                file.write(str(pid - 1))
        except OSError:
            return None
        victim = subprocess.Popen(['sleep', '1000'])
        if victim.pid == pid:
            return victim
        victim.kill()
        victim.wait()
    return None


def check_a_lock_that_outlives_its_process(place):
    """Its pid is the victim's by now, and F_GETLK says that the victim has it."""
    scene = Scene(place)
    reads, writes = os.pipe()
    new = f'{scene.folder}/new'

    def take():
        strangers.write(new, bytes(scene.data))
        fd = os.open(new, os.O_RDWR)
        os.write(writes, str(lock_by_another(fd)).encode())
    with strangers.meanwhile(STRANGER, take):
        victim = victim_with(int(os.read(reads, 20)))
        if not victim:
            print('   not tried: the pid cannot be had')
            return
        try:
            with open(new, 'rb') as file:
                held = fcntl.fcntl(file, fcntl.F_GETLK, struct.pack(
                    'hhqqi4x', fcntl.F_WRLCK, os.SEEK_SET, 0, 1, 0))
            serve.expect('holder', struct.unpack('hhqqi4x', held)[4],
                         victim.pid)
            scene.victim = victim.pid
            path, data = scene.forged()

            def name():
                with open(new, 'r+b') as file:
                    file.write(data)
                os.rename(new, path)
            # A close would end the lock: this one is of another process.
            strangers.as_user(STRANGER, name)
            scene.shows('nobody', one_of(None))
        finally:
            victim.kill()
            victim.wait()


def check_forged_in_a_user_namespace(place):
    """Its pids are others there; outside it is the stranger."""
    scene = Scene(place)
    path, data = scene.forged()
    new = f'{scene.folder}/new'
    reads, writes = os.pipe()

    def inside():
        strangers.write(new, data)
        if ctypes.CDLL(None).unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0:
            raise OSError('no namespaces')
        if os.fork() == 0:
            lock_posix(os.open(new, os.O_RDWR))
            os.rename(new, path)
            os.write(writes, b'x')
            signal.pause()
        serve.expect('inside', os.read(reads, 1), b'x')
    with strangers.meanwhile(STRANGER, inside) as outside:
        child = namespaces.child_of(outside)
        scene.shows('the stranger', one_of(1, namespaces.namespace_of(child)))


# -- who changes --------------------------------------------------------------


def check_a_program_that_drops_privileges(place):
    """It began as root, and is another user by now."""
    server = place.serve(mode='system')
    calls = place.calls()
    calls('alloc 1 1000')
    calls(f'user {OTHER} {OTHER}')
    calls('alloc 2 1000')

    def look(snapshot):
        process = namespaces.has(snapshot, calls.pid, 'reporting', 2)
        serve.expect('who and since when',
                     (process['uid'], process['start_time']),
                     (0, start_of(calls.pid)))
    place.sees('it is shown', look)
    server.stop()
    server = place.serve(mode='system')
    place.sees('by the next one', look)
    calls('close')  # and the lock with it
    server.stop()
    place.serve(mode='system')
    place.sees('without its lock', look)


def check_a_program_that_becomes_another_user(place):
    """Neither of root's nor of the user that has its segment: it maps it."""
    server = place.serve(mode='system')
    calls = place.calls()
    calls(f'user {STRANGER} 0')
    calls('alloc 1 1000')
    calls('user 0 0')
    calls(f'user {OTHER} {OTHER}')

    def look(snapshot):
        process = namespaces.has(snapshot, calls.pid, 'reporting', 1)
        serve.expect('whose segment', process['uid'], STRANGER)
    place.sees('it is shown', look)
    server.stop()
    place.serve(mode='system')
    place.sees('by the next one', look)


def main():
    if os.getuid() != 0 or not namespaces.can(*namespaces.USER_NAMESPACE):
        print('skipped: it needs root and namespaces')
        return 77
    return serve.run_for_users(__doc__, [
        f for n, f in list(globals().items()) if n.startswith('check_') and
        callable(f)], STRANGER)


if __name__ == '__main__':
    sys.exit(main())
