#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_patches.py FOLDER

Applies each patch of FOLDER to a tree that has the lines which the patch names, where
the patch says and some lines further down, and checks that every function that the
patches call is declared by the adapter.
"""

import glob
import os
import re
import subprocess
import sys
import tempfile

HUNK = re.compile(r'@@ -(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@')


def files_of(patch):
    """{path: {line number: line}} of what the patch expects to find."""
    files, lines, at = {}, None, 0
    for line in patch.split('\n'):
        hunk = HUNK.match(line)
        if line.startswith('--- a/'):
            lines = files.setdefault(line[len('--- a/'):], {})
        elif hunk:
            at = int(hunk[1])
        elif lines is not None and at and line[:1] in (' ', '-'):
            lines[at] = line[1:]
            at += 1
    return files


def tree_make(folder, files, shift):
    for path, lines in files.items():
        path = os.path.join(folder, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        text = [f'{n}' for n in range(shift)] + [
            lines.get(n, f'line {n}') for n in range(1, max(lines) + 9)]
        with open(path, 'w', encoding='utf-8') as file:
            file.write('\n'.join(text) + '\n')


def is_applied(patch, files, shift):
    with tempfile.TemporaryDirectory() as folder:
        tree_make(folder, files, shift)
        said = subprocess.run(['git', 'apply', '--check', patch], cwd=folder,
                              capture_output=True, text=True, check=False)
    if said.returncode:
        print(f'{patch}, shifted by {shift}: {said.stderr}')
    return said.returncode == 0


def main():
    if len(sys.argv) != 2:
        print(__doc__, end='')
        return 2
    folder = os.path.abspath(sys.argv[1])
    headers = ''
    for path in glob.glob(f'{folder}/../*.hpp'):
        with open(path, encoding='utf-8') as file:
            headers += file.read()
    patches = sorted(glob.glob(f'{folder}/*.patch'))
    good = bool(patches)
    for patch in patches:
        with open(patch, encoding='utf-8') as file:
            text = file.read()
        files = files_of(text)
        good &= bool(files) and all(
            [is_applied(patch, files, shift) for shift in (0, 7)])
        for name in re.findall(r'ttmem::metal::(\w+)\(', text):
            if not re.search(rf'\b{name}\(', headers):
                print(f'{patch}: no {name}()')
                good = False
    print(f'{len(patches)} patches', 'apply' if good else 'do not all apply')
    return 0 if good else 1


if __name__ == '__main__':
    sys.exit(main())
