# SPDX-License-Identifier: Apache-2.0
"""A terminal to run a program in: a tmux server of its own, without a client.

The program gets the environment that it is given and nothing else. Rows and columns
count from 0; a column is a cell, so that a wide character has two. Nobody sleeps and
hopes: a test waits for what it expects on the screen, and says what it saw instead if
that does not come.
"""

import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unicodedata

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                '../serve'))
import serve  # noqa: E402
from serve import Failed, fail  # noqa: E402

# Generous: it is for a machine that is busy, and for sanitizers. Less is good for
# who writes a check.
PATIENCE_S = float(os.environ.get('TTMEM_TEST_PATIENCE', '60'))
PAUSE_S = 0.02
CONFIG = '''set -s escape-time 0
set -s exit-empty off
set -g status off
set -g history-limit 0
set -g bell-action none
set -g allow-rename off
set -g default-shell /bin/sh
'''
# Runs a program and notes its pid and status in the folder $0: tmux itself loses
# the status of one program in ten. The terminal stays as the program left it: it
# shows nothing of what is written behind its last byte.
RUN = r'''trap : INT QUIT
sh -c 'echo $$ >"$0/pid"; exec "$@"' "$0" "$@"
echo $? >"$0/status"
printf '\0\0\0\0\0\0\0\0'
exec sleep 3600
'''
LAST = bytes(8)
# Terminals ignore it, and no program here writes it.
MARK = b'\x7f'
# Of the pane, as tmux knows them.
MODES = ('alternate_on', 'cursor_flag', 'keypad_cursor_flag', 'mouse_any_flag',
         'mouse_button_flag', 'mouse_sgr_flag', 'mouse_standard_flag',
         'insert_flag', 'origin_flag', 'wrap_flag')


def wait_for(what, attempt, seconds=PATIENCE_S):
    return serve.wait_for(what, attempt, seconds, PAUSE_S)


def cells(line):
    """A list with what is in each cell; '' is the second half of a wide one."""
    found = []
    for char in line:
        if unicodedata.combining(char) or char in '\u200b\u200d\ufe0f':
            if found:
                found[-1] += char
            continue
        found.append(char)
        if unicodedata.east_asian_width(char) in 'WF':
            found.append('')
    return found


class Screen:
    """What a terminal showed at one moment."""

    def __init__(self, rows, width, height):
        rows = rows[:height] + [''] * (height - len(rows))
        self.rows = [r + ' ' * (width - len(cells(r))) for r in rows]
        self.width = width
        self.height = height

    @property
    def text(self):
        return '\n'.join(r.rstrip() for r in self.rows) + '\n'

    def part(self, row, column=0, width=None):
        """The text in these cells; negative rows count from the bottom."""
        end = None if width is None else column + width
        return ''.join(cells(self.rows[row])[column:end])

    def find(self, text, start=0):
        """(row, column) of the first place with that text, or None."""
        for row in range(start, self.height):
            at = self.rows[row].find(text)
            if at >= 0:
                return row, len(cells(self.rows[row][:at]))
        return None

    def row_of(self, text):
        """The first row with that text."""
        at = self.find(text)
        if at is None:
            fail(f'no {text!r} on the screen:\n{self.framed()}')
        return self.rows[at[0]]

    def framed(self):
        line = '+' + '-' * self.width + '+'
        return '\n'.join([line] + [f'|{r}|' for r in self.rows] + [line])


class Terminal:
    """A program in a terminal; use it with `with`."""

    def __init__(self, command, width=80, height=24, env=None,
                 term='tmux-256color', locale='C.UTF-8', cwd='/'):
        self.width, self.height = width, height
        self.folder = tempfile.mkdtemp(prefix='ttmem-tmux.')
        self.output = f'{self.folder}/output'
        self.marks = 0
        env = {'PATH': os.environ.get('PATH', '/usr/bin:/bin'),
               'HOME': self.folder, 'TERM': term, 'LC_ALL': locale,
               'COLUMNS': '', 'LINES': '', **(env or {})}
        env = {k: v for k, v in env.items() if v != ''}
        line = shlex.join(['exec', 'sh', '-c', RUN, self.folder, 'env', '-i',
                           *(f'{k}={v}' for k, v in env.items()), *command])
        with open(f'{self.folder}/config', 'w', encoding='ascii') as file:
            file.write(CONFIG)
        open(self.output, 'wb').close()
        # In one go: not a byte of the program's is missed.
        self.tmux('-f', f'{self.folder}/config', 'new-session', '-d', '-s', 't',
                  '-x', str(width), '-y', str(height), '-c', cwd, line,
                  ';', 'pipe-pane', '-t', 't',
                  f'exec cat >>{shlex.quote(self.output)}')
        self.server = int(self.ask('pid'))
        self.tty = self.ask('pane_tty')
        self.pid = wait_for('the program', lambda: self._noted('pid'))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for pid in (self.pid, self.server):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        wait_for('the end of tmux', self._gone)
        shutil.rmtree(self.folder)

    def _gone(self):
        for pid in (self.pid, self.server):
            try:
                with open(f'/proc/{pid}/stat', encoding='utf-8',
                          errors='replace') as file:
                    if file.read().rpartition(')')[2].split()[0] not in 'ZX':
                        fail(f'{pid} is still there')
            except OSError:
                pass

    def _noted(self, name):
        try:
            with open(f'{self.folder}/{name}', encoding='ascii') as file:
                return int(file.read())
        except (FileNotFoundError, ValueError):
            return fail(f'no {name}')

    def tmux(self, *words, check=True):
        env = {k: v for k, v in os.environ.items() if k != 'TMUX'}
        env['LC_ALL'] = 'C.UTF-8'
        done = subprocess.run(
            ['tmux', '-u', '-S', f'{self.folder}/socket', *words], env=env,
            stdin=subprocess.DEVNULL, capture_output=True, check=False,
            timeout=PATIENCE_S)
        if check and done.returncode:
            fail(f'tmux {words[0]}: {done.stderr.decode()}')
        return done.stdout.decode('utf-8', 'replace')

    def ask(self, *names):
        """The value of a format variable of tmux, or a list of several."""
        text = self.tmux('display-message', '-p', '-t', 't',
                         '\x1f'.join(f'#{{{n}}}' for n in names))
        values = text.rstrip('\n').split('\x1f')
        return values if len(names) > 1 else values[0]

    # -- what it shows --------------------------------------------------------

    def screen(self):
        rows = self.tmux('capture-pane', '-p', '-N', '-t', 't').split('\n')
        return Screen(rows, self.width, self.height)

    def capture(self):
        """The screen with its escape sequences, for a picture."""
        return self.tmux('capture-pane', '-e', '-p', '-N', '-t', 't')

    def modes(self):
        return dict(zip(MODES, self.ask(*MODES)))

    def stty(self):
        return subprocess.run(['stty', '-F', self.tty, '-g'], check=True,
                              capture_output=True, text=True).stdout.strip()

    def until(self, what, look, seconds=PATIENCE_S):
        """Waits until `look` is content with a screen; returns that."""
        def attempt():
            screen = self.screen()
            if not look(screen):
                fail(f'the screen is\n{screen.framed()}')
            return screen
        return wait_for(what, attempt, seconds)

    def shows(self, *texts, row=None, column=None, seconds=PATIENCE_S):
        """Waits until all the texts are there; at that row and column, if told."""
        def look(screen):
            for text in texts:
                if row is None:
                    if screen.find(text) is None:
                        return False
                elif column is None:
                    if text not in screen.rows[row]:
                        return False
                elif screen.part(row, column, len(cells(text))) != text:
                    return False
            return True
        return self.until(f'{texts} at {row}, {column}', look, seconds)

    def hides(self, *texts, seconds=PATIENCE_S):
        return self.until(f'no {texts}', lambda screen: not any(
            screen.find(t) for t in texts), seconds)

    def still(self, pause=0.3, seconds=PATIENCE_S):
        """Waits until nothing was written for a while; returns the screen."""
        def attempt():
            before = self.written()
            time.sleep(pause)
            if self.written() != before:
                fail('it goes on writing')
            return self.screen()
        return wait_for('a still screen', attempt, seconds)

    def written(self):
        """How many bytes of it are in the file, which may be behind the screen."""
        return os.path.getsize(self.output)

    def written_all(self):
        """The same once the file has all that the screen shows. For a program that
        is not drawing: a mark goes the way of its bytes, and may split them."""
        tty = os.open(self.tty, os.O_WRONLY | os.O_NOCTTY)
        try:
            os.write(tty, MARK)
        finally:
            os.close(tty)
        self.marks += 1

        def attempt():
            serve.expect('marks', self.bytes_from().count(MARK), self.marks)
            return self.written()
        return wait_for('what it wrote', attempt)

    def bytes_from(self, start=0):
        """What is in the file by now, which may be behind the screen."""
        with open(self.output, 'rb') as file:
            file.seek(start)
            return file.read()

    def all_bytes(self):
        """All that a program wrote until it ended."""
        def attempt():
            data = self.bytes_from()
            if not data.endswith(LAST):
                fail(f'no end of {data[-400:]!r}')
            return data[:-len(LAST)]
        return wait_for('its last byte', attempt)

    # -- what is done to it ---------------------------------------------------

    def keys(self, *names):
        """Keys by tmux's names: q, Up, F1, Enter, C-c, Space."""
        self.tmux('send-keys', '-t', 't', *names)
        return self

    def type(self, text):
        """A text, character by character."""
        self.tmux('send-keys', '-t', 't', '-l', text)
        return self

    def raw(self, data):
        self.tmux('send-keys', '-t', 't', '-H', *(f'{b:02x}' for b in data))
        return self

    def mouse(self, row, column, button=0, release=True):
        """A click in the form that the program has asked for; buttons 64 and 65
        are the wheel."""
        if self.ask('mouse_sgr_flag') == '1':
            place = f'{button};{column + 1};{row + 1}'
            self.raw(f'\x1b[<{place}M'.encode())
            if release and button < 64:
                self.raw(f'\x1b[<{place}m'.encode())
        else:
            place = bytes([column + 33, row + 33])
            self.raw(b'\x1b[M' + bytes([32 + button]) + place)
            if release and button < 64:
                self.raw(b'\x1b[M' + bytes([32 + 3]) + place)
        return self

    def resize(self, width, height):
        self.width, self.height = width, height
        self.tmux('resize-window', '-t', 't', '-x', str(width), '-y',
                  str(height))
        return self

    def signal(self, number):
        os.kill(self.pid, number)
        return self

    def status(self, seconds=PATIENCE_S):
        """How the program ended: its status, or minus its signal."""
        def attempt():
            try:
                return self._noted('status')
            except Failed:
                return fail(f'it runs on:\n{self.screen().framed()}')
        status = wait_for('the end of the program', attempt, seconds)
        return 128 - status if status > 128 else status

    def quit(self):
        """Ends ttmem-top by its key; returns all that it wrote."""
        self.keys('q')
        serve.expect('status', self.status(), 0)
        return self.all_bytes()
