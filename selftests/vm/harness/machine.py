# SPDX-License-Identifier: GPL-2.0
"""Runs the VMs of one scenario: QEMU processes, their channels, one event loop."""

import ctypes
import json
import os
import selectors
import signal
import subprocess
import time
import urllib.parse

from . import ktap
from .judge import Boot
from .wire import Channel, Files, Wire

PR_SET_PDEATHSIG = 1
# From the last marker to the end of QEMU.
POWEROFF_SECONDS = 15
# For atstart, and for atend with the files it leaves; times the kernel's factor.
HOOK_SECONDS = 120
# From the question what hangs to the end.
LAST_WORDS_SECONDS = 3


def die_with_parent():
    """No VM outlives its driver, however that one ends."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Node:
    """One VM; after 'vm start' the same node boots again."""

    def __init__(self, run, number):
        self.run, self.number = run, number
        self.boot, self.process, self.finished = 0, None, []
        self.asked = None
        # boot, atstart, begin (the scenario runs), end (atend runs), off; and since when.
        self.phase, self.since = "boot", 0.0

    @property
    def label(self):
        return f"node{self.number}" + (f".boot{self.boot}" if self.boot > 1 else "")

    @property
    def alive(self):
        return self.process is not None

    def out(self, what):
        return os.path.join(self.run.out, f"{self.label}.{what}")

    def start(self):
        self.boot += 1
        self.asked, self.killed, self.partial = None, False, b""
        self.enter("boot")
        self.ktap_file = open(self.out("ktap"), "wb")
        sock = os.path.join(self.run.tmp, f"{self.number}-{self.boot}")
        loop = self.run.loop
        self.ktap = Channel(loop, sock + "k", self.take_ktap)
        self.ctl = Channel(loop, sock + "c", self.take_ctl)
        self.keys = Channel(loop, sock + "s", lambda data: None)
        self.files = Files(self.out("files.tar"))
        self.files_in = Channel(loop, sock + "f", self.files.take)
        self.qmp = Channel(loop, sock + "q", lambda data: None)
        self.requests = b""
        argv = self.argv(sock)
        with open(self.out("cmd"), "w", encoding="utf-8") as f:
            f.write(" ".join(argv) + "\n")
        stdio = None if self.run.shell and self.number == 0 else subprocess.DEVNULL
        with open(self.out("qemu"), "wb") as errors:
            self.process = subprocess.Popen(
                argv, stdin=stdio, stdout=stdio, stderr=None if stdio is None else errors,
                pass_fds=self.run.wire.fds(self.number), preexec_fn=die_with_parent)

    def argv(self, sock):
        s, run = self.run.scenario, self.run
        words = ["console=ttyS0", "panic=-1", "oops=panic", "nmi_watchdog=0", "net.ifnames=0",
                 "ipv6.disable_ipv6=0", "random.trust_cpu=on", "loglevel=7",
                 "cryptomgr.notests", "syscall.x32=y",
                 # A busy host makes the guest believe that its timer is broken, and panic.
                 "no_timer_check",
                 f"NODE={self.number}", f"NODES={s.vms}", f"BOOT={self.boot}",
                 f"SCALE={run.scale}", f"RXE={int(s.rxe)}", f"MODE={'shell' if run.shell else 'test'}"]
        if run.pattern:
            words.append(f"T={run.pattern.split()[0]}")
        words += run.kernel.arguments.split() + s.cmdline.split()
        argv = ["qemu-system-x86_64", "-accel", "tcg", "-cpu", "qemu64,+rdrand", "-m", str(run.mem),
                "-smp", str(s.smp), "-nodefaults", "-no-user-config", "-display", "none",
                "-no-reboot", "-kernel", run.vmlinux, "-initrd", run.initrd,
                "-append", " ".join(words)]
        if run.shell and self.number == 0:
            argv += ["-serial", "mon:stdio"]
        elif run.shell:
            argv += ["-serial", f"unix:{self.out('serial')},server=on,wait=off"]
        else:
            argv += ["-serial", f"file:{self.out('console')}"]
        argv += ["-device", "virtio-serial-pci"]
        for nr, letter in ((1, "k"), (2, "c"), (3, "s"), (4, "f")):
            argv += ["-chardev", f"socket,id={letter},path={sock}{letter}", "-device",
                     f"virtserialport,chardev={letter},nr={nr}"]
        argv += ["-chardev", f"socket,id=q,path={sock}q", "-mon", "chardev=q,mode=control"]
        return argv + run.wire.args(self.number, s.vms)

    # --- what the VM says ----------------------------------------------------

    def take_ktap(self, data):
        self.ktap_file.write(data)
        self.ktap_file.flush()
        *lines, self.partial = (self.partial + data).split(b"\n")
        for line in lines:
            self.mark(line.decode(errors="replace"))
            if self.run.live:
                self.run.live(self.number, line.decode(errors="replace"))

    def enter(self, phase):
        self.phase, self.since = phase, time.monotonic()

    def mark(self, line):
        found = ktap.MARK.match(line)
        if found:
            self.enter(found.group(1))
        elif line == "# vm-atstart":
            self.enter("atstart")

    def take_ctl(self, data):
        *lines, self.requests = (self.requests + data).split(b"\n")
        for line in lines:
            words = line.decode(errors="replace").split(" ")
            args = ["" if w == "%" else urllib.parse.unquote(w) for w in words[1:]]
            kind, text = self.run.answer(self, args)
            text = urllib.parse.quote(text, safe="/:.,=+-_@")
            self.ctl.send(f"{words[0]} {kind}{' ' + text if text else ''}\n".encode())

    def monitor(self, command, **arguments):
        self.qmp.send(json.dumps({"execute": "qmp_capabilities"}).encode())
        self.qmp.send(json.dumps({"execute": command, "arguments": arguments}).encode())

    # --- its end -------------------------------------------------------------

    def late(self, now):
        """Has what it does now taken longer than it may?"""
        if self.phase in ("atstart", "end"):
            return now > self.since + HOOK_SECONDS * self.run.times
        return self.phase != "off" and self.run.deadline and now > self.run.deadline

    def last_words(self):
        """Late: has the kernel say what is blocked. True when it had its time."""
        if self.asked is None:
            self.asked = time.monotonic()
            self.keys.send(b"w\n")
        return time.monotonic() > self.asked + LAST_WORDS_SECONDS

    def kill(self, on_purpose=False):
        self.killed = self.killed or on_purpose
        if self.process:
            self.process.kill()

    def reap(self, timed_out=False):
        """If QEMU has ended, closes the boot and keeps what the judge needs."""
        if not self.process or self.process.poll() is None:
            return
        self.process = None
        self.ktap.drain()
        self.files_in.drain()
        for channel in (self.ktap, self.ctl, self.keys, self.qmp, self.files_in):
            channel.close()
        wrong = "" if self.killed or timed_out else self.files.close()
        self.ktap_file.close()
        texts = []
        for what in ("ktap", "console"):
            try:
                with open(self.out(what), "rb") as f:
                    texts.append(f.read().decode(errors="replace"))
            except FileNotFoundError:
                texts.append("")
        if self.killed:
            ended = "killed"
        elif timed_out:
            ended = "timeout"
        else:
            ended = "poweroff" if "# vm-end: " in texts[0] else "died"
        dies = self.number in self.run.scenario.dies
        self.finished.append(Boot(self.label, texts[0], texts[1], ended, may_die=dies, files=wrong))


class Run:
    """One scenario, from boot to the texts the judge reads."""

    def __init__(self, scenario, kernel, vmlinux, initrd, out, tmp, **options):
        self.scenario, self.kernel, self.vmlinux, self.initrd = scenario, kernel, vmlinux, initrd
        self.out, self.tmp = out, tmp
        self.mem = int(scenario.mem * kernel.mem)
        self.scale = options.get("scale", "0.05")
        longest = scenario.timeout + scenario.timeout_scaled * float(self.scale)
        self.times = kernel.times * options.get("times", 1)
        self.timeout = longest * self.times
        self.pattern = options.get("pattern", "")
        self.shell = options.get("shell", False)
        self.live = options.get("live")
        self.loop = selectors.DefaultSelector()
        self.wire = Wire(scenario.vms)
        self.nodes = [Node(self, n) for n in range(scenario.vms)]
        self.values, self.arrivals, self.passed = {}, {}, {}

    # --- what scenarios ask for (vmctl) --------------------------------------

    def answer(self, node, args):
        verb, args = args[0], args[1:]
        handler = getattr(self, f"ask_{verb}", None)
        try:
            return handler(node, *args) if handler else ("no", f"unknown request {verb}")
        except (TypeError, ValueError, IndexError) as err:
            return "no", str(err)

    def ask_put(self, node, key, value):
        self.values[key] = value
        return "ok", ""

    def ask_get(self, node, key):
        return ("ok", self.values[key]) if key in self.values else ("wait", "")

    def ask_arrive(self, node, name):
        counts = self.arrivals.setdefault(name, [0] * len(self.nodes))
        counts[node.number] += 1
        return "ok", str(counts[node.number])

    def ask_passed(self, node, name, turn):
        """The dead are not waited for; who boots later does not close a barrier again."""
        counts = self.arrivals.setdefault(name, [0] * len(self.nodes))
        here = min((c for c, n in zip(counts, self.nodes) if n.alive), default=0)
        self.passed[name] = max(here, self.passed.get(name, 0))
        return ("ok" if self.passed[name] >= int(turn) else "wait"), ""

    def ask_vm(self, node, what, number):
        target = self.nodes[int(number)]
        if what == "kill":
            if target.number not in self.scenario.dies:
                return "no", f"the scenario's '# dies:' does not name {number}"
            target.kill(on_purpose=True)
        elif what == "start":
            if target.alive:
                return "no", f"node {number} is alive"
            target.start()
        elif what in ("stop", "cont"):
            target.monitor(what)
        elif what in ("plug", "unplug"):
            target.monitor("set_link", name="n0", up=what == "plug")
        elif what == "quit":
            target.killed = True
            target.monitor("quit")
        else:
            return "no", f"vm {what}?"
        return "ok", ""

    # --- the loop ------------------------------------------------------------

    def start(self):
        self.stepped = time.monotonic()
        self.deadline = None if self.shell else self.stepped + self.timeout
        for node in self.nodes:
            node.start()

    def step(self, seconds=0.05):
        """Moves what is to be moved; false when every VM has ended."""
        for key, _ in self.loop.select(seconds):
            key.data()
        now = time.monotonic()
        # The scenario's own time stands still while it cannot begin.
        if self.deadline and any(node.alive and node.phase == "atstart" for node in self.nodes):
            self.deadline += now - self.stepped
        self.stepped = now
        for node in self.nodes:
            node.reap()
            stuck = node.phase == "off" and now > node.since + POWEROFF_SECONDS
            if node.alive and (stuck or (node.late(now) and node.last_words())):
                self.out_of_time(node)
        if self.shell and not self.nodes[0].alive:
            return False
        return any(node.alive for node in self.nodes)

    def stop(self):
        for node in self.nodes:
            if node.alive:
                self.out_of_time(node)
        self.wire.close()
        self.loop.close()

    def boots(self):
        """What the judge reads, of every boot of every node."""
        found = [boot for node in self.nodes for boot in node.finished]
        for number in self.scenario.dies:
            # A node may boot several times; one of them must have been killed.
            of_node = [b for b in found if b.label.split(".")[0] == f"node{number}"]
            if of_node and not any(b.ended == "killed" for b in of_node):
                of_node[0].must_die = True
        return found

    @staticmethod
    def out_of_time(node):
        node.kill()
        node.process.wait()
        node.reap(timed_out=True)
