# SPDX-License-Identifier: Apache-2.0
"""A leak check for pytest: tests that use the fixture must free what they allocate.

    pytest -p pytest_ttmem ...

with this folder in PYTHONPATH and TTMEM_ENABLED=1 in the environment. A test that
leaves something on the devices ends with an error that tells what.
"""

import pytest

import ttmem


@pytest.fixture
def ttmem_devices():
    """The devices that are looked at; a project overrides it in its conftest."""
    return (0,)


@pytest.fixture
def ttmem_leak_check(ttmem_devices):
    with ttmem.leak_check(devices=ttmem_devices):
        yield
