#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_crash.py TTMEM-LOAD SEGDUMP

Of a process that dies, everything is known but one call per thread; and that
call is named, with what it may have changed.
"""

import json
import os
import signal
import subprocess
import sys
import time

import loads

ROUNDS = max(3, int(30 * loads.scale()))


def figure_bounds(process):
    """{(logical, figure, flow): (least, most)} from the document."""
    bounds = {}
    for device in process['devices']:
        for figure, flows in device['figures'].items():
            for flow in ('alloc_objects', 'alloc_bytes', 'free_objects',
                         'free_bytes'):
                bounds[device['logical'], figure, flow] = [flows[flow]] * 2
    for doubt in process['in_doubt']:
        for change in doubt['changes']:
            words = change['name'].split('.')
            for logical in change['logical'] if words[0] == 'figures' else []:
                # A segment does not count requested bytes.
                if (logical, words[1], words[2]) in bounds:
                    bounds[logical, words[1], words[2]][1] += change['by']
    return bounds


def within(process, segment):
    """Whether the segment is as the document says, doubts included. Objects and
    bytes of a call come and go together, so a doubt has no more than two ends
    unless it is about many objects."""
    threads = [d['thread'] for d in process['in_doubt']]
    loads.expect('one doubt per thread', len(threads), len(set(threads)))
    devices = {d['logical']: d for d in segment.devices.values()}
    for (logical, figure, flow), (least, most) in \
            figure_bounds(process).items():
        found = devices[logical]['figures'][figure][flow] \
            if logical in devices else 0
        if not least <= found <= most:
            loads.fail(f'{figure} {flow} of {logical}: {found} is not from '
                       f'{least} to {most}; in doubt: {process["in_doubt"]}')


def check(place, truth, killed):
    segments = place.segments('-k')
    for process in truth['processes']:
        loads.expect('signal', process['signal'], killed)
        within(process, segments[process['pid']])
    place.tidy()
    return sum(len(p['in_doubt']) for p in truth['processes'])


def check_planned(place):
    """At the end nothing is under way: no doubt at all."""
    for name, number in (('kill', 9), ('abort', 6), ('segv', 11),
                         ('term', 15)):
        truth = place.truth('--events', '3000', '--processes', '2',
                            '--threads', '2', f'--crash={name}',
                            '--leak', '3')
        loads.same(truth, place.segments())
        loads.expect('doubts', check(place, truth, number), 0)
        if not truth['figures']['dram']['live_objects'] > 100:
            loads.fail('freed before the crash')
        loads.expect('leaks', len(truth['leaks']), 3)


def check_inside(place):
    """One thread kills while others are in the middle of something."""
    doubts = 0
    for number in range(ROUNDS):
        truth = place.truth('--pattern', 'mixed', '--threads', '3',
                            '--devices', '2', '--events', '1000000',
                            '--crash-after', 5000 + number * 37,
                            '--seed', number,
                            *(['--mesh', '--shrink', 30] if number % 2
                              else []))
        doubts += check(place, truth, 9)
    return doubts


def children_of(pid):
    with open(f'/proc/{pid}/task/{pid}/children', encoding='ascii') as file:
        return [int(word) for word in file.read().split()]


def check_outside(place):
    """Somebody else kills, at any moment; the load tells, and fails."""
    doubts = 0
    for number in range(ROUNDS):
        process = subprocess.Popen(
            place.command('--pattern', 'mixed', '--processes', '2',
                          '--threads', '2', '--seconds', '60', '--json', '-',
                          '--seed', number),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=place.environment())
        # Not before both have begun.
        while len(place_segments(place)) < 2:
            time.sleep(0.001)
        time.sleep(0.002 * (number % 7))
        for child in children_of(process.pid):
            os.kill(child, signal.SIGKILL)
        said, complaint = process.communicate()
        loads.expect('status', process.returncode, 1)
        loads.expect('complaints', complaint.count('killed by signal 9'), 2)
        doubts += check(place, json.loads(said), 9)
    return doubts


def place_segments(place):
    folder = f'{place.base}/ttmem-{os.getuid()}'
    return [f for f in os.listdir(folder) if f.startswith('p.')]


def main():
    load, segdump = loads.arguments(__doc__)
    with loads.Place(load, segdump) as place:
        check_planned(place)
        inside = check_inside(place)
        outside = check_outside(place)
    print(f'crash: {inside} and {outside} calls were in doubt '
          f'in {ROUNDS} rounds each')
    return 0


if __name__ == '__main__':
    sys.exit(main())
