#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_lockstep.py TTMEMD TTMEM-LOAD SNAPDUMP CALLS TTMEM-DUMP [CHECK...]

Sharded L1 buffers, as a script: at every step the L1 of the devices is as full as in a
model of an allocator that reserves the same addresses on all its banks, whichever of
them hold data. What was requested is shown beside it.
"""

import os
import random
import re
import sys

import dumps
from dumps import has, has_not, row, run
import serve

BANKS = 64
BANK_BYTES = 1 << 20
ALIGNMENT = 32
STEPS = 40


class Allocator:
    """One bank, for all are the same: [begin, end) of each buffer, from the top."""

    def __init__(self):
        self.ranges = {}
        self.bitmap = bytearray(BANK_BYTES // ALIGNMENT)

    def allocate(self, number, size):
        """The address, or None: no hole is large enough."""
        units = -(-size // ALIGNMENT)
        at = self.bitmap.rfind(bytes(units))
        if at < 0:
            return None
        self.bitmap[at:at + units] = b'\1' * units
        self.ranges[number] = (at, units)
        return at * ALIGNMENT

    def free(self, number):
        at, units = self.ranges.pop(number)
        self.bitmap[at:at + units] = bytes(units)

    def taken(self):
        """Of one bank, unit by unit."""
        return self.bitmap.count(1) * ALIGNMENT


class Story:
    """A script, and what the devices have after each step: [allocator of a device],
    {buffer: requested}."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.allocators = [Allocator(), Allocator()]
        self.requested = [{}, {}]
        self.handles = {}  # of live buffers
        self.lines = [f'open {d} chip={d + 1} l1={BANK_BYTES} cores={BANKS} '
                      f'l1_base=0 l1_top={BANK_BYTES} l1_banks={BANKS}'
                      for d in range(2)] + ['mesh both 0,1']
        self.wanted = []
        for number in range(STEPS):
            self.step(number)

    def allocate(self, number):
        shards = self.random.choice((1, 2, 4, 8, 32, 64))
        size = self.random.choice((2048, 30000, 65536, 100))
        requested = shards * size - self.random.randrange(shards)
        address = self.allocators[1].allocate(number, size)
        if address is None:
            return False
        reserved = -(-size // ALIGNMENT) * ALIGNMENT
        handle = 'both' if self.random.random() < .5 else '1'
        if handle == 'both':
            # The same allocator: of a mesh, there is one.
            at, units = self.allocators[1].ranges[number]
            first = self.allocators[0]
            first.bitmap[at:at + units] = b'\1' * units
            first.ranges[number] = (at, units)
            self.requested[0][number] = requested
        self.requested[1][number] = requested
        self.handles[number] = handle
        self.lines.append(
            f'alloc {handle} l1 {number} {address:#x} {requested} '
            f'banks={BANKS} per_bank={reserved}')
        return True

    def step(self, number):
        if self.handles and self.random.random() < .3 or \
                not self.allocate(number):
            gone = self.random.choice(list(self.handles))
            handle = self.handles.pop(gone)
            self.lines.append(f'free {handle} l1 {gone}')
            for d in (0, 1) if handle == 'both' else (1,):
                self.allocators[d].free(gone)
                del self.requested[d][gone]
        self.lines.append('sync')
        self.wanted.append([
            (len(r), BANKS * a.taken(), sum(r.values()))
            for a, r in zip(self.allocators, self.requested)])


def percent(used):
    return f'{100 * used / (BANKS * BANK_BYTES):.1f} %'


def shown(text, device):
    """The part of the report about that device."""
    return re.split(r'^Device ', text, flags=re.MULTILINE)[device + 1]


def check_percentage_is_the_allocators(place):
    place.serve()
    seed = int(os.environ.get('TTMEM_TEST_SEED', random.randrange(1 << 32)))
    print(f'    seed {seed}')
    story = Story(seed)
    load = serve.Load(place, '\n'.join(story.lines) + '\n')
    most = 0
    for number, wanted in enumerate(story.wanted):
        load.to_sync() if number == 0 else load.go()

        def look(snapshot):
            for device, (objects, used, requested) in enumerate(wanted):
                found = snapshot.device(logical=device)
                sums = found['figures']['l1']
                serve.expect(f'step {number}, device {device}', (
                    sums['live_objects'], sums['live_bytes'],
                    sums['requested_bytes'], found['l1_use'],
                    found['l1_bytes']), (
                        objects, used, requested, used, BANKS * BANK_BYTES))
        place.settled(f'step {number}', load, look=look)
        text = run(place, '--bytes').stdout
        for device, (objects, used, requested) in enumerate(wanted):
            if not objects:
                continue
            part = shown(text, device)
            columns = row(part, 'L1 buffers')
            serve.expect('used', columns[1], str(used))
            (has if requested != used else has_not)(part, 'REQUESTED')
            if requested != used:
                serve.expect('requested', columns[2], str(requested))
            serve.expect('percent', columns[-2], percent(used))
            has_not(part, 'no bank figures were told')
            most = max(most, used)
    print(f'    {percent(most)} at most')
    load.end()


if __name__ == '__main__':
    sys.exit(dumps.run_all(__doc__, (check_percentage_is_the_allocators,)))
