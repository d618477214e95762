#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The first program of a user makes the directory that ttmemd has to see before it can
serve it. A program that has ended by then, with nothing left, counts all the same:
whether ttmemd was only slow, or killed meanwhile. Where it has ended in order nobody
waits for anything, and nothing is left. And a directory that another ttmemd gave up is
as new to root's as one that was just made.
"""

import os
import signal
import sys

import rounds


def first_program(place, story, seed):
    story.add(rounds.Load(place, '--events', 100, '--devices', 2, '--pattern',
                          'inference', '--seed', seed)).end()


def check_slow(place, seed):
    story = rounds.Story()
    server = rounds.Server(place)
    server.ready()
    server.process.send_signal(signal.SIGSTOP)
    first_program(place, story, seed)
    server.process.send_signal(signal.SIGCONT)
    rounds.settled(place, story)
    server.stop()


def check_killed(place, seed):
    story = rounds.Story()
    server = rounds.Server(place)
    server.ready()
    server.kill()
    first_program(place, story, seed)
    server = rounds.Server(place)
    server.ready()
    rounds.settled(place, story)
    server.stop()


def check_ended(place, seed):
    server = rounds.Server(place)
    server.ready()
    server.stop()
    first_program(place, rounds.Story(), seed)
    rounds.expect('segments', place.segments(), [])


def check_handed_over(place, seed):
    """The user's own ttmemd ends in order; root's has yet to see that it may serve."""
    if os.geteuid() != 0:
        return
    story = rounds.Story()
    users = rounds.Server(place, '--mode', 'user')
    rounds.until('a publication of the user\'s', lambda: os.path.exists(
        f'{place.own}/aggregate'))
    roots = rounds.Server(place)
    roots.ready()
    roots.process.send_signal(signal.SIGSTOP)
    users.stop()
    first_program(place, story, seed)
    roots.process.send_signal(signal.SIGCONT)
    rounds.settled(place, story)
    roots.stop()


def check(place, seed):
    check_slow(place, seed)
    for stage in (check_killed, check_ended, check_handed_over):
        with rounds.Place(place.programs) as another:
            stage(another, seed)


if __name__ == '__main__':
    sys.exit(rounds.run(check, __doc__))
