#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_outputs.py TTMEMD TTMEM-LOAD SNAPDUMP CALLS TTMEM-DUMP TTMEM-TOP
           [CHECK...]

Recordings that root's ttmem-top writes where others can write: never through what
another user put there, and as ever through what is the caller's own. Needs root, and is
skipped without.
"""

import os
import subprocess
import sys

import tops
from terminal import serve
import traps

PATIENCE_S = 60


def record_of(place):
    place.serve()
    place.run('open 0 chip=1\nalloc 0 dram 1 0x1000 1M\nsync\n')
    place.sees('it is there', lambda s: serve.expect(
        'processes', len(s['processes']), 1))

    def write(path):
        found = subprocess.run(
            [tops.PROGRAM, '--once', '--record', path], check=False,
            env={'PATH': os.environ['PATH'], **tops.environment(place)},
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True, timeout=PATIENCE_S)
        return found.returncode, found.stderr
    return write


def check_what_others_put_there_is_refused(place):
    traps.are_refused(record_of(place))


def check_files_are_replaced(place):
    traps.files_are_replaced(record_of(place))


def check_ones_own_are_followed(place):
    traps.ones_own_are_followed(record_of(place), lambda text: tops.has(
        text, '"processes"'))


if __name__ == '__main__':
    if os.getuid() != 0:
        print('skipped: it needs root, for other users')
        sys.exit(77)
    sys.exit(tops.run_all(__doc__, [
        f for n, f in list(globals().items()) if n.startswith('check_')]))
