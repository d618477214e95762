#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_live.py TTMEMD TTMEM-LOAD SNAPDUMP CALLS TTMEM-DUMP TTMEM-TOP
           [CHECK...]

ttmem-top on a real ttmemd and real processes: what it shows of them, when ttmemd is
killed and comes again, processes with names that mean no good, and killing some.
"""

import os
import re
import shlex
import signal
import sys

import tops
from terminal import Terminal, serve, wait_for
from room import Ballast, Crowd, small_filesystem, works

SCRIPT = '''open 0 chip=1 arch=blackhole dram=1G l1=1M cores=100
push "op ttnn.matmul"
alloc 0 dram 1 0x1000 256M
alloc 0 l1 2 0x80000 40M
sync
alloc 0 dram 3 0x1000 512M
sync
'''


def live(place, *options, **how):
    return tops.top(place, '-d', '0.2', *options, **how)


def check_it_follows(place):
    place.serve()
    load = place.run(SCRIPT)
    with live(place) as top:
        tops.first(top)
        top.shows('256M')
        load.go()
        top.shows('768M')
        load.end()
        top.hides('768M')
        top.keys('q')
        serve.expect('status', top.status(), 0)


def check_names_of_devices(place):
    """Two chips that two processes call 0: no text is cut to that of another."""
    place.serve()
    loads = [place.run(f'open 0 chip={chip}\nalloc 0 dram 1 0 1M\nsync\n')
             for chip in ('0x7700000400123451', '0x7700000400223451',
                          '0x7700000400000042')]
    wanted = ['..123451', '..2', '..223451']
    place.sees('them', lambda s: serve.expect('devices', len(s['devices']), 3))
    text = tops.run(place, '--once').stdout
    serve.expect('devices', sorted(re.findall(r'^ *(\.\.\w+) ', text, re.M)),
                 wanted)
    text = tops.run(place, '--once', '--view', 'processes').stdout
    serve.expect('of processes', [re.search(
        rf'^ *{load.pid} .* (\.\.\w+) ', text, re.M)[1] for load in loads],
        ['..123451', '..223451', '..2'])
    for name in wanted:
        tops.has(tops.run(place, '--once', '--device', name).stdout,
                 f'\nDevice {name}')
    with live(place, size=(132, 43)) as top:
        tops.first(top)
        top.shows(*wanted)
        top.keys('q')
        serve.expect('status', top.status(), 0)


def check_killed_and_restarted(place):
    """A banner while ttmemd is gone; all is well when it is back."""
    server = place.serve()
    load = place.run(SCRIPT)
    with live(place) as top:
        tops.first(top)
        top.shows('256M')
        for _ in range(2):
            server.stop(signal.SIGKILL)
            screen = top.shows('ttmemd is gone')
            if screen.find('256M') is None:
                serve.fail(f'the last figures are gone:\n{screen.framed()}')
            server = place.serve()
            top.hides('ttmemd is gone')
            top.shows('256M')
        load.go()
        top.shows('768M')
        load.end()
        tops.not_cleared_again(top.quit())


def check_stopped(place):
    server = place.serve()
    with live(place) as top:
        tops.first(top)
        os.kill(server.pid, signal.SIGSTOP)
        top.shows('does not move')
        os.kill(server.pid, signal.SIGCONT)
        top.hides('does not move')


def check_started_before_ttmemd(place):
    with live(place) as top:
        top.shows('never started')
        place.serve()
        load = place.run(SCRIPT)
        top.hides('never started')
        top.shows('256M')


def check_untracked_holder(place):
    """Who has a device open and does not report is shown, with dashes."""
    root = f'{place.files}/driver'
    os.mkdir(root)
    holder = place.popen([place.programs.load, '--fake-sysfs', root,
                          '--board', 'n150', '--seconds', '600', '--quiet'])
    pids = f'{root}/proc/driver/tenstorrent/0/pids'
    wait_for('the files', lambda: os.path.exists(pids) or serve.fail(pids))
    place.serve('--sysfs-root', f'{root}/sys', '--proc-root', f'{root}/proc')
    with live(place, size=(132, 43)) as top:
        tops.first(top)
        top.shows('1 untracked', row=1)
        tops.press(top, 'processes')
        row = top.shows('untracked', str(holder.pid)).row_of(str(holder.pid))
        tops.has(row, 'untracked', ' - ')
        top.keys('1')
        # Of the driver: its board, and what it measures.
        top.shows('n150', 'MHz')
        # It has no fan, and that is no failure.
        health = tops.press(top, 'health')
        tops.has(health.text, 'temperature ')
        tops.has_not(health.text, 'reading')


def check_quiet_frames(place):
    """Nothing happens: a frame is next to nothing."""
    place.serve()
    load = place.run(SCRIPT)
    with live(place) as top:
        tops.first(top)
        top.shows('256M')
        # The clock moves on: frames are drawn.
        seen = set()

        def clock():
            seen.add(top.screen().rows[0])
            if len(seen) < 4:
                serve.fail('the clock stands still')
        wait_for('a second', clock)
        before, seen = top.written_all(), set()
        wait_for('some seconds', clock)
        wrote = top.written_all() - before
        if wrote > 600:
            serve.fail(f'{wrote} bytes in three seconds without news: '
                       f'{top.bytes_from(before)[:400]!r}')


def check_hostile_names(place):
    """Escape sequences in names of programs and scopes stay texts."""
    place.serve()
    folder = f'{place.files}/evil'
    os.mkdir(folder)
    names = ('\x1b[2J\x1b[Hx', 'new\nline', '\x1b]0;t\x07', '\x9bH\xc2\x9b2J')
    loads = []
    for name in names:
        os.symlink(place.programs.load, f'{folder}/{name}')
        text = ''.join(f'\\x{b:02x}' for b in name.encode())
        path = place.file('script', 'open 0 chip=1 dram=1G\n'
                          f'push "{text}"\nalloc 0 dram 1 0 1M\nsync\n')
        load = place.popen([f'{folder}/{name}', '--dir', place.base,
                            '--quiet', '--script', path], stdin=-1,
                           stdout=-1, text=True)
        load.stdout.readline()
        loads.append(load)
    place.sees('all of them', lambda s: serve.expect(
        'processes', len(s['processes']), len(names)))
    with live(place, size=(132, 43)) as top:
        tops.first(top)
        top.keys('3')
        tops.in_view(top, 'processes')
        top.keys('*')
        screen = top.shows('line', '2J')
        tops.is_whole(screen)
        serve.expect('title', top.ask('pane_title') == 't', False)
        written = top.quit()
        after = written[tops.first_frame(written):]
        for data in (b'\x1b[2J', b'\x1b]0;', b'\xc2\x9b', b'\x9bH'):
            if data in after:
                serve.fail(f'{data!r} went to the terminal')
    for load in loads:
        load.stdin.close()


def check_no_room(place):
    """What ttmemd has no room to show is told of, as long as that is so."""
    if os.getuid() or not works('unshare', '--mount', 'true'):
        print('skipped: check_no_room: mounting needs root')
        return
    with small_filesystem(place, '96m'), live(place, size=(132, 43)) as top:
        server = place.serve()
        tops.first(top)
        os.kill(server.pid, signal.SIGSTOP)
        crowd = Crowd(place, '--objects', '60000')
        ballast = Ballast(place)
        os.kill(server.pid, signal.SIGCONT)
        screen = top.shows('has no room to show', 'make room', row=1)
        unlisted = re.search(r'and (\d+) objects', screen.rows[1])[1]
        if not 50000 < int(unlisted) <= 60000:
            serve.fail(f'{unlisted} objects are left out')
        tops.run(place, '--once', status=4)
        tops.press(top, 'health')
        top.shows('! trouble', f'{unlisted} objects that it has no room')
        ballast.drop()
        top.hides('no room to show')
        tops.run(place, '--once')
        crowd.end()


def check_kill_asks(place):
    place.serve()
    load = place.run(SCRIPT)
    with live(place) as top:
        tops.first(top)
        top.keys('3')
        top.shows(str(load.pid))
        for keys in (('k', 'Escape'), ('k', 'Enter', 'n'),
                     ('F9', 'Enter', 'Escape'), ('k', 'q')):
            for key in keys:
                top.keys(key)
            top.hides('Signal to', 'Are you sure?')
            os.kill(load.pid, 0)
        top.keys('k')
        top.shows('Signal to', f'pid {load.pid}')
        top.keys('Enter')
        top.shows('Are you sure?', 'SIGTERM', f'pid {load.pid}')
        os.kill(load.pid, 0)
        top.keys('y')
        top.shows('Sent SIGTERM', row=-1)
        tops.gone(load.pid)
        top.keys('q')
        serve.expect('status', top.status(), 0)


def check_readonly_kills_nobody(place):
    place.serve()
    load = place.run(SCRIPT)
    with live(place, '--readonly') as top:
        tops.first(top)
        top.keys('3')
        top.shows(str(load.pid))
        for key in ('k', 'F9'):
            top.keys(key)
            top.shows('--readonly', row=-1)
            top.keys('Enter', 'y', 'Escape')
        top.keys('q')
        serve.expect('status', top.status(), 0)
    os.kill(load.pid, 0)
    load.go()
    load.end()


def check_record_and_replay(place):
    place.serve()
    load = place.run(SCRIPT)
    path = f'{place.files}/recorded.json'
    with live(place, '--record', path) as top:
        tops.first(top)
        top.shows('256M')
        top.keys('q')
        serve.expect('status', top.status(), 0)
    text = tops.run(place, '--replay', path, '--once').stdout
    tops.has(text, '256M')
    load.go()
    load.end()


def check_record_on_a_full_disk(place):
    """The view goes on; in the end it says what went wrong, and with which file."""
    said = 'ttmem-top: /dev/full: No space left on device\n'
    place.serve()
    load = place.run(SCRIPT)
    with live(place, '--record', '/dev/full') as top:
        tops.first(top)
        top.shows('recording ends: No space left')
        top.shows('256M')
        load.go()
        top.shows('768M')
        top.keys('q')
        serve.expect('status', top.status(), 1)
        top.shows(said.strip())
    done = tops.run(place, '--once', '--record', '/dev/full', status=1)
    serve.expect('stderr', done.stderr, said)
    load.end()


def check_remote_view(place):
    """What ttmem-dump writes, read from standard input as it comes."""
    place.serve()
    load = place.run(SCRIPT)
    line = f'{shlex.quote(tops.DUMP)} --format json --watch 0.2 | ' \
        f'{shlex.quote(tops.PROGRAM)} --replay -'
    with Terminal(['sh', '-c', line], env=tops.environment(place)) as top:
        tops.first(top)
        top.shows('256M')
        top.keys('3')
        tops.in_view(top, 'processes')
        load.go()
        top.shows('768M')
        top.keys('q')
        serve.expect('status', top.status(), 0)
    load.end()


def check_the_stream_ends(place):
    """The last figures stay, and it says that they are old."""
    path = tops.sample(place, 'small')
    line = f'cat {shlex.quote(path)} | {shlex.quote(tops.PROGRAM)} --replay -'
    with Terminal(['sh', '-c', line], env=tops.environment(place)) as top:
        screen = top.shows('the stream has ended', row=1)
        tops.has(screen.text, '20.0G/32.0G')
        top.keys('q')
        serve.expect('status', top.status(), 0)


if __name__ == '__main__':
    sys.exit(tops.run_all(__doc__, [
        check_it_follows, check_names_of_devices, check_killed_and_restarted,
        check_stopped,
        check_started_before_ttmemd, check_untracked_holder,
        check_quiet_frames, check_hostile_names,
        check_no_room, check_kill_asks, check_readonly_kills_nobody,
        check_record_and_replay, check_record_on_a_full_disk,
        check_remote_view, check_the_stream_ends,
    ]))
