# SPDX-License-Identifier: Apache-2.0
"""Tests with a leak check: the second one fails, for it leaks.

    TTMEM_ENABLED=1 PYTHONPATH=. pytest -p pytest_ttmem example_tests.py
"""

import pytest

import ttmem

pytestmark = pytest.mark.usefixtures('ttmem_leak_check')


def test_that_frees_what_it_allocates():
    ttmem.alloc(0, ttmem.Kind.DRAM, 1, 0x1000, 4096)
    assert ttmem.usage(0)['dram'].live_bytes == 4096
    ttmem.free(0, ttmem.Kind.DRAM, 1)


def test_that_leaks():
    with ttmem.scope('op leaky'):
        ttmem.alloc(0, ttmem.Kind.L1, 2, 0x2000, 2048)


def test_that_is_not_blamed_for_the_leak_before_it():
    ttmem.alloc(0, ttmem.Kind.L1, 3, 0x3000, 1024)
    ttmem.free(0, ttmem.Kind.L1, 3)
