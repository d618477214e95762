#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_repeats.py TTMEM-LOAD SEGDUMP

The same seed makes the same load, another one makes another; and limits are kept.
"""

import sys
import time

import loads

PATTERNS = ('churn', 'inference', 'cb', 'kernels', 'mixed')


def without_chance(truth):
    """Without what differs from run to run."""
    del truth['elapsed_ns']
    for process in truth['processes']:
        del process['pid']
    for leak in truth['leaks']:
        del leak['pid']
    return truth


def check_seeds(place, pattern):
    def run(seed):
        return without_chance(place.truth(
            '--pattern', pattern, '--events', '5000', '--seed', seed,
            '--leak', '2', '--processes', '2', '--devices', '4',
            '--mesh=2', '--shrink', '20'))

    first = run(7)
    loads.expect(f'{pattern}: again', run(7), first)
    if run(8)['figures'] == first['figures']:
        loads.fail(f'{pattern}: another seed makes no difference')
    place.tidy()


def check_limits(place):
    begin = time.monotonic()
    truth = place.truth('--seconds', '0.3')
    took = time.monotonic() - begin
    if not 0.3 <= took < 20 or truth['events'] < 1000:
        loads.fail(f'0.3 s: {took} s, {truth["events"]} events')
    begin = time.monotonic()
    truth = place.truth('--rate', '2000', '--events', '1000', '--live', '50')
    took = time.monotonic() - begin
    # Not faster; a busy machine may be slower.
    if took < 0.45 or not 990 < truth['events'] < 1010:
        loads.fail(f'1000 events at 2000/s: {took} s, {truth["events"]}')
    loads.same(truth, {p: s for p, s in place.segments().items()
                       if p == truth['processes'][0]['pid']})


def main():
    load, segdump = loads.arguments(__doc__)
    with loads.Place(load, segdump) as place:
        for pattern in PATTERNS:
            check_seeds(place, pattern)
        check_limits(place)
    print('repeats: exactly')
    return 0


if __name__ == '__main__':
    sys.exit(main())
