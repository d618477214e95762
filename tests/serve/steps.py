# SPDX-License-Identifier: Apache-2.0
"""Programs of a test's own that stop at each of their syncs.

Such a program says "sync NAME" on its standard output and goes on when it gets a
line; in between a test looks at what ttmemd has seen of it.
"""

import subprocess

from serve import PATIENCE_S, expect, shows


class Steps:
    """One of them, in a place where a ttmemd serves or will."""

    def __init__(self, place, *command, **environment):
        environment.setdefault('TTMEM_ENABLED', '1')
        self.place = place
        self.process = place.popen(
            ['/usr/bin/env', *(f'{k}={v}' for k, v in environment.items()),
             *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True)
        self.pid = self.process.pid

    def to(self, name):
        """Waits for the sync of that name."""
        line = self.process.stdout.readline()
        if not line:
            expect(f'status before {name}', self.process.wait(PATIENCE_S), 0)
        expect('sync', line, f'sync {name}\n')
        return self

    def go(self, name):
        """Lets it go on to the sync of that name."""
        self.release()
        return self.to(name)

    def release(self):
        self.process.stdin.write('\n')
        self.process.stdin.flush()

    def end(self, status=0):
        """Lets it run to its end."""
        self.release()
        expect('status', self.process.wait(PATIENCE_S), status)

    def rows(self, snapshot):
        """Its part of each device, by logical id."""
        return {row['logical']: row
                for row in snapshot.of_process('shares', self.pid)}

    def objects(self, snapshot):
        return snapshot.of_process('objects', self.pid)

    def seen(self, what, wanted, anomalies=None, look=None):
        """Waits until ttmemd shows {logical id: {figure: ...}} and no more of it, and
        these anomalies ({}: none at all)."""
        def content(snapshot):
            rows = self.rows(snapshot)
            expect(f'{what}: devices', sorted(rows), sorted(wanted))
            for logical, row in rows.items():
                shows(row, wanted[logical])
            found = snapshot.process(self.pid)['anomalies']
            expect(f'{what}: anomalies', {k: v for k, v in found.items() if v},
                   anomalies or {})
            if look:
                look(snapshot)
        return self.place.sees(what, content, '--objects')
