#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_figures.py TTMEMD TTMEM-LOAD SNAPDUMP CALLS TTMEM-DUMP TTMEM-TOP
           [CHECK...]

The figures on the screen are those of ttmem-dump --format json of the same snapshot,
device by device and process by process.
"""
