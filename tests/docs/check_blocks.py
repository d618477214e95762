#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: check_blocks.py PROGRAM...

Runs every sh block of every page, as a reader would: the blocks of a page one after
the other in one shell, in a copy of the tree with `build` in it, with the PROGRAMs
in the PATH, and with a base directory of its own. A comment before a block says what
else is to be done with it:

    <!-- not run: REASON -->   it is left alone, and listed
    <!-- file: NAME -->        it is what the page calls NAME; any language
    <!-- shows: PATTERN -->    a line of its output matches the regular expression

A block that fails, or does not end within two minutes, is a fault.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(os.environ.get('SOURCE_ROOT') or os.path.join(
    os.path.dirname(os.path.abspath(__file__)), '../..'))
sys.path.insert(0, f'{ROOT}/tests/checks')
import tree  # noqa: E402

TIME_LIMIT = 120
FENCE = re.compile(r'^( *)```(\S*)[^\n]*\n(.*?)^ *```$',
                   re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r'<!-- (not run|file|shows): ([^>]*?) -->\s*$')
# Other names for it would not be run, and nobody would notice.
OTHER_SHELLS = {'bash', 'shell', 'console', 'shell-session', 'zsh'}
BEGIN = 'ttmem-docs-block'


class Block:
    def __init__(self, page, text, match):
        self.line = text.count('\n', 0, match.start()) + 1
        self.where = f'{page}:{self.line}'
        self.language = match[2]
        indent = match[1]
        self.text = ''.join(
            line[len(indent):] if line.startswith(indent) else line
            for line in match[3].splitlines(keepends=True))
        found = COMMENT.search(text[:match.start()])
        self.reason = found[2] if found and found[1] == 'not run' else None
        self.file = found[2] if found and found[1] == 'file' else None
        self.shows = found[2] if found and found[1] == 'shows' else None


def blocks_of(page, text):
    return [Block(page, text, m) for m in FENCE.finditer(text)]


def shell_script(blocks):
    """All that run, each announced on standard error before it starts."""
    parts = ['set -euo pipefail\n']
    for b in blocks:
        if b.language == 'sh' and not b.reason:
            parts.append(f'echo {BEGIN} {b.line} >&2\n{b.text}')
    return ''.join(parts) if len(parts) > 1 else None


def scratch_make(folder, source, build, programs):
    """A copy of the tree in links, with a build folder, and a PATH."""
    os.makedirs(f'{folder}/bin')
    os.makedirs(f'{folder}/base', mode=0o700)
    copy = f'{folder}/ttmem'
    os.makedirs(copy)
    for name in os.listdir(source):
        if not name.startswith(('build', '.git')):
            os.symlink(f'{source}/{name}', f'{copy}/{name}')
    if build:
        os.symlink(build, f'{copy}/build')
    for program in programs:
        os.symlink(os.path.abspath(program),
                   f'{folder}/bin/{os.path.basename(program)}')


def scratch_environment(folder, build):
    env = {k: v for k, v in os.environ.items()
           if not k.startswith(('TTMEM_', 'TT_ALLOC', 'MESON'))}
    env.update({
        'HOME': folder,
        'TTMEM_DIR': f'{folder}/base',
        'PATH': f'{folder}/bin:{os.environ["PATH"]}',
    })
    if build:
        env['PKG_CONFIG_PATH'] = f'{build}/meson-uninstalled'
        env['LD_LIBRARY_PATH'] = f'{build}/lib'
    return env


def group_end(process):
    """Whatever a page left running."""
    try:
        os.killpg(process.pid, signal.SIGTERM)
    except ProcessLookupError:
        return
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        pass
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def shell_run(script, folder, env):
    """Status and output of the blocks of a page; None as status: too long."""
    with open(f'{folder}/script', 'w', encoding='utf-8') as f:
        f.write(script)
    with open(f'{folder}/output', 'w+', encoding='utf-8',
              errors='replace') as out:
        process = subprocess.Popen(
            ['bash', f'{folder}/script'], cwd=f'{folder}/ttmem', env=env,
            stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
            start_new_session=True)
        try:
            status = process.wait(TIME_LIMIT)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            group_end(process)
        out.seek(0)
        return status, out.read()


def page_run(page, blocks, source, build, programs):
    """Faults of one page."""
    script = shell_script(blocks)
    if not script:
        return []
    folder = tempfile.mkdtemp(prefix='ttmem-docs.', dir='/dev/shm')
    try:
        scratch_make(folder, source, build, programs)
        for b in blocks:
            if b.file:
                with open(f'{folder}/ttmem/{b.file}', 'w',
                          encoding='utf-8') as f:
                    f.write(b.text)
        status, output = shell_run(script, folder,
                                   scratch_environment(folder, build))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if status == 0:
        return not_shown(page, blocks, output)
    line = (re.findall(f'^{BEGIN} (\\d+)$', output, re.MULTILINE) or ['1'])[-1]
    said = output[-3000:]
    how = 'did not end' if status is None else f'status {status}'
    return [f'{page}:{line}: {how}\n{said}']


def not_shown(page, blocks, output):
    """Faults of blocks that ran and did not print what they are said to."""
    parts = re.split(f'^{BEGIN} (\\d+)\n', output, flags=re.MULTILINE)
    said = dict(zip(map(int, parts[1::2]), parts[2::2]))
    return [f'{page}:{b.line}: does not show: {b.shows}\n{said[b.line][-3000:]}'
            for b in blocks
            if b.shows and not re.search(b.shows, said[b.line],
                                           re.MULTILINE)]


def check(source, build=None, programs=(), log=None):
    faults = []
    counts = {'run': 0, 'not run': 0, 'pages': 0}
    for page in [f for f in tree.files(source) if f.endswith('.md')]:
        blocks = blocks_of(page, tree.read(source, page))
        counts['pages'] += 1
        for b in blocks:
            if b.language in OTHER_SHELLS:
                faults.append(f'{b.where}: {b.language}: call it sh')
            if b.reason and log:
                log(f'not run: {b.where}: {b.reason}')
            if b.language == 'sh':
                counts['not run' if b.reason else 'run'] += 1
        faults += page_run(page, blocks, source, build, programs)
    if log:
        log(f'{counts["run"]} blocks run, {counts["not run"]} not run')
    return faults


def self_test():
    fence = '`' * 3
    tree.expect(check, {
        'good.md': f'<!-- file: x.txt -->\n\n{fence}text\nhello\n{fence}\n\n'
                   f'{fence}sh\nwhere=x.txt\ngrep -q hello $where\n{fence}\n'
                   f'- in a list\n\n  {fence}sh\n  test -n "$where"\n'
                   f'  {fence}\n',
        'marked.md': f'<!-- not run: no service here -->\n{fence}sh\nfalse\n'
                     f'{fence}\n',
        'left.md': f'{fence}sh\nsleep 1000 &\n{fence}\n',
        'shown.md': f'<!-- shows: ^a.c$ -->\n{fence}sh\necho abc\n{fence}\n',
    }, [])
    tree.expect(check, {
        'second.md': f'{fence}sh\ntrue\n{fence}\n{fence}sh\nfalse | cat\n'
                     f'true\n{fence}\n',
        'other.md': f'{fence}bash\ntrue\n{fence}\n',
        'hidden.md': f'{fence}sh\necho abc\n{fence}\n<!-- shows: abc -->\n'
                     f'{fence}sh\necho abd\n{fence}\n',
        'late.md': f'<!-- not run: x -->\ntext\n{fence}sh\nexit 3\n{fence}\n',
    }, ['second.md:4: status 1', 'other.md:1: bash: call it sh',
        'late.md:3: status 3', 'hidden.md:5: does not show: abc'])


if __name__ == '__main__':
    self_test()
    tree.report('blocks', check(
        ROOT, os.path.abspath(os.environ['BUILD_ROOT']), sys.argv[1:], print),
        'all pages')
