# SPDX-License-Identifier: Apache-2.0
"""Stories: scripts of events, and what a device shows at each of their syncs."""

import serve
from serve import KIB, MIB

FABRIC = 896 * KIB       # 56 KiB on 16 ethernet cores
DISPATCH = 92 * KIB      # 46 KiB on 2 cores
# A device of 306 MiB of L1: no board, but what the runtime says counts.
L1_306 = 'open 0 chip=0x306 l1=1572864 cores=204'
NOTHING = {'dram_use': 0, 'l1_use': 0, 'l1_tensix_use': 0, 'cb_footprint': 0}


def mib(size, digits=1):
    """As people read it."""
    return f'{size / MIB:.{digits}f}'


def percent(size, capacity):
    return f'{100 * size / capacity:.1f}'


def story(place, script, *expected, options=()):
    """Runs the script; at its n-th sync the device shows expected[n], or each of
    them if that is by logical id. Returns the load, at its last sync."""
    place.serve()
    load = serve.Load(place, script)
    for number, wanted in enumerate(expected):
        load.to_sync() if number == 0 else load.go()
        look_at(place, load, wanted, options)
    return load


def look_at(place, load, wanted, options=()):
    if not all(isinstance(k, int) for k in wanted):
        wanted = {0: wanted}

    def look(snapshot):
        for logical, values in wanted.items():
            try:
                serve.shows(snapshot.device(logical=logical), values)
            except serve.Failed as failed:
                serve.fail(f'device {logical}: {failed}')
    return place.settled(load.at or 'the end', load, look=look,
                         options=options)
