#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The man page tells the keys, columns and settings that the program has.

Both come from tables: tools/ttmem-top/*/*.def. With --fix the man page is written
anew.
"""

import os
import re
import sys
import textwrap

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', '..')
STRING = r'"((?:[^"\\]|\\.)*)"'


def read(path):
    with open(os.path.join(ROOT, path), encoding='utf-8') as file:
        return file.read()


def table(name):
    text = read(f'tools/ttmem-top/{name}')
    return re.sub(r'/\*.*?\*/', '', text, flags=re.S)


def plain(text):
    """mdoc: no word may be taken for a macro, nor a sign for an escape."""
    text = text.replace('\\', '\\e')
    return re.sub(r'^([.\'])', r'\\&\1', text)


def sentence(text):
    lines = textwrap.wrap(text[0].upper() + text[1:] + '.', 78,
                          break_on_hyphens=False)
    return '\n'.join(plain(line) for line in lines)


def keys_of(text):
    """The keys of an action, as literals that are separated by commas."""
    return ' , '.join('\\&' + plain(key) if not key[0].isalnum() else key
                      for key in text.split())


def keys():
    lines = []
    group = None
    pattern = rf'^ACTION\({STRING}, \w+, {STRING}, {STRING}\)'
    for match in re.finditer(pattern, table('views/keys.def'), re.M):
        if match[1] != group:
            if group:
                lines.append('.El')
            group = match[1]
            lines += [f'.Ss {group}', '.Bl -tag -width "q F10 Ctrl-C" -compact']
        lines += [f'.It Ic {keys_of(match[2])}', sentence(match[3])]
    return lines + ['.El']


def columns():
    titles = {'DEVICES': 'Devices', 'BREAKDOWN': 'Selected device',
              'PROCESSES': 'Processes'}
    lines = []
    group = None
    pattern = (rf'^COLUMN\((\w+), \w+, {STRING}, {STRING}, \d+, \d+, \d+, '
               rf'\w+, {STRING}\)')
    for match in re.finditer(pattern, table('model/columns.def'), re.M):
        if match[1] != group:
            if group:
                lines.append('.El')
            group = match[1]
            lines.append(f'.Ss {titles[group]}')
            if group == 'PROCESSES':
                lines.append('In parentheses is what')
                lines += ['.Fl \\-sort', 'takes.']
            lines.append('.Bl -tag -width CONTAINER')
        title = match[3] or match[2]
        name = f' Pq Cm {match[2]}' if group == 'PROCESSES' else ''
        lines += [f'.It Li {title}{name}', sentence(match[4])]
    return lines + ['.El']


def settings():
    lines = ['.Bl -tag -width braille -compact']
    pattern = rf'^SETTING\(\w+, {STRING}, (\w+), {STRING}\)'
    for match in re.finditer(pattern, table('model/settings.def'), re.M):
        state = 'on' if match[2] == 'true' else 'off'
        lines += [f'.It Cm {match[1]}',
                  sentence(f'{match[3]} (default: {state})')]
    return lines + ['.El']


def with_tables(page):
    for name, make in (('keys.def', keys), ('columns.def', columns),
                       ('settings.def', settings)):
        begin = f'.\\" {name}\n'
        pattern = re.escape(begin) + r'.*?(?=\.\\" end\n)'
        lines = make()
        assert len(lines) > 5, f'{name}: nothing found'
        page, count = re.subn(
            pattern, lambda _: begin + '\n'.join(lines) + '\n', page,
            flags=re.S)
        assert count == 1, f'{name}: no place in the man page'
    return page


def main():
    path = 'man/ttmem-top.1'
    page = read(path)
    wanted = with_tables(page)
    if '--fix' in sys.argv[1:]:
        with open(os.path.join(ROOT, path), 'w', encoding='utf-8') as file:
            file.write(wanted)
    elif page != wanted:
        sys.exit(f'{path} is not what the tables say: '
                 'run tests/top/parts/check_tables.py --fix')
    print('tables: ok')


if __name__ == '__main__':
    main()
