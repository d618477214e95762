# SPDX-License-Identifier: Apache-2.0
"""The leak gate as the checks of it use it."""

import json

import dumps
from dumps import has, has_not, run
import serve

KIB, MIB = dumps.KIB, dumps.MIB
LEAK = '''open 0 chip=1
push "a.one"
alloc 0 dram 1 0 1M
alloc 0 dram 2 0x100000 1M
pop
push "b.two"
alloc 0 l1 3 0x1000 64K
pop
'''
LEAKED = 2 * MIB + 64 * KIB
CLEAN = 'open 0 chip=1\nalloc 0 dram 1 0 1M\nfree 0 dram 1\n'


def left(place, script):
    """A process runs the script and ends; ttmemd knows it."""
    load = place.run(script + 'sync\n')
    load.end()
    place.sees('retired', lambda s: serve.expect(
        'state', s.process(load.pid)['state'], 'exited'))
    return load.pid


def gate(place, *options, status=0, **how):
    """Returns what is printed; the summary is its last line."""
    text = run(place, 'check', *options, status=status, **how).stdout
    last = text.splitlines()[-1]
    if not last.startswith('SUMMARY: ttmem: '):
        serve.fail(f'the last line is {last!r}')
    if status not in (0, 5):
        has_not(text, 'no leaks')
    return text


def summary(text):
    return text.splitlines()[-1]


def verdict(place, *options, status=0):
    """check --format json, which holds what its schema promises."""
    done = run(place, 'check', '--format', 'json', *options, status=status)
    found = json.loads(done.stdout)
    serve.expect('status', found['status'], status)
    has(done.stderr, found['summary'])
    return found
