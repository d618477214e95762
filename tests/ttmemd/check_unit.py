#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_unit.py TTMEMD TTMEM-LOAD SNAPDUMP CALLS UNIT [CHECK...]

The systemd unit of ttmemd scores as it should, and with nothing but the capabilities
and system calls that it allows, ttmemd serves other users' processes. All but the
score needs root. Each of these checks fails without the capability that it is about.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

import unit

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                '../serve'))
import serve  # noqa: E402

USER = 61234
EXPOSURE_MAX = 1.6
PATIENCE_S = 60
NEITHER = {'ProtectProc': 'invisible', 'ProcSubset': 'pid'}
HAS = 'open 0\nalloc 0 dram 1 0x1000 1M\nsync\n'
UNIT = None


def exposure(path):
    said = subprocess.run(
        ['systemd-analyze', '--no-pager', 'security', '--offline=true', path],
        text=True, check=True, capture_output=True,
        env=dict(os.environ, LC_ALL='C.UTF-8')).stdout
    return float(re.search(r'Overall exposure level.*?: ([0-9.]+)', said)[1])


def check_score(place):
    bare = f'{place.files}/bare.service'
    with open(bare, 'w', encoding='utf-8') as file:
        file.write('[Service]\nExecStart=/bin/true\n')
    if exposure(bare) < 9:
        serve.fail('a unit without any protection scores well')
    score = exposure(UNIT)
    print(f'   exposure: {score}')
    if score > EXPOSURE_MAX:
        serve.fail(f'exposure {score}')


def check_processes_and_the_driver_are_seen(_):
    found = unit.settings(UNIT)
    for name, value in NEITHER.items():
        if value in found.get(name, []):
            serve.fail(f'{name}={value} hides what ttmemd looks at')


# -- as root, of other users --------------------------------------------------


def stands(pid, state, objects=1):
    def look(snapshot):
        process = snapshot.process(pid)
        serve.expect(f'process {pid}', (process['state'], process['objects']),
                     (state, objects))
    return look


def sees(place, what, look):
    return place.sees(what, look, user=USER, seconds=PATIENCE_S)


def of_user(place, name):
    """The owner and the mode of a file in the user's directory; None: not there."""
    try:
        st = os.stat(f'{place.base}/ttmem-{USER}/{name}')
    except FileNotFoundError:
        return None
    return (st.st_uid, st.st_mode & 0o777)


def check_retires_what_others_left(place):
    """DAC_OVERRIDE, and CHOWN: the files that it makes there are the user's."""
    place.serve(mode='system')
    load = place.run(HAS, user=USER)
    sees(place, 'there', stands(load.pid, 'reporting'))
    name, = (n for n in os.listdir(f'{place.base}/ttmem-{USER}')
             if n.startswith('p.'))
    os.kill(load.pid, signal.SIGKILL)
    sees(place, 'dead', stands(load.pid, 'died'))
    serve.wait_for('removed', lambda: serve.expect(
        'segment', of_user(place, name), None), PATIENCE_S)
    for name in ('ttmemd.lock', 'retired'):
        serve.expect(name, of_user(place, name), (USER, 0o600))


def check_closes_a_lock_that_is_open_to_all(place):
    """FOWNER: else who may open the lock might keep ttmemd out."""
    load = place.run(HAS, user=USER)
    lock = f'{place.base}/ttmem-{USER}/ttmemd.lock'
    with open(lock, 'wb'):
        os.chown(lock, USER, USER)
        os.chmod(lock, 0o666)
    place.serve(mode='system')
    sees(place, 'there', stands(load.pid, 'reporting'))
    serve.expect('lock', of_user(place, 'ttmemd.lock'), (USER, 0o600))


def check_sees_who_maps_a_segment(place):
    """SYS_PTRACE: it closed all its files, the lock among them, and lives."""
    calls = place.calls(user=USER)
    calls('alloc 1 1000')
    calls('close')
    place.serve(mode='system')
    sees(place, 'lives', stands(calls.pid, 'reporting'))


def check_sees_an_end_in_another_namespace(place):
    """LEASE: without its lock, and not alone in its pid namespace."""
    calls = place.calls(prefix=(
        'unshare', '--pid', '--fork', 'setpriv', '--pdeathsig', 'KILL', '--reuid',
        str(USER), '--regid', str(USER), '--clear-groups', 'sh', '-c',
        '"$@"; while :; do read line || sleep 1; done', '-'))
    calls('alloc 1 1000')
    pid = calls.ask_pid()
    calls('close')
    place.serve(mode='system')
    sees(place, 'unknown', lambda s: serve.nameless(s, 'unknown', 1))
    calls.process.stdin.close()
    sees(place, 'dead', stands(pid, 'exited'))


# -- running ------------------------------------------------------------------


def confined(programs, folder):
    """The same, with a ttmemd that may do what the unit lets it do."""
    copies = programs.copied(folder)
    shutil.copy(unit.__file__, folder)
    wrapper = f'{folder}/ttmemd'
    with open(wrapper, 'w', encoding='utf-8') as file:
        file.write('#!/bin/sh\nexec '
                   f'{sys.executable} {folder}/unit.py '
                   f'{",".join(unit.capabilities(UNIT))} '
                   f'{",".join(sorted(unit.system_calls(UNIT)))} '
                   f'{copies.ttmemd} "$@"\n')
    os.chmod(wrapper, 0o755)
    return serve.Programs(wrapper, copies.load, copies.snapdump, copies.calls)


def main():
    global UNIT
    if len(sys.argv) < 6:
        print(__doc__, end='')
        return 2
    if not shutil.which('systemd-analyze'):
        return 77
    UNIT = os.path.abspath(sys.argv.pop(5))
    checks = [check_score, check_processes_and_the_driver_are_seen]
    if os.getuid() != 0:
        return serve.run_all(__doc__, checks)
    checks += [check_retires_what_others_left,
               check_closes_a_lock_that_is_open_to_all,
               check_sees_who_maps_a_segment,
               check_sees_an_end_in_another_namespace]
    folder = tempfile.mkdtemp(prefix='ttmem-test.')
    os.chmod(folder, 0o755)
    try:
        return serve.run_all(__doc__, checks, mode=0o1777,
                             prepare=lambda p: confined(p, folder))
    finally:
        shutil.rmtree(folder)


if __name__ == '__main__':
    sys.exit(main())
