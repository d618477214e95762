#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_looks.py TTMEMD TTMEM-LOAD SNAPDUMP CALLS TTMEM-DUMP TTMEM-TOP
           [CHECK...]

ttmem-top with and without colours, UTF-8 and a terminal at all, and how it is used
wrongly.
"""

import os
import re
import shlex
import subprocess
import sys

import tops
from terminal import Terminal, cells, serve

COLOUR = re.compile(rb'\x1b\[(?:[0-9;]*;)?(?:[349][0-7]|10[0-7]|[34]8;[25];'
                    rb'[0-9;]+)(?:;[0-9;]*)?m')


def all_bytes(place, sample='small', **how):
    """What it wrote in all views."""
    with tops.replay(place, sample, **how) as top:
        tops.first(top)
        screens = []
        for name in tops.VIEWS.values():
            screens.append(tops.press(top, name))
        return top.quit(), screens


def check_colours(place):
    data, _ = all_bytes(place)
    if not COLOUR.search(data):
        serve.fail('no colours where there could be')


def check_no_color(place):
    data, screens = all_bytes(place, NO_COLOR='1')
    found = COLOUR.search(data)
    if found:
        serve.fail(f'{found[0]!r} in spite of NO_COLOR')
    # The state is told all the same.
    tops.has(screens[0].text, '!')


def check_empty_no_color_is_none(place):
    """As no-color.org has it: an empty one does not count."""
    with Terminal(['env', 'NO_COLOR=', tops.PROGRAM, '--replay',
                   tops.sample(place, 'small')],
                  env=tops.environment(place)) as top:
        tops.first(top)
        if not COLOUR.search(top.quit()):
            serve.fail('no colours')


def check_vt100(place):
    data, screens = all_bytes(place, term='vt100')
    if COLOUR.search(data):
        serve.fail('colours on a vt100')
    tops.has(screens[0].text, '!')


def check_ascii(place):
    for sample in ('small', 'hostile'):
        data, screens = all_bytes(place, sample, locale='C')
        if sample == 'small':
            # Nor are they what a C locale makes of others.
            tops.has_not(''.join(s.text for s in screens), '?')
            tops.has(screens[0].text, '[||')
        beyond = [b for b in data if b >= 0x80]
        if beyond:
            serve.fail(f'{len(beyond)} bytes that are not ASCII, {sample}')


def check_utf8_bars(place):
    _, screens = all_bytes(place)
    if not re.search('[▏▎▍▌▋▊▉█]', screens[0].text):
        serve.fail(f'no bars:\n{screens[0].framed()}')
    if not re.search('[▁▂▃▄▅▆▇█]', screens[1].text):
        serve.fail(f'no chart:\n{screens[1].framed()}')


def is_plain(text):
    bad = re.search('[\x00-\x09\x0b-\x1f\x7f-\x9f]', text)
    if bad:
        serve.fail(f'{bad[0]!r} in a plain frame')
    tops.has(text, '0')


def check_dumb(place):
    with tops.replay(place, 'small', term='dumb') as top:
        serve.expect('status', top.status(), 0)
        is_plain(top.all_bytes().decode().replace('\r\n', '\n'))


def check_pipe(place):
    for sample in tops.samples.SAMPLES:
        done = tops.run(place, '--replay', tops.sample(place, sample),
                        status=tops.WORTH.get(sample, 0))
        is_plain(done.stdout + '0')
        serve.expect('stderr', done.stderr, '')


def check_terminal_without_name(place):
    """No TERM, or one that nobody knows: a plain frame, too."""
    for term in ('', 'no-such-terminal'):
        with tops.replay(place, 'small', term=term) as top:
            serve.expect('status', top.status(), 0)
            is_plain(top.all_bytes().decode().replace('\r\n', '\n'))


def check_batch(place):
    path = tops.sample(place, 'moving')
    once = tops.run(place, '--replay', path, '--once').stdout
    serve.expect('-1', tops.run(place, '--replay', path, '-1').stdout, once)
    many = tops.run(place, '--replay', path, '-b', '-n', '3', '-d',
                    '0.1').stdout
    is_plain(many)
    serve.expect('frames', many.count('DRAM%'), 3 * once.count('DRAM%'))
    serve.expect('lines', once.rstrip('\n').split('\n')[-1] != '', True)


def check_all_devices_in_a_pipe(place):
    """There is no last row in a pipe: nothing is left out."""
    text = tops.run(place, '--replay', tops.sample(place, 'big'),
                    '--once').stdout
    for device in range(32):
        if not re.search(rf'^ *{device} +galaxy', text, re.M):
            serve.fail(f'no device {device} in:\n{text}')


def check_nobody_reads_it(place):
    """The pipe is closed: it ends, without a word."""
    line = f'{tops.PROGRAM} -b -d 0.05 --replay ' \
        f'{tops.sample(place, "small")} | head -n 1'
    done = subprocess.run(['sh', '-c', line], capture_output=True, text=True,
                          env={**place.environment(), 'LC_ALL': 'C.UTF-8'},
                          timeout=60, check=True)
    serve.expect('lines', done.stdout.count('\n'), 1)
    serve.expect('stderr', done.stderr, '')


def check_full_disk(place):
    """What cannot be written is no success."""
    with open('/dev/full', 'w', encoding='ascii') as full:
        done = subprocess.run(
            [tops.PROGRAM, '--once', '--replay', tops.sample(place, 'small')],
            stdout=full, stderr=subprocess.PIPE, text=True, timeout=60,
            env=place.environment(), check=False)
    serve.expect('status', done.returncode, 1)
    tops.has(done.stderr, 'ttmem-top: ', 'No space left')


def check_size(place):
    text = tops.run(place, '--replay', tops.sample(place, 'small'), '--once',
                    '--size', '100x20').stdout
    for line in text.splitlines():
        if len(cells(line)) > 100:
            serve.fail(f'longer than 100: {line!r}')


def check_charts_cut_no_number(place):
    """Behind DRAM and L1 is what a wide terminal has there, or less of it."""
    def titles(cols):
        text = tops.run(place, '--replay', tops.sample(place, 'small'),
                        '--once', '--view', 'charts', '--size',
                        f'{cols}x24').stdout
        return {word for line in text.splitlines()[1:]
                for title in re.findall(r' (?:DRAM|L1  ) (.*)', line)
                for word in title.split() if '[' not in line}
    wide = titles(160)
    tops.has(' '.join(wide), '62.6%', '20.2G')
    for cols in range(20, 80):
        serve.expect(f'cut at {cols} columns', titles(cols) - wide, set())


def check_wrong_use(place):
    for options in (('--nonsense',), ('-d', 'x'), ('-d', '0'), ('-n', '-1'),
                    ('extra',), ('--replay',), ('-n', '1e99'),
                    ('--sort', 'nothing'), ('--device', 'nothing'),
                    ('--device', ''), ('--device', '-1'),
                    ('--device', 'asic:x'), ('--device', 'pci:1')):
        done = tops.run(place, *options, status=2)
        tops.has(done.stderr, 'ttmem-top')
        serve.expect('stdout', done.stdout, '')
    tops.has(tops.run(place, '--help').stdout, 'usage: ttmem-top', '--replay',
             '--readonly')
    tops.has(tops.run(place, '--version').stdout, 'ttmem-top')


def check_device(place):
    """By each of its names; one that is not there is not taken for another."""
    sample = tops.sample(place, 'small')
    for name in ('1', 'asic:7700000400000002', 'asic:0x7700000400000002',
                 'pci:0004:01:00.0', 'pci:4:1:0.0'):
        text = tops.run(place, '--replay', sample, '--once', '--device',
                        name).stdout
        tops.has(text, '\nDevice 1 ')
    for name in ('99', 'asic:1', 'pci:ff:1f.7'):
        done = tops.run(place, '--replay', sample, '--once', '--device', name,
                        status=3)
        serve.expect('stderr', done.stderr,
                     f'ttmem-top: no data: there is no device {name}\n')


def check_no_recording(place):
    bad = place.file('json', 'this is no JSON\n')
    for path, status in ((f'{place.files}/none', 1), (bad, 4), ('/', 1)):
        done = tops.run(place, '--replay', path, '--once', status=status)
        tops.has(done.stderr, f'ttmem-top: {path}: ')
        serve.expect('lines', done.stderr.count('\n'), 1)


def check_no_end(place):
    """A device, and a line of 10 GB, are refused at once."""
    long = place.file('long', '{')
    os.truncate(long, 10 * 10**9)
    for path in ('/dev/zero', long):
        done = tops.run(place, '--replay', path, '--once', status=1,
                        timeout=10)
        serve.expect('stderr', done.stderr,
                     f'ttmem-top: {path}: line 1: not text\n')
        with tops.top(place, '--replay', path) as top:
            serve.expect('status', top.status(), 1)
        done = tops.run(place, '--config', path, '--once', status=2,
                        timeout=10)
        tops.has(done.stderr, f'ttmem-top: {path}: not a configuration file')
    # Lines of something else, without an end.
    line = f'yes | {shlex.quote(tops.PROGRAM)} --replay - --once'
    done = subprocess.run(['sh', '-c', line], capture_output=True, text=True,
                          check=False, timeout=10,
                          env=tops.environment(place))
    serve.expect('status', done.returncode, 1)
    tops.has(done.stderr, 'ttmem-top: -: line 1000: ')


def check_no_ttmemd(place):
    done = tops.run(place, '--once', status=3)
    tops.has(done.stdout + done.stderr, 'never started')


if __name__ == '__main__':
    sys.exit(tops.run_all(__doc__, [
        check_colours, check_no_color, check_empty_no_color_is_none,
        check_vt100, check_ascii, check_utf8_bars, check_dumb, check_pipe,
        check_terminal_without_name, check_batch,
        check_all_devices_in_a_pipe, check_nobody_reads_it, check_full_disk,
        check_size, check_charts_cut_no_number, check_wrong_use,
        check_device, check_no_recording, check_no_end, check_no_ttmemd,
    ]))
