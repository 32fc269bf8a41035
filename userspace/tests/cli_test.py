# SPDX-License-Identifier: GPL-2.0
"""The rdlock command against a fake /dev/rdlock (fake.c). KTAP on stdout; non-zero if a test fails.

cli_test.py BUILD [NAME...]"""

import ast
import errno
import glob
import json
import os
import pty
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

BUILD = os.path.abspath(sys.argv[1])
RDLOCK = os.path.join(BUILD, "dynamic/rdlock")
HERE = os.path.dirname(os.path.abspath(__file__))
COMMANDS = {}	# RDLOCK_CMD_* without the prefix: number
TESTS = []
problems = []


def test(fn):
    TESTS.append(fn)
    return fn


def same(got, want, what=""):
    if got != want:
        problems.append(f"{what}: got {got!r}, not {want!r}")


def has(text, *words):
    for word in words:
        if word not in text:
            problems.append(f"{word!r} is not in {text!r}")


class Host:
    """A host with the fake device, and optionally the space web."""

    def __init__(self, space=True, device=True):
        self.dir = tempfile.mkdtemp(prefix="rdlock-cli-")
        self.env = dict(os.environ, LD_PRELOAD=os.path.join(BUILD, "tests/fake.so"), LC_ALL="C")
        self.env.pop("FAKE_RDLOCK", None)
        if device:
            self.env["FAKE_RDLOCK"] = self.dir
        if space:
            self.ok("space", "create", "web", "10.0.0.1")

    def __enter__(self):
        return self

    def __exit__(self, *args):
        shutil.rmtree(self.dir)

    def start(self, *args, **env):
        return subprocess.Popen([RDLOCK, *args], env=dict(self.env, **env), stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)

    def end(self, proc, code, *said):
        try:
            out, err = proc.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            proc.kill()
            out, err = proc.communicate()
            problems.append(f"{proc.args} hangs")
        same(proc.returncode, code, f"exit code of {' '.join(proc.args[1:])} ({err.strip()})")
        has(err, *said)
        return out

    def run(self, code, args, *said, **env):
        return self.end(self.start(*args, **env), code, *said)

    def ok(self, *args, **env):
        return self.run(0, args, **env)

    def json(self, *args, **env):
        return json.loads(self.ok("-j", *args, **env))


def wait_for(path):
    end = time.monotonic() + 10
    while not os.path.exists(path):
        if time.monotonic() > end:
            problems.append(f"{path} does not appear")
            return
        time.sleep(0.01)


def read_commands():
    number = 0
    with open(os.path.join(HERE, "../../uapi/linux/rdlock.h"), encoding="ascii") as f:
        for m in re.finditer(r"^\tRDLOCK_CMD_(\w+)(?: = (\w+))?,", f.read(), re.M):
            number = int(m.group(2), 0) if m.group(2) else number
            COMMANDS[m.group(1)] = number
            number += 1


def failing(command, name):
    return f"{COMMANDS[command]:x}={getattr(errno, name)}"


@test
def no_module():
    with Host(space=False, device=False) as h:
        for args in ([], ["space", "list"], ["info"], ["run", "web/x", "true"], ["counter", "get", "web/x"],
                     ["space", "create", "web", "10.0.0.1"], ["lock", "test", "web/x"]):
            h.run(1, args, "/dev/rdlock", "ENOENT", "modprobe rdlock")


@test
def spaces():
    with Host(space=False) as h:
        same(h.json("space", "list"), [], "empty list")
        h.run(0, ["space", "list"], "rdlock space create NAME ADDRESS")
        h.ok("space", "create", "web", "10.0.0.1:99", "--id", "3", "--mode", "0600", "--owner", "root", "--group=7")
        h.ok("space", "join", "b%20%2f%25", "fd00::1", "--id", "1", "--wait=1.5")
        h.run(1, ["space", "create", "web", "10.0.0.1"], "EEXIST", "'web'")
        h.run(1, ["space", "join", "web", "10.0.0.1", "--id", "1"], "EEXIST", "leave")
        stats = {s["name"]: s for s in h.json("space", "list")}
        same(sorted(stats), ["b%20%2F%25", "web"], "names")
        web = stats["web"]
        same([web["node"], web["mode"], web["uid"], web["gid"], web["address"], web["is_home"], web["instance"]],
             [3, "0600", 0, 7, "10.0.0.1:99", True, "0xfedcba9876543210"], "web")
        same(stats["b%20%2F%25"]["address"], "[fd00::1]:7517", "address")
        same(stats["b%20%2F%25"]["mode"], "0660", "default mode")
        same(h.json("space", "show", "web"), web, "show and list")
        same(h.json(), h.json("space", "list"), "bare rdlock")
        text = h.ok()
        same(len(text.splitlines()), 3, "lines")
        has(h.ok("space", "show", "web"), "state      ready\n", "node       3\n")
        h.run(1, ["space", "show", "x"], "no space 'x'", "rdlock space join 'x'")
        h.ok("space", "leave", "b%20%2F%25")
        h.run(1, ["space", "destroy", "web"], "EBUSY", "--force",
              FAKE_FAIL=failing("SPACE_DESTROY", "EBUSY"))
        h.ok("space", "destroy", "web", "--force")
        h.run(1, ["space", "leave", "web"], "no space 'web'", "rdlock space list")


@test
def info():
    with Host(space=False) as h:
        same(h.json("info"), {"version": "fake", "command": h.ok("--version").split()[1],
                              "features": ["counter", "timens", "shared", "value", "robust", "wait"],
                              "kinds": ["spin", "fair", "ticket", "mcs"], "name_max": 64,
                              "max_nodes": 256, "max_cells": 512}, "info")
        has(h.ok("info"), "features   counter timens shared value robust wait\n", "kinds      spin fair ticket mcs\n")


@test
def kinds():
    with Host() as h:
        for args, want in (([], "kind=0 flags=0 value=0"), (["--kind", "fair", "-s"], "kind=2 flags=0"),
                           (["--kind=mcs", "--sticky=no"], "kind=4 flags=4"),
                           (["--kind=fair", "--sticky", "yes"], "kind=2 flags=2"),
                           (["--robust", "--sticky=no"], "kind=0 flags=12")):
            h.run(0, ["run", *args, "web/k", "true"], want, FAKE_SHOW_OPEN="1")
        h.run(1, ["run", "--kind", "spin", "web/k", "true"], "it exists, and is of another kind",
              FAKE_FAIL=failing("LOCK_OPEN", "EINVAL"))
        h.run(2, ["run", "--kind", "x", "web/k", "true"], "no kind of lock")
        h.run(2, ["run", "--sticky", "x", "web/k", "true"], "--sticky is yes or no")
        h.ok("space", "create", "fair", "10.0.0.9", "--kind", "fair")
        same(h.json("space", "show", "fair")["kind"], "fair", "kind of the space")
        same(h.json("space", "show", "fair")["waiting"], "adaptive", "how it waits")
        h.ok("space", "create", "busy", "10.0.0.9", "--waiting", "spin")
        same(h.json("space", "show", "busy")["waiting"], "spin", "how it waits")
        h.run(2, ["space", "create", "x", "10.0.0.9", "--waiting", "patiently"], "no way to wait; event, spin")
        h.run(2, ["space", "create", "bad", "10.0.0.9", "--kind", "x"], "no kind of lock")


@test
def wrong_usage():
    with Host() as h:
        for args in (["x"], ["space", "x"], ["counter"], ["lock"], ["run"], ["run", "web/x"], ["run", "web/x", "--"],
                     ["run", "web", "true"], ["run", "/x", "true"], ["run", "web/", "true"],
                     ["run", "web/%zz", "true"], ["run", "web/" + 65 * "k", "true"], ["run", "-q", "web/x", "true"],
                     ["run", "-n", "-w", "1", "web/x", "true"], ["run", "-s", "-x", "web/x", "true"],
                     ["run", "-w", "x", "web/x", "true"], ["run", "-w", "-1", "web/x", "true"],
                     ["run", "web/x", "-w"], ["run", "--on-loss=x", "web/x", "true"],
                     ["run", "--nonblock=1", "web/x", "true"],
                     ["space", "create", "w"], ["space", "create", "w", "10.0.0.1", "x"],
                     ["space", "create", "w/x", "10.0.0.1"], ["space", "create", "", "10.0.0.1"],
                     ["space", "create", "w", "nohost"], ["space", "create", "w", "10.0.0.1:0"],
                     ["space", "create", "w", "10.0.0.1", "--id", "64"],
                     ["space", "create", "w", "10.0.0.1", "--max-nodes", "17"],
                     ["space", "create", "w", "10.0.0.1", "--mode", "0777"],
                     ["space", "create", "w", "10.0.0.1", "--mode", "rw"],
                     ["space", "create", "w", "10.0.0.1", "--mode", "40000000666"],
                     ["space", "create", "w", "10.0.0.1", "--owner", "nobody-of-that-name"],
                     ["space", "join", "w", "10.0.0.1"], ["space", "join", "w", "10.0.0.1", "--id", "256"],
                     ["space", "join", "w", "10.0.0.1", "--id", "x"], ["space", "join", "w", "10.0.0.1", "--id", ""],
                     ["counter", "add", "web/c", "x"], ["counter", "add", "web/c", "18446744073709551616"],
                     ["counter", "add", "web/c", "0x"], ["counter", "add", "web/c", "1f"],
                     ["counter", "add", "web/c", "1", "--cells", "0"], ["counter", "get", "web/c:99999999999"],
                     ["counter", "cas", "web/c", "1"], ["lock", "test", "web"], ["help", "x"], ["--x"]):
            h.run(2, args, "rdlock: ")
            same(glob.glob(h.dir + "/lock.*") + glob.glob(h.dir + "/counter.*"), [], f"left by {args}")


@test
def run_exit_codes():
    with Host() as h:
        h.ok("run", "web/x", "true")
        h.run(3, ["run", "web/x", "--", "sh", "-c", "exit 3"])
        h.run(143, ["run", "web/x", "sh", "-c", "kill $$"])
        h.run(127, ["run", "web/x", "/no/such/command"], "/no/such/command")
        h.run(126, ["run", "web/x", "/etc/passwd"], "/etc/passwd")
        h.run(1, ["run", "nospace/x", "true"], "no space 'nospace'", "rdlock space join")
        h.run(1, ["run", "web/x", "true"], "EACCES", FAKE_FAIL=failing("SPACE_OPEN", "EACCES"))
        h.run(1, ["run", "web/x", "true"], "EHOSTUNREACH", FAKE_FAIL=failing("LOCK_OPEN", "EHOSTUNREACH"))
        h.run(1, ["run", "web/x", "true"], "ECONNREFUSED", "rdlock space create",
              FAKE_FAIL=failing("LOCK_OPEN", "ECONNREFUSED"))
        h.run(1, ["run", "-s", "web/x", "true"], "EOPNOTSUPP", FAKE_FAIL=failing("ACQUIRE", "EOPNOTSUPP"))


@test
def run_excludes():
    with Host() as h:
        flag = h.dir + "/in"
        holder = h.start("run", "web/x", "sh", "-c", f"touch {flag}; sleep 1")
        wait_for(flag)
        h.run(75, ["run", "-n", "web/x", "touch", h.dir + "/no"], "web/x", "EAGAIN")
        h.run(124, ["run", "-w", "0.1", "web/x", "touch", h.dir + "/no"], "ETIMEDOUT")
        h.run(124, ["run", "-w", "0", "web/x", "touch", h.dir + "/no"], "ETIMEDOUT")
        h.ok("run", "-w", "0", "web/free", "true")
        same(h.run(75, ["lock", "test", "web/x"]), "held\n")
        same(h.json("lock", "test", "web/other")["state"], "free")
        h.ok("run", "-n", "web/other/x", "true")
        same(os.path.exists(h.dir + "/no"), False, "a command ran without the lock")
        same(holder.poll(), None, "the holder ended too early")
        h.ok("run", "-w", "10", "web/x", "true")
        h.end(holder, 0)
        same(h.ok("lock", "test", "web/x"), "free\n")


@test
def run_environment():
    with Host() as h:
        show = ["sh", "-c", "echo $RDLOCK_TOKEN $RDLOCK_INSTANCE $RDLOCK_GRANT_FLAGS"]
        same(h.ok("run", "web/x", *show, FAKE_FLAGS="3"), "0x0000000000000001 0xfedcba9876543210 owner-died,local\n")
        same(h.ok("run", "web/x", *show), "0x0000000000000002 0xfedcba9876543210\n")
        h.run(0, ["run", "web/x", "-v", "true"], "got 'web/x'", "token 0x0000000000000003")
        same(h.ok("run", "web/x", "--", "echo", "-n", "-v"), "-v")
        same(h.ok("run", "web/x", "echo", "-w", "--"), "-w --\n")
        # The lock's fd is handed on, and nothing else; but what the command leaves behind does not keep the lock.
        for option, want in (["-v"], 1), (["-o"], 0):
            fds = h.ok("run", *option, "web/x", "--", "python3", "-c", "import os\nfor f in os.listdir('/proc/self/fd'):\n"
                       " try: print(os.readlink('/proc/self/fd/' + f))\n except OSError: pass")
            same(len([f for f in fds.split() if f.startswith(h.dir)]), want, f"fds of the command, {option}")
        # Nor in the place of one that is closed.
        shell = 'exec <&-; exec "$0" run web/x -- readlink /proc/self/fd/0'
        got = subprocess.run(["sh", "-c", shell, RDLOCK], env=h.env, check=False, stdout=subprocess.PIPE, text=True)
        same((got.returncode, got.stdout), (1, ""), "stdin is not the lock")
        h.ok("run", "web/x", "sh", "-c", "sleep 5 >/dev/null 2>&1 </dev/null & exit 0")
        h.ok("run", "-n", "web/x", "true")


@test
def run_signals():
    with Host() as h:
        trap = "trap 'sleep 0.3; exit 7' TERM; touch %s; while :; do sleep 0.05; done"
        flag = h.dir + "/in"
        proc = h.start("run", "web/x", "sh", "-c", trap % flag)
        wait_for(flag)
        proc.send_signal(signal.SIGTERM)
        time.sleep(0.1)
        h.run(75, ["run", "-n", "web/x", "true"], "EAGAIN")	# held until the command has ended
        h.end(proc, 7)

        flag = h.dir + "/in2"
        proc = h.start("run", "web/x", "sh", "-c", f"echo $$ > {flag}.tmp; mv {flag}.tmp {flag}; exec sleep 30")
        wait_for(flag)
        proc.kill()
        proc.wait()
        with open(flag, encoding="ascii") as f:
            pid = int(f.read())
        end = time.monotonic() + 5
        while os.path.exists(f"/proc/{pid}") and "Z" not in open(f"/proc/{pid}/stat", encoding="ascii").read():
            if time.monotonic() > end:
                problems.append("the command outlives a killed rdlock")
                os.kill(pid, signal.SIGKILL)
                break
            time.sleep(0.02)
        proc.communicate()
        h.ok("run", "-n", "web/x", "true")


def on_terminal(h, *args):
    """The command as leader of a session whose terminal is the other end of the returned fd."""
    pid, fd = pty.fork()
    if not pid:
        os.execve(RDLOCK, [RDLOCK, *args], h.env)
    return pid, fd


def code_of(pid, what):
    end = time.monotonic() + 5
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    problems.append(f"{what} does not reach the command")
    os.kill(pid, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@test
def run_on_a_terminal():
    # A shell would take two signals that come soon one after the other for one.
    wait = ("import os, signal, sys, time\n"
            "def got(*args): open(sys.argv[1], 'a').write('x')\n"
            "for s in signal.SIGINT, signal.SIGHUP: signal.signal(s, got)\n"
            "open(sys.argv[2], 'w').close()\n"
            "while not os.path.exists(sys.argv[1]): time.sleep(0.01)\n"
            "time.sleep(0.3)\n"
            "sys.exit(7)")
    with Host() as h:
        for name, own_group, key in (("interrupt", [], b"\3"), ("interrupt-of-a-session", ["setsid"], b"\3"),
                                     ("hang-up", [], None)):
            got, flag = h.dir + "/got-" + name, h.dir + "/in-" + name
            pid, fd = on_terminal(h, "run", "web/x", *own_group, sys.executable, "-c", wait, got, flag)
            wait_for(flag)
            if key:
                os.write(fd, key)
            else:
                os.close(fd)
            same(code_of(pid, name), 7, f"exit code after {name}")
            if key:
                os.close(fd)
            with open(got, encoding="ascii") as f:
                same(f.read(), "x", f"how often the command got {name}")
            h.ok("run", "-n", "web/x", "true")


@test
def run_loss():
    with Host() as h:
        begin = time.monotonic()
        proc = h.start("run", "web/x", "sh", "-c", "sleep 0.8", FAKE_LOSE_MS="100")
        line = proc.stderr.readline()
        same(time.monotonic() - begin < 0.7, True, "told at once")
        has(line, "web/x", "LOST")
        h.end(proc, 1)
        same(time.monotonic() - begin >= 0.8, True, "the command was left to end")
        begin = time.monotonic()
        h.run(1, ["run", "--on-loss=kill", "web/x", "sleep", "20"], "LOST", FAKE_LOSE_MS="100")
        same(time.monotonic() - begin < 10, True, "the command was ended")
        # Nobody hears of it any more, which is no reason to end; and the command's SIGPIPE is as it was.
        proc = h.start("run", "web/x", "sh", "-c", f"sleep 0.6; touch {h.dir}/done", FAKE_LOSE_MS="100")
        proc.stderr.close()
        same(proc.wait(), 1, "exit code when nobody reads the message")
        same(os.path.exists(h.dir + "/done"), True, "the command was left to end")
        proc.stdout.close()
        h.run(141, ["run", "web/x", "sh", "-c", "kill -PIPE $$"])
        # Lost too late for poll to say so.
        h.run(1, ["run", "web/x", "true"], "LOST", FAKE_FAIL=failing("RELEASE", "EKEYREVOKED"))


@test
def robust():
    with Host() as h:
        def left():
            return {name for name in ("consistent", "given-up", "reset")
                    if os.path.exists(os.path.join(h.dir, f"{name}.."))}

        run = ["run", "--robust", "web/x"]
        h.run(76, [*run, "true"], "EOWNERDEAD", "--recover", FAKE_DIED="1")
        h.run(0, [*run, "--recover", "sh", "-c", "exit 0"])
        same(left(), set(), "nobody died")
        h.run(3, [*run, "--recover", "sh", "-c", "exit 3"], "told of the death again", FAKE_DIED="1")
        same(left(), set(), "a repair that failed")
        has(h.run(0, [*run, "--recover", "-v", "sh", "-c", "echo $RDLOCK_GRANT_FLAGS"], "owner-died", FAKE_DIED="1"),
            "owner-died\n")
        same(left(), {"consistent"}, "repaired")
        h.run(0, [*run, "true"], FAKE_DIED="1")
        h.run(1, [*run, "true"], "ENOTRECOVERABLE", "rdlock lock reset 'web/x'",
              FAKE_FAIL=failing("ACQUIRE", "ENOTRECOVERABLE"))
        h.run(1, [*run, "--recover", "true"], "cannot make lock 'web/x' consistent",
              FAKE_DIED="1", FAKE_FAIL=failing("CONSISTENT", "EINVAL") + "," + failing("ACQUIRE", "EOWNERDEAD"))
        h.run(2, ["run", "--recover", "web/x", "true"], "--robust")
        h.run(2, [*run, "-s", "--recover", "true"], "-s")
        h.ok("lock", "reset", "web/x")
        same("reset" in left(), True, "reset")
        h.run(1, ["lock", "reset", "web/x"], "nobody has it open", FAKE_FAIL=failing("LOCK_RESET", "ENOENT"))
        os.remove(os.path.join(h.dir, "consistent.."))
        has(h.ok("lock", "test", "--robust", "web/x", FAKE_DIED="1"), "free")
        same("given-up" in left(), False, "a test leaves it as it was")


@test
def bench():
    with Host() as h:
        got = h.json("bench", "kinds", "web", "--grants", "3", "--threads", "2")
        same([(r["kind"], r["case"], r["grants"]) for r in got["results"][:4]],
             [(k, "alone", 3) for k in ("spin", "fair", "ticket", "mcs")], "alone")
        same([r["kind"] for r in got["results"] if r["case"] == "cached"], ["fair", "mcs"], "what can be cached")
        same([r["grants"] > 6 for r in got["results"] if r["case"] == "crowd"], [True] * 4, "a crowd")
        has(h.ok("bench", "kinds", "web", "--grants", "2"), "web: 1 nodes, atomics by device, waiting adaptive",
            "KIND    CASE", "mcs     crowd")
        h.run(2, ["bench", "kinds", "web", "--nodes", "5"], "--nodes")
        # Nobody had a lock: the nodes have not met.
        p = h.start("bench", "kinds", "web", "--nodes", "2", FAKE_FAIL=failing("COUNTER_READ", "ETIMEDOUT"))
        said = p.stderr.read()
        h.end(p, 124)
        has(said, "did not come", "--run")
        same("cannot" in said, False, f"a lock is blamed: {said}")
        for option in "threads", "grants", "seconds":
            h.run(2, ["bench", "kinds", "web", f"--{option}", "0"], "at least 1")
        h.run(2, ["bench", "kinds", "web", "--seconds", "61"], "--seconds")


@test
def counters():
    with Host() as h:
        h.run(1, ["counter", "get", "web/c"], "no such counter", "rdlock counter add 'web/c' 0 --cells N")
        same([h.ok("counter", "add", "web/c") for _ in range(3)], ["0\n", "1\n", "2\n"], "add")
        same(h.ok("counter", "get", "web/c"), "3\n")
        same(h.ok("counter", "add", "web/c", "-5"), "3\n")
        same(h.json("counter", "get", "web/c")["value"], 2 ** 64 - 2, "negative")
        same(h.ok("counter", "cas", "web/c", "-2", "0x10"), "18446744073709551614\n")
        same(h.run(75, ["counter", "cas", "web/c", "1", "2"]), "16\n")
        same(h.json("counter", "add", "web/d:2", "7", "--cells", "4"),
             {"space": "web", "key": "d", "cell": 2, "old": 0, "new": 7}, "json")
        same(h.ok("counter", "add", "web/d:2"), "7\n")
        same(h.json("counter", "show", "web/d")["cells"], [0, 0, 8, 0], "cells")
        same(h.ok("counter", "show", "web/c"), "0     16\n")
        h.run(1, ["counter", "add", "web/d", "--cells", "5"], "EEXIST", "rdlock counter show")
        h.run(1, ["counter", "get", "web/d:4"], "ERANGE")
        # What cannot be done is not half done: a counter of one cell would be one for ever.
        h.run(1, ["counter", "add", "web/e:3", "1"], "no counter 'web/e'", "--cells N")
        h.run(2, ["counter", "add", "web/e:3", "1", "--cells", "3"], "cells count from 0")
        h.run(2, ["counter", "add", "web/e", "1", "--cells", "513"], "at most 512 cells")
        h.run(1, ["counter", "get", "web/e"], "no such counter")
        same(h.ok("counter", "add", "web/e:511", "1", "--cells", "512"), "0\n")
        same(h.ok("counter", "add", "web/e:3", "1"), "0\n")
        h.run(1, ["counter", "add", "web/d"], "EREMOTEIO", "rdlock counter get",
              FAKE_FAIL=failing("COUNTER_ADD", "EREMOTEIO"))
        for text, value in (("010", 10), ("-010", -10), ("0x10", 16), ("-0X10", -16), ("08", 8), ("+3", 3)):
            h.ok("counter", "add", "web/n", text, "--cells", "01")
            same(h.ok("counter", "cas", "web/n", str(value), "0").strip(), str(value % 2 ** 64), text)
        h.ok("counter", "add", "web/a:b%3A1:0", "5")
        same(h.ok("counter", "get", "web/a%3Ab%3a1"), "5\n")


@test
def every_error_is_explained():
    with Host() as h:
        calls = {"SPACE_CREATE": ["space", "create", "n", "10.0.0.1"], "SPACE_LIST": ["space", "list"],
                 "SPACE_JOIN": ["space", "join", "n", "10.0.0.1", "--id", "1"], "SPACE_LEAVE": ["space", "leave", "n"],
                 "SPACE_DESTROY": ["space", "destroy", "n"], "SPACE_OPEN": ["run", "web/x", "true"],
                 "LOCK_OPEN": ["run", "web/x", "true"], "ACQUIRE": ["run", "web/x", "true"],
                 "COUNTER_OPEN": ["counter", "get", "web/x"], "COUNTER_ADD": ["counter", "add", "web/x"],
                 "INFO": ["info"], "RELEASE": ["run", "web/x", "true"]}
        for command, args in calls.items():
            for name in ("EPERM", "EINVAL", "ENOMEM", "ENODEV", "ESHUTDOWN"):
                h.run(1, args, "rdlock: cannot ", f"({name})", FAKE_FAIL=failing(command, name))


@test
def full_disk():
    with Host() as h, open("/dev/full", "w", encoding="ascii") as full:
        p = subprocess.run([RDLOCK, "space", "list"], env=h.env, stdout=full, stderr=subprocess.PIPE, check=False)
        same(p.returncode, 1, "exit code with a full disk")
        has(p.stderr.decode(), "No space left")


def table():
    out = subprocess.run([RDLOCK, "help", "--table"], stdout=subprocess.PIPE, check=True, text=True).stdout
    return [line.split() for line in out.splitlines()]


@test
def help_and_manual():
    with Host(space=False, device=False) as h:
        with open(os.path.join(HERE, "../man/rdlock.8"), encoding="ascii") as f:
            page = f.read().replace("\\-", "-")
        whole = h.ok("help")
        for obj, name, *opts in table():
            words = [obj] + ([name] if name != "-" else [])
            text = h.ok(*words, "--help")
            same(h.ok("help", *words), text, f"help {words}")
            has(text, "usage: rdlock " + " ".join(words), "example:")
            has(whole, " ".join(words))
            has(page, " ".join(words))
            for opt in opts:
                has(text, opt.rstrip("="))
                has(page, opt.rstrip("="))
        for obj in {row[0] for row in table() if row[1] != "-"}:
            same(h.ok(obj, "help"), h.ok("help", obj), obj)
        for code in ("75", "124", "126", "127", "128"):
            has(page, code)


@test
def completion():
    script = os.path.join(BUILD, "completion/rdlock")

    def complete(*words, space="web", **where):
        line = "source {}; rdlock() {{ echo NAME; echo {} ready; }}; COMP_WORDS=(rdlock {}); COMP_CWORD={}; _rdlock; " \
               "echo \"${{COMPREPLY[@]}}\"".format(script, shlex.quote(space), " ".join(map(shlex.quote, words)),
                                                 len(words))
        out = subprocess.run(["bash", "-c", line], stdout=subprocess.PIPE, text=True, check=True, **where).stdout
        return out.split()

    objects = complete("")
    for obj, name, *opts in table():
        same(obj in objects, True, f"object {obj}")
        long = [o.rstrip("=") for o in opts if o.startswith("--")]
        if name == "-":
            same(complete(obj, "--"), long, f"options of {obj}")
        else:
            same(name in complete(obj, ""), True, f"command {obj} {name}")
            same(complete(obj, name, "--"), long, f"options of {obj} {name}")
    same(complete("sp"), ["space"], "sp")
    same(complete("space", "cr"), ["create"], "space cr")
    same(complete("space", "show", "w"), ["web"], "a space")
    same(complete("run", "w"), ["web/"], "a lock")
    for options in (["-w", "60"], ["-nw", "60"], ["-w60"], ["--timeout", "60"], ["--timeout", "=", "60"], ["-n"]):
        same(complete("run", *options, "w"), ["web/"], f"a lock after {options}")
    same(complete("counter", "add", "--cells", "4", "w"), ["web/"], "a counter after an option")
    same(complete("run", "-w", "w"), [], "the value of an option")

    # Whatever a space is called: it is a name, and what is put on the command line is that name to the shell.
    for name in ("$(touch${IFS}pwned)", "`touch${IFS}pwned`", "it's", 'a"b', "a=b", "*", "a\\b", "a;b&c|d"):
        with tempfile.TemporaryDirectory() as here:
            got = complete("space", "show", name[0], space=name, cwd=here)
            same([shlex.split(w) for w in got], [[name]], f"space {name}")
            same(complete("space", "show", got[0] if got else "?", space=name, cwd=here), got, f"space {name}, as quoted")
            same(complete("run", "", space=name, cwd=here), [w + "/" for w in got], f"a lock of space {name}")
            same(os.listdir(here), [], f"left by the completion of {name}")


@test
def exports():
    out = subprocess.run(["nm", "-D", "--defined-only", os.path.join(BUILD, "librdlock.so.1")], stdout=subprocess.PIPE,
                         check=True, text=True).stdout
    got = {line.split()[-1].split("@")[0] for line in out.splitlines() if " T " in line}
    with open(os.path.join(HERE, "../lib/rdlock.h"), encoding="ascii") as f:
        want = set(re.findall(r"^RDLOCK_API .*?\b(rdlock_\w+)\(", f.read(), re.M))
    same(sorted(got), sorted(want), "symbols of the library and functions of the header")


@test
def install_wants_headers_of_the_running_kernel():
    def install(*args, release="0.0-none", **env):
        with open(os.path.join(top, "uname"), "w", encoding="ascii") as f:
            f.write(f"#!/bin/sh\n[ \"$*\" = -r ] && echo {release} && exit\nexec /bin/uname \"$@\"\n")
        os.chmod(f.name, 0o755)
        inherited = {k: v for k, v in os.environ.items() if k not in ("KDIR", "MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
        env = {**inherited, "PATH": top + ":" + os.environ["PATH"], **env}
        p = subprocess.run(["make", "-C", os.path.join(HERE, "../.."), *args], env=env, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True, check=False)
        return p.returncode, p.stdout

    with tempfile.TemporaryDirectory() as top:
        code, said = install("install", f"DESTDIR={top}/dest")
        same([code, os.path.exists(top + "/dest")], [2, False], "headers of another kernel")
        has(said, "apt install linux-headers-0.0-none, or KDIR=")
        os.makedirs(top + "/include/generated")
        with open(top + "/include/generated/utsrelease.h", "w", encoding="ascii") as f:
            f.write('#define UTS_RELEASE "1.2-x"\n')
        same(install("-s", "running-headers", f"KDIR={top}"), (0, ""), "KDIR given")
        same(install("-s", "running-headers", KDIR=top), (0, ""), "KDIR in the environment")


@test
def every_function_is_a_test_or_called():
    with open(__file__, encoding="utf-8") as f:
        tree = ast.parse(f.read())
    called = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    for fn in tree.body:
        if isinstance(fn, ast.FunctionDef) and not ast.unparse(fn.args) and not fn.decorator_list:
            same(fn.name in called, True, f"{fn.name}() has no @test, and is not called")


@test
def these_tests_can_fail():
    env = dict(os.environ, FAKE_BUSTED="1")
    p = subprocess.run([sys.executable, __file__, BUILD, "run_excludes"], env=env, stdout=subprocess.PIPE, text=True,
                       check=False)
    same(p.returncode, 1, "exit code with locks that exclude nobody")
    has(p.stdout, "not ok 1 run_excludes")


def main():
    read_commands()
    chosen = [t for t in TESTS if not sys.argv[2:] or t.__name__ in sys.argv[2:]]
    failed = 0
    print(f"TAP version 13\n1..{len(chosen)}")
    for number, fn in enumerate(chosen, 1):
        problems.clear()
        try:
            fn()
        except Exception as e:	# pylint: disable=broad-except
            problems.append(f"{type(e).__name__}: {e}")
        for problem in problems:
            print("# " + problem.replace("\n", "\n# "))
        failed += bool(problems)
        print(f"{'not ok' if problems else 'ok'} {number} {fn.__name__}", flush=True)
    return 1 if failed else 0


sys.exit(main())
