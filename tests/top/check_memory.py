#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_memory.py TTMEMD TTMEM-LOAD SNAPDUMP CALLS TTMEM-DUMP TTMEM-TOP
           [CHECK...]

ttmem-top under valgrind: no errors, nothing definitely lost. Skipped without valgrind
and for programs built with a sanitizer, which does not go with it.
"""

import os
import shutil
import subprocess
import sys

import tops
from terminal import serve

STATUS = 99


def valgrind(place):
    return ('valgrind', '-q', f'--error-exitcode={STATUS}',
            '--leak-check=full', '--show-leak-kinds=definite',
            '--errors-for-leak-kinds=definite',
            f'--log-file={place.files}/valgrind.log')


def said(place):
    with open(f'{place.files}/valgrind.log', encoding='utf-8') as file:
        return file.read()


def runs_clean(place, *options, status):
    try:
        return tops.run(place, *options, status=status,
                        prefix=valgrind(place), timeout=240)
    except serve.Failed as failed:
        return serve.fail(f'{failed}\n{said(place)}')


def check_batch(place):
    for name in ('moving', 'hostile', 'troubled'):
        runs_clean(place, '--replay', tops.sample(place, name), '-b', '-n',
                   '3', status=tops.WORTH.get(name, 0))


def check_terminal(place):
    """Through every view, window and size."""
    with tops.replay(place, 'hostile', size=(132, 43),
                     prefix=valgrind(place)) as top:
        tops.first(top)
        for key, name in tops.VIEWS.items():
            top.keys(key)
            tops.in_view(top, name)
            for again in ('Down', 'Enter', 'd', 'c', 'Right', '*', 'r', 't',
                          'F6', 'Escape', 'F1', 'Escape', 'F2', 'Escape',
                          'p', '+', '-', '[', ']', 'Space', 'Space', 'Enter',
                          'Escape'):
                top.keys(again)
        top.keys('3', '/')
        top.type('line')
        top.keys('Enter')
        for size in ((20, 5), (300, 100), (80, 24)):
            top.resize(*size)
        top.keys('q')
        status = top.status(240)
    serve.expect(f'status; {said(place)}', status, 0)


def is_sanitized():
    found = subprocess.run(['nm', '-D', tops.PROGRAM], capture_output=True,
                           text=True, check=False)
    return '__asan_' in found.stdout or '__tsan_' in found.stdout


if __name__ == '__main__':
    if len(sys.argv) > 6:
        tops.PROGRAM = os.path.abspath(sys.argv[6])
        if not shutil.which('valgrind') or is_sanitized():
            print('skipped: no valgrind, or a sanitizer')
            sys.exit(77)
    sys.exit(tops.run_all(__doc__, [check_batch, check_terminal]))
