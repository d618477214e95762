# SPDX-License-Identifier: Apache-2.0
"""Directories in which another user has put links, FIFOs and files in the way of a
program of root's that writes there."""

import contextlib
import os
import shutil
import stat
import tempfile

import serve
from check_strangers import STRANGER, as_user

REFUSED = 'a link, FIFO or device of another user'
SECRET = 'what root had in it\n'
# Who has the directory, and its mode.
FOLDERS = ((0, 0o1777), (0, 0o777), (STRANGER, 0o755), (STRANGER, 0o1777))


@contextlib.contextmanager
def folder(owner, mode):
    """A directory like /tmp, and a file of root's elsewhere: (path, file)."""
    base = tempfile.mkdtemp(prefix='ttmem-test.')
    os.chmod(base, 0o755)
    path, secret = f'{base}/shared', f'{base}/secret'
    os.mkdir(path)
    os.chown(path, owner, owner)
    os.chmod(path, mode)
    with open(secret, 'w', encoding='ascii') as file:
        file.write(SECRET)
    os.mkdir(f'{base}/private', 0o700)
    try:
        yield path, secret
    finally:
        shutil.rmtree(base)


def make(trap, path, secret):
    """As the user that makes it."""
    if trap == 'link':
        os.symlink(secret, path)
    elif trap == 'link to nothing':
        os.symlink(f'{os.path.dirname(secret)}/private/new', path)
    elif trap == 'fifo':
        os.mkfifo(path, 0o666)


def are_refused(write):
    """write(path) returns (status, stderr) of a program that writes there."""
    for owner, mode in FOLDERS:
        for trap in ('link', 'link to nothing', 'fifo'):
            with folder(owner, mode) as (shared, secret):
                as_user(STRANGER, lambda s=shared, f=secret, t=trap: make(
                    t, f'{s}/out', f))
                refused(write, f'{shared}/out', secret,
                        f'{trap} in {owner}:{mode:o}')
        with folder(owner, mode) as (shared, secret):
            way = f'{shared}/way'
            as_user(STRANGER, lambda s=secret, w=way: os.symlink(
                os.path.dirname(s), w))
            refused(write, f'{way}/secret', secret,
                    f'a link on the way in {owner}:{mode:o}')


def refused(write, path, secret, what):
    before = os.listdir(os.path.dirname(path))
    status, error = write(path)
    serve.expect(f'{what}: status', status, 1)
    if REFUSED not in error:
        serve.fail(f'{what}: says {error!r}')
    with open(secret, encoding='ascii') as file:
        serve.expect(f'{what}: root\'s file', file.read(), SECRET)
    serve.expect(f'{what}: elsewhere', os.listdir(
        f'{os.path.dirname(secret)}/private'), [])
    serve.expect(f'{what}: beside it', os.listdir(os.path.dirname(path)),
                 before)


def files_are_replaced(write):
    """A regular file that others have, or have another name of, is not written to."""
    with folder(0, 0o777) as (shared, secret):
        out = f'{shared}/out'

        def put():
            with open(out, 'w', encoding='ascii') as file:
                file.write('a stranger\'s\n')
            os.chmod(out, 0o666)
        as_user(STRANGER, put)
        with open(out, encoding='ascii') as kept:
            serve.expect('status', write(out)[0], 0)
            serve.expect('what the stranger has open', kept.read(),
                         'a stranger\'s\n')
        st = os.stat(out)
        serve.expect('whose it is', (st.st_uid, st.st_nlink), (0, 1))
        # As where fs.protected_hardlinks is off.
        os.unlink(out)
        os.link(secret, out)
        serve.expect('status', write(out)[0], 0)
        with open(secret, encoding='ascii') as file:
            serve.expect('root\'s file', file.read(), SECRET)


def ones_own_are_followed(write, look):
    """Links and FIFOs of the caller, in the same places; look(text) is content."""
    for owner, mode in FOLDERS:
        with folder(owner, mode) as (shared, secret):
            link = f'{shared}/link'
            os.symlink(secret, link)
            serve.expect('status', write(link), (0, ''))
            if not os.path.islink(link):
                serve.fail('the link is gone')
            with open(secret, encoding='utf-8') as file:
                look(file.read())
            fifo = f'{shared}/fifo'
            os.mkfifo(fifo)
            look(through(fifo, lambda f=fifo: serve.expect(
                'status', write(f), (0, ''))))
            if not stat.S_ISFIFO(os.stat(fifo).st_mode):
                serve.fail('the FIFO is gone')


def through(fifo, action):
    """What comes out of a FIFO while the action goes on."""
    with tempfile.TemporaryFile() as found:
        pid = os.fork()
        if pid == 0:
            with open(fifo, 'rb') as source:
                shutil.copyfileobj(source, found)
            found.flush()
            os._exit(0)
        action()
        serve.expect('status', os.waitpid(pid, 0)[1], 0)
        found.seek(0)
        return found.read().decode()
