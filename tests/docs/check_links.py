#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every link from a page to the tree leads somewhere, down to the heading.

Folders and files that a page names in its tables, as `path/`, are looked at too, in
the table of folders of README.md: all folders are in it, and all in it exist.
"""

import os
import re
import sys

ROOT = os.path.abspath(os.environ.get('SOURCE_ROOT') or os.path.join(
    os.path.dirname(os.path.abspath(__file__)), '../..'))
sys.path.insert(0, f'{ROOT}/tests/checks')
import tree  # noqa: E402

FENCE = re.compile(r'^ *```.*?^ *```$', re.MULTILINE | re.DOTALL)
CODE = re.compile(r'`[^`\n]*`')
LINK = re.compile(r'!?\[[^\]]*\]\(([^)\s]+)\)|\b(?:src|href)="([^"]+)"')
HEADING = re.compile(r'^#+ +(.*?) *$', re.MULTILINE)
FOLDERS = re.compile(r'^## Where things are$(.*?)(?=^## |\Z)',
                     re.MULTILINE | re.DOTALL)


def anchors(text):
    """As GitHub makes them: lower case, no punctuation, dashes for blanks."""
    found = set()
    for heading in HEADING.findall(FENCE.sub('', text)):
        name = re.sub(r'[^\w\- ]', '', heading.lower()).replace(' ', '-')
        number, plain = 0, name
        while name in found:
            number += 1
            name = f'{plain}-{number}'
        found.add(name)
    return found


def link_fault(root, page, target):
    path, _, anchor = target.partition('#')
    there = os.path.normpath(os.path.join(os.path.dirname(page), path)) \
        if path else page
    if not os.path.exists(os.path.join(root, there)):
        return f'{page}: {target}: not there'
    if anchor and (not there.endswith('.md') or
                   anchor not in anchors(tree.read(root, there))):
        return f'{page}: {target}: no such heading'
    return None


def folders_of(files):
    """Folders with a file of ours: the first level, and the second of those
    that the table goes into."""
    return {f.split('/')[0] for f in files
            if '/' in f and not f.startswith('.')}


def folder_faults(root, files):
    text = tree.read(root, 'README.md') if 'README.md' in files else ''
    table = FOLDERS.search(text)
    if not table:
        return []
    named = re.findall(r'`([\w./-]+/)`', table[1])
    faults = [f'README.md: {name}: not there' for name in named
              if not os.path.isdir(os.path.join(root, name))]
    tops = {name.split('/')[0] for name in named}
    return faults + [f'README.md: {name}/ is not among the folders'
                     for name in sorted(folders_of(files) - tops)]


def check(root):
    files = tree.files(root)
    faults = folder_faults(root, files)
    for page in [f for f in files if f.endswith('.md')]:
        text = CODE.sub('', FENCE.sub('', tree.read(root, page)))
        for match in LINK.finditer(text):
            target = match[1] or match[2]
            if not re.match(r'[a-z][a-z0-9+.-]*:', target):
                fault = link_fault(root, page, target)
                faults += [fault] if fault else []
    return faults


def self_test():
    tree.expect(check, {
        'README.md': '[a](docs/a.md#two-words-a), [b](docs)\n'
                     '## Where things are\n| `docs/` | x |\n',
        'docs/a.md': '# Two words: `a`\n[up](../README.md) [here](#two-words-a)'
                     ' `[no](link)`\n```sh\n[no](link)\n```\n',
    }, [])
    tree.expect(check, {
        'README.md': '[a](docs/b.md) [c](docs/a.md#three)\n'
                     '![p](docs/p.png) <img src="docs/q.png">\n'
                     '## Where things are\n| `lib/` | x |\n',
        'docs/a.md': '# Two words\n',
    }, ['docs/b.md: not there', 'a.md#three: no such', 'p.png: not there',
        'q.png: not there', 'lib/: not there', 'docs/ is not among'])


if __name__ == '__main__':
    self_test()
    tree.report('links', check(ROOT), 'all pages')
