# SPDX-License-Identifier: Apache-2.0
"""What the checks share: the project's files, and C without its comments."""

import os
import re
import subprocess
import sys
import tempfile

C_ENDINGS = ('.c', '.h', '.cc', '.hpp', '.def')


def git_files(root):
    """Tracked files and those about to be; None without git or its data."""
    try:
        done = subprocess.run(
            ['git', 'ls-files', '-z', '--cached', '--others',
             '--exclude-standard'],
            cwd=root, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    except OSError:
        return None
    if done.returncode != 0:
        return None
    names = done.stdout.decode().split('\0')
    return [n for n in names if n and os.path.isfile(os.path.join(root, n))]


def walked_files(root):
    """The same guessed from the folders, for a copy of the tree."""
    found = []
    for folder, folders, names in os.walk(root):
        inside = os.path.relpath(folder, root)
        if inside == '.':
            inside = ''
            folders[:] = [f for f in folders if not f.startswith('build')]
        if inside == 'subprojects':
            folders[:] = [f for f in folders if f == 'packagefiles']
        folders[:] = [f for f in folders if f not in ('.git', '__pycache__')]
        found += [os.path.join(inside, n) for n in names]
    return found


def files(root):
    """Paths of the project's own files, relative to its root, sorted."""
    found = git_files(root)
    return sorted(set(walked_files(root) if found is None else found))


def read(root, name):
    with open(os.path.join(root, name), encoding='utf-8') as f:
        return f.read()


def make(root, content):
    """Writes a made-up tree: {path: text}."""
    for name, text in content.items():
        path = os.path.join(root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w', encoding='utf-8') as f:
            f.write(text)


TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'',
    re.DOTALL)


def blank(text):
    return re.sub(r'[^\n]', ' ', text)


def without_comments(text):
    """Comments become blanks; lines keep their numbers."""
    return TOKEN.sub(
        lambda m: blank(m[0]) if m[0].startswith('/') else m[0], text)


def comments(text):
    """(line number, comment) of each comment."""
    return [(text.count('\n', 0, m.start()) + 1, m[0])
            for m in TOKEN.finditer(text) if m[0].startswith('/')]


def lines(text):
    return enumerate(text.split('\n'), 1)


def found_in(check, content):
    """What `check` says about a made-up tree."""
    with tempfile.TemporaryDirectory() as root:
        make(root, content)
        return check(root)


def expect(check, content, wanted):
    """Stops unless `check` finds exactly the faults listed, in any order."""
    found = found_in(check, content)
    left = list(found)
    for part in wanted:
        match = next((f for f in left if part in f), None)
        if match is None:
            sys.exit(f'self-test: not found: {part!r} among {found}')
        left.remove(match)
    if left:
        sys.exit(f'self-test: unexpected: {left}')


def report(name, faults, seen):
    """Prints, and ends with the status Meson expects."""
    for fault in faults:
        print(fault)
    print(f'{name}: {seen}, {len(faults)} faults')
    sys.exit(1 if faults else 0)


def root_argument():
    """The tree to look at: first argument, SOURCE_ROOT, or our own."""
    if len(sys.argv) > 1:
        return sys.argv[1]
    here = os.path.dirname(os.path.abspath(__file__))
    return os.environ.get('SOURCE_ROOT') or os.path.dirname(
        os.path.dirname(here))
