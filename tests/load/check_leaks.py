#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_leaks.py TTMEM-LOAD SEGDUMP

--leak leaves exactly what the document lists, and each is found in the segment of
its process, in the scope that carries its name.
"""

import sys

import loads


def found_in(segments):
    return sorted(
        (pid, segment.devices[o['entries']]['logical'], o['figure'],
         int(o['id']), int(o['bytes']), o['scope'].replace('\\x20', ' '),
         o['orphan'] == '1')
        for pid, segment in segments.items() for o in segment.objects)


def check(place, leaks, orphan, *options):
    truth = place.truth('--events', '2000', '--leak', leaks, *options)
    segments = place.segments()
    loads.same(truth, segments)
    listed = sorted((k['pid'], k['device'], k['kind'], k['id'], k['size'],
                     k['scope'], orphan) for k in truth['leaks'])
    loads.expect('listed', len(listed), leaks)
    loads.expect('scopes', len({k[5] for k in listed}), leaks)
    loads.expect(f'found with {options}', found_in(segments), listed)
    place.tidy()
    return truth


def main():
    load, segdump = loads.arguments(__doc__)
    # Not served: what is found is what stays on its own.
    with loads.Place(load, segdump, served=False) as place:
        check(place, 5, True)
        check(place, 3, False, '--no-close')
        check(place, 7, True, '--processes', '2', '--threads', '2',
              '--devices', '3', '--pattern', 'mixed')
        check(place, 4, True, '--devices', '2', '--mesh')
        check(place, 4, True, '--devices', '5', '--mesh=2', '--shrink', '50')
        truth = check(place, 2, False, '--implicit', '--leak-kind', 'l1',
                      '--leak-size', '24K')
        loads.expect('kind and size',
                     {(k['kind'], k['size']) for k in truth['leaks']},
                     {('l1', 24576)})
        truth = place.truth('--events', '2000', '--leak', '0')
        loads.expect('no leak', (truth['leaks'], place.segments()), ([], {}))
    print('leaks: exact')
    return 0


if __name__ == '__main__':
    sys.exit(main())
