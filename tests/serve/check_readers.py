#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Readers in tight loops, while objects come and go at full speed, the aggregate grows,
and ttmemd is killed and comes back: none sees anything torn, or going back, and
objects that are said to be of one moment add up.
"""

import random
import sys
import time

import rounds

LIVES = rounds.scaled(6, 2)
SECONDS = 1.5


def check(place, seed):
    chance = random.Random(seed)
    story = rounds.Story()
    readers = [rounds.Reader(place), rounds.Reader(place, '--objects')]
    busy = [
        story.add(rounds.Load(
            place, '--processes', 2, '--threads', 2, '--devices', 2,
            '--cross-free', 30, '--live', 300, '--seconds', 3600,
            '--rate', 30000, '--seed', seed)),
        story.add(rounds.Load(
            place, '--pattern', 'mixed', '--threads', 2, '--devices', 4,
            '--mesh', '--seconds', 3600, '--rate', 3000, '--seed', seed)),
    ]
    for life in range(LIVES):
        server = rounds.Server(place)
        server.ready()
        # Each is larger than what there was: the file has to grow.
        grown = story.add(rounds.Load(
            place, '--pattern', 'hold', '--objects', 4000 * (life + 1),
            '--hold', '--seed', seed + life))
        grown.ready()
        end = time.monotonic() + chance.random() * SECONDS
        while time.monotonic() < end:
            # Processes come and go, too.
            story.add(rounds.Load(
                place, '--events', chance.randrange(100, 5000), '--threads',
                2, '--leak', chance.randrange(3))).end()
        grown.end()
        server.kill()
    server = rounds.Server(place)
    server.ready()
    for load in busy:
        load.stop()
    rounds.settled(place, story)
    counts = [reader.end() for reader in readers]
    server.stop()
    if min(c['consistent'] for c in counts) == 0 or \
            min(c['files'] for c in counts) < LIVES:
        rounds.fail('the readers have not seen enough')


if __name__ == '__main__':
    sys.exit(rounds.run(check, __doc__))
