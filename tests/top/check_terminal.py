#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_terminal.py TTMEMD TTMEM-LOAD SNAPDUMP CALLS TTMEM-DUMP TTMEM-TOP
           [CHECK...]

What ttmem-top does to its terminal: it leaves it as it was, however it ends; it
survives every size; it draws what has changed and nothing else.
"""

import os
import random
import shlex
import signal
import sys

import tops
from terminal import Terminal, serve, wait_for


def shell(place, size=(80, 24), term='tmux-256color'):
    """A shell in a terminal, with what its terminal is like."""
    terminal = Terminal(['bash', '--norc', '-i'], *size, term=term,
                        env=tops.environment(place, PS1='ready> '))
    terminal.shows('ready> ', row=0, column=0)
    return terminal


def start(terminal, place, *options):
    terminal.type(shlex.join([tops.PROGRAM, '--replay',
                              tops.sample(place, 'small'),
                              *options]) + '\n')
    tops.first(terminal)


def is_restored(terminal, before, stty):
    serve.expect('modes', terminal.modes(), before)
    serve.expect('stty', terminal.stty(), stty)


def ends_well(place, how, term='tmux-256color'):
    """Whatever `how` does to it, the terminal is the shell's again."""
    with shell(place, term=term) as terminal:
        before, stty = terminal.modes(), terminal.stty()
        start(terminal, place)
        if terminal.stty() == stty:
            serve.fail('it does not read key by key')
        pid = tops.pid_of(terminal)
        how(terminal, pid)
        wait_for('the shell', lambda: is_restored(terminal, before, stty))
        terminal.type('echo "is $((40 + 2))"\n')
        terminal.shows('is 42')


def check_q_restores(place):
    ends_well(place, lambda terminal, _: terminal.keys('q'))


def check_ctrl_c_restores(place):
    ends_well(place, lambda terminal, _: terminal.keys('C-c'))


def check_sigterm_restores(place):
    ends_well(place, lambda _, pid: os.kill(pid, signal.SIGTERM))


def check_sighup_restores(place):
    ends_well(place, lambda _, pid: os.kill(pid, signal.SIGHUP))


def check_vt100_is_restored(place):
    ends_well(place, lambda terminal, _: terminal.keys('q'), 'vt100')


def check_vt100_leaves_a_line_for_the_shell(place):
    """It has one screen only: the prompt is where keys were listed."""
    with shell(place, term='vt100') as terminal:
        for key in ('C-z', 'q'):
            if key == 'q':
                terminal.type('fg\n')
                tops.first(terminal)
            else:
                start(terminal, place)
            terminal.keys(key)
            terminal.until('the prompt', lambda screen:
                           screen.rows[-1].rstrip() == 'ready>')


def check_stop_and_go_on(place):
    with shell(place) as terminal:
        before, stty = terminal.modes(), terminal.stty()
        start(terminal, place)
        inside = terminal.modes()
        for _ in range(3):
            terminal.keys('C-z')
            wait_for('the shell',
                     lambda: is_restored(terminal, before, stty))
            terminal.shows('Stopped')
            terminal.type('clear; fg\n')
            tops.first(terminal)
            wait_for('the view', lambda: serve.expect(
                'modes', terminal.modes(), inside))
            terminal.keys('Down')
            terminal.shows('Device 1  ')
            terminal.keys('Up')
            terminal.shows('Device 0  ')
        terminal.keys('q')
        wait_for('the shell', lambda: is_restored(terminal, before, stty))


def check_resized_while_stopped(place):
    with shell(place) as terminal:
        start(terminal, place)
        terminal.keys('C-z')
        terminal.shows('Stopped')
        terminal.resize(120, 30)
        terminal.type('clear; fg\n')
        tops.first(terminal)
        terminal.keys('q')


def check_no_terminal_any_more(place):
    """Its window is closed: nobody is left behind."""
    with tops.replay(place, 'small') as top:
        tops.first(top)
        os.kill(top.server, signal.SIGKILL)
        tops.gone(top.pid)


def check_standard_input_is_something_else(place):
    """Keys come from the terminal all the same."""
    line = f'{shlex.quote(tops.PROGRAM)} --replay ' \
        f'{shlex.quote(tops.sample(place, "small"))} </dev/null'
    with Terminal(['sh', '-c', line], env=tops.environment(place)) as top:
        tops.first(top)
        top.keys('3')
        tops.in_view(top, 'processes')
        top.keys('q')
        serve.expect('status', top.status(), 0)


def check_resize_storm(place):
    chance = random.Random(5)
    with tops.replay(place, 'small', size=(80, 24)) as top:
        tops.first(top)
        for name in tops.VIEWS.values():
            before = tops.press(top, name)
            for _ in range(40):
                top.resize(chance.randrange(1, 300), chance.randrange(1, 100))
            top.resize(80, 24)
            top.until(f'{name} as before',
                      lambda s, b=before: s.text == b.text)
        top.keys('q')
        serve.expect('status', top.status(), 0)


def check_every_size(place):
    """Nothing is lost or wrapped, and it lives."""
    with tops.replay(place, 'big', size=(80, 24)) as top:
        tops.first(top)
        for size in ((1, 1), (2, 2), (5, 3), (20, 5), (300, 5), (20, 100),
                     (300, 100), (80, 24)):
            top.resize(*size)
            for key in tops.VIEWS:
                top.keys(key)
            for key in ('F1', 'Escape', 'F2', 'Escape'):
                top.keys(key)
        top.keys('1')
        tops.first(top)
        top.keys('q')
        serve.expect('status', top.status(), 0)


def check_nothing_is_cleared(place):
    """After the first frame only cells that change are written."""
    with tops.replay(place, 'moving', '-d', '0.2') as top:
        tops.first(top)
        top.shows('24.0G/')
        for key, name in list(tops.VIEWS.items()) * 2:
            top.keys(key)
            tops.in_view(top, name)
        tops.not_cleared_again(top.quit())


def check_nothing_new_is_nothing_written(place):
    with tops.replay(place, 'small', '-d', '0.1') as top:
        tops.first(top)
        top.still()
        before = top.written_all()
        for _ in range(3):
            top.still(1.0)
        wrote = top.written_all() - before
        if wrote > 100:
            serve.fail(f'{wrote} bytes for nothing new: '
                       f'{top.bytes_from(before)[:300]!r}')


if __name__ == '__main__':
    sys.exit(tops.run_all(__doc__, [
        check_q_restores, check_ctrl_c_restores, check_sigterm_restores,
        check_sighup_restores, check_vt100_is_restored,
        check_vt100_leaves_a_line_for_the_shell, check_stop_and_go_on,
        check_resized_while_stopped, check_no_terminal_any_more,
        check_standard_input_is_something_else, check_resize_storm, check_every_size,
        check_nothing_is_cleared, check_nothing_new_is_nothing_written,
    ]))
