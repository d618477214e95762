#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_keys.py TTMEMD TTMEM-LOAD SNAPDUMP CALLS TTMEM-DUMP TTMEM-TOP
           [CHECK...]

Each view and each key of ttmem-top, with what is then where on the screen; the mouse,
the settings and their file.
"""

import os
import re
import sys

import tops
from terminal import serve

BOTH = ('llama-serve', 'train-loop')


def at(screen, row, column, text):
    found = screen.part(row, column, len(text))
    if found != text:
        serve.fail(f'{found!r} and not {text!r} at {row}, {column}:\n'
                   f'{screen.framed()}')


def pids(screen):
    """Of the processes shown, from above."""
    return [int(m[1]) for m in (re.match(r' *(\d+) ', r)
                                for r in screen.rows[3:-1]) if m]


def in_order(top, what, wanted):
    """Waits until processes stand in that order."""
    top.until(what, lambda screen: pids(screen) == wanted)


def small(place, *options, **how):
    top = tops.replay(place, 'small', *options, **how)
    tops.first(top)
    return top


# -- views --------------------------------------------------------------------


def views_at(place, size):
    """The frame of each view, and what is at the top of it."""
    with tops.replay(place, 'small', size=size) as top:
        tops.first(top)
        for key, name in tops.VIEWS.items():
            screen = tops.press(top, name)
            tops.is_whole(screen)
            at(screen, 0, 0, f' {"1 Devices" if key == "1" else "1"} ')
            at(screen, size[1] - 1, 0, 'F1Help ')
            if size[1] >= 10:
                at(screen, 1, 0, '2 devices  3 processes')
            body = {'devices': ('DEV',), 'charts': ('DRAM',),
                    'processes': ('PID',), 'health': ('ttmemd',)}[name]
            for text in body:
                if text not in screen.rows[2 if size[1] >= 10 else 1]:
                    serve.fail(f'no {text} on top of {name}:\n'
                               f'{screen.framed()}')
        top.keys('q')
        serve.expect('status', top.status(), 0)


def check_views_at_40x10(place):
    views_at(place, (40, 10))


def check_views_at_80x24(place):
    views_at(place, (80, 24))


def check_views_at_132x43(place):
    views_at(place, (132, 43))


def check_views_at_200x60(place):
    views_at(place, (200, 60))


def check_views_at_extremes(place):
    for size in tops.EXTREMES:
        views_at(place, size)


def check_tab_goes_round(place):
    with small(place) as top:
        for name in ('charts', 'processes', 'health', 'devices'):
            top.keys('Tab')
            tops.in_view(top, name)
        for name in ('health', 'processes', 'charts', 'devices'):
            top.keys('BTab')
            tops.in_view(top, name)


def check_all_of_a_large_host(place):
    """Each of 32 devices and 500 processes can be reached at 80x24."""
    with tops.replay(place, 'big') as top:
        tops.first(top)
        at(tops.settled(top), 1, 0, '32 devices  500 processes')
        seen = set()
        for _ in range(32):
            screen = tops.settled(top)
            seen |= {int(m[1]) for m in (re.match(r' *(\d+) .*W ', r)
                                         for r in screen.rows) if m}
            top.keys('PPage' if len(seen) == 32 else 'NPage')
            if len(seen) == 32:
                break
        serve.expect('devices', sorted(seen), list(range(32)))
        tops.press(top, 'processes')
        seen, pages = set(), 0
        while len(seen) < 500 and pages < 60:
            seen |= set(pids(tops.settled(top)))
            top.keys('NPage')
            pages += 1
        serve.expect('processes', sorted(seen), list(range(10000, 10500)))
        top.keys('Home')
        first = pids(tops.settled(top))
        top.keys('End')
        last = pids(tops.settled(top))
        if set(first) & set(last):
            serve.fail(f'Home and End: {first} and {last}')


# -- devices ------------------------------------------------------------------


def check_devices_are_selected(place):
    with small(place) as top:
        top.shows('Device 0  ')
        for key, device in (('Down', 1), ('Up', 0), ('d', 1), ('d', 0),
                            ('D', 1), ('Home', 0), ('End', 1)):
            top.keys(key)
            top.shows(f'Device {device}  ')
        # Nowhere else to go.
        top.keys('Down')
        tops.has(tops.settled(top).text, 'Device 1  ')


def check_keys_of_another_terminal(place):
    """What a terminal sends that is not the one it says to be."""
    for term in ('xterm-256color', 'vt100', 'linux', 'screen-256color'):
        with small(place, term=term) as top:
            for data, device in ((b'\x1b[B', 1), (b'\x1b[A', 0),
                                 (b'\x1b[4~', 1), (b'\x1b[1~', 0),
                                 (b'\x1bOF', 1), (b'\x1bOH', 0),
                                 (b'\x1b[F', 1), (b'\x1b[H', 0)):
                top.raw(data)
                top.shows(f'Device {device}  ')
            tops.in_view(top, 'devices')


def check_device_detail(place):
    with small(place) as top:
        top.keys('Enter')
        top.shows('Device (Esc closes)')
        top.keys('End')
        top.shows('old')
        top.keys('Escape')
        top.hides('Device (Esc closes)')
        top.keys('Enter')
        top.shows('Device (Esc closes)')
        top.keys('Enter')
        top.hides('Device (Esc closes)')


def check_compact(place):
    with tops.replay(place, 'big') as top:
        tops.first(top)
        top.shows('DRAM%')
        top.keys('c')
        screen = tops.settled(top)
        tops.has_not(screen.text, 'DRAM%')
        for device in range(32):
            if not re.search(rf'(?<!\d){device} D', screen.text):
                serve.fail(f'no {device}:\n{screen.framed()}')
        top.keys('c')
        top.shows('DRAM%')


def check_peaks_are_reset(place):
    with small(place, size=(132, 43)) as top:
        tops.has(tops.settled(top).row_of('L1 buffers'), '80.0 MiB')
        top.keys('p')
        row = top.hides('80.0 MiB').row_of('L1 buffers')
        serve.expect('peak', row.count('60.0 MiB'), 2)


def check_freeze(place):
    with tops.replay(place, 'moving', '-d', '0.2') as top:
        tops.first(top)
        top.keys('Space')
        before = top.shows('FROZEN', row=0)
        serve.expect('frozen', top.still(1).text, before.text)
        top.keys('Space')
        top.hides('FROZEN')
        top.shows('24.0 GiB')


# -- charts -------------------------------------------------------------------


def check_charts(place):
    with small(place, size=(132, 43)) as top:
        screen = tops.press(top, 'charts')
        tops.has(screen.text, 'Device 0', 'Device 1', 'peak')
        seen = [screen]

        def window(screen):
            """The row that is painted last, and tells what is charted."""
            return next((r for r in screen.rows if ' window ' in r), '')

        def changes(key):
            before = window(seen[-1])
            top.keys(key)
            top.until(key, lambda s: window(s) not in ('', before))
            seen.append(tops.settled(top))
        for key in '----++++--[[]]':
            changes(key)
        serve.expect('back and forth', seen[14].text, seen[10].text)
        top.keys('[')
        top.keys('0')
        top.until('now', lambda s: s.text == seen[14].text)
        top.keys('Enter')
        top.hides('Device 1')
        top.keys('Enter')
        top.shows('Device 1')


def check_windows_from_a_minute_to_a_day(place):
    with small(place) as top:
        tops.press(top, 'charts', *'+' * 12)
        top.shows('window 1m00s')
        for _ in range(12):
            top.keys('-')
        top.shows('window 1d00h')


# -- processes ----------------------------------------------------------------


def check_sorting(place):
    with small(place, size=(200, 60)) as top:
        tops.press(top, 'processes')
        in_order(top, 'by DRAM', [1001, 2002, 3003, 4004, 5005])
        top.keys('r')
        in_order(top, 'reversed', [4004, 3003, 2002, 1001, 5005])
        top.keys('r', 'F6')
        top.shows('Sort by')
        top.keys('Home', 'Enter')
        top.hides('Sort by')
        in_order(top, 'by pid', [1001, 2002, 3003, 4004, 5005])
        top.keys('r')
        in_order(top, 'by pid, reversed', [5005, 4004, 3003, 2002, 1001])
        top.keys('r', '<')
        in_order(top, 'by command', [5005, 1001, 3003, 2002, 4004])
        top.keys('>')
        in_order(top, 'by pid', [1001, 2002, 3003, 4004, 5005])


def check_states(place):
    with small(place, size=(132, 43)) as top:
        screen = tops.press(top, 'processes')
        for pid, state in ((1001, 'reporting'), (2002, 'silent'),
                           (3003, 'died+leak'), (4004, 'unknown'),
                           (5005, 'untracked')):
            tops.has(screen.row_of(str(pid)), f' {state} ')
        # What is not known of it is not 0.
        if re.search(r' 0 ?B? ', screen.row_of('5005')):
            serve.fail(screen.row_of('5005'))


def check_filter(place):
    with small(place) as top:
        tops.press(top, 'processes')
        top.keys('/')
        top.shows('Filter: ', row=-1)
        top.type('train')
        top.shows('Filter: train', row=-1)
        in_order(top, 'filtered as it is typed', [2002])
        top.keys('Enter')
        top.hides('Filter: train')
        in_order(top, 'filtered', [2002])
        top.keys('/')
        top.keys('BSpace', 'BSpace', 'BSpace', 'BSpace', 'BSpace')
        top.type('zzz')
        top.shows('No process')
        top.keys('Escape')
        in_order(top, 'as before', [2002])
        top.keys('/', 'C-u', 'Enter')
        in_order(top, 'all', [1001, 2002, 3003, 4004, 5005])


def check_tree(place):
    with small(place, size=(132, 43)) as top:
        tops.press(top, 'processes', 't')
        screen = top.shows('Device 0', 'Device 1')
        first, second = screen.find('Device 0')[0], screen.find('Device 1')[0]
        for pid, above, below in ((3003, first, second), (2002, second, 43)):
            row = screen.find(f' {pid} ')[0]
            if not above < row < below:
                serve.fail(f'{pid}:\n{screen.framed()}')
        top.keys('t')
        top.hides('Device 0')


def check_scopes(place):
    with small(place, size=(132, 43)) as top:
        tops.press(top, 'processes', 'Right')
        screen = top.shows('kv_cache', 'model.layers.0', 'ttnn.matmul')
        tops.has(screen.row_of('kv_cache'), '1.00G')
        tops.has(screen.row_of('model.layers.0'), '960M')
        top.keys('Left')
        top.hides('kv_cache')
        top.keys('*')
        top.shows('kv_cache', 'optimizer.state', 'test_resnet')
        top.keys('*')
        top.hides('kv_cache', 'optimizer.state')


def check_process_detail(place):
    with small(place, size=(132, 60)) as top:
        tops.press(top, 'processes')
        top.keys('Enter')
        top.shows('Process (Esc closes)', 'llama-serve --model llama-70b',
                  'docker-3f9c1b7a0d52.scope', 'Largest objects')
        top.keys('Escape')
        top.hides('Process (Esc closes)')


def check_only_of_a_device(place):
    with small(place) as top:
        tops.press(top, 'processes', 'd')
        top.until('some of them', lambda s: 2002 not in pids(s) or
                  3003 not in pids(s))


# -- windows ------------------------------------------------------------------


def check_help(place):
    for size in ((40, 10), (80, 24), (200, 60)):
        with small(place, size=size) as top:
            for key in ('F1', 'h', '?'):
                top.keys(key)
                top.shows('ttmem-top: keys')
                top.keys('Escape')
                top.hides('ttmem-top: keys')
            top.keys('F1', 'End')
            top.shows('!!')
            top.keys('q')
            top.hides('ttmem-top: keys')


def check_settings_are_kept(place):
    path = f'{place.files}/config/ttmem/top.conf'
    with small(place) as top:
        top.keys('F2')
        top.shows('Settings', '[ ] vi movement')
        top.keys('Space')
        top.shows('[x] vi movement')
        top.keys('Escape')
        top.hides('Settings')
        # At once: no key is needed.
        top.keys('j')
        top.shows('Device 1  ')
        top.keys('k')
        top.shows('Device 0  ')
        top.keys('q')
        serve.expect('status', top.status(), 0)
    with open(path, encoding='utf-8') as file:
        tops.has(file.read(), 'vi')
    with small(place) as top:
        top.keys('F2')
        top.shows('[x] vi movement')
        top.keys('Space', 'Escape', 'q')
        serve.expect('status', top.status(), 0)
    with small(place) as top:
        top.keys('F2')
        top.shows('[ ] vi movement')


def write_settings(place, text):
    """Replaces the user's configuration file; returns its path."""
    path = f'{place.files}/config/ttmem/top.conf'
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'w', encoding='utf-8') as file:
        file.write(text)
    return path


def check_settings_that_make_no_sense(place):
    """They are skipped or off, and the view opens."""
    for text in ('nonsense\n', 'vi = perhaps\n', '=\n\n\n#x\n', 'x' * 60000,
                 '\x1b[2J = yes\n'):
        write_settings(place, text)
        with small(place) as top:
            tops.is_whole(top.still())
            top.keys('q')
            serve.expect('status', top.status(), 0)


def check_a_file_that_is_no_settings(place):
    """It is refused before the terminal is touched, and stays as it is."""
    for text, why in (('x' * 100000, 'the line is too long'),
                      ('vi = on\n' + 'x' * 100000 + '\n',
                       'the line is too long'),
                      ('vi = on\n\0\n', 'not text: there is a zero byte')):
        path = write_settings(place, text)
        said = f'ttmem-top: {path}: not a configuration file: {why}; ' \
            'name another with --config, or use --no-config'
        with tops.replay(place, 'small') as top:
            serve.expect('status', top.status(), 2)
            serve.expect('output', top.all_bytes().decode(), f'{said}\r\n')
        done = tops.run(place, '--replay', tops.sample(place, 'small'),
                        '--once', status=2)
        serve.expect('output', (done.stdout, done.stderr), ('', f'{said}\n'))
        with open(path, encoding='utf-8') as file:
            serve.expect('the file is the same', file.read() == text, True)
        with small(place, '--no-config') as top:
            top.keys('q')
            serve.expect('status', top.status(), 0)


def check_settings_that_cannot_be_kept(place):
    with open(f'{place.files}/config', 'w', encoding='ascii'):
        pass
    with small(place) as top:
        top.keys('F2', 'Space', 'Escape')
        top.hides('Settings')
        top.keys('q')
        serve.expect('status', top.status(), 0)


# -- mouse --------------------------------------------------------------------


def check_mouse(place):
    with small(place, size=(132, 43)) as top:
        screen = top.shows('3 Processes')
        row, column = screen.find('3 Processes')
        top.mouse(row, column)
        tops.in_view(top, 'processes')
        screen = top.shows('PID')
        # A click on a title sorts, another one the other way round.
        row, column = screen.find('PID')
        top.mouse(row, column + 1)
        in_order(top, 'by pid', [1001, 2002, 3003, 4004, 5005])
        top.shows('PID▲')
        top.still()  # two clicks, not a double one
        top.mouse(row, column + 1)
        in_order(top, 'reversed', [5005, 4004, 3003, 2002, 1001])
        # On a row selects it.
        top.mouse(top.screen().find(' 2002 ')[0], 20)
        top.still()
        top.keys('Enter')
        top.shows('Process (Esc closes)', 'train-loop')
        top.keys('Escape')
        # On a key of the last line presses it.
        row, column = top.shows('Filter', row=-1).find('Filter', 42)
        top.mouse(row, column)
        top.shows('Filter: ', row=-1)
        top.keys('Escape')
        screen = top.screen()
        top.mouse(*screen.find('1 Devices'))
        tops.in_view(top, 'devices')
        top.mouse(10, 10, 65)
        top.shows('Device 1  ')
        top.mouse(10, 10, 64)
        top.shows('Device 0  ')


def check_mouse_is_a_setting(place):
    with small(place) as top:
        serve.expect('mouse', top.modes()['mouse_any_flag'] == '1' or
                     top.modes()['mouse_standard_flag'] == '1', True)
        top.keys('F2', 'Down', 'Space', 'Escape')
        top.hides('Settings')
        top.until('no mouse', lambda _: top.modes()['mouse_standard_flag'] ==
                  '0' and top.modes()['mouse_any_flag'] == '0')


# -- others -------------------------------------------------------------------


def check_hostile_sample(place):
    for size in ((80, 24), (132, 43)):
        with tops.replay(place, 'hostile', size=size) as top:
            tops.first(top)
            for name in tops.VIEWS.values():
                tops.is_whole(tops.press(top, name))
            tops.press(top, 'processes', '*')
            for _ in range(6):
                screen = tops.settled(top)
                tops.is_whole(screen)
                at(screen, 0, 0, ' 1 Devices ')
                at(screen, size[1] - 1, 0, 'F1Help ')
                top.keys('NPage')
            top.keys('Enter')
            tops.is_whole(top.still())


def check_every_key_everywhere(place):
    """Whatever is pressed where, it lives, and q or Esc leads out."""
    names = ['Up', 'Down', 'Left', 'Right', 'PPage', 'NPage', 'Home', 'End',
             'Enter', 'Tab', 'BTab', 'Escape', 'BSpace', 'DC', 'IC', 'C-l',
             *(f'F{i}' for i in range(1, 10)),
             *(chr(c) for c in range(33, 127) if chr(c) not in 'qQ;')]
    for sample in ('small', 'none', 'empty', 'unknown'):
        with tops.replay(place, sample, '--readonly') as top:
            top.shows('1 Devices', row=0)
            for view in tops.VIEWS:
                top.keys('Escape', 'Escape', view, *names)
                top.keys('Escape', 'Escape', 'Escape')
            top.keys('1')
            tops.in_view(top, 'devices')
            top.keys('q')
            serve.expect(f'status with {sample}', top.status(), 0)


if __name__ == '__main__':
    sys.exit(tops.run_all(__doc__, [
        v for k, v in sorted(globals().items()) if k.startswith('check_')]))
