#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ttmemd is killed again and again, at any moment: while it starts, while it retires,
while its file grows; and is started anew each time, under loads that go on all the
while. Clients come, end, crash and are killed meanwhile. In the end nothing is lost
and nothing counted twice. TTMEM_TEST_SCALE=500 makes it 200 kills.
"""

import os
import random
import sys
import time

import rounds

KILLS = rounds.scaled(40, 5)
CLIENTS = 3  # that come and go, at a time


class Visitors:
    """Clients that come and go."""

    def __init__(self, place, story, chance):
        self.place = place
        self.story = story
        self.chance = chance
        self.here = []
        self.came = 0
        self.most = 10

    def _options(self):
        chance = self.chance
        return [
            ['--pattern', chance.choice(('churn', 'mixed', 'inference', 'cb')),
             '--events', chance.randrange(200, 6000), '--threads', 2],
            ['--events', chance.randrange(200, 3000), '--leak',
             chance.randrange(1, 20), '--cross-free', 20, '--threads', 2],
            ['--pattern', 'mixed', '--events', chance.randrange(200, 3000),
             '--crash', '--processes', 2, '--devices', 2, '--mesh',
             '--live', 100],
            ['--pattern', 'mixed', '--events', 1000000, '--threads', 3,
             '--crash-after', chance.randrange(200, 3000), '--live', 100],
            # The aggregate has to grow, more than once.
            ['--pattern', 'hold', '--objects',
             chance.randrange(1000, 3000 + min(20000, 500 * self.came)),
             '--hold-seconds', '0.02'],
            # To be killed from here.
            ['--pattern', 'churn', '--seconds', 60, '--rate', 20000,
             '--threads', 2, '--processes', 2, '--live', 100],
        ]

    def look(self, more=True):
        """Takes note of those that have ended; returns whether one has."""
        ended = False
        for load, killed in list(self.here):
            if killed and load.pids() and self.chance.random() < 0.5:
                load.kill()
            if load.has_ended():
                load.end(status=1 if killed else 0)
                self.here.remove((load, killed))
                ended = True
        while more and len(self.here) < CLIENTS and self.came < self.most:
            options = self._options()
            number = self.chance.randrange(len(options))
            load = self.story.add(rounds.Load(
                self.place, '--seed', self.chance.randrange(1 << 30),
                '--chip-offset', self.chance.randrange(3),
                *options[number]))
            self.here.append((load, number == len(options) - 1))
            self.came += 1
        return ended

    def leave(self):
        while self.here:
            rounds.until('the last clients', lambda: self.look(more=False))


class Kills:
    """Chooses the moments."""

    def __init__(self, place, visitors, chance):
        self.place = place
        self.visitors = visitors
        self.chance = chance
        self.by_moment = {'starting': 0, 'retiring': 0, 'running': 0}

    def _wait(self, seconds):
        """The moment is the point, and clients are not to wait for it."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.visitors.look()
            time.sleep(min(0.002, max(0, end - time.monotonic())))

    def once(self):
        """A life of ttmemd."""
        self.visitors.most += 4
        server = rounds.Server(self.place)
        moment = self.chance.choice(('starting', 'retiring', 'running',
                                     'running'))
        if moment == 'starting':
            # From exec to well after the first publication, for a busy
            # machine is slow.
            time.sleep(self.chance.random() * 0.06)
        else:
            server.ready()
            if moment == 'retiring':
                rounds.until('a client that ends', self.visitors.look,
                             pause=0.001)
                time.sleep(self.chance.random() * 0.03)
            else:
                self._wait(self.chance.random() * 0.4)
        server.kill()
        self.by_moment[moment] += 1
        if len(self.place.strays()) > 2:
            rounds.fail(f'files that stay: {self.place.strays()}')


def check_once_each(snapshot):
    uuids = [p['uuid'] for p in snapshot['processes']]
    rounds.expect('retired twice', len(uuids), len(set(uuids)))


def check(place, seed):
    chance = random.Random(seed)
    story = rounds.Story()
    # Goes on to the end; and holds what it has, long before.
    long = story.add(rounds.Load(
        place, '--processes', 3, '--threads', 2, '--devices', 2,
        '--pattern', 'mixed', '--rate', 4000, '--seconds', 3600,
        '--seed', seed, '--leak', 5))
    held = story.add(rounds.Load(
        place, '--processes', 2, '--threads', 2, '--devices', 2, '--mesh',
        '--cross-free', 30, '--live', 300, '--rate', 5000, '--events',
        5000, '--scopes', 7, '--hold', '--seed', seed))
    visitors = Visitors(place, story, chance)
    reader = rounds.Reader(place)
    kills = Kills(place, visitors, chance)
    for _ in range(KILLS):
        kills.once()
    rounds.expect('the load goes on', long.process.poll(), None)
    server = rounds.Server(place)
    server.ready()
    visitors.leave()
    held.ready()
    long.stop()
    snapshot = rounds.settled(place, story, chips=False)
    check_once_each(snapshot)
    held.end()
    snapshot = rounds.settled(place, story, chips=False)
    check_once_each(snapshot)
    rounds.expect('segments', place.segments(), [])
    rounds.expect('strays', place.strays(), [])
    # None is forgotten with the ttmemd that retired it.
    server.kill()
    server = rounds.Server(place)
    server.ready()
    again = rounds.settled(place, story, chips=False)
    rounds.expect('retirements',
                  sorted((p['uuid'], p['retired_ns'])
                         for p in again['processes']),
                  sorted((p['uuid'], p['retired_ns'])
                         for p in snapshot['processes']))
    counts = reader.end()
    server.stop()
    doubts = sum(len(process['in_doubt']) for load in story.loads
                 for process in load.truth['processes'])
    print(f'kills: {KILLS}, {kills.by_moment}; {visitors.came} visitors, '
          f'{len(snapshot["processes"])} retirements, '
          f'{sum(p["events"] for p in snapshot["processes"])} records, '
          f'{sum(p["missed"] for p in snapshot["processes"])} missed, '
          f'{doubts} calls in doubt, '
          f'aggregate {os.stat(place.home + "/aggregate").st_size} bytes')
    if counts['files'] < 3:
        rounds.fail(f'the reader saw {counts["files"]} files only')


if __name__ == '__main__':
    sys.exit(rounds.run(check, __doc__))
