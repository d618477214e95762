#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks two functions for leaks, and tells what the second one left.

    TTMEM_ENABLED=1 python3 leak.py
"""

import ttmem


@ttmem.leak_check(devices=[0, 1])
def careful():
    with ttmem.scope('op careful'):
        ttmem.alloc(1, ttmem.Kind.DRAM, 1, 0x1000, 1 << 20)
        ttmem.free(1, ttmem.Kind.DRAM, 1)


@ttmem.leak_check(devices=[0, 1])
def careless():
    with ttmem.scope('op careless'):
        ttmem.alloc(0, ttmem.Kind.DRAM, 2, 0x1000, 1 << 20)
        ttmem.alloc(1, ttmem.Kind.TRACE, 3, 0x1000, 4096)


careful()
try:
    careless()
except ttmem.Leak as leak:
    print(leak)
