# SPDX-License-Identifier: Apache-2.0
"""Turns a screen with its escape sequences (tmux capture-pane -e) into a PNG.

Cell by cell. Blocks and lines are painted as geometry, as good terminals do, so that
bars and frames have no gaps; the rest is DejaVu Sans Mono.
"""

import re
import unicodedata

from PIL import Image, ImageDraw, ImageFont

FONTS = '/usr/share/fonts/truetype/dejavu/DejaVuSansMono%s.ttf'
FONT_SIZE = 15
CELL = (9, 18)
BACKGROUND = (0x12, 0x14, 0x18)
FOREGROUND = (0xd0, 0xd4, 0xda)
BASE = ('1a1c20', 'e05561', '8cc265', 'd8a657', '4aa5f0', 'c162de', '42b3c2',
        'c8ccd4', '6b717d', 'ff616e', 'a5e075', 'f0c674', '6cb8ff', 'de73ff',
        '5fd3e2', 'ffffff')


def colour_of(number):
    """Of the 256 that terminals have."""
    if number < 16:
        return tuple(bytes.fromhex(BASE[number]))
    if number >= 232:
        return (8 + 10 * (number - 232),) * 3
    number -= 16
    return tuple(n and 55 + 40 * n for n in
                 (number // 36, number // 6 % 6, number % 6))


# -- reading ------------------------------------------------------------------


class Style:
    """What the escape sequences so far add up to."""

    def __init__(self):
        self.reset()

    def reset(self):
        self.fore = self.back = None
        self.bold = self.dim = self.italic = self.underline = False
        self.reverse = False

    def apply(self, text):
        codes = [int(c or 0) for c in re.split('[;:]', text)]
        while codes:
            self._apply_one(codes.pop(0), codes)

    def _apply_one(self, code, rest):
        simple = {1: 'bold', 2: 'dim', 3: 'italic', 4: 'underline',
                  7: 'reverse'}
        if code == 0:
            self.reset()
        elif code in simple:
            setattr(self, simple[code], True)
        elif code == 22:
            self.bold = self.dim = False
        elif code in (23, 24, 27):
            setattr(self, simple[code - 20], False)
        elif code in (38, 48):
            value = self._extended(rest)
            setattr(self, 'fore' if code == 38 else 'back', value)
        elif code in (39, 49):
            setattr(self, 'fore' if code == 39 else 'back', None)
        else:
            for first, name, more in ((30, 'fore', 0), (40, 'back', 0),
                                      (90, 'fore', 8), (100, 'back', 8)):
                if first <= code < first + 8:
                    setattr(self, name, colour_of(code - first + more))

    @staticmethod
    def _extended(rest):
        kind = rest.pop(0)
        if kind == 5:
            return colour_of(rest.pop(0))
        value = tuple(rest[:3])
        del rest[:3]
        return value

    def colours(self):
        """(fore, back) as they are painted."""
        fore = self.fore or FOREGROUND
        back = self.back or BACKGROUND
        if self.reverse:
            fore, back = back, fore
        if self.dim:
            fore = mixed(fore, back, 0.55)
        return fore, back


def mixed(one, other, share):
    return tuple(round(a * share + b * (1 - share))
                 for a, b in zip(one, other))


def cells_of(line, style):
    """Yields (text, cells wide, bold, italic, underline, fore, back)."""
    for escape, other, char in re.findall(
            '\x1b\\[([0-9;:]*)m|(\x1b.|[\x0e\x0f])|(.)', line):
        if other:
            continue
        if not char:
            style.apply(escape)
            continue
        wide = 2 if unicodedata.east_asian_width(char) in 'WF' else 1
        yield (char, wide, style.bold, style.italic, style.underline,
               *style.colours())


# -- painting -----------------------------------------------------------------

# Which of left, up, right, down a line goes to, and how: 1 light, 2 heavy, 3
# double.
LINES = {
    '─': '1010', '━': '2020', '│': '0101', '┃': '0202', '┌': '0011',
    '┐': '1001', '└': '0110', '┘': '1100', '├': '0111', '┤': '1101',
    '┬': '1011', '┴': '1110', '┼': '1111', '╭': '0011', '╮': '1001',
    '╰': '0110', '╯': '1100', '═': '3030', '║': '0303', '╴': '1000',
    '╵': '0100', '╶': '0010', '╷': '0001', '┏': '0022', '┓': '2002',
    '┗': '0220', '┛': '2200', '╔': '0033', '╗': '3003', '╚': '0330',
    '╝': '3300', '┝': '0121', '┥': '2101', '╪': '3131', '╞': '0131',
    '╡': '3101',
}
DASHES = {'┄': 3, '┈': 4, '╌': 2}
QUADRANTS = {'▖': 4, '▗': 8, '▘': 1, '▙': 13, '▚': 9, '▛': 7, '▜': 11, '▝': 2,
             '▞': 6, '▟': 14}
SHADES = {'░': 0.25, '▒': 0.5, '▓': 0.75}


class Painter:
    """An image of so many cells."""

    def __init__(self, columns, rows):
        self.size = (columns * CELL[0], rows * CELL[1])
        self.image = Image.new('RGB', self.size, BACKGROUND)
        self.draw = ImageDraw.Draw(self.image)
        self.fonts = {style: ImageFont.truetype(FONTS % style, FONT_SIZE)
                      for style in ('', '-Bold', '-Oblique')}

    def box(self, left, top, width, height, colour):
        if width > 0 and height > 0:
            self.draw.rectangle((left, top, left + width - 1,
                                 top + height - 1), colour)

    def background(self, row, column, cell):
        self.box(column * CELL[0], row * CELL[1], cell[1] * CELL[0], CELL[1],
                 cell[-1])

    def cell(self, row, column, cell):
        char, wide, bold, italic, underline, fore, back = cell
        left, top = column * CELL[0], row * CELL[1]
        if not self.geometry(char, left, top, fore, back):
            font = '-Bold' if bold else '-Oblique' if italic else ''
            self.draw.text((left, top + 1), char, fore, self.fonts[font])
        if underline:
            self.box(left, top + CELL[1] - 2, wide * CELL[0], 1, fore)

    def geometry(self, char, left, top, fore, back):
        """Paints blocks and lines; whether it was one."""
        width, height = CELL
        code = ord(char)
        if char == ' ':
            pass
        elif 0x2581 <= code <= 0x2588:
            part = round(height * (code - 0x2580) / 8)
            self.box(left, top + height - part, width, part, fore)
        elif 0x2589 <= code <= 0x258f:
            self.box(left, top, round(width * (0x2590 - code) / 8), height,
                     fore)
        elif char in '▀▔':
            self.box(left, top, width, height // 2 if char == '▀' else
                     round(height / 8), fore)
        elif char in '▐▕':
            part = width // 2 if char == '▐' else round(width / 8)
            self.box(left + width - part, top, part, height, fore)
        elif char in SHADES:
            self.box(left, top, width, height, mixed(fore, back, SHADES[char]))
        elif char in QUADRANTS:
            self.quadrants(QUADRANTS[char], left, top, fore)
        elif char in LINES:
            self.lines(LINES[char], left, top, fore)
        elif char in DASHES:
            step = width / DASHES[char]
            for at in range(DASHES[char]):
                self.box(left + round(at * step), top + height // 2,
                         round(step * 0.6), 1, fore)
        elif 0x2800 <= code <= 0x28ff:
            self.braille(code - 0x2800, left, top, fore)
        else:
            return False
        return True

    def quadrants(self, bits, left, top, fore):
        width, height = CELL[0] // 2, CELL[1] // 2
        for bit, x, y in ((1, 0, 0), (2, 1, 0), (4, 0, 1), (8, 1, 1)):
            if bits & bit:
                self.box(left + x * width, top + y * height,
                         CELL[0] - width if x else width, height, fore)

    def lines(self, arms, left, top, fore):
        x, y = left + CELL[0] // 2, top + CELL[1] // 2
        for at, arm in enumerate(arms):
            offsets = {'0': (), '1': (0,), '2': (0, 1), '3': (-1, 1)}[arm]
            for offset in offsets:
                if at % 2:
                    start = top if at == 1 else y
                    self.box(x + offset, start, 1, y - top + 1 if at == 1
                             else top + CELL[1] - y, fore)
                else:
                    start = left if at == 0 else x
                    self.box(start, y + offset, x - left + 1 if at == 0
                             else left + CELL[0] - x, 1, fore)

    def braille(self, bits, left, top, fore):
        places = ((0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (0, 3),
                  (1, 3))
        for at, (x, y) in enumerate(places):
            if bits >> at & 1:
                self.box(left + 2 + x * 4, top + 2 + y * 4, 2, 2, fore)


def places_of(capture, columns, rows):
    """Yields (row, column, cell)."""
    style = Style()
    for row, line in enumerate(capture.split('\n')[:rows]):
        column = 0
        for cell in cells_of(line, style):
            if column + cell[1] <= columns:
                yield row, column, cell
            column += cell[1]


def paint(capture, columns, rows, path):
    """Writes the screen as a PNG with a palette, which makes it small."""
    painter = Painter(columns, rows)
    places = list(places_of(capture, columns, rows))
    # All of it first: characters reach into the row below.
    for place in places:
        painter.background(*place)
    for place in places:
        painter.cell(*place)
    image = painter.image.quantize(256, dither=Image.Dither.NONE)
    image.save(path, optimize=True)
