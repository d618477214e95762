#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_golden.py TTMEMD TTMEM-LOAD SNAPDUMP CALLS TTMEM-DUMP TTMEM-TOP
           [--update] [CHECK...]

Screens of samples, whole, as they are in golden/. With --update those are written
anew: look at what changed.
"""

import difflib
import os
import sys

import tops
from terminal import serve, wait_for

GOLDEN = os.path.join(tops.HERE, 'golden')
UPDATE = '--update' in sys.argv


def write(name, screen):
    os.makedirs(GOLDEN, exist_ok=True)
    with open(f'{GOLDEN}/{name}.txt', 'w', encoding='utf-8') as file:
        file.write(screen.text)


def same(name, screen):
    path = f'{GOLDEN}/{name}.txt'
    with open(path, encoding='utf-8') as file:
        wanted = file.read()
    if wanted != screen.text:
        serve.fail('other than before:\n' + ''.join(difflib.unified_diff(
            wanted.splitlines(True), screen.text.splitlines(True), path,
            'the screen')))


def all_views(place, prefix, sample, size, **how):
    """Each view of a sample against its file."""
    with tops.replay(place, sample, size=size, **how) as top:
        tops.first(top)
        for key, name in tops.VIEWS.items():
            top.keys(key)
            tops.in_view(top, name)
            full = f'{prefix}-{name}'
            if UPDATE:
                write(full, top.still())
            else:
                wait_for(full, lambda f=full: same(f, top.screen()))


def check_small_at_40x10(place):
    all_views(place, 'small-40x10', 'small', (40, 10))


def check_small_at_80x24(place):
    all_views(place, 'small-80x24', 'small', (80, 24))


def check_small_at_132x43(place):
    all_views(place, 'small-132x43', 'small', (132, 43))


def check_small_at_200x60(place):
    all_views(place, 'small-200x60', 'small', (200, 60))


def check_small_at_20x5(place):
    all_views(place, 'small-20x5', 'small', (20, 5))


def check_ascii(place):
    all_views(place, 'ascii-80x24', 'small', (80, 24), locale='C')


def check_big(place):
    all_views(place, 'big-80x24', 'big', (80, 24))


def check_troubled(place):
    all_views(place, 'troubled-132x43', 'troubled', (132, 43))


def check_unknown(place):
    all_views(place, 'unknown-80x24', 'unknown', (80, 24))


if __name__ == '__main__':
    if UPDATE:
        sys.argv.remove('--update')
    sys.exit(tops.run_all(__doc__, [
        check_small_at_40x10, check_small_at_80x24, check_small_at_132x43,
        check_small_at_200x60, check_small_at_20x5, check_ascii, check_big,
        check_troubled, check_unknown,
    ]))
