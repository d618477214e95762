#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: embed.py NAME FILE OUTPUT

Writes FILE as the bytes of a C array NAME, with NAME_size.
"""

import sys


def main():
    if len(sys.argv) != 4:
        print(__doc__, end='')
        return 2
    name, path, output = sys.argv[1:]
    with open(path, 'rb') as file:
        data = file.read()
    with open(output, 'w', encoding='ascii') as file:
        file.write(f'extern const unsigned char {name}[];\n'
                   f'extern const unsigned long {name}_size;\n\n'
                   f'const unsigned char {name}[] = {{\n')
        for at in range(0, len(data), 12):
            row = ', '.join(f'0x{b:02x}' for b in data[at:at + 12])
            file.write(f'\t{row},\n')
        file.write(f'}};\nconst unsigned long {name}_size = '
                   f'{len(data)};\n')
    return 0


if __name__ == '__main__':
    sys.exit(main())
