# SPDX-License-Identifier: Apache-2.0
"""ttmem-dump run, and what it must not leave behind."""

import os
import select

from dumps import run
import serve


def load_of(place, *options):
    return (place.programs.load, '-q', '--events', '100', *options)


def gate(place, *options, status=0, **how):
    """Returns what is printed; nothing is left behind."""
    done = run(place, 'run', *options, status=status, **how)
    last = done.stdout.splitlines()[-1]
    if not last.startswith('SUMMARY: ttmem: '):
        serve.fail(f'the last line is {last!r}')
    nothing_left(place)
    return done.stdout


def of_place(place):
    """Processes that have to do with the place; ttmemd of a test is none."""
    found = []
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{pid}/cmdline', 'rb') as file:
                line = file.read()
            with open(f'/proc/{pid}/environ', 'rb') as file:
                environment = file.read()
        except OSError:
            continue
        if f'{place.base}/ttmem-run'.encode() in line + environment or \
                (b'TTMEM_RUN_ID=' in environment and
                 place.base.encode() in environment):
            found.append((int(pid), line))
    return found


def first_said(process):
    """The first line that run writes on stderr while its command waits."""
    if not select.select([process.stderr], [], [], serve.PATIENCE_S)[0]:
        process.kill()
        serve.fail('run says nothing')
    return process.stderr.readline()


def nothing_left(place):
    serve.expect('directories', [n for n in os.listdir(place.base)
                                 if n.startswith('ttmem-run')], [])
    serve.expect('processes', of_place(place), [])
