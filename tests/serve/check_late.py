#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ttmemd comes late, is stopped for long, and comes back: live set and flows are
exact all the same, and what it could not read of the past is counted.

While it stands still the reader says `stale`, while there is none `dead`; and once it
moves again, `ok`.
"""

import signal
import sys
import time

import rounds

# Beyond what a lane holds.
OVERRUN = rounds.scaled(30000, 5000)


def missed(snapshot):
    return sum(p['missed'] for p in snapshot['processes'])


def source_is(place, wanted):
    rounds.until(f'source {wanted}', lambda:
                 (place.snapshot() or {'info': {'source': None}})
                 ['info']['source'] == wanted, pause=0.05)


def check_past_is_no_rate(place):
    """Nobody does anything now; what was done before ttmemd came is no rate."""
    def look():
        snapshot = place.snapshot()
        rates = [row['events_per_s']
                 for row in snapshot['devices'] + snapshot['processes']]
        rounds.expect('rates', rates, [0] * len(rates))
        return snapshot['info']['monotonic_ns'] > \
            snapshot['health']['started_ns'] + 2_500_000_000

    rounds.until('three seconds of ttmemd', look, pause=0.1)


class Clients:
    """Some of each sort, at each stage."""

    def __init__(self, place, seed):
        self.place = place
        self.seed = seed
        self.story = rounds.Story()
        self.held = []

    def _load(self, *options):
        self.seed += 1
        return self.story.add(rounds.Load(
            self.place, '--seed', self.seed, '--threads', 2, '--devices', 2,
            '--live', 200, *options))

    def hold(self, *options):
        load = self._load('--events', OVERRUN, '--hold', *options)
        self.held.append(load)
        load.ready()

    def leave_behind(self):
        """Those that end now: with objects left, by a crash, in the middle of
        something; and one that is killed while it holds."""
        self._load('--events', OVERRUN, '--leak', 3).end()
        self._load('--events', OVERRUN, '--pattern', 'mixed', '--mesh',
                   '--crash', '--processes', 2).end()
        self._load('--events', 10 * OVERRUN, '--crash-after', OVERRUN).end()
        load = self._load('--events', 1000, '--hold')
        load.ready()
        load.kill()
        load.end(status=1)

    def clean(self):
        """One that ends with nothing left."""
        self._load('--events', OVERRUN, '--pattern', 'inference').end()


def check(place, seed):
    clients = Clients(place, seed)
    reader = rounds.Reader(place, '--stale-ms', 1000)
    # Nobody there yet: what ends with nothing left is nobody's business.
    clients.hold('--cross-free', 20)
    clients.hold('--pattern', 'mixed', '--mesh')
    clients.leave_behind()
    # The last second is no past yet.
    done = time.monotonic()
    rounds.until('a past', lambda: time.monotonic() > done + 1.5)
    server = rounds.Server(place)
    server.ready()
    snapshot = rounds.settled(place, clients.story, chips=False)
    check_past_is_no_rate(place)
    late = missed(snapshot)
    if not late:
        rounds.fail('late, and nothing missed')

    # It stands still, for longer than the reader believes in it.
    server.process.send_signal(signal.SIGSTOP)
    clients.leave_behind()
    clients.clean()
    clients.hold('--pattern', 'inference')
    clients.held.pop(0).end()
    source_is(place, 'stale')
    server.process.send_signal(signal.SIGCONT)
    source_is(place, 'ok')
    snapshot = rounds.settled(place, clients.story, chips=False)
    stopped = missed(snapshot)
    if stopped <= late:
        rounds.fail('stopped, and nothing missed')

    # It ends, and another one comes.
    server.stop()
    source_is(place, 'dead')
    clients.leave_behind()
    clients.hold('--cross-free', 20)
    # It was seen before, and so it is missed if it goes away now.
    clients.held.pop(0).end()
    source_is(place, 'dead')
    server = rounds.Server(place)
    server.ready()
    source_is(place, 'ok')
    snapshot = rounds.settled(place, clients.story, chips=False)
    again = missed(snapshot)
    if again <= stopped:
        rounds.fail('restarted, and nothing missed')

    for load in clients.held:
        load.end()
    snapshot = rounds.settled(place, clients.story, chips=False)
    rounds.expect('segments', place.segments(), [])
    rounds.expect('strays', place.strays(), [])
    counts = reader.end()
    for source in ('ok', 'stale', 'dead'):
        if not counts.get(source):
            rounds.fail(f'the reader never said {source}')
    server.stop()
    print(f'late: {late} missed, {stopped} after a stop, {again} after a '
          f'restart, of {sum(p["events"] for p in snapshot["processes"])}')


if __name__ == '__main__':
    sys.exit(rounds.run(check, __doc__))
