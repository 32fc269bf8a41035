# SPDX-License-Identifier: GPL-2.0
"""Which scenarios run at a time, and whose turn it is on this machine."""

import fcntl
import os
import sys
import tempfile
import time

LOCK = os.path.join(tempfile.gettempdir(), "rdlock-vm.lock")
# So long nobody else is let in; then a run that has others waiting makes room.
TURN_SECONDS = 30
LOOK_SECONDS = 0.5


class Turn:
    """Only one set of VMs at a time on a machine: the clock is part of the test."""

    def __init__(self):
        try:
            # Not "create": in a sticky folder that is refused for another's file.
            self.file = os.open(LOCK, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            self.file = os.open(LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            os.fchmod(self.file, 0o666)
        self.since = self.looked = 0.0
        self.wanted = False

    def __enter__(self):
        try:
            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"vm: another run has its VMs up; waiting for {LOCK}", file=sys.stderr)
            fcntl.flock(self.file, fcntl.LOCK_EX)
        self.since = time.monotonic()
        return self

    def __exit__(self, *_):
        os.close(self.file)

    def is_wanted(self):
        """Has it been long enough, with somebody waiting?"""
        now = time.monotonic()
        if now > self.looked + LOOK_SECONDS:
            self.looked = now
            self.wanted = now > self.since + TURN_SECONDS and self.has_waiter()
        return self.wanted

    def has_waiter(self):
        """A waiter is a line "1: -> FLOCK ..." of /proc/locks."""
        inode = f":{os.fstat(self.file).st_ino}"
        try:
            with open("/proc/locks", encoding="ascii") as locks:
                return any("->" in line and line.split()[6].endswith(inode) for line in locks)
        except OSError:
            return False

    def pass_on(self):
        fcntl.flock(self.file, fcntl.LOCK_UN)
        # Who waits is woken, but not yet running.
        time.sleep(0.3)
        fcntl.flock(self.file, fcntl.LOCK_EX)
        self.since, self.wanted = time.monotonic(), False


def cost(scenario, room):
    """What it takes of the room there is."""
    if scenario.load == "alone":
        return room
    each = 0.5 if scenario.load == "idle" else 1.0
    return min(room, each * scenario.vms * scenario.smp)


def pick(waiting, running, room):
    """The next to start beside those that run, or None. waiting is in order of preference.

    No room at all is room for one scenario at a time.
    """
    if not room:
        return waiting[0] if waiting and not running else None
    left = room - sum(cost(s, room) for s in running)
    for s in waiting:
        if cost(s, room) <= left + 1e-9:
            return s
    return None


def order(scenarios, seconds, scale=0.05):
    """Longest first: the last ones fill the gaps. seconds: what they took the last time."""
    def length(s):
        return seconds.get(s.name, (s.timeout + s.timeout_scaled * scale) / 8)
    return sorted(scenarios, key=lambda s: (s.load == "alone", -length(s), s.name))
