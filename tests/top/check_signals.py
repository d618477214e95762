#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_signals.py TTMEMD TTMEM-LOAD SNAPDUMP CALLS TTMEM-DUMP TTMEM-TOP
           [CHECK...]

Whom root's ttmem-top sends signals to where other users have processes: the process
that the question names, and nobody else. Needs root, and is skipped without.
"""

import os
import sys

import tops
from terminal import serve
import check_owners as owners
import check_strangers as strangers
from check_strangers import STRANGER


def live(place):
    return tops.top(place, '-d', '0.2')


def select(top, pid):
    """Shows that process alone."""
    top.keys('3')
    top.shows(str(pid))
    top.keys('/')
    top.type(str(pid))
    top.keys('Enter')
    top.until('it is alone', lambda s: s.rows[4].strip() == '')


def ends(top):
    top.keys('q')
    serve.expect('status', top.status(), 0)


def still_runs(pid):
    """One that a signal ended is a zombie: it is ours."""
    with open(f'/proc/{pid}/stat', encoding='utf-8') as file:
        serve.expect('state', file.read().rpartition(')')[2].split()[0], 'S')


def check_a_forged_pid_is_not_signalled(place):
    """The stranger's segment says that it is a process of root's."""
    scene = owners.Scene(place)
    path, data = scene.forged()
    with strangers.meanwhile(STRANGER, lambda: scene.put(
            path, data, owners.lock_posix)) as pid:
        scene.shows('the stranger', owners.one_of(pid))
        with live(place) as top:
            tops.first(top)
            select(top, pid)
            top.hides(str(scene.victim))
            top.keys('k', 'Enter')
            top.shows('Are you sure?', f'pid {pid}, user {STRANGER}',
                      f'command {command_of(pid)}'[:40])
            top.keys('y')
            top.shows('Sent SIGTERM', row=-1)
            tops.gone(pid)
            ends(top)
    still_runs(scene.victim)


def check_a_forged_pid_of_the_dead_is_not_signalled(place):
    """Nobody has the stranger's segment, which says that it is a process of root's."""
    scene = owners.Scene(place)
    path, data = scene.forged()
    strangers.as_user(STRANGER, lambda: scene.put(path, data))
    place.sees('it is dead', lambda s: serve.expect(
        'states', [p['state'] for p in s.all(
            'processes', pid=scene.victim)], ['died']))
    with live(place) as top:
        tops.first(top)
        select(top, scene.victim)
        top.keys('k')
        top.shows('That process is gone', row=-1)
        top.keys('Enter', 'y', 'Escape')
        ends(top)
    still_runs(scene.victim)


def command_of(pid):
    with open(f'/proc/{pid}/cmdline', encoding='utf-8') as file:
        return file.read().replace('\0', ' ').strip()


def check_a_forged_marker_is_not_signalled(place):
    """A file name that says a process of root's could not be tracked."""
    scene = owners.Scene(place)
    start = owners.start_of(scene.victim)
    name = f'{scene.folder}/u.{scene.victim}.{start}.28.'
    strangers.as_user(STRANGER, lambda: strangers.write(name))
    with live(place) as top:
        tops.first(top)
        select(top, scene.victim)
        top.keys('k')
        top.shows('No signal to a process that could not be tracked', row=-1)
        top.keys('Enter', 'y', 'Escape')
        ends(top)
    still_runs(scene.victim)


def check_what_changes_after_the_question(place):
    """Another program by now, as far as anybody can tell: it is asked again."""
    place.serve(mode='system')
    calls = place.calls(user=STRANGER)
    calls('alloc 1 1000')
    with live(place) as top:
        tops.first(top)
        top.keys('3')
        top.shows(str(calls.pid))
        top.keys('k', 'Enter')
        top.shows('Are you sure?', f'pid {calls.pid}, user {STRANGER}')
        calls('name ' + b'another'.hex())
        top.keys('y')
        top.shows('Not sent to', 'has changed', row=-1)
        calls('alloc 2 1000')
        top.keys('k', 'Enter')
        top.shows('Are you sure?', 'SIGTERM to another?')
        top.keys('y')
        top.shows('Sent SIGTERM to another', row=-1)
        tops.gone(calls.pid)
        ends(top)


def check_a_program_that_drops_privileges(place):
    """The question names the user that it is now."""
    place.serve(mode='system')
    calls = place.calls()
    calls('alloc 1 1000')
    calls(f'user {STRANGER} {STRANGER}')
    with live(place) as top:
        tops.first(top)
        top.keys('3')
        top.shows(str(calls.pid))
        top.keys('k', 'Enter')
        top.shows('Are you sure?', f'pid {calls.pid}, user {STRANGER}')
        top.keys('y')
        top.shows('Sent SIGTERM', row=-1)
        tops.gone(calls.pid)
        ends(top)


def check_another_pid_namespace(place):
    """Its pid means another process here: init."""
    place.serve(mode='system')
    calls = place.calls(prefix=owners.namespaces.PID_NAMESPACE)
    calls('alloc 1 1000')
    serve.expect('its pid', calls.ask_pid(), 1)
    place.sees('it is there', lambda s: owners.namespaces.has(
        s, 1, 'reporting', 1))
    with live(place) as top:
        tops.first(top)
        top.keys('3')
        top.shows('calls')
        top.keys('k')
        top.shows('it is in another pid namespace', row=-1)
        ends(top)
    calls('alloc 2 1000')


if __name__ == '__main__':
    if os.getuid() != 0 or not owners.namespaces.can(
            *owners.namespaces.PID_NAMESPACE):
        print('skipped: it needs root and namespaces')
        sys.exit(77)
    sys.exit(tops.run_all(__doc__, [
        check_a_forged_pid_is_not_signalled,
        check_a_forged_pid_of_the_dead_is_not_signalled,
        check_a_forged_marker_is_not_signalled,
        check_what_changes_after_the_question,
        check_a_program_that_drops_privileges, check_another_pid_namespace,
    ], STRANGER))
