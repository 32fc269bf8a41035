# SPDX-License-Identifier: GPL-2.0
"""Runs the VMs of one scenario: QEMU processes, their channels, one event loop."""

import math
import os
import shlex
import shutil
import signal
import time
import urllib.parse

from . import ktap, qemu
from .judge import Boot
from .wire import Channel, Files, Monitor, Wire

# From the last marker to the end of QEMU.
POWEROFF_SECONDS = 15
# For atstart, and for atend with the files it leaves; times the kernel's factor.
HOOK_SECONDS = 120
# From the question what hangs to the end.
LAST_WORDS_SECONDS = 3


class Node:
    """One VM; after 'vm start' the same node boots again."""

    def __init__(self, run, number):
        self.run, self.number = run, number
        self.boot, self.process, self.finished, self.snapshot = 0, None, [], None
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
        self.requests = b""
        self.files = Files(self.out("files.tar"))
        take = {"ktap": self.take_ktap, "control": self.take_control, "files": self.files.take}
        self.channels = {name: Channel(self.run.loop, sock + name, take.get(name)) for name in qemu.PORTS}
        self.monitor = self.channels["monitor"] = Monitor(self.run.loop, sock + "monitor")
        payload = self.run.payload.of_node(self.environment())
        fds = self.run.wire.fds(self.number)
        argv = qemu.machine(self.run.vmlinux, self.run.mem, self.run.scenario.smp, self.run.words)
        argv += self.serial() + qemu.devices(sock, self.run.wire.args(self.number, self.run.scenario.vms))
        self.snapshot = self.run.snapshot(self.number, self.boot)
        try:
            if self.snapshot:
                fds.append(os.open(self.snapshot, os.O_RDONLY))
                argv += ["-initrd", self.run.base] + qemu.incoming(fds[-1])
                self.channels["payload"].send(payload)
            else:
                with open(sock + "initrd", "wb") as initrd:
                    with open(self.run.base, "rb") as base:
                        shutil.copyfileobj(base, initrd)
                    initrd.write(payload)
                argv += ["-initrd", sock + "initrd"]
            with open(self.out("cmd"), "w", encoding="utf-8") as f:
                f.write(shlex.join(argv) + "\n")
            if self.run.shell and self.number == 0:
                self.process = qemu.start(argv, None, fds, stdio=None)
            else:
                self.process = qemu.start(argv, self.out("qemu"), fds)
        finally:
            if self.snapshot:
                os.close(fds[-1])

    def environment(self):
        """What the scenario finds in its environment, and init needs."""
        run = self.run
        return {"NODE": self.number, "NODES": run.scenario.vms, "BOOT": self.boot, "SCALE": run.scale,
                "RXE": int(run.scenario.rxe), "MODE": "shell" if run.shell else "test",
                "T": run.pattern.split()[0] if run.pattern else "", "CLOCK": f"{time.time():.0f}", "PATIENCE": math.ceil(run.times)}

    def serial(self):
        if self.run.shell and self.number == 0:
            return ["-serial", "mon:stdio"]
        if self.run.shell:
            return ["-serial", f"unix:{self.out('serial')},server=on,wait=off"]
        return ["-serial", f"file:{self.out('console')}"]

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

    def take_control(self, data):
        *lines, self.requests = (self.requests + data).split(b"\n")
        for line in lines:
            words = line.decode(errors="replace").split(" ")
            args = ["" if w == "%" else urllib.parse.unquote(w) for w in words[1:]]
            kind, text = self.run.answer(self, args)
            text = urllib.parse.quote(text, safe="/:.,=+-_@")
            self.channels["control"].send(f"{words[0]} {kind}{' ' + text if text else ''}\n".encode())

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
            self.channels["keys"].send(b"w\n")
        return time.monotonic() > self.asked + LAST_WORDS_SECONDS

    def kill(self, on_purpose=False):
        self.killed = self.killed or on_purpose
        if self.process:
            os.kill(self.process.pid, signal.SIGKILL)

    def over(self):
        """Has QEMU ended? Its processor time is known to nobody later."""
        pid, status, usage = os.wait4(self.process.pid, os.WNOHANG)
        if not pid:
            return False
        self.process.returncode = os.waitstatus_to_exitcode(status)
        self.run.cpu += usage.ru_utime + usage.ru_stime
        return True

    def reap(self, timed_out=False):
        """If QEMU has ended, closes the boot and keeps what the judge needs."""
        if not self.process or not self.over():
            return
        self.process = None
        for channel in self.channels.values():
            channel.drain()
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
        hint = ""
        dies = self.number in self.run.scenario.dies
        if self.snapshot and ended == "died" and not texts[0]:
            hint = f"not restored: remove {self.snapshot} (BOOT=cold goes without)"
        self.finished.append(Boot(self.label, texts[0], texts[1], ended, may_die=dies, files=wrong, hint=hint))


class Run:
    """One scenario, from boot to the texts the judge reads."""

    def __init__(self, loop, scenario, kernel, payload, out, tmp, **options):
        self.loop, self.scenario, self.payload, self.out, self.tmp = loop, scenario, payload, out, tmp
        self.vmlinux, self.base = options["vmlinux"], options["base"]
        # Where a node's boot begins, or None: at the beginning.
        self.snapshot = options.get("snapshot", lambda node, boot: None)
        self.mem = int(scenario.mem * kernel.mem)
        self.words = kernel.arguments.split() + scenario.cmdline.split()
        self.scale = options.get("scale", "0.05")
        longest = scenario.timeout + scenario.timeout_scaled * float(self.scale)
        self.times = kernel.times * options.get("times", 1)
        self.timeout = longest * self.times
        self.pattern = options.get("pattern", "")
        self.shell = options.get("shell", False)
        self.live = options.get("live")
        self.wire = Wire(scenario.vms)
        self.nodes = [Node(self, n) for n in range(scenario.vms)]
        self.cpu = 0.0
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
            target.monitor.ask(what)
        elif what in ("plug", "unplug"):
            target.monitor.ask("set_link", name="n0", up=what == "plug")
        elif what == "quit":
            target.killed = True
            target.monitor.ask("quit")
        else:
            return "no", f"vm {what}?"
        return "ok", ""

    # --- the loop ------------------------------------------------------------

    def start(self):
        self.started = self.stepped = time.monotonic()
        self.deadline = None if self.shell else self.stepped + self.timeout
        for node in self.nodes:
            node.start()

    def step(self):
        """Ends what is over or late; false when every VM has ended."""
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
        while node.alive:
            node.reap(timed_out=True)
            time.sleep(0.01)
