#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_completions.py FOLDER PROGRAM...

bash, zsh and fish complete every long option that a program's --help names, and no
other; where --help lists commands, those of each. FOLDER has the completions, which are
laid out as they are installed. A shell that this machine lacks is skipped.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

OPTION = re.compile(r'^ +(?:-\w, +)?(--[a-z-]+)', re.MULTILINE)
COMMAND = re.compile(r'^ {2}([a-z]+) {2,}\w', re.MULTILINE)
ALWAYS = {'--help', '--version'}
BASH = '''
source "$1/bash-completion/completions/$2"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
compopt() { :; }
function=$(complete -p "$1" | sed 's/.*-F \\([^ ]*\\).*/\\1/')
$function
printf '%s\\n' "${COMPREPLY[@]}"
'''
# What follows -- in a call of compadd is offered.
ZSH = '''
zmodload zsh/parameter
fpath=("$1/zsh/site-functions"); shift
compadd() { print -l -- "${@[$@[(i)--]+1,-1]}" }
_files() { }
words=("$@"); CURRENT=$#; PREFIX=$words[-1]
autoload -U _ttmem
_ttmem
'''
FISH = '''
source $argv[1]/fish/vendor_completions.d/$argv[2].fish
complete -C (string join -- ' ' $argv[2..-1])
'''
SHELLS = {'bash': ('bash', '--norc', '-c', BASH, '-'),
          'zsh': ('zsh', '-f', '-c', ZSH, '-'),
          'fish': ('fish', '--no-config', '-c', FISH)}


def lay_out(folder, programs, share):
    """The files of FOLDER, where completions/meson.build installs them."""
    names = [os.path.basename(p) for p in programs]
    for source, target in (
            ('complete.bash', 'ttmem/complete.bash'),
            ('_ttmem', 'zsh/site-functions/_ttmem'),
            *((n, f'bash-completion/completions/{n}') for n in names),
            *(('ttmem.fish', f'fish/vendor_completions.d/{n}.fish')
              for n in names)):
        os.makedirs(os.path.dirname(f'{share}/{target}'), exist_ok=True)
        shutil.copy(f'{folder}/{source}', f'{share}/{target}')


def completed(shell, share, *words):
    said = subprocess.run(
        [*SHELLS[shell], share, *words], text=True, check=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        env=dict(os.environ, HOME=share)).stdout
    return {line.split('\t')[0] for line in said.splitlines() if line}


def helped(program, *command):
    return subprocess.run([program, *command, '--help'], text=True, check=True,
                          stdout=subprocess.PIPE).stdout


def differences(where, wanted, offered):
    return [f'{where}: {what} {o}'
            for what, options in (('does not offer', wanted - offered),
                                  ('offers', offered - wanted))
            for o in sorted(options)]


def check(shells, share, program):
    name = os.path.basename(program)
    said = helped(program)
    commands = COMMAND.findall(said) if 'COMMAND' in said else []
    faults = []
    for command in [(c,) for c in commands] or [()]:
        wanted = set(OPTION.findall(helped(program, *command))) - ALWAYS
        for shell in shells:
            faults += differences(
                f'{shell}: {" ".join((name, *command))}', wanted,
                completed(shell, share, name, *command, '--') - ALWAYS)
        if not command and not wanted:
            faults.append(f'{name}: --help names no options')
    return faults


def check_values(shells, share):
    """Values of an option, apart from it and behind an equals sign."""
    faults = []
    for shell in shells:
        faults += differences(
            f'{shell}: --format', {'text', 'json', 'csv'},
            completed(shell, share, 'ttmem-dump', 'report', '--format', ''))
        if shell != 'bash':  # to which = is a word
            faults += differences(
                f'{shell}: --format=', {'--format=json'},
                completed(shell, share, 'ttmem-dump', 'report', '--format=j'))
    return faults


def main():
    if len(sys.argv) < 3:
        print(__doc__, end='')
        return 2
    programs = list(map(os.path.abspath, sys.argv[2:]))
    shells = [s for s in SHELLS if shutil.which(s)]
    with tempfile.TemporaryDirectory(prefix='ttmem-test.') as share:
        lay_out(sys.argv[1], programs, share)
        faults = check_values(shells, share)
        for program in programs:
            faults += check(shells, share, program)
    for fault in faults:
        print(fault)
    print(f'completions: {len(programs)} programs, {", ".join(shells)}, '
          f'{len(faults)} faults')
    if faults:
        return 1
    return 0 if len(shells) == len(SHELLS) else 77


if __name__ == '__main__':
    sys.exit(main())
