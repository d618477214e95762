#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_strangers.py TTMEMD TTMEM-LOAD SNAPDUMP CALLS [CHECK...]

Users who mean no good, beside one who only wants to be served: nobody reads what
they may not, changes another's numbers, stops ttmemd or makes a program fail. Needs
root, for the users, and is skipped without.
"""

import contextlib
import fcntl
import os
import shutil
import signal
import stat
import struct
import sys
import time
import traceback

import serve
from serve import MIB

# Numbers that nobody has: no names are needed for them.
VICTIM = 61234
STRANGER = 61235
HAS = 'open 0 chip={chip}\nalloc 0 dram 1 0x1000 {size}M\nsync\n' \
    'alloc 0 dram 2 0x1000 {size}M\nsync\n'
# Of the layout of a segment.
SEALED_SIZE = 0x800
EXTENTS_OFF = 0x50000
UUID, PID, UID, START, COMM = 0x18, 0x48, 0x4c, 0x58, 0xe0


def folder_of(place, uid):
    return f'{place.base}/ttmem-{uid}'


def process_of(uid, action):
    """Another process, of that user; returns its pid."""
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
        action()
        status = 0
    except BaseException:  # pylint: disable=broad-except
        traceback.print_exc()
    finally:
        os._exit(status)


def as_user(uid, action):
    _, status = os.waitpid(process_of(uid, action), 0)
    serve.expect(f'what user {uid} did', status, 0)


@contextlib.contextmanager
def meanwhile(uid, action):
    """The user does it, and stays as it is until the end."""
    reads, writes = os.pipe()

    def run():
        os.setsid()
        action()
        os.write(writes, b'x')
        signal.pause()
    pid = process_of(uid, run)
    os.close(writes)
    try:
        serve.expect(f'user {uid}', os.read(reads, 1), b'x')
        yield pid
    finally:
        os.close(reads)
        try:
            os.killpg(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass  # it has failed before, and said so
        os.waitpid(pid, 0)


def lock(path, flags=os.O_RDWR, kind=fcntl.LOCK_EX):
    fcntl.lockf(os.open(path, flags), kind | fcntl.LOCK_NB, 1, 0)


def finish(load):
    """Lets it run to its end; nothing has made it fail."""
    while load.truth['phase'] != 'end':
        load.go()
    load.wait()


def write(path, data=b'', mode=0o600):
    fd = os.open(path, os.O_RDWR | os.O_CREAT, mode)
    with open(fd, 'wb') as file:
        file.write(data)


class Scene:
    """ttmemd for everybody, and a user with known numbers on a chip of its own."""

    def __init__(self, place, *options):
        self.place = place
        self.server = place.serve('--verbose', *options, mode='system')
        self.load = place.run(HAS.format(chip=1, size=1), user=VICTIM)
        self.holds(1)

    def holds(self, objects):
        """The victim's numbers are right, and ttmemd is the same."""
        def look(snapshot):
            serve.expect('server', (snapshot['info']['source'],
                                    snapshot['info']['pid']),
                         ('ok', self.server.pid))
            row = snapshot.one('processes', uid=VICTIM)
            if row['state'] not in ('reporting', 'silent'):
                serve.fail(f'the victim is shown as {row["state"]}')
            serve.expect('victim', (row['pid'], row['objects']),
                         (self.load.pid, objects))
            serve.shows(snapshot.device(chip_id='0x1'), {
                'dram': (objects * MIB, objects),
                'dram.alloc_objects': objects, 'dram.free_objects': 0})
        serve.expect('ttmemd ended', self.server.process.poll(), None)
        return self.place.sees('the victim', look, user=VICTIM)

    def sees(self, what, look, **how):
        return self.place.sees(what, look, **how)

    def end(self):
        """Nothing has stopped: events come through, others come and go."""
        self.load.go()
        self.holds(2)
        late = self.place.run(HAS.format(chip=3, size=4), user=VICTIM + 100)
        self.sees('one who comes late', lambda s: serve.shows(
            s.device(chip_id='0x3'), {'dram': (4 * MIB, 1)}))
        finish(late)
        finish(self.load)
        serve.expect('status', self.server.stop(), 0)
        bad = [c for c in self.server.said() if c != '\n' and
               not ' ' <= c <= '~']
        serve.expect('control characters in the log', bad, [])


# -- segments of one's own making ---------------------------------------------


def checksum(data):
    value = 0xcbf29ce484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001b3 % (1 << 64)
    return value


def segment_of(place, uid):
    folder = folder_of(place, uid)
    name, = (n for n in os.listdir(folder) if n.startswith('p.'))
    with open(f'{folder}/{name}', 'rb') as file:
        return name, bytearray(file.read())


def forged(data, **changes):
    """The segment with other values in its header: (name, bytes)."""
    data = bytearray(data)
    places = {'pid': (PID, 'I'), 'uid': (UID, 'I'), 'start': (START, 'Q'),
              'uuid': (UUID, '16s'), 'comm': (COMM, '16s')}
    for name, value in changes.items():
        struct.pack_into('<' + places[name][1], data, places[name][0], value)
    struct.pack_into('<Q', data, SEALED_SIZE - 8,
                     checksum(data[:SEALED_SIZE - 8]))
    pid, = struct.unpack_from('<I', data, PID)
    start, = struct.unpack_from('<Q', data, START)
    random, = struct.unpack_from('<Q', data, UUID)
    return f'p.{pid}.{start}.{random:016x}', bytes(data)


# -- squatters ----------------------------------------------------------------


def check_squatted_names_of_users(place):
    """Whatever a stranger puts where the user's directory should be."""
    scene = Scene(place)
    loot = f'{place.base}/loot'
    as_user(STRANGER, lambda: os.mkdir(loot, 0o777))
    kinds = {
        'directory': lambda path: os.mkdir(path, 0o700),
        'open directory': lambda path: (os.mkdir(path),
                                        os.chmod(path, 0o777)),
        'link': lambda path: os.symlink(loot, path),
        'link to nowhere': lambda path: os.symlink('/nowhere', path),
        'file': write,
        'fifo': os.mkfifo,
    }
    loads = []
    for i, (kind, make) in enumerate(kinds.items()):
        user = VICTIM + 10 + i
        path = folder_of(place, user)
        as_user(STRANGER, lambda make=make, path=path: make(path))
        load = place.run(HAS.format(chip=16 + i, size=i + 1), user=user)
        loads.append(load)

        def look(snapshot, user=user, i=i, load=load):
            row = snapshot.one('processes', uid=user)
            serve.expect('pid', row['pid'], load.pid)
            serve.shows(snapshot.device(chip_id=hex(16 + i)),
                        {'dram': ((i + 1) * MIB, 1)})
            if not snapshot.all('directories', uid=user, own=True,
                                state='served'):
                serve.fail('the user is not served')
        scene.sees(kind, look, user=user)
        if os.path.isdir(path):
            serve.expect(f'in the {kind}', [n for n in os.listdir(path)
                                            if n.startswith('p.')], [])
        finish(load)
    serve.expect('loot', os.listdir(loot), [])
    scene.end()


def check_squatted_system_directory(place):
    """ttmemd publishes under another name; nobody believes the squatter."""
    server = place.serve(mode='system')
    load = place.run(HAS.format(chip=1, size=1), user=VICTIM)
    place.settled('before', load, user=VICTIM)
    path = f'{place.base}/ttmem-system'
    with open(f'{path}/aggregate', 'rb') as file:
        aggregate = file.read()
    server.stop()
    for name in os.listdir(path):
        os.unlink(f'{path}/{name}')
    os.rmdir(path)

    def forge(path):
        os.mkdir(path, 0o755)
        write(f'{path}/aggregate', aggregate, 0o644)
    as_user(STRANGER, lambda: os.mkdir(path, 0o755))
    stray_aggregate(place, path, aggregate)
    as_user(STRANGER, lambda: write(f'{path}/aggregate', aggregate, 0o644))
    with meanwhile(STRANGER, lambda: lock(f'{path}/aggregate')):
        status, text, error = place.dump(user=VICTIM)
        serve.expect('a forged aggregate is read', (status, text), (3, ''))
        print(f'   {error.strip()}')
        # Other names are forged as well, and found by nobody.
        as_user(STRANGER, lambda: forge(f'{path}.0'))
        server = place.serve(mode='system')
        if path not in server.said():
            serve.fail(f'says {server.said()!r}')
        load.go()
        for user in (None, VICTIM, STRANGER):
            place.settled('under another name', load, user=user)
        home = os.path.dirname(place.snapshot()['info']['path'])
        st = os.stat(home)
        serve.expect('owner and mode', (st.st_uid, stat.S_IMODE(st.st_mode)),
                     (0, 0o755))
        status, _, error = place.dump('--system', user=VICTIM)
        serve.expect(f'asked for root\'s: {error}', status, 0)
        # A second one of root meets the first.
        second = serve.Server(place, ('--mode', 'system'))
        serve.expect('status of a second one',
                     second.process.wait(serve.PATIENCE_S), 1)
        ends_unseen(place, server, VICTIM + 300)
    # The name is free again, and nothing changes.
    shutil.rmtree(path)
    serve.expect('status', server.stop(), 0)
    server = place.serve(mode='system')
    serve.expect('home', os.path.dirname(place.snapshot()['info']['path']), home)
    ends_unseen(place, server, VICTIM + 301)
    finish(load)


def stray_aggregate(place, folder, aggregate):
    """A file of root's in a stranger's folder, as by a hard link where
    fs.protected_hardlinks is off: what it says may be of another place or time."""
    write(f'{folder}/aggregate', aggregate, 0o644)
    for options in ((), ('--system',)):
        status, text, _ = place.dump(*options, user=VICTIM)
        serve.expect('an aggregate in a stranger\'s folder is read',
                     (status, text), (3, ''))
    os.unlink(f'{folder}/aggregate')


def ends_unseen(place, server, user):
    """A program of a new user ends before ttmemd looks: what it did counts."""
    os.kill(server.pid, signal.SIGSTOP)
    finish(place.run('alloc 0 dram 1 0x1000 1M\nfree 0 dram 1\nsync\n',
                     user=user))
    os.kill(server.pid, signal.SIGCONT)
    place.sees('who ended unseen', lambda s: serve.expect(
        'states', [(p['state'], p['objects']) for p in
                   s.all('processes', uid=user)], [('exited', 0)]))


def check_squatted_names_in_ones_own_directory(place):
    """Where ttmemd has its files: it is their owner who goes without."""
    scene = Scene(place)
    victims = folder_of(place, VICTIM)
    secret = f'{place.base}/secret'
    write(secret, b'secret')  # root's
    kinds = {
        'directory': lambda path: os.mkdir(path, 0o700),
        'link': lambda path: os.symlink(f'{victims}/ttmemd.lock', path),
        'link to root\'s': lambda path: os.symlink(secret, path),
        'fifo': os.mkfifo,
        'huge': lambda path: (write(path), os.truncate(path, 1 << 40)),
        'noise': lambda path: write(path, os.urandom(1 << 16)),
        'open to all': lambda path: (write(path), os.chmod(path, 0o666)),
        'second name': lambda path: (write(path + '.x'),
                                     os.link(path + '.x', path)),
    }
    names = ('aggregate', 'ttmemd.lock', 'retired', 'retired.new',
             'retired.broken', 'lost', '.aggregate.x')
    user = STRANGER + 1000
    before = scene.server.said().count('\n')
    for kind, make in kinds.items():
        for name in names:
            user += 1
            folder = folder_of(place, user)

            def squat(folder=folder, name=name, make=make):
                # Before root's ttmemd is there.
                new = f'{place.base}/new'
                os.mkdir(new, 0o700)
                make(f'{new}/{name}')
                os.rename(new, folder)
            as_user(user, squat)
    scene.holds(1)
    # Programs of theirs run as ever, also where nothing can be retired.
    for at in (STRANGER + 1002, STRANGER + 1003, STRANGER + 1010, user):
        load = place.run(HAS.format(chip=2, size=1), user=at)
        os.kill(load.pid, signal.SIGKILL)
    scene.holds(1)

    def all_seen(snapshot):
        known = {d['uid'] for d in snapshot['directories']}
        missing = set(range(STRANGER + 1001, user + 1)) - known
        serve.expect('missing directories', missing, set())
        for row in snapshot['directories']:
            if row['state'] == 'refused' and not row['error']:
                serve.fail(f'{row["path"]} is refused without a reason')
    scene.sees('directories', all_seen)
    lines = scene.server.said().count('\n') - before
    print(f'   {lines} lines in the log for {user - STRANGER - 1000} of them')
    with open(secret, 'rb') as file:
        serve.expect('root\'s file', file.read(), b'secret')
    st = os.stat(secret)
    serve.expect('its owner and mode', (st.st_uid, stat.S_IMODE(st.st_mode)),
                 (0, 0o600))
    scene.end()


def check_directories_without_end(place):
    """So many of one user, and names that are none: others find their place."""
    scene = Scene(place)

    def flood():
        for i in range(1500):
            os.mkdir(f'{place.base}/ttmem-{STRANGER}.{i:016x}', 0o700)
        for i in range(500):
            os.symlink('/', f'{place.base}/ttmem-{i}')
    begin = time.monotonic()
    as_user(STRANGER, flood)
    scene.holds(1)
    served = scene.sees('they are limited', lambda s: serve.expect(
        'directories', len(s.all('directories', uid=STRANGER)), 64))
    print(f'   {len(served["directories"])} directories after '
          f'{time.monotonic() - begin:.2f} s')
    scene.end()


# -- files --------------------------------------------------------------------


def stranger_is(place, scene):
    """A stranger with a segment, on another chip; returns (load, name, bytes)."""
    load = place.run(HAS.format(chip=2, size=8), user=STRANGER)
    scene.sees('the stranger', lambda s: serve.shows(
        s.device(chip_id='0x2'), {'dram': (8 * MIB, 1)}))
    return (load, *segment_of(place, STRANGER))


def check_files_that_are_no_segments(place):
    scene = Scene(place)
    load, name, data = stranger_is(place, scene)
    folder = folder_of(place, STRANGER)
    victims = folder_of(place, VICTIM)
    other, = (n for n in os.listdir(victims) if n.startswith('p.'))

    def litter():
        os.symlink(f'{victims}/{other}', f'{folder}/{other}')
        os.symlink(f'{folder}/{name}', f'{folder}/p.2.2.1')
        os.symlink('/dev/zero', f'{folder}/p.2.2.2')
        os.mkfifo(f'{folder}/p.2.2.3')
        os.mkdir(f'{folder}/p.2.2.4')
        for i, size in enumerate((0, 1, EXTENTS_OFF - 1, EXTENTS_OFF, 1 << 30,
                                  1 << 40, (1 << 62))):
            path = f'{folder}/p.3.3.{i}'
            write(path)
            try:
                os.truncate(path, size)
            except OSError:
                os.unlink(path)  # more than the filesystem takes
        # A segment: holes read as zeros, and so its process has no object.
        path, first = forged(data, uuid=b'sparse'.ljust(16, b's'))
        write(f'{folder}/{path}', first[:4096])
        os.truncate(f'{folder}/{path}', len(data))
        # All at once: without the second name, or the mode, they were segments.
        path, whole = forged(data, uuid=b'linked'.ljust(16, b'l'))
        write(f'{folder}/made', whole)
        os.link(f'{folder}/made', f'{folder}/second')
        os.rename(f'{folder}/made', f'{folder}/{path}')
        path, whole = forged(data, uuid=b'writable'.ljust(16, b'w'))
        write(f'{folder}/made', whole)
        os.chmod(f'{folder}/made', 0o666)
        os.rename(f'{folder}/made', f'{folder}/{path}')
        write(f'{folder}/p.' + 'x' * 200, bytes(data))
        write(f'{folder}/p.\x1b[31m\n.1', bytes(EXTENTS_OFF))
        try:
            os.link(f'{victims}/{other}', f'{folder}/stolen')
        except OSError:
            return
        raise AssertionError('a link into another\'s directory')
    as_user(STRANGER, litter)

    def look(snapshot):
        if snapshot['health']['refused'] < 12:
            serve.fail(f'{snapshot["health"]["refused"]} are refused')
        serve.expect('processes', sorted(p['uid'] for p in
                                         snapshot['processes']),
                     [VICTIM, STRANGER, STRANGER])
        serve.expect('objects', sorted(p['objects'] for p in
                                       snapshot['processes']
                                       if p['uid'] == STRANGER), [0, 1])
        serve.shows(snapshot.device(chip_id='0x2'), {'dram': (8 * MIB, 1)})
    scene.sees('refused', look)
    scene.holds(1)
    finish(load)
    scene.end()


def check_shrinking_files(place):
    """Cut while they are read: short reads, and no signal."""
    scene = Scene(place)
    _, _, data = stranger_is(place, scene)
    folder = folder_of(place, STRANGER)
    paths = []
    for i in range(8):
        name, whole = forged(data, uuid=bytes([i + 1]) * 16, pid=1, start=1)
        paths.append((f'{folder}/{name}', whole))

    def make_and_cut():
        for path, whole in paths:
            # Held before it is seen, so that it is not dead at once.
            write(f'{folder}/new', whole)
            lock(f'{folder}/new')
            os.rename(f'{folder}/new', path)
        time.sleep(0.3)
        sizes = (0, 1, 4096, SEALED_SIZE, 0x10000, EXTENTS_OFF,
                 EXTENTS_OFF + 4096, len(data) - 1)
        for (path, _), size in zip(paths, sizes):
            os.truncate(path, size)
        for _ in range(200):  # and one that cannot decide
            os.truncate(paths[0][0], 0)
            with open(paths[0][0], 'r+b') as file:
                file.write(paths[0][1])
    def quarantined(snapshot, least):
        rows = snapshot.all('quarantine', uid=STRANGER)
        if len(rows) < least:
            serve.fail(f'{len(rows)} in quarantine: '
                       f'{[r["reason"] for r in rows]}')
        for row in rows:
            if not row['reason']:
                serve.fail(f'{row["name"]}: no reason')
    with meanwhile(STRANGER, make_and_cut):
        # The others end where nothing is read while they are silent.
        scene.sees('quarantine', lambda s: quarantined(s, 4))
        scene.holds(1)
    found = scene.sees('all that are cut', lambda s: quarantined(s, 6))
    for reason in sorted({r['reason'] for r in found['quarantine']}):
        print(f'   {reason}')
    scene.end()


def check_forged_headers(place):
    """Who says to be another is still only who it is."""
    scene = Scene(place)
    load, _, data = stranger_is(place, scene)
    folder = folder_of(place, STRANGER)
    before = scene.holds(1)
    row, = before.all('processes', uid=VICTIM)
    uuid = bytes.fromhex(row['uuid'].replace('-', ''))
    victim = {'pid': row['pid'], 'start': row['start_time'], 'uid': VICTIM}
    files = [forged(data, **victim, uuid=bytes([1]) * 16),
             forged(data, **victim, uuid=uuid),
             forged(data, pid=1, start=1, uid=0, uuid=bytes([2]) * 16),
             forged(data, pid=scene.server.pid, uid=0, uuid=bytes([3]) * 16)]

    def forge():
        for i, (name, whole) in enumerate(files):
            write(f'{folder}/new', whole)
            if i in (1, 2):
                lock(f'{folder}/new')
            os.rename(f'{folder}/new', f'{folder}/{name}')
    with meanwhile(STRANGER, forge):
        def look(snapshot):
            rows = [r for r in snapshot['processes'] if r['uid'] != VICTIM]
            serve.expect('whose they are', {r['uid'] for r in rows},
                         {STRANGER})
            if len(rows) < 4:
                serve.fail(f'{len(rows)} of the stranger: '
                           f'{snapshot.brief("processes")}')
            directory = snapshot.one('directories', uid=VICTIM)
            serve.expect('of the victim', (directory['attached'],
                                           directory['retired']), (1, 0))
        scene.sees('forged', look)
        scene.holds(1)
    # So it is after a restart.
    scene.holds(1)
    scene.server.stop(signal.SIGKILL)
    scene.server = place.serve('--verbose', mode='system')
    scene.holds(1)
    finish(load)
    scene.end()


def check_a_thousand_segments(place):
    """Beyond its limit nothing more is taken of the stranger; others do not wait."""
    scene = Scene(place, '--max-processes', '300')
    load, _, data = stranger_is(place, scene)
    folder = folder_of(place, STRANGER)
    # No extents: the directory of them is empty.
    small = bytearray(data[:EXTENTS_OFF])
    small[0x1000:0x1000 + 4 * 4096] = bytes(4 * 4096)

    def make(first, count, is_held):
        for i in range(first, first + count):
            name, whole = forged(small, uuid=struct.pack('<QQ', i + 1, 1),
                                 pid=i + 100000, start=1)
            write(f'{folder}/new', whole)
            if is_held:
                lock(f'{folder}/new')
            os.rename(f'{folder}/new', f'{folder}/{name}')
    begin = time.monotonic()
    as_user(STRANGER, lambda: make(0, 1000, False))
    scene.holds(1)
    print(f'   dead ones: {time.monotonic() - begin:.2f} s')
    with meanwhile(STRANGER, lambda: make(1000, 400, True)):
        def limited(snapshot):
            # A directory that takes long is looked at seldom.
            own = snapshot.one('directories', uid=STRANGER)
            if not 1 < own['attached'] <= 300:
                serve.fail(f'attached: {own["attached"]}')
            if snapshot['health']['over_limit'] < 1:
                serve.fail(f'over limit: {snapshot["health"]["over_limit"]}')
        scene.sees('limited', limited)
        print(f'   live ones: {time.monotonic() - begin:.2f} s')
        scene.holds(1)
    finish(load)
    scene.end()
    serve.expect('lines about it', scene.server.said().count('more than 300'),
                 1)


# -- locks --------------------------------------------------------------------


def check_held_locks(place):
    """One's own can be held; nobody else's."""
    scene = Scene(place)
    stranger = folder_of(place, STRANGER)

    def own():
        new = f'{place.base}/new'
        os.mkdir(new, 0o700)
        write(f'{new}/ttmemd.lock')
        lock(f'{new}/ttmemd.lock')
        os.rename(new, stranger)

    def others():
        for path in (f'{folder_of(place, VICTIM)}/ttmemd.lock',
                     f'{place.base}/ttmem-system/ttmemd.lock'):
            try:
                os.open(path, os.O_RDONLY)
            except PermissionError:
                continue
            raise AssertionError(f'{path} can be opened')
    as_user(STRANGER, others)
    with meanwhile(STRANGER, own) as pid:
        scene.sees('held', lambda s: serve.expect(
            'state', [(d['state'], d['holder']) for d in
                      s.all('directories', uid=STRANGER)], [('held', pid)]))
        load = place.run(HAS.format(chip=2, size=1), user=STRANGER)
        status, text, _ = place.dump(user=STRANGER)
        serve.expect('the stranger is told', (status, 'not_serving' in text),
                     (0, True))
        scene.holds(1)
    scene.sees('given back', lambda s: serve.shows(
        s.device(chip_id='0x2'), {'dram': (MIB, 1)}))
    finish(load)
    scene.end()


def check_readers_lock_on_the_aggregate(place):
    """Everybody may read it, and so lock it for reading: that writes nothing."""
    scene = Scene(place)
    path = f'{place.base}/ttmem-system/aggregate'

    def hold():
        fd = os.open(path, os.O_RDONLY)
        # Behind the writer's byte, and on it as soon as the writer is gone.
        fcntl.lockf(fd, fcntl.LOCK_SH | fcntl.LOCK_NB, 0, 1)
        if os.fork() == 0:
            fcntl.lockf(fd, fcntl.LOCK_SH, 1, 0)
            signal.pause()
    with meanwhile(STRANGER, hold):
        scene.load.go()
        scene.holds(2)
        scene.server.stop(signal.SIGKILL)
        snapshot = place.snapshot(user=VICTIM)
        serve.expect('source', snapshot['info']['source'], 'dead')
        scene.server = place.serve('--verbose', mode='system')
        scene.holds(2)


# -- names and modes ----------------------------------------------------------


def check_escape_sequences(place):
    """In names of processes, scopes and directories."""
    scene = Scene(place)
    ugly = b'\x1b[31m\x07\xc2\x9b2J\r\n\x9b1'
    calls = place.calls(user=STRANGER)
    calls(f'name {ugly.hex()}')
    calls('alloc 1 1000')
    scene.sees('there', lambda s: serve.expect(
        'objects', [p['objects'] for p in s.all('processes', uid=STRANGER)],
        [1]))
    calls.tell('exit')
    load = place.run('push "\\x1b[2J\\x9b\\x07"\nalloc 0 dram 1 1 1M\n'
                     'mark "\\x1b]0;title\\x07"\nsync\nsync\n', user=STRANGER)
    os.kill(load.pid, signal.SIGKILL)
    folder = os.fsencode(f'{place.base}/ttmem-{STRANGER}.') + b'\x1b[2J\n\x9b'
    as_user(STRANGER, lambda: os.mkdir(folder, 0o700))
    scene.sees('directory', lambda s: serve.expect(
        'directories', len(s.all('directories', uid=STRANGER)), 2))
    scene.sees('both end', lambda s: serve.expect(
        'states', [p['state'] for p in s.all('processes', uid=STRANGER)],
        ['died'] * 2))
    scene.holds(1)
    scene.end()
    if 'ended with' not in scene.server.said():
        serve.fail(f'says {scene.server.said()!r}')


def check_who_may_read_what(place):
    scene = Scene(place)
    os.kill(scene.load.pid, signal.SIGKILL)
    scene.sees('retired', lambda s: serve.expect(
        'states', [p['state'] for p in s.all('processes', uid=VICTIM)],
        ['died']))
    folder = folder_of(place, VICTIM)
    serve.expect('mode', stat.S_IMODE(os.stat(folder).st_mode), 0o700)
    for name in os.listdir(folder):
        st = os.stat(f'{folder}/{name}')
        serve.expect(name, (st.st_uid, stat.S_IMODE(st.st_mode) & 0o077),
                     (VICTIM, 0))
    system = f'{place.base}/ttmem-system'
    serve.expect('modes', {n: stat.S_IMODE(os.stat(f'{system}/{n}').st_mode)
                           for n in os.listdir(system)},
                 {'aggregate': 0o644, 'ttmemd.lock': 0o600})

    def try_all():
        for path in (folder, f'{folder}/retired', f'{folder}/ttmemd.lock',
                     f'{system}/ttmemd.lock'):
            if os.access(path, os.R_OK) or os.access(path, os.W_OK):
                raise AssertionError(path)
        for action in (lambda: os.rename(folder, f'{place.base}/mine'),
                       lambda: os.rename(system, f'{place.base}/mine'),
                       lambda: os.unlink(f'{system}/aggregate'),
                       lambda: os.open(f'{system}/aggregate', os.O_RDWR),
                       lambda: write(f'{system}/new')):
            try:
                action()
            except PermissionError:
                continue
            raise AssertionError('it could be done')
    as_user(STRANGER, try_all)
    serve.expect('status', scene.server.stop(), 0)


CHECKS = [f for n, f in list(globals().items()) if n.startswith('check_')]


def main():
    if os.getuid() != 0:
        print('skipped: it needs root, for other users')
        return 77
    return serve.run_for_users(__doc__, CHECKS, VICTIM)


if __name__ == '__main__':
    sys.exit(main())
