#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""More processes end than ttmemd keeps: the oldest are dropped, and what flowed through
the devices stays, to the byte, whenever ttmemd is killed meanwhile.
"""

import random
import sys
import time

import rounds

# 2,048 that left nothing are kept at most.
PROCESSES = 2700
# Dead segments beyond 64 MiB would be removed by others where nobody serves.
AT_ONCE = 30
KILLS = rounds.scaled(10, 3)


def check(place, seed):
    chance = random.Random(seed)
    story = rounds.Story()
    reader = rounds.Reader(place)
    server = rounds.Server(place)
    server.ready()
    kills = 0
    for number in range(PROCESSES // AT_ONCE):
        load = story.add(rounds.Load(
            place, '--processes', AT_ONCE, '--events', 40, '--devices', 2,
            '--failures', 1, '--seed', seed + number))
        while not load.has_ended():
            time.sleep(chance.random() * 0.05)
            if kills < KILLS and chance.random() < 0.1:
                server.kill()
                kills += 1
                server = rounds.Server(place)
        load.end()
        server.ready()
    last = {}

    def look():
        snapshot = place.snapshot('distributions')
        last['wrong'] = rounds.chip_differences(snapshot, story) + \
            rounds.losses(snapshot)
        drained = sum(row['total'] for row in snapshot['distributions'])
        due = sum(figure[flow] for device in snapshot['devices']
                  for figure in device['figures'].values()
                  for flow in ('alloc_objects', 'free_objects'))
        # A restart begins them anew.
        if drained > due:
            last['wrong'].append(f'{drained} in distributions, {due} due')
        if snapshot['health']['attached'] or place.segments():
            last['wrong'].append('not all are retired')
        return not last['wrong'] and snapshot

    def settle():
        server.ready()
        return rounds.until(lambda: '\n'.join(last['wrong'][:30]), look,
                            pause=0.05)

    snapshot = settle()
    server.kill()
    server = rounds.Server(place)
    again = settle()
    rounds.expect('retirements', {p['uuid'] for p in again['processes']},
                  {p['uuid'] for p in snapshot['processes']})
    if len(again['processes']) > 2048:
        rounds.fail(f'{len(again["processes"])} are kept')
    rounds.expect('strays', place.strays(), [])
    reader.end()
    server.stop()
    print(f'dropped: {PROCESSES - len(again["processes"])} of {PROCESSES}, '
          f'{kills} kills')


if __name__ == '__main__':
    sys.exit(rounds.run(check, __doc__))
