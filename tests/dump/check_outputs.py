#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_outputs.py TTMEMD TTMEM-LOAD SNAPDUMP CALLS TTMEM-DUMP [CHECK...]

Files that ttmem-dump and ttmem-load write as root where others can write: never through
what another user put there, and as ever through what is the caller's own. Needs root, and
is skipped without.
"""

import os
import subprocess
import sys

import dumps
import serve
import traps

PATIENCE_S = 60


def served(place):
    place.serve()
    load = place.run(dumps.EVERYTHING)
    dumps.settle(place, load)
    return load


def done(command, place, **how):
    found = subprocess.run(command, env=place.environment(), check=False,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           text=True, timeout=PATIENCE_S, **how)
    return found.returncode, found.stderr


def report_of(place):
    return lambda path: done([dumps.PROGRAM, '-o', path], place)


def is_report(text):
    dumps.has(text, 'DRAM total', 'L1 total')


def check_reports_refuse_what_others_put_there(place):
    served(place)
    traps.are_refused(report_of(place))


def check_reports_replace_files(place):
    served(place)
    traps.files_are_replaced(report_of(place))


def check_reports_follow_ones_own(place):
    served(place)
    traps.ones_own_are_followed(report_of(place), is_report)


def check_verdicts_refuse_what_others_put_there(place):
    """Each of the files that a check writes."""
    load = served(place)
    load.end()
    for options in (('-o',), ('--junit',), ('--update-baseline', '--baseline')):
        traps.are_refused(lambda path, o=options: done(
            [dumps.PROGRAM, 'check', *o, path], place))


def check_truth_refuses_what_others_put_there(place):
    def write(path):
        return done([place.programs.load, '--dir', place.base, '--script',
                     place.file('script', 'open 0 chip=1\nclose 0\n'),
                     '--json', path], place)
    traps.are_refused(write)
    traps.files_are_replaced(write)
    traps.ones_own_are_followed(write, lambda text: dumps.has(
        text, '"phase"'))


def check_descriptors_are_written(place):
    """/dev/stdout and others, whatever they are: pipe, file or closed."""
    served(place)
    for name in ('/dev/stdout', '/dev/fd/1', '/proc/self/fd/1'):
        is_report(subprocess.run(
            [dumps.PROGRAM, '-o', name], env=place.environment(), check=True,
            stdout=subprocess.PIPE, text=True, timeout=PATIENCE_S).stdout)
    path = f'{place.files}/appended'
    with open(path, 'w', encoding='ascii') as file:
        file.write('before\n')
        file.flush()
        subprocess.run([dumps.PROGRAM, '-o', '/dev/stdout'], check=True,
                       env=place.environment(), stdout=file,
                       timeout=PATIENCE_S)
    with open(path, encoding='utf-8') as file:
        text = file.read()
    serve.expect('what was there', text[:7], 'before\n')
    is_report(text)
    reads, writes = os.pipe()
    subprocess.run([dumps.PROGRAM, '-o', f'/dev/fd/{writes}'], check=True,
                   env=place.environment(), pass_fds=[writes],
                   timeout=PATIENCE_S)
    os.close(writes)
    with open(reads, encoding='utf-8') as file:
        is_report(file.read())
    status, error = done([dumps.PROGRAM, '-o', '/dev/fd/99'], place)
    serve.expect('a closed one', (status, error), (
        1, 'ttmem-dump: /dev/fd/99: Bad file descriptor\n'))


def check_by_way_of_proc(place):
    """The kernel alone knows where these lead."""
    served(place)
    fd = os.open(place.files, os.O_RDONLY | os.O_DIRECTORY)
    subprocess.run([dumps.PROGRAM, '-o', f'/dev/fd/{fd}/a'], check=True,
                   env=place.environment(), pass_fds=[fd], timeout=PATIENCE_S)
    os.close(fd)
    subprocess.run([dumps.PROGRAM, '-o', '/proc/self/cwd/b'], check=True,
                   env=place.environment(), cwd=place.files,
                   timeout=PATIENCE_S)
    for name in 'ab':
        with open(f'{place.files}/{name}', encoding='utf-8') as file:
            is_report(file.read())


if __name__ == '__main__':
    if os.getuid() != 0:
        print('skipped: it needs root, for other users')
        sys.exit(77)
    sys.exit(dumps.run_all(__doc__, [
        f for n, f in list(globals().items()) if n.startswith('check_')]))
