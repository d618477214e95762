#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: layout_page.py NAME DESCRIPTION INPUT OUTPUT

Makes the manual page NAME(5) of a page in docs/ that describes a layout, so that there
is one text of it. Knows what these pages use: headings, paragraphs, lists, indented
text, tables, code in backquotes, links to each other.
"""

import re
import sys
import textwrap

DATE = 'November 16, 2026'
PAGES = {'layout.md': 'ttmem-segment', 'aggregate.md': 'ttmem-aggregate'}
WIDTH = 78
TEXT_WIDTH = 68  # leaves room for what marks fonts
SENTENCE_END = re.compile(r'(?<=[.:?!]) (?=[A-Z`*(])|(?<=\.\)) (?=[A-Z])')


def plain(text):
    """Without marks; links become what they point to."""
    text = re.sub(r'\[([^]]*)\]\(([\w.]+)\)', lambda m:
                  f'{m[1]} ({PAGES[m[2]]}(5))' if m[2] in PAGES else m[1],
                  text)
    return text.replace('\\|', '|').replace('`', '')


def escaped(line):
    line = line.replace('\\', '\\e')
    return '\\&' + line if line[:1] in ".'" else line


def roman(text):
    """Running text: code is bold, what is between stars slanted."""
    text = escaped(re.sub(r'`([^`]*)`', '\x01\\1\x02', text).replace('`', ''))
    text = re.sub(r'(?<!\w)\*([\w ]+)\*(?!\w)', '\x03\\1\x02', text)
    for mark, font in (('\x01', '\\fB'), ('\x02', '\\fR'), ('\x03', '\\fI')):
        text = text.replace(mark, font)
    return text


def paragraph(lines):
    """A line for each sentence, as manual pages have it."""
    text = ' '.join(line.strip() for line in lines)
    text = re.sub(r'\[([^]]*)\]\(([\w.]+)\)', lambda m: plain(m[0]), text)
    for sentence in SENTENCE_END.split(text):
        # Code is not broken: its blanks stay together.
        whole = re.sub(r'`[^`]*`', lambda m: m[0].replace(' ', '\x04'),
                       sentence)
        for line in textwrap.wrap(whole, TEXT_WIDTH, break_long_words=False,
                                  break_on_hyphens=False):
            yield roman(line.replace('\x04', ' '))


def literal(lines):
    yield '.Bd -literal -offset 2n'
    yield from (escaped(line) for line in lines)
    yield '.Ed'


def table(lines):
    """Columns beside each other; the last one is folded."""
    rows = [[plain(cell).strip() for cell in
             re.split(r'(?<!\\)\|', line.strip().strip('|'))] for line in lines]
    rows = [row for row in rows if not all(re.fullmatch(r'-+', c) for c in row)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]) - 1)]
    # Where there is more than one long column, none gets more than its part.
    most = (WIDTH - 20) // max(1, len(widths))
    if sum(widths) > WIDTH - 20:
        widths = [min(w, most) for w in widths]
    last = max(20, WIDTH - 4 - sum(w + 2 for w in widths))
    text = []
    for row in rows:
        cells = [textwrap.wrap(c, w) or [''] for c, w in
                 zip(row, widths + [last])]
        for i in range(max(map(len, cells))):
            text.append('  '.join(
                (c[i] if i < len(c) else '').ljust(w) for c, w in
                zip(cells, widths + [last])).rstrip())
    return literal(text)


def blocks(lines):
    """(kind, lines) of what belongs together."""
    kinds = (('heading', re.compile(r'#+ ')), ('literal', re.compile(r' {4}')),
             ('table', re.compile(r'\|')), ('item', re.compile(r'- |\d+\. ')))
    kind, block = None, []
    for line in [*lines, '']:
        found = next((n for n, form in kinds if form.match(line)), 'text')
        if found == 'text' and kind == 'item' and line.startswith('  '):
            found = 'more'
        elif not line.strip():
            found = None
        if found == 'more':
            block.append(line)
            continue
        if block and (found != kind or kind in ('item', 'heading')):
            yield kind, block
            block = []
        kind = found
        if found:
            block.append(line)


def heading(line):
    level, text = line.split(' ', 1)
    text = plain(text).replace(', ', ' (', 1) + ')' if ', ' in text \
        else plain(text)
    return f'.Sh {text.upper()}' if len(level) == 2 else f'.Ss {text}'


def body(lines):
    """The page below its title."""
    yield '.Sh DESCRIPTION'
    last = 'heading'
    for kind, block in blocks(lines):
        if kind == 'heading':
            yield heading(block[0])
        elif kind in ('literal', 'table'):
            yield from literal(textwrap.dedent('\n'.join(block)).split('\n')) \
                if kind == 'literal' else table(block)
        else:
            if last != 'heading':
                yield '.Pp'
            if kind == 'item':
                block = [block[0], *(b.strip() for b in block[1:])]
            yield from paragraph(block)
        last = kind


def page(name, description, lines):
    start = next(i for i, line in enumerate(lines) if line.startswith('# '))
    yield '.\\" SPDX-License-Identifier: Apache-2.0'
    yield from (f'.Dd {DATE}', f'.Dt {name.upper()} 5', '.Os', '.Sh NAME',
                f'.Nm {name}', f'.Nd {description}')
    yield from body(lines[start + 1:])
    yield '.Sh SEE ALSO'
    others = sorted({f'.Xr {p} 5' for p in PAGES.values() if p != name} |
                    {'.Xr ttmem 3', '.Xr ttmem 7', '.Xr ttmemd 8'},
                    key=lambda x: (x.split()[2], x.split()[1]))
    yield from (f'{x} ,' for x in others[:-1])
    yield others[-1]


def main():
    if len(sys.argv) != 5:
        print(__doc__, end='')
        return 2
    name, description, source, target = sys.argv[1:]
    with open(source, encoding='utf-8') as file:
        lines = file.read().split('\n')
    with open(target, 'w', encoding='utf-8') as file:
        file.writelines(f'{line}\n' for line in page(name, description, lines))
    return 0


if __name__ == '__main__':
    sys.exit(main())
