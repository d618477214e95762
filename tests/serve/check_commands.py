#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_commands.py TTMEMD TTMEM-LOAD SNAPDUMP CALLS [CHECK...]

Who sees which command line where root's ttmemd serves. Its aggregate is for
everybody, and has the names alone; readers get the rest from where the kernel lets
them. Needs root, for the users, and is skipped without.
"""

import os
import signal
import subprocess
import sys

import serve
from check_strangers import STRANGER, VICTIM
from check_telemetry import Tree

HAS = 'alloc 0 dram 1 0x1000 1M\nsync\nsync\n'
HIDDEN_PROC = ('unshare', '--mount', 'sh', '-c',
               'mount -t proc -o hidepid=2 proc /proc && exec "$@"', 'sh')
PID_NAMESPACE = ('unshare', '--pid', '--fork', '--kill-child', '--mount-proc')


class Secret:
    """A process of the victim with something in its command line: the script."""

    def __init__(self, place, prefix=()):
        self.place = place
        self.load = place.run(HAS, user=None if prefix else VICTIM, prefix=(
            *prefix, *as_user(VICTIM)) if prefix else ())
        self.pid = self.load.pid

    def command(self, snapshot):
        """Whether the snapshot has it."""
        row = snapshot.one('processes', uid=VICTIM)
        serve.expect('the name', row['comm'], 'ttmem-load')
        return '--script' in row['cmdline']

    def seen_by(self, user, wanted, **how):
        def look():
            snapshot = snapshot_of(self.place, user, **how)
            serve.expect(f'the command line seen by {user} with {how}',
                         self.command(snapshot), wanted)
        serve.wait_for('a reader', look)

    def appears(self, state='reporting'):
        self.place.sees(state, lambda s: serve.expect(
            'states', [p['state'] for p in s.all('processes', uid=VICTIM)],
            [state]))
        published = self.place.snapshot()['info']['path']
        with open(published, 'rb') as file:
            serve.expect('it is in the aggregate', b'--script' in file.read(),
                         False)


def as_user(user):
    return ('setpriv', f'--reuid={user}', f'--regid={user}', '--clear-groups')


def snapshot_of(place, user, prefix=()):
    """By a reader in another view of /proc, say."""
    done = subprocess.run(
        [*prefix, *as_user(user), place.programs.snapdump, place.base],
        text=True, capture_output=True, env=place.environment(), cwd='/',
        timeout=serve.PATIENCE_S, check=False)
    if done.returncode:
        serve.fail(f'{prefix}: {done.stderr}')
    return serve.Snapshot(serve.json.loads(done.stdout))


def works(*command):
    return subprocess.run([*command, 'true'], capture_output=True,
                          check=False).returncode == 0


def check_living(place):
    """As /proc says."""
    place.serve(mode='system')
    secret = Secret(place)
    secret.appears()
    for user in (0, VICTIM, STRANGER):
        secret.seen_by(user, True)
    if not works(*HIDDEN_PROC):
        print('   skipped: /proc cannot be mounted')
        return
    secret.seen_by(VICTIM, True, prefix=HIDDEN_PROC)
    secret.seen_by(0, True, prefix=HIDDEN_PROC)
    secret.seen_by(STRANGER, False, prefix=HIDDEN_PROC)


def check_in_a_container(place):
    """There /proc has another number; its owner and root may read its segment."""
    if not works(*PID_NAMESPACE):
        print('   skipped: no pid namespaces')
        return
    place.serve(mode='system')
    secret = Secret(place, prefix=PID_NAMESPACE)
    secret.appears()
    secret.seen_by(0, True)
    secret.seen_by(VICTIM, True)
    secret.seen_by(STRANGER, False)


def check_dead(place):
    """For its owner and root alone, also after ttmemd was started anew."""
    server = place.serve(mode='system')
    secret = Secret(place)
    secret.appears()
    os.kill(secret.pid, signal.SIGKILL)
    for _ in range(2):
        secret.appears('died')
        secret.seen_by(0, True)
        secret.seen_by(VICTIM, True)
        secret.seen_by(STRANGER, False)
        serve.expect('status', server.stop(), 0)
        server = place.serve(mode='system')


def check_one_reader_all_the_time(place):
    """Who could see it in /proc sees it no more when it has died."""
    place.serve(mode='system')
    secret = Secret(place)
    secret.appears()
    readers = {user: place.popen(
        [place.programs.snapdump, place.base, '--watch', '1000000'], user=user,
        text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        for user in (VICTIM, STRANGER)}

    def next_of(user):
        return serve.Snapshot(serve.json.loads(readers[user].stdout.readline()))

    def until(user, state, command):
        while True:
            snapshot = next_of(user)
            row = snapshot.one('processes', uid=VICTIM)
            if (row['state'], secret.command(snapshot)) == (state, command):
                return
    for user in readers:
        until(user, 'reporting', True)
    os.kill(secret.pid, signal.SIGKILL)
    until(VICTIM, 'died', True)
    until(STRANGER, 'died', False)
    for _ in range(100):
        serve.expect('seen by a stranger', secret.command(next_of(STRANGER)),
                     False)


def check_own_ttmemd(place):
    """A user's own publishes all of it, to the user."""
    place.serve(user=VICTIM)
    secret = Secret(place)
    place.sees('it', lambda s: serve.expect(
        'states', [p['state'] for p in s['processes']], ['reporting']),
        user=VICTIM)
    secret.seen_by(VICTIM, True)
    path = snapshot_of(place, VICTIM)['info']['path']
    with open(path, 'rb') as file:
        serve.expect('it is in the aggregate', b'--script' in file.read(),
                     True)


def check_holders(place):
    """Of processes that hold a device, too."""
    tree = Tree(place)
    tree.make('p150')
    place.serve(*tree.options, mode='system')
    sleep = place.popen(['/bin/sleep', '1234567'], user=VICTIM)
    tree.put(0, 'pids', f'{sleep.pid}\n')

    def look(snapshot):
        holder = snapshot.one('holders', pid=sleep.pid)
        serve.expect('name and command', (holder['comm'], holder['cmdline']),
                     ('sleep', ['/bin/sleep', '1234567']))
    snapshot = place.sees('the holder', look)
    with open(snapshot['info']['path'], 'rb') as file:
        serve.expect('it is in the aggregate', b'1234567' in file.read(),
                     False)
    if works(*HIDDEN_PROC):
        holder = snapshot_of(place, STRANGER, prefix=HIDDEN_PROC).one(
            'holders', pid=sleep.pid)
        serve.expect('hidden', (holder['comm'], holder['cmdline']),
                     ('sleep', []))


CHECKS = [f for n, f in list(globals().items()) if n.startswith('check_')]


def main():
    if os.getuid() != 0:
        print('skipped: it needs root, for other users')
        return 77
    return serve.run_for_users(__doc__, CHECKS, VICTIM)


if __name__ == '__main__':
    sys.exit(main())
