#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What ttmem-top costs, live on a real ttmemd with many processes: the time to its
first frame, and its processor time in each view. Nothing is asserted; targets are
shown beside the figures.
"""

import argparse
import fcntl
import glob
import os
import select
import signal
import statistics
import struct
import subprocess
import sys
import termios
import time

import serve

VIEWS = {'1': 'devices', '2': 'charts', '3': 'processes', '4': 'health'}
# The last thing of a frame.
LAST = b'Quit'


def options_parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument('ttmemd')
    parser.add_argument('load', help='ttmem-load')
    parser.add_argument('seen')
    parser.add_argument('top', help='ttmem-top')
    parser.add_argument('--devices', type=int, default=32)
    parser.add_argument('--processes', type=int, default=500)
    parser.add_argument('--objects', type=serve.number, default=10000,
                        help='of all processes together')
    parser.add_argument('--everywhere', action='store_true',
                        help='each process on each device, not only on one')
    parser.add_argument('--rate', type=int, default=5000,
                        help='events per second, all together')
    parser.add_argument('--columns', type=int, default=132)
    parser.add_argument('--rows', type=int, default=43)
    parser.add_argument('--starts', type=int, default=20)
    parser.add_argument('--seconds', type=float, default=10,
                        help='in each view (default: 10)')
    parser.add_argument('--json', action='store_true')
    return parser.parse_args()


class Top:
    """A ttmem-top on a terminal that nobody looks at."""

    def __init__(self, place, options):
        self.terminal, inner = os.openpty()
        fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack(
            'HHHH', options.rows, options.columns, 0, 0))
        env = {**place.env, 'TERM': 'xterm-256color', 'LC_ALL': 'C.UTF-8',
               'XDG_CONFIG_HOME': place.base}
        self.begin = time.monotonic_ns()
        self.process = subprocess.Popen(
            [options.top, '--dir', place.base, '-d', '1'], env=env,
            stdin=inner, stdout=inner, stderr=inner, start_new_session=True)
        os.close(inner)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        while self.read(0.05) or self.process.poll() is None:
            pass
        os.close(self.terminal)

    def read(self, seconds):
        """What it has written, b'' after so long without."""
        if not select.select([self.terminal], [], [], max(0, seconds))[0]:
            return b''
        try:
            return os.read(self.terminal, 1 << 16)
        except OSError:
            return b''

    def first_frame_ns(self):
        seen = b''
        end = time.monotonic() + 60
        while LAST not in seen:
            if time.monotonic() > end:
                sys.exit('top.py: no frame in a minute')
            seen += self.read(1)
        return time.monotonic_ns() - self.begin

    def watch(self, seconds):
        """Lets it run; returns what it has written."""
        end = time.monotonic() + seconds
        written = 0
        while time.monotonic() < end:
            written += len(self.read(end - time.monotonic()))
        return written

    def cpu_ns(self):
        spent = 0
        for path in glob.glob(f'/proc/{self.process.pid}/task/*/schedstat'):
            with open(path, encoding='ascii') as file:
                spent += int(file.read().split()[0])
        return spent


def hold(place, options, processes, **where):
    """Processes that hold their part of the objects."""
    words = [f'--{k.replace("_", "-")}={v}' for k, v in where.items()]
    place.load('--board', 'galaxy-blackhole', '--processes', processes,
               '--pattern', 'hold', '--objects',
               options.objects // options.processes, *words, ready=True)


def measure(options):
    with serve.Place(options) as place:
        if options.everywhere:
            hold(place, options, options.processes, devices=options.devices)
        else:
            for at in range(options.devices):
                count = (options.processes + at) // options.devices
                hold(place, options, count, chip_offset=at, logical_offset=at)
        place.serve()
        place.until(options.objects // options.processes * options.processes,
                    options.processes)
        place.load('--board', 'galaxy-blackhole', '--devices',
                   options.devices, '--pattern', 'inference', '--rate',
                   options.rate, '--seconds', 3600)
        what = f'{options.devices} devices, {options.processes} processes ' \
            f'on {"all" if options.everywhere else "one"}, ' \
            f'{options.objects} objects'
        yield from starts(place, options, what)
        yield from views(place, options)


def starts(place, options, what):
    took = []
    for _ in range(options.starts):
        with Top(place, options) as top:
            took.append(top.first_frame_ns() / 1e6)
    took.sort()
    yield ('start', 'start to first frame, median',
           statistics.median(took), 'ms', '<= 100', f'{what}; best {took[0]:.1f}, worst {took[-1]:.1f}')


def views(place, options):
    with Top(place, options) as top:
        top.first_frame_ns()
        for key, name in VIEWS.items():
            os.write(top.terminal, key.encode())
            top.watch(2)
            before, begin = top.cpu_ns(), time.monotonic_ns()
            written = top.watch(options.seconds)
            share = (top.cpu_ns() - before) / (time.monotonic_ns() - begin)
            yield ('views', f'{name}, every second', share * 100,
                   '% of a core', '<= 2', f'{written / options.seconds:.0f} '
                   'bytes/s to the terminal')


def main():
    options = options_parse()
    serve.report('top', measure(options), options.json)


if __name__ == '__main__':
    main()
