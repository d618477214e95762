# SPDX-License-Identifier: Apache-2.0
"""Runs ttmem-top in a terminal of its own, on samples or on a real ttmemd.

The rest is tests/serve's: a place, a server, loads that stop at each sync.
"""

import gzip
import os
import re
import subprocess
import sys

import samples
from terminal import Terminal, cells, serve, wait_for

HERE = os.path.dirname(os.path.abspath(__file__))
RECORDING = os.path.join(HERE, 'four-devices.json.gz')
SIZES = ((40, 10), (80, 24), (132, 43), (200, 60))
EXTREMES = ((20, 5), (300, 100))
# What a program may clear a screen with.
CLEARS = (b'\x1b[2J', b'\x1b[H\x1b[J', b'\x1b[3J', b'\x1bc')
VIEWS = {'1': 'devices', '2': 'charts', '3': 'processes', '4': 'health'}
# Status of samples that are not worth much.
WORTH = {'dead': 3, 'empty': 3, 'none': 3, 'troubled': 4}
PROGRAM = DUMP = None


def sample(place, name):
    """The path of a sample in the place."""
    path = f'{place.files}/{name}.json'
    if not os.path.exists(path):
        samples.write(name, path)
    return path


def recording(place):
    """The path of the last that was recorded on four devices."""
    path = f'{place.files}/four-devices.json'
    with gzip.open(RECORDING) as packed, open(path, 'wb') as file:
        file.write(packed.readlines()[-1])
    return path


def environment(place, **more):
    """Nobody's settings, no time zone, and what the place says."""
    env = {k: v for k, v in place.environment().items()
           if k.startswith(('TTMEM_', 'ASAN_', 'UBSAN_', 'LSAN_'))}
    env.update(XDG_CONFIG_HOME=f'{place.files}/config', TZ='UTC', **more)
    return env


def top(place, *options, size=(80, 24), prefix=(), term='tmux-256color',
        locale='C.UTF-8', **env):
    """ttmem-top in a terminal."""
    return Terminal([*prefix, PROGRAM, *map(str, options)], *size, term=term,
                    locale=locale, env=environment(place, **env))


def replay(place, name, *options, **how):
    """The same, on a sample; the last document stays."""
    return top(place, '--replay', sample(place, name), *options, **how)


def first(terminal):
    """Waits for the first frame."""
    return in_view(terminal, 'devices')


def in_view(terminal, name):
    """Waits until that view is shown: its tab looks different."""
    title = f'{next(k for k, v in VIEWS.items() if v == name)} ' \
        f'{name.capitalize()}'

    def attempt():
        line = terminal.capture().split('\n', 1)[0]
        if not re.search(f'\x1b\\[[0-9;]*m {title} (\x1b|$)', line):
            serve.fail(f'{title} is not open in {line!r}:\n'
                       f'{terminal.screen().framed()}')
    return wait_for(f'the view {name}', attempt)


def first_frame(written):
    """Where the text of the first frame begins in what ttmem-top wrote."""
    at = written.find(b'Devices')
    if at < 0:
        serve.fail(f'no frame in {written[:400]!r}')
    return at


def not_cleared_again(written):
    """After the first frame the screen is not cleared."""
    after = written[first_frame(written):]
    for clear in CLEARS:
        if clear in after:
            serve.fail(f'{clear!r} at {after.find(clear)} of {len(after)} '
                       'bytes after the first frame')


def settled(terminal):
    """All keys so far were read and what they do is shown: so is what follows them,
    freezing and going on. Not for windows, which take the blank themselves."""
    if terminal.width < 40:
        return terminal.still()
    terminal.keys('Space')
    terminal.shows('FROZEN', row=0)
    terminal.keys('Space')
    return terminal.until('to go on',
                          lambda screen: 'FROZEN' not in screen.rows[0])


def press(terminal, view, *keys):
    """Goes to a view and presses keys there."""
    terminal.keys(next(k for k, v in VIEWS.items() if v == view))
    in_view(terminal, view)
    for key in keys:
        terminal.keys(key)
    return settled(terminal)


def is_whole(screen):
    """No control character, no half of a wide one, nothing wrapped."""
    for row in screen.rows:
        bad = re.search('[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e'
                        '\u2066-\u2069\ufeff]', row)
        if bad:
            serve.fail(f'{bad[0]!r} in {row!r}')
        serve.expect(f'width of {row!r}', len(cells(row)), screen.width)


def gone(pid):
    """Waits for the end of a process."""
    def attempt():
        try:
            with open(f'/proc/{pid}/stat', encoding='utf-8',
                      errors='replace') as file:
                if file.read().rpartition(')')[2].split()[0] not in 'ZX':
                    serve.fail(f'{pid} runs')
        except OSError:
            pass
    wait_for('its end', attempt)


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


def run_all(doc, checks, user=None):
    """With a user: its programs run in the places, too, which needs root."""
    global PROGRAM, DUMP
    if len(sys.argv) < 7:
        print(doc, end='')
        sys.exit(2)
    PROGRAM = os.path.abspath(sys.argv.pop(6))
    DUMP = os.path.abspath(sys.argv.pop(5))
    if user:
        return serve.run_for_users(doc, checks, user)
    return serve.run_all(doc, checks)
