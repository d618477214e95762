# SPDX-License-Identifier: Apache-2.0
"""What the build installs, in a folder that was moved, and used from there.

The rest is tests/serve's: a place, and a ttmemd in it.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                '../serve'))
import serve  # noqa: E402


def run(*command, **how):
    """To its end, which must be a good one; returns what it said."""
    done = subprocess.run(list(map(str, command)), text=True, check=False,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, **how)
    if done.returncode:
        serve.fail(f'{" ".join(map(str, command))}: status {done.returncode}\n'
                   f'{done.stdout[-6000:]}')
    return done.stdout


class Staged:
    """An installed ttmem that is nowhere near its prefix; use it with `with`."""

    def __init__(self, build):
        self.work = tempfile.mkdtemp(prefix='ttmem-test.')
        os.chmod(self.work, 0o755)
        options = {o['name']: o['value'] for o in json.loads(
            run('meson', 'introspect', build, '--buildoptions'))}
        run('meson', 'install', '-C', build, '--no-rebuild', '--destdir',
            f'{self.work}/stage')
        self.prefix = shutil.move(f'{self.work}/stage{options["prefix"]}',
                                  f'{self.work}/moved')
        self.libdir = os.path.join(self.prefix, options['libdir'])
        self.bindir = os.path.join(self.prefix, options['bindir'])
        self.ttmemd = os.path.join(self.bindir, 'ttmemd')

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.work)

    def place(self):
        """A base directory, for the installed programs."""
        load, dump = (os.path.join(self.bindir, f'ttmem-{n}')
                      for n in ('load', 'dump'))
        return StagedPlace(self, serve.Programs(self.ttmemd, load, dump, dump))


class StagedPlace(serve.Place):
    """Whose snapshots are what the installed ttmem-dump prints."""

    def __init__(self, staged, programs):
        super().__init__(programs)
        self.staged = staged

    def environment(self):
        return dict(super().environment(),
                    LD_LIBRARY_PATH=self.staged.libdir)

    def dump(self, *options, user=None):
        done = subprocess.run(
            [self.programs.snapdump, 'report', '--format', 'json', *options],
            text=True, cwd='/', capture_output=True, check=False,
            env=self.environment(), timeout=serve.PATIENCE_S)
        return done.returncode, done.stdout, done.stderr
