# SPDX-License-Identifier: Apache-2.0
"""Runs ttmem-top in a terminal of its own, on samples or on a real ttmemd.

The rest is tests/serve's: a place, a server, loads that stop at each sync.
"""

import gzip
import os
import subprocess
import sys

import samples
from terminal import Terminal, serve

HERE = os.path.dirname(os.path.abspath(__file__))
RECORDING = os.path.join(HERE, 'four-devices.json.gz')
SIZES = ((40, 10), (80, 24), (132, 43), (200, 60))
EXTREMES = ((20, 5), (300, 100))
VIEWS = {'1': 'devices', '2': 'charts', '3': 'processes', '4': 'health'}
PROGRAM = DUMP = None


def sample(place, name):
    """The path of a sample in the place."""
    path = f'{place.files}/{name}.json'
    if not os.path.exists(path):
        samples.write(name, path)
    return path


def recording(place):
    """The path of what was recorded on four devices."""
    path = f'{place.files}/four-devices.json'
    with gzip.open(RECORDING) as packed, open(path, 'wb') as file:
        file.write(packed.read())
    return path


def environment(place, **more):
    """Nobody's settings, no time zone, and what the place says."""
    env = {k: v for k, v in place.environment().items()
           if k.startswith(('TTMEM_', 'ASAN_', 'UBSAN_', 'LSAN_'))}
    env.update(XDG_CONFIG_HOME=f'{place.files}/config', TZ='UTC', **more)
    return env


def top(place, *options, size=(80, 24), prefix=(), term='xterm-256color',
        locale='C.UTF-8', **env):
    """ttmem-top in a terminal."""
    return Terminal([*prefix, PROGRAM, *map(str, options)], *size, term=term,
                    locale=locale, env=environment(place, **env))


def replay(place, name, *options, **how):
    """The same, on a sample; the last document stays."""
    return top(place, '--replay', sample(place, name), *options, **how)


def first(terminal):
    """Waits for the first whole frame."""
    return terminal.shows('Quit', row=-1)


def in_view(terminal, name):
    """Waits until that view is shown."""
    raise NotImplementedError


def pid_of(terminal):
    """Of the ttmem-top that a shell in the terminal runs."""
    with open(f'/proc/{terminal.pid}/task/{terminal.pid}/children',
              encoding='ascii') as file:
        return int(file.read().split()[0])


def run(place, *options, status=0, prefix=(), stdin=None, locale='C.UTF-8',
        timeout=60, **env):
    """ttmem-top without a terminal, to its end."""
    where = {'stdin': subprocess.DEVNULL} if stdin is None else \
        {'input': stdin}
    env = {'PATH': os.environ['PATH'], 'LC_ALL': locale,
           **environment(place, **env)}
    done = subprocess.run([*prefix, PROGRAM, *map(str, options)], text=True,
                          env=env, capture_output=True, check=False, cwd='/',
                          timeout=timeout, **where)
    if done.returncode != status:
        serve.fail(f'{options}: status {done.returncode} and not {status}\n'
                   f'{done.stdout[-2000:]}{done.stderr[-2000:]}')
    return done


def has(text, *parts):
    for part in parts:
        if part not in text:
            serve.fail(f'no {part!r} in:\n{text}')


def has_not(text, *parts):
    for part in parts:
        if part in text:
            serve.fail(f'{part!r} in:\n{text}')


def run_all(doc, checks):
    global PROGRAM, DUMP
    if len(sys.argv) < 7:
        print(doc, end='')
        sys.exit(2)
    PROGRAM = os.path.abspath(sys.argv.pop(6))
    DUMP = os.path.abspath(sys.argv.pop(5))
    return serve.run_all(doc, checks)
