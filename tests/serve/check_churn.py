#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Many processes with four threads each, of all patterns, on shared chips and as a
mesh: while they hold what they have, and after they have ended, every figure is what
the loads say. TTMEM_TEST_SCALE=2500 makes it 100 processes and 50 million events.
"""

import sys

import rounds

THREADS = 4
PROCESSES = min(100, rounds.scaled(20, 5))
EVENTS = rounds.scaled(2_000_000, 20_000)
# What each fifth of the processes does.
PATTERNS = (
    ('--pattern', 'churn', '--devices', 2, '--cross-free', 30, '--live', 60,
     '--scopes', 5),
    ('--pattern', 'mixed', '--devices', 4, '--mesh', '--failures', 3,
     '--live', 60),
    ('--pattern', 'inference', '--devices', 2, '--chip-offset', 1, '--marks'),
    ('--pattern', 'cb', '--devices', 3, '--logical-offset', 2),
    ('--pattern', 'kernels', '--no-identity', '--leak', 7, '--failures', 2),
)


def check(place, seed):
    story = rounds.Story()
    server = rounds.Server(place)
    server.ready()
    reader = rounds.Reader(place)
    share = PROCESSES // len(PATTERNS)
    for number, pattern in enumerate(PATTERNS):
        story.add(rounds.Load(
            place, '--processes', share, '--threads', THREADS,
            '--events', EVENTS // (share * THREADS * len(PATTERNS)),
            '--seed', seed + number, '--hold', *pattern))
    for load in story.loads:
        load.ready()
    snapshot = rounds.settled(place, story)
    print(f'held: {len(snapshot["objects"])} objects, '
          f'{sum(p["events"] for p in snapshot["processes"])} records, '
          f'{sum(p["missed"] for p in snapshot["processes"])} missed')
    for load in story.loads:
        load.end()
    snapshot = rounds.settled(place, story)
    rounds.expect('segments', place.segments(), [])
    rounds.expect('strays', place.strays(), [])
    reader.end()
    server.stop()
    print(f'churn: {PROCESSES} processes, '
          f'{sum(load.truth["events"] for load in story.loads)} events, '
          f'{sum(p["events"] for p in snapshot["processes"])} records, '
          f'{sum(p["missed"] for p in snapshot["processes"])} missed')


if __name__ == '__main__':
    sys.exit(rounds.run(check, __doc__))
