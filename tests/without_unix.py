"""For a `sitecustomize` of a Python of its own: takes from it what Python has on Unix and not on Windows."""

import asyncio
import os
import select
import selectors
import signal
import sys

MODULES = {"fcntl", "grp", "pty", "pwd", "readline", "resource", "syslog", "termios", "tty", "uvloop"}
GONE = {
    os: "chown fchmod fchown fork forkpty getegid geteuid getgid getgroups getloadavg getpgid getpgrp getsid getuid"
    " kill killpg nice openpty pread pwrite sched_getaffinity sched_setaffinity setpgid setpgrp setpriority setsid"
    " setuid statvfs sysconf uname wait wait3 wait4 waitid",
    select: "epoll poll",
    selectors: "EpollSelector PollSelector",
    signal: "SIGALRM SIGCHLD SIGHUP SIGKILL SIGPIPE SIGQUIT SIGTSTP SIGUSR1 SIGUSR2 SIGWINCH alarm pause pthread_kill"
    " pthread_sigmask setitimer sigpending sigtimedwait sigwait siginterrupt",
}


class Refusing:
    """Finds no module that Windows lacks."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        if name in MODULES:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def _not_implemented(*_: object) -> None:
    raise NotImplementedError


for name in MODULES:
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Refusing)
for module, names in GONE.items():
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)
selectors.DefaultSelector = selectors.SelectSelector
asyncio.SelectorEventLoop.add_signal_handler = _not_implemented
asyncio.SelectorEventLoop.remove_signal_handler = _not_implemented
