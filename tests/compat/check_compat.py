#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_compat.py TTMEMD TTMEM-LOAD SNAPDUMP CALLS CLIENT [CHECK...]

The calls of the first tracking client, through the compatibility header, as ttmemd
shows them; and what must not compile.
"""

import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                '../serve'))
import serve  # noqa: E402
from serve import KIB, expect  # noqa: E402
from steps import Steps  # noqa: E402

CLIENT = None


def client(place, scenario, **environment):
    place.serve()
    return Steps(place, CLIENT, scenario, **environment)


def check_both_orders_mean_the_same(place):
    caller = client(place, 'both_orders')

    def kept(snapshot):
        found = {(o['figure'], o['id'], o['address'])
                 for o in caller.objects(snapshot) if o['size'] > 100}
        wanted = {('l1', 0x1000), ('l1_small', 0x1010), ('trace', 0x2000),
                  ('dram', 0x1000), ('dram', 0x1001)}
        expect('ids', found, {(f, hex(i), hex(i)) for f, i in wanted})
    caller.to('allocated').seen('allocated', {
        0: {'l1': (4096, 1), 'l1_small': (4097, 1), 'trace': (4098, 1),
            'dram': (15000, 2)},
        1: {'l1': (100, 1)}, 2: {'l1': (100, 1)}}, look=kept)
    caller.end()


def check_frees_find_any_kind(place):
    # As its callers say it.
    caller = client(place, 'any_kind', TT_ALLOC_TRACKING_ENABLED='1',
                    TTMEM_ENABLED='')
    caller.to('allocated').seen('allocated', {0: dict.fromkeys(
        ('dram', 'l1', 'system_memory', 'l1_small', 'trace'), (100, 1))})
    caller.go('freed').seen('freed', {0: {}})
    caller.go('wrong').seen('wrong', {0: {}}, anomalies={
        'free_unknown': 1, 'bad_kind': 1, 'bad_device': 1})
    caller.end()


def check_sizes_come_multiplied(place):
    caller = client(place, 'cbs_and_kernels')
    caller.to('loaded').seen('loaded', {0: {
        'kernel_fabric': (896 * KIB, 1), 'kernel_dispatch': (92 * KIB, 1),
        'kernel_application': (8000 * KIB, 1), 'cb': (257 * KIB, 2),
        'dispatches.kernel_application': 1, 'cb_footprint': 257 * KIB}},
        look=lambda s: expect('L1 use', s.device(logical=0)['l1_use'],
                              (896 + 92 + 8000 + 257) * KIB))
    caller.go('unloaded').seen('unloaded', {0: {
        'kernel_dispatch': (92 * KIB, 1), 'cb': (KIB, 1)}})
    caller.end()


def check_what_can_be_read_both_ways_does_not_compile(_):
    for arguments, good in (
            ('0, 4096, uint8_t(1), 77', True),
            ('0, 4096, 77, uint8_t(1)', True),
            ('0, 4096, 1, 77', False),
            ('0, 4096, uint64_t(1), uint64_t(77)', False)):
        done = subprocess.run(
            [*os.environ['CXX'].split(), '-std=c++11', '-fsyntax-only',
             '-I', os.path.join(os.environ['SOURCE_ROOT'], 'include'),
             '-xc++', '-'], text=True, capture_output=True, check=False,
            input='#include <ttmem/allocation_client.hpp>\nvoid f() { '
            f'tt::tt_metal::AllocationClient::report_allocation({arguments});'
            ' }\n')
        expect(f'{arguments} compiles', done.returncode == 0, good)
        expect(f'{arguments} is ambiguous', 'ambiguous' in done.stderr,
               not good)


if __name__ == '__main__':
    if len(sys.argv) < 6:
        print(__doc__, end='')
        sys.exit(2)
    CLIENT = os.path.abspath(sys.argv.pop(5))
    sys.exit(serve.run_all(__doc__, [
        check_both_orders_mean_the_same, check_frees_find_any_kind,
        check_sizes_come_multiplied,
        check_what_can_be_read_both_ways_does_not_compile]))
