#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_run.py TTMEMD TTMEM-LOAD SNAPDUMP CALLS TTMEM-DUMP [CHECK...]

run, the leak gate around one command: with a ttmemd of its own and with the common one.
"""

import os
import signal
import subprocess
import sys

import dumps
from dumps import has, has_not, run
from runs import first_said, gate, load_of, nothing_left, of_place
import serve

MIB = dumps.MIB


def check_leaks_are_named(place):
    for _ in ('private', 'common'):
        text = gate(place, '--', *load_of(place, '--leak', '3'), status=23)
        for number in range(3):
            has(text, '1.00 MiB in 1 object of 1.00 MiB: orphaned dram, scope '
                f'"leak {number}", device 0, process ttmem-load[')
        serve.expect('lines', len(text.splitlines()), 4)
        has(text, f'SUMMARY: ttmem: {3 * MIB} bytes leaked in 3 objects '
            '(1 process, 1 device)')
        text = gate(place, '--', *load_of(place))
        serve.expect('clean', text,
                     'SUMMARY: ttmem: no leaks (1 process, 1 device)\n')
        if _ == 'private':
            serve.expect('files', os.listdir(place.base), [])
            place.serve()


def check_status_of_the_command(place):
    leak = ' '.join(load_of(place, '--leak', '1'))
    for command, status in (('exit 7', 7), ('kill -9 $$', 137),
                            ('kill -TERM $$', 143)):
        has(gate(place, '--', 'sh', '-c', f'{leak}; {command}',
                 status=status), 'bytes leaked in 1 object')
    done = run(place, 'run', '--', 'no-such-command', status=127)
    has(done.stderr, 'no-such-command: No such file')
    done = run(place, 'run', '--', '/etc/passwd', status=126)
    has(done.stderr, 'Permission denied')
    run(place, 'run', status=2)
    nothing_left(place)


def check_orphans_of_a_killed_command(place):
    """The command itself has the objects, and is killed."""
    process = place.popen([dumps.PROGRAM, 'run', '--', place.programs.calls],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True)
    for line in ('alloc 1 1000', 'alloc 2 500'):
        process.stdin.write(f'{line}\n')
        process.stdin.flush()
        serve.expect('calls', process.stdout.readline(), 'done\n')
    pids = [pid for pid, line in of_place(place)
            if place.programs.calls.encode() in line and
            b'ttmem-dump' not in line]
    serve.expect('pids', len(pids), 1)
    os.kill(pids[0], signal.SIGKILL)
    text = process.stdout.read()
    serve.expect('status', process.wait(20), 137)
    has(text, '1000 B in 1 object of 1000 B: orphaned dram',
        '1500 bytes leaked in 2 objects (1 process, 1 device)')
    nothing_left(place)


def check_never_reported(place):
    has(gate(place, '--', 'true', status=3), 'COMMAND never reported')
    gate(place, '--', 'false', status=1)
    place.serve()
    has(gate(place, '--', 'true', status=3), 'COMMAND never reported')
    has_not(gate(place, '--', 'true', status=3), 'no leaks')


DAEMON = '''import os, subprocess, sys, time
for _ in range(2):
    if os.fork():
        os._exit(0)
    os.setsid()
os.closerange(0, 256)
os.open('/dev/null', os.O_RDWR)
os.dup(0)
os.dup(0)
while not os.path.exists(sys.argv[1]):
    time.sleep(0.01)
subprocess.run(sys.argv[2:])
'''


def check_daemons_are_waited_for(place):
    """One that has nothing in common with its starter any more, and that has not
    begun when the command is long gone."""
    script = place.file('daemon', DAEMON)
    for _ in ('private', 'common'):
        go = f'{place.files}/{_}'
        process = place.popen(
            [dumps.PROGRAM, 'run', '--settle', '60', '--', 'sh', '-c',
             '"$@"; echo over', 'sh', sys.executable, script, go,
             *load_of(place, '--leak', '2')], stdout=subprocess.PIPE,
            text=True)
        serve.expect('over', process.stdout.readline(), 'over\n')
        serve.wait_for('the command is gone', lambda: serve.expect(
            'shells', [l for _, l in of_place(place) if l[:3] == b'sh\0'],
            []))
        serve.expect('status', process.poll(), None)
        with open(go, 'w', encoding='ascii'):
            pass
        has(process.communicate(timeout=60)[0], 'bytes leaked in 2 objects')
        serve.expect('status', process.returncode, 23)
        nothing_left(place)
        if _ == 'private':
            place.serve()


def check_settle_bounds_the_wait(place):
    """What still runs then is live, and left alone."""
    fifo = f'{place.files}/fifo'
    ready = f'{place.files}/ready'
    os.mkfifo(fifo)
    script = (f'{place.programs.calls} <{fifo} >{ready} 2>&1 & '
              f'while [ ! -s {ready} ]; do sleep 0.01; done; exit 0')
    process = place.popen([dumps.PROGRAM, 'run', '--settle', '0.3', '--', 'sh',
                           '-c', script], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)
    with open(fifo, 'w', encoding='ascii') as told:
        told.write('alloc 1 1000\n')
        told.flush()
        out, err = process.communicate(timeout=60)
        serve.expect('status', process.returncode, 23)
        has(out, 'live dram', '1000 bytes leaked in 1 object')
        has(err, 'still running')
        serve.expect('left alone', len(of_place(place)), 1)
    serve.wait_for('gone', lambda: nothing_left(place))


def check_stdin_and_signals(place):
    done = run(place, 'run', '--', 'cat', stdin='hello\n', status=3)
    has(done.stdout, 'hello\n')
    for sign, name in ((signal.SIGTERM, 'TERM'), (signal.SIGUSR1, 'USR1'),
                       (signal.SIGINT, 'INT')):
        process = place.popen(
            [dumps.PROGRAM, 'run', '--', 'bash', '-c',
             f'trap "exit 42" {name}; echo ready; while :; do sleep 0.05; '
             'done'], stdout=subprocess.PIPE, text=True)
        serve.expect('ready', process.stdout.readline(), 'ready\n')
        process.send_signal(sign)
        serve.expect(name, process.wait(20), 42)
        nothing_left(place)


def check_environment(place):
    text = gate(place, '--', 'sh', '-c',
                'echo $TTMEM_ENABLED ${#TTMEM_RUN_ID} $TTMEM_DIR',
                status=3, environment={'TTMEM_ENABLED': '0'})
    has(text, f'1 16 {place.base}/ttmem-run.')
    place.serve()
    text = gate(place, '--dir', place.base, '--', 'sh', '-c',
                'echo $TTMEM_DIR', status=3,
                environment={'TTMEM_DIR': '/elsewhere'})
    has(text, f'{place.base}\n')


def check_only_its_own(place):
    """What others leave on the same ttmemd is theirs."""
    place.serve()
    other = place.run('open 0 chip=1\nalloc 0 dram 1 0 1M\nsync\n')
    subprocess.run([place.programs.load, '-q', '--events', '10', '--leak',
                    '5'], env=place.environment(), check=True)
    dumps.mark_untracked(place)
    gate(place, '--all-users', '--', *load_of(place))
    has(gate(place, '--ack', '--', *load_of(place, '--leak', '1'), status=23),
        'in 1 object (1 process')
    other.end()


def check_untracked_of_a_moment(place):
    """It may be gone before ttmemd sees that it was there."""
    for number in range(20):
        if number == 10:
            place.serve()
            dumps.busy(place)
        has(gate(place, '--', 'sh', '-c',
                 '"$@" && ! prlimit --fsize=1000 "$@"', 'sh',
                 *load_of(place), status=4),
            'could not be tracked: File too large')


def check_ttmemd(place):
    done = run(place, 'run', '--ttmemd', '/none', '--', 'true', status=1)
    serve.expect('stderr', done.stderr, 'ttmem-dump: cannot start ttmemd: '
                 '/none: No such file or directory\n')
    has(done.stdout, 'SUMMARY: ttmem: not checked')
    nothing_left(place)
    gate(place, '--ttmemd', place.programs.ttmemd, '--', *load_of(place))
    # The common one dies under it.
    server = place.serve()
    text = gate(place, '--', 'sh', '-c', f'kill -9 {server.pid}; ' +
                ' '.join(load_of(place, '--leak', '1')), status=3)
    has(text, 'ttmemd is gone: these figures are')
    # Its figures are no reason not to start another.
    gate(place, '--', *load_of(place))


def check_inside_of_another(place):
    """Each checks what is its own; in a directory of its own that is all."""
    for _ in ('private', 'common'):
        text = gate(place, '--', dumps.PROGRAM, 'run', '--', *load_of(
            place, '--leak', '1'), status=23)
        serve.expect('summaries', text.count('bytes leaked in 1 object'),
                     2 if _ == 'private' else 1)
        if _ == 'private':
            place.serve()
    has(text, 'COMMAND never reported')


def check_changed_environment(place):
    """In a directory of its own everybody is its own."""
    has(gate(place, '--', 'env', '-u', 'TTMEM_RUN_ID', *load_of(
        place, '--leak', '1'), status=23), 'bytes leaked in 1 object')
    other = f'{place.base}/other'
    os.mkdir(other, 0o700)
    gate(place, '--', 'env', f'TTMEM_DIR={other}', *load_of(
        place, '--leak', '1'), status=3)
    place.serve()
    gate(place, '--', 'env', '-u', 'TTMEM_RUN_ID', *load_of(
        place, '--leak', '1'), status=3)


def stranger(place, *prefix, line='alloc 1 1000'):
    """run, with a descendant behind the prefix that makes a call; it waits until run
    has said something of it. Returns (process, what was said)."""
    process = place.popen(
        [dumps.PROGRAM, 'run', '--', 'sh', '-c', '"$@" && read go && exec '
         f'{" ".join(load_of(place))}', 'sh', *prefix, place.programs.calls],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True)
    process.stdin.write(f'{line}\n')
    process.stdin.flush()
    serve.expect('calls', process.stdout.readline(), 'done\n')
    said = first_said(process)
    process.stdin.write('exit\ngo\n')
    process.stdin.close()
    return process, said


def check_descendants_that_record_elsewhere(place):
    """Their objects are unknown, so that "no leaks" is, too."""
    other = f'{place.base}/other'
    os.mkdir(other, 0o700)
    for common in (False, True):
        if common:
            place.serve()
        for prefix, reason in (
                (('env', '-u', 'TTMEM_ENABLED'),
                 'without TTMEM_ENABLED=1 in its environment'),
                (('env', 'TTMEM_ENABLED=0'),
                 'without TTMEM_ENABLED=1 in its environment'),
                (('env', '-i'), 'without TTMEM_ENABLED=1 in its environment'),
                (('env', '-u', 'TTMEM_DIR'),
                 'without the TTMEM_DIR of this run in its environment'),
                (('env', f'TTMEM_DIR={other}'),
                 'with another directory than that of this run'),
                (('env', 'TTMEM_DIR=/none'),
                 'where the directory of this run does not exist')):
            # Without TTMEM_DIR, an object would make files in /dev/shm.
            line = 'free 1' if prefix[-1] == 'TTMEM_DIR' else 'alloc 1 1000'
            process, said = stranger(place, *prefix, line=line)
            text = process.stdout.read()
            serve.expect(f'{prefix}: {text}', process.wait(60), 4)
            has(said, 'ttmem-dump: calls (pid ', 'has libttmem, but runs '
                f'{reason}\n')
            has(text, 'incomplete: calls (pid ', reason)
            has(text.splitlines()[-1], 'data incomplete: calls (pid ')
            has_not(text, 'no leaks')
            nothing_left(place)


def check_descendants_in_another_mount_namespace(place):
    """The directory has the same name there, and is another one."""
    script = f'mount -t tmpfs none {place.base} && mkdir -p "$TTMEM_DIR" && ' \
        'exec "$@"'
    prefix = ('unshare', '-m', 'sh', '-c', script, 'sh')
    if os.getuid() != 0 or subprocess.run(
            ['unshare', '-m', 'mount', '-t', 'tmpfs', 'none', place.base],
            check=False, capture_output=True).returncode:
        print('note: without mount namespaces')
        return
    process, said = stranger(place, *prefix)
    has(process.stdout.read(), 'incomplete: calls (pid ',
        'with another directory than that of this run')
    serve.expect('status', process.wait(60), 4)
    has(said, 'ttmem-dump: calls (pid ')


def check_descendant_that_turns_tracking_on_itself(place):
    """It says so to ttmemd: nothing is missing."""
    process = place.popen(
        [dumps.PROGRAM, 'run', '--', 'env', '-u', 'TTMEM_ENABLED',
         place.programs.calls], stdin=subprocess.PIPE, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    has(first_said(process), 'without TTMEM_ENABLED=1')
    text = process.communicate('start\nalloc 1 1000\nfree 1\n', timeout=60)[0]
    serve.expect(text, process.returncode, 0)
    has(text, 'no leaks (1 process, 1 device)')


def check_options_of_the_gate(place):
    """All of them are check's: one that is judged, one that is written."""
    junit = f'{place.files}/junit.xml'
    supp = place.file('supp', 'leak:leak 0\n')
    leak = load_of(place, '--leak', '2')
    text = gate(place, '--suppressions', supp, '--strict-suppressions',
                '--junit', junit, '--github', '--bytes', '--', *leak,
                status=23)
    has(text, '::error title=ttmem leak::', f'{MIB} bytes in 1 object',
        f'{MIB} bytes in 1 object suppressed')
    out = f'{place.files}/out.json'
    done = run(place, 'run', '--format', 'json', '-o', out, '--', *leak,
               status=23)
    serve.expect('stdout', done.stdout, '')
    has(done.stderr, 'SUMMARY: ttmem: ')
    with open(out, encoding='utf-8') as file:
        dumps.json_is_good(file.read())
    made = place.file('supp', gate(place, '--gen-suppressions', '--', *leak,
                                   status=23))
    gate(place, '--suppressions', made, '--strict-suppressions', '--', *leak)
    base = f'{place.files}/baseline'
    gate(place, '--baseline', base, '--update-baseline', '--', *leak)
    gate(place, '--baseline', base, '--', *leak)
    for options, status in (
            (('--ignore-kind', 'dram'), 0), (('--errors-for', 'live'), 0),
            (('--all-kinds',), 23), (('--scope', 'x*'), 0),
            (('--device', '0'), 23), (('--device', '7'), 3),
            (('--since', 'none'), 3), (('--ignore-kind', 'dram', '--max',
                                        'dram=1K'), 5),
            (('--ignore-kind', 'dram', '--max-peak', 'dram=1K'), 5)):
        gate(place, *options, '--', *leak, status=status)
    # A file that is wrong is told before the command is run.
    done = run(place, 'run', '--suppressions', '/none', '--', 'touch',
               f'{place.files}/ran', status=1)
    has(done.stdout, 'SUMMARY: ttmem: not checked: the command was not run')
    serve.expect('ran', os.path.exists(f'{place.files}/ran'), False)


if __name__ == '__main__':
    sys.exit(dumps.run_all(__doc__, (
        check_leaks_are_named, check_status_of_the_command,
        check_orphans_of_a_killed_command, check_never_reported,
        check_daemons_are_waited_for, check_settle_bounds_the_wait,
        check_stdin_and_signals, check_environment, check_only_its_own,
        check_untracked_of_a_moment, check_ttmemd, check_inside_of_another,
        check_changed_environment,
        check_descendants_that_record_elsewhere,
        check_descendants_in_another_mount_namespace,
        check_descendant_that_turns_tracking_on_itself, check_options_of_the_gate)))
