#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_servers.py TTMEMD TTMEM-LOAD SNAPDUMP CALLS [CHECK...]

Who serves whom: one ttmemd per directory, a user's or root's, and one takes over from
the other with all that there is. What needs a second user is skipped unless root runs
this.
"""

import fcntl
import os
import re
import shutil
import signal
import stat
import sys
import tempfile

import serve
from serve import MIB

IS_ROOT = os.getuid() == 0
# Numbers that nobody has: no names are needed for them.
USER = 61234
OTHER = 61235
HAS = 'open 0 chip={chip}\nalloc 0 dram 1 0x1000 {size}M\nsync\n' \
    'alloc 0 dram 2 0x1000 {size}M\nsync\n'


def folder_of(place, uid):
    return f'{place.base}/ttmem-{uid}'


def pids(snapshot):
    return serve.pids_of(snapshot)


def serves(snapshot, mode, pid):
    serve.expect('source', snapshot['info']['source'], 'ok')
    serve.expect('mode', snapshot['info']['mode'], mode)
    serve.expect('pid', snapshot['info']['pid'], pid)


def refused(place, options, user=None, **wanted):
    """A ttmemd that does not come up; returns what it says."""
    server = serve.Server(place, options, user)
    serve.expect('status', server.process.wait(serve.PATIENCE_S), 1)
    said = server.said()
    serve.expect('lines', said.count('\n'), 1)
    for what, text in wanted.items():
        if text not in said:
            serve.fail(f'{what}: no {text!r} in {said!r}')
    return said


# -- one of them --------------------------------------------------------------


def check_second_one_says_who_serves(place):
    first = place.serve()
    refused(place, ('--mode', 'user'), where=folder_of(place, os.getuid()),
            says='is served already, by process', who=str(first.pid),
            command=place.programs.ttmemd)
    serve.expect('the first one runs', first.process.poll(), None)
    load = place.run(HAS.format(chip=1, size=1))
    place.settled('and serves', load,
                  look=lambda s: serves(s, 'user', first.pid))


def check_signals_end_it_in_order(place):
    for sign in (signal.SIGTERM, signal.SIGINT):
        server = place.serve()
        serve.expect(f'status after {sign.name}', server.stop(sign), 0)
        snapshot = place.snapshot()
        serve.expect('source', snapshot['info']['source'], 'dead')


def check_reader_is_told_why_there_is_nothing(place):
    status, _, error = place.dump()
    serve.expect('status', status, 3)
    serve.expect('never started', error.split(':')[0], 'never_started')
    load = place.run(HAS.format(chip=1, size=1))
    status, _, error = place.dump()
    serve.expect('still never started', (status, error.split(':')[0]),
                 (3, 'never_started'))
    server = place.serve()
    place.settled('served', load)
    server.stop(signal.SIGKILL)
    snapshot = place.snapshot()
    serve.expect('dead', snapshot['info']['source'], 'dead')
    serve.expect('with the old figures', snapshot.device(chip_id='0x1')
                 ['dram_use'], MIB)


def check_stopped_one_is_stale(place):
    server = place.serve()
    server.process.send_signal(signal.SIGSTOP)
    place.sees('stale', lambda s: serve.expect(
        'source', s['info']['source'], 'stale'))
    server.process.send_signal(signal.SIGCONT)
    place.sees('well again', lambda s: serves(s, 'user', server.pid))


def check_stale_lock_files_do_not_matter(place):
    """Whoever left it, and whatever is in it: the lock counts, not the file."""
    folder = folder_of(place, os.getuid())
    os.mkdir(folder, 0o700)
    path = f'{folder}/ttmemd.lock'
    with open(path, 'w', encoding='utf-8') as file:
        file.write('4711\n')
    os.chmod(path, 0o666)
    server = place.serve()
    serve.expect('mode of the lock', stat.S_IMODE(os.stat(path).st_mode),
                 0o600)
    server.stop(signal.SIGKILL)
    server = place.serve()
    load = place.run(HAS.format(chip=1, size=1))
    place.settled('serves', load, look=lambda s: serves(s, 'user',
                                                        server.pid))


def check_lock_file_that_was_removed_is_made_again(place):
    server = place.serve()
    path = f'{folder_of(place, os.getuid())}/ttmemd.lock'
    os.unlink(path)

    def again():
        if not os.path.exists(path):
            serve.fail('no lock file')
    serve.wait_for('lock', again)
    refused(place, ('--mode', 'user'), who=f'process {server.pid}')
    load = place.run(HAS.format(chip=1, size=1))
    place.settled('serves', load, look=lambda s: serves(s, 'user',
                                                        server.pid))


def believe_both(place, user, mode):
    """The first is stopped, somebody removes its lock file, and the second comes:
    both believe that they serve. Who ends is retired by one of them."""
    uid = os.getuid() if user is None else user
    options = ('--system',) if mode == 'system' else ()
    first = place.serve(user=user)
    loads = [place.run(HAS.format(chip=1, size=size), user=user)
             for size in (1, 2, 4)]
    place.settled('the first serves', *loads, user=user)
    first.process.send_signal(signal.SIGSTOP)
    os.unlink(f'{folder_of(place, uid)}/ttmemd.lock')
    second = place.serve(mode=mode, user=user if mode == 'user' else None)
    place.settled('the second, too', *loads, options=options,
                  look=lambda s: serves(s, mode, second.pid))
    for load in loads:
        os.kill(load.pid, signal.SIGKILL)
    first.process.send_signal(signal.SIGCONT)

    def once(snapshot):
        serves(snapshot, mode, second.pid)
        serve.expect('retired', sorted(
            (p['pid'] or 0, p['state'], p['objects'])
            for p in snapshot['processes']),
                     sorted((load.pid, 'died', 1) for load in loads))
        serve.shows(snapshot.device(chip_id='0x1'), {
            'dram.orphaned': (7 * MIB, 3), 'dram.alloc_objects': 3})
        told = (first.said() + second.said()).count('objects left')
        serve.expect('told of', told, 3)
    place.settled('once', *loads, options=options, look=once)
    if mode == 'user':
        serve.wait_for('the first does not publish there',
                       lambda: 'cannot publish: another' in first.said() or
                       serve.fail(first.said()))
    serve.expect('the first ends in order', first.stop(), 0)
    second.stop(signal.SIGKILL)
    third = place.serve(user=user)
    place.settled('in the file', *loads, user=user, look=lambda s: serve.expect(
        'server', (s['info']['pid'], len(s['processes'])), (third.pid, 3)))


def check_two_of_a_user_who_believe_to_serve(place):
    believe_both(place, None, 'user')


def check_leftovers_of_a_killed_one_are_removed(place):
    server = place.serve()
    folder = folder_of(place, os.getuid())
    server.stop(signal.SIGKILL)
    with open(f'{folder}/.aggregate.left', 'w', encoding='utf-8'):
        pass
    place.serve()
    serve.expect('files', sorted(n for n in os.listdir(folder)
                                 if 'aggregate' in n), ['aggregate'])


# -- a user's and root's ------------------------------------------------------


def check_each_directory_is_served_once(place):
    users = place.serve(user=USER)
    systems = place.serve(mode='system')
    loads = {uid: place.run(HAS.format(chip=uid, size=size), user=uid)
             for uid, size in ((USER, 1), (OTHER, 2), (0, 4))}
    chips = {uid: hex(uid) for uid in loads}

    def own(snapshot):
        serves(snapshot, 'user', users.pid)
        serve.expect('processes', pids(snapshot), [loads[USER].pid])
        serve.shows(snapshot.device(chip_id=chips[USER]),
                    {'dram': (MIB, 1)})
        row, = snapshot['directories']
        serve.expect('directory', (row['state'], row['own'], row['uid'],
                                   row['path']),
                     ('served', True, USER, folder_of(place, USER)))

    def others(snapshot, uid):
        serves(snapshot, 'system', systems.pid)
        serve.expect('processes', pids(snapshot),
                     sorted(loads[u].pid for u in (OTHER, 0)))
        serve.expect('chips', sorted(d['chip_id']
                                     for d in snapshot['devices']),
                     sorted(chips[u] for u in (OTHER, 0)))
        serve.shows(snapshot.device(chip_id=chips[OTHER]),
                    {'dram': (2 * MIB, 1)})
        serve.expect('owners', {p['pid']: p['uid']
                                for p in snapshot['processes']},
                     {loads[u].pid: u for u in (OTHER, 0)})
        held = snapshot.one('directories', uid=USER)
        serve.expect('of the user', (held['state'], held['holder']),
                     ('held', users.pid))
        for row in snapshot['directories']:
            serve.expect('own', row['own'], row['uid'] == uid)
            if row['uid'] != USER:
                serve.expect('of another', row['state'], 'served')

    place.sees('as the user', own, user=USER)
    place.sees('as another', lambda s: others(s, OTHER), user=OTHER)
    place.sees('as root', lambda s: others(s, 0))
    # Root's, for the user who asks for it.
    others(place.snapshot('--system', user=USER), USER)
    for load in loads.values():
        load.go()
    place.settled('goes on', loads[USER], user=USER)
    place.settled('goes on', loads[OTHER], loads[0], user=OTHER)


def check_users_cannot_see_each_other(place):
    place.serve(user=USER)
    load = place.run(HAS.format(chip=1, size=1), user=USER)
    place.settled('the user', load, user=USER)
    status, _, error = place.dump(user=OTHER)
    serve.expect('another', (status, error.split(':')[0]),
                 (3, 'never_started'))


def check_directory_that_nobody_serves(place):
    """Its lock is held, but not by anybody who publishes."""
    os.mkdir(folder_of(place, USER), 0o700)
    os.chown(folder_of(place, USER), USER, USER)
    path = f'{folder_of(place, USER)}/ttmemd.lock'
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    os.chown(path, USER, USER)
    fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 0)
    systems = place.serve(mode='system')
    load = place.run(HAS.format(chip=1, size=1), user=USER)

    def unserved(snapshot):
        serve.expect('source', snapshot['info']['source'], 'not_serving')
        row = snapshot.one('directories', uid=USER)
        serve.expect('directory', (row['state'], row['own'], row['holder']),
                     ('held', True, os.getpid()))
        serve.expect('processes', pids(snapshot), [])
    place.sees('unserved', unserved, user=USER)
    os.close(fd)
    place.settled('taken over', load, user=USER,
                  look=lambda s: serves(s, 'system', systems.pid))


def check_users_own_comes_second(place):
    """Root's serves the user already."""
    systems = place.serve(mode='system')
    load = place.run(HAS.format(chip=1, size=1), user=USER)
    place.settled('root serves', load, user=USER,
                  look=lambda s: serves(s, 'system', systems.pid))
    said = refused(place, ('--mode', 'user'), USER,
                   where=folder_of(place, USER), says='is served already')
    serve.expect('who', re.search(r'process (\d+)', said)[1],
                 str(systems.pid))
    load.go()
    place.settled('root serves on', load, user=USER,
                  look=lambda s: serves(s, 'system', systems.pid))


def check_second_one_of_root(place):
    first = place.serve(mode='system')
    refused(place, ('--mode', 'system'), where=f'{place.base}/ttmem-system',
            who=f'process {first.pid}')


def check_system_mode_is_for_root(place):
    refused(place, ('--mode', 'system'), USER, why='is for root')


def hand_over(place, end):
    """A user's to root's, and back again, and nothing is missing or twice."""
    server = place.serve(user=USER)
    systems = place.serve(mode='system')
    died = place.run(HAS.format(chip=1, size=1), user=USER)
    stays = place.run(HAS.format(chip=1, size=2), user=USER)
    os.kill(died.pid, signal.SIGKILL)

    def all_there(snapshot):
        serve.expect('processes', sorted(
            (p['pid'], p['state'], p['objects'])
            for p in snapshot['processes']), sorted(
                [(died.pid, 'died', 1),
                 (stays.pid, 'reporting', len(stays_has))]))
        serve.expect('objects', sorted(
            (o['id'], o['bytes'], o['leak_class'])
            for o in snapshot['objects']), sorted(
                [('0x1', MIB, 'orphaned')] + stays_has))
        serve.shows(snapshot.device(chip_id='0x1'), {
            'dram.orphaned': (MIB, 1),
            'dram': (2 * MIB * len(stays_has), len(stays_has)),
            'dram.alloc_objects': 1 + len(stays_has)})

    def by(mode, pid):
        def look(snapshot):
            serves(snapshot, mode, pid)
            all_there(snapshot)
        return look
    stays_has = [('0x1', 2 * MIB, 'live')]
    look = {'options': ('--objects',), 'user': USER}
    place.settled('by the user', died, stays, **look,
                  look=by('user', server.pid))
    serve.expect('root has none of it', pids(place.snapshot('--system')), [])

    end(server)
    place.settled('by root', died, stays, **look,
                  look=by('system', systems.pid))
    stays.go()
    stays_has = [('0x1', 2 * MIB, 'live'), ('0x2', 2 * MIB, 'live')]
    place.settled('root goes on', died, stays, **look,
                  look=by('system', systems.pid))

    end(systems)
    snapshot = place.snapshot(user=USER)
    serve.expect('nobody', snapshot['info']['source'], 'dead')
    server = place.serve(user=USER)
    place.settled('by the user again', died, stays, **look,
                  look=by('user', server.pid))
    serve.expect('owner of what is in it', {
        os.stat(f'{folder_of(place, USER)}/{name}').st_uid
        for name in os.listdir(folder_of(place, USER))}, {USER})

    # And root's comes back: it leaves the directory alone.
    systems = place.serve(mode='system')
    held = place.snapshot('--system').one('directories', uid=USER)
    serve.expect('held', held['state'], 'held')
    place.settled('still by the user', died, stays, **look,
                  look=by('user', server.pid))


def check_hand_over_after_sigterm(place):
    hand_over(place, lambda s: serve.expect('status', s.stop(), 0))


def check_hand_over_after_kill(place):
    hand_over(place, lambda s: serve.expect(
        'status', s.stop(signal.SIGKILL), -signal.SIGKILL))


def check_users_and_roots_who_believe_to_serve(place):
    believe_both(place, USER, 'system')


def check_died_in_between(place):
    """Killed after the one has ended and before the other takes over."""
    server = place.serve(user=USER)
    load = place.run(HAS.format(chip=1, size=1), user=USER)
    place.settled('before', load, user=USER)
    server.stop()
    os.kill(load.pid, signal.SIGKILL)
    systems = place.serve(mode='system')

    def look(snapshot):
        serves(snapshot, 'system', systems.pid)
        process = snapshot.process(load.pid)
        serve.expect('state', (process['state'], process['objects'],
                               process['uid']), ('died', 1, USER))
    place.settled('after', load, user=USER, look=look)


def check_user_who_comes_later(place):
    """Root's ttmemd finds directories that are made while it runs."""
    systems = place.serve(mode='system')
    loads = []
    for uid in (USER, OTHER):
        loads.append(place.run(HAS.format(chip=1, size=1), user=uid))
        place.settled(f'user {uid}', *loads, user=uid,
                      look=lambda s: serves(s, 'system', systems.pid))
    # One chip, two users.
    serve.expect('together', place.snapshot().device(chip_id='0x1')
                 ['dram_use'], 2 * MIB)


def check_system_aggregate_for_root_alone(place):
    place.serve('--file-mode', '0600', mode='system')
    load = place.run(HAS.format(chip=1, size=1), user=USER)
    place.settled('root sees it', load)
    status, _, error = place.dump(user=USER)
    serve.expect('the user is told', (status, error.split(':')[0]),
                 (3, 'no_permission'))


NEED_ROOT = [
    check_each_directory_is_served_once, check_users_cannot_see_each_other,
    check_directory_that_nobody_serves, check_users_own_comes_second,
    check_second_one_of_root,
    check_system_mode_is_for_root, check_hand_over_after_sigterm,
    check_hand_over_after_kill, check_died_in_between,
    check_users_and_roots_who_believe_to_serve,
    check_user_who_comes_later, check_system_aggregate_for_root_alone]
CHECKS = [f for n, f in list(globals().items()) if n.startswith('check_')]


def main():
    if not IS_ROOT:
        alone = [c for c in CHECKS if c not in NEED_ROOT]
        status = serve.run_all(__doc__, alone)
        print(f'skipped {len(NEED_ROOT)}: they need root, for a second user')
        return status or 77
    folder = tempfile.mkdtemp(prefix='ttmem-test.')
    os.chmod(folder, 0o755)
    try:
        return serve.run_all(
            __doc__, CHECKS, mode=0o1777, prepare=lambda programs:
            programs if programs.run_by(USER) else programs.copied(folder))
    finally:
        shutil.rmtree(folder)


if __name__ == '__main__':
    sys.exit(main())
