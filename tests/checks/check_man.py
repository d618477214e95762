#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_man.py PAGE...

mandoc has nothing to say about the manual pages, what they refer to is among them or has
a name that is not ours, and no quotation has another one in it.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

NOT_FOUND = re.compile(r'referenced manual not found: Xr (\S+) (\d)')
# groff ends the first behind the second: (`0, `2-3'').
NESTED = re.compile(r'^\..*\bQl .*\bQl ', re.MULTILINE)
REFERENCE = re.compile(r'^\.Xr (\S+) (\d)', re.MULTILINE)


def lint(path):
    """What mandoc says, but for pages that are not installed on this machine."""
    said = subprocess.run(['mandoc', '-Tlint', '-W', 'style', path], text=True,
                          stdout=subprocess.PIPE, check=False).stdout
    return [line for line in said.splitlines() if not NOT_FOUND.search(line)]


def references(path, pages):
    """Pages of ours that it refers to and that do not exist."""
    with open(path, encoding='utf-8') as file:
        found = REFERENCE.findall(file.read())
    return [f'{path}: no page {name}({section})' for name, section in found
            if name.startswith('ttmem') and
            f'{name}.{section}' not in pages]


def nested(path):
    """Lines that quote twice."""
    with open(path, encoding='utf-8') as file:
        return [f'{path}: nested quotes: {line}'
                for line in NESTED.findall(file.read())]


def can_fail():
    with tempfile.NamedTemporaryFile('w', suffix='.1') as page:
        page.write('.Dd July 1, 2025\n.Dt X 1\n.Os\n.Sh NAME\n.Nm x\n.Nd y\n'
                   '.Sh DESCRIPTION\n.Xr ttmem-none 9\n.Nosuchmacro\n'
                   '.Pq Ql a , Ql b\n')
        page.flush()
        return lint(page.name) and references(page.name, []) and \
            nested(page.name)


def main():
    if len(sys.argv) < 2:
        print(__doc__, end='')
        return 2
    if not shutil.which('mandoc'):
        return 77
    if not can_fail():
        print('finds no fault where there is one')
        return 1
    paths = sys.argv[1:]
    pages = [os.path.basename(p) for p in paths]
    faults = [f for p in paths
              for f in lint(p) + references(p, pages) + nested(p)]
    for fault in faults:
        print(fault)
    print(f'man: {len(pages)} pages, {len(faults)} faults')
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main())
