# SPDX-License-Identifier: GPL-2.0
"""Unit tests of the harness: the parser, the judge, heads, archives. No VM."""

import os
import re
import selectors
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from harness import image, judge, kernel, ktap, machine, report, scenario, schedule, snapshot, wire  # noqa: E402

DENY = [re.compile(r"BUG:"), re.compile(r"Call Trace:")]
END = "# vm-end: 0\n# vm-off: 0\n"
GOOD = "KTAP version 1\n# vm-begin: 0\n1..2\nok 1 a\nok 2 b\n\n" + END


def judged(text, console="", ended="poweroff", allow=(), **more):
    boot = judge.Boot("node0", text, console, ended, **more)
    return judge.judge(boot, DENY, list(allow))


class Parser(unittest.TestCase):
    def test_results_and_directives(self):
        s = ktap.parse("1..4\nok 1 - a b\nnot ok 2 c\nok 3 d # SKIP no such thing\nok 4\n")
        self.assertEqual([p.status for p in s.points], ["pass", "fail", "skip", "pass"])
        self.assertEqual(s.points[0].name, "a b")
        self.assertEqual(s.points[2].reason, "no such thing")
        self.assertEqual(s.plan, 4)
        self.assertFalse(s.errors)

    def test_a_failure_is_explained_by_what_stands_before_it(self):
        s = ktap.parse("1..3\nok 1 a\n# x is 1, not 2\nnot ok 2 b\n# after\nok 3 c\n")
        self.assertEqual(s.points[1].notes, ["# x is 1, not 2", "# after"])
        self.assertEqual(s.points[2].notes, [])

    def test_text_that_only_looks_like_a_result(self):
        s = ktap.parse("okay then\nnot okay\n# ok 1 x\nok 1 real\n1..1\n")
        self.assertEqual([p.name for p in s.points], ["real"])

    def test_nested(self):
        s = ktap.parse("1..1\n  TAP version 13\n  1..2\n  ok 1 x\n    1..1\n    ok 1 deep\n"
                       "  ok 2 y\nok 1 prog\n")
        self.assertEqual([n for n, _ in ktap.leaves(s)], ["prog/x", "prog/y/deep"])

    def test_failed_parent_of_good_children_counts(self):
        s = ktap.parse("1..1\n  1..1\n  ok 1 x\nnot ok 1 prog\n")
        self.assertEqual([(n, p.status) for n, p in ktap.leaves(s)],
                         [("prog/x", "pass"), ("prog", "fail")])

    def test_orphan_subtests(self):
        s = ktap.parse("1..1\n  1..2\n  ok 1 x\n")
        self.assertTrue(s.errors)

    def test_indented_words_are_no_subtests(self):
        s = ktap.parse("1..1\n   some table\nok 1 a\n")
        self.assertIsNone(s.points[0].sub)

    def test_numbers_out_of_order(self):
        self.assertTrue(ktap.parse("1..2\nok 1 a\nok 3 b\n").errors)
        self.assertTrue(ktap.parse("1..2\nok 1 a\nok 1 b\n").errors)

    def test_bail_and_end(self):
        s = ktap.parse("Bail out! broken\n# vm-end: 1\n# vm-off: 0\n")
        self.assertEqual((s.bail, s.end), ("broken", 1))


class Judge(unittest.TestCase):
    def kinds(self, *args, **more):
        return judged(*args, **more).kinds

    def test_good(self):
        v = judged(GOOD)
        self.assertEqual(v.kinds, set())
        self.assertEqual([s for _, s, _ in v.points], ["pass", "pass"])

    def test_not_ok(self):
        self.assertEqual(self.kinds(GOOD.replace("ok 2", "not ok 2")), {"notok"})

    def test_todo_excuses_nothing(self):
        self.assertEqual(self.kinds(GOOD.replace("ok 2 b", "not ok 2 b # TODO later")), {"notok"})

    def test_no_plan(self):
        self.assertEqual(self.kinds(GOOD.replace("1..2\n", "")), {"noplan"})
        self.assertEqual(self.kinds(END), {"noplan"})

    def test_silent(self):
        self.assertEqual(self.kinds(""), {"noplan", "died"})

    def test_count(self):
        self.assertEqual(self.kinds(GOOD.replace("1..2", "1..3")), {"badplan"})
        self.assertEqual(self.kinds(GOOD.replace("1..2", "1..1")), {"badplan"})
        self.assertEqual(self.kinds(GOOD + "1..2\n"), {"badplan"})

    def test_nested_count(self):
        self.assertEqual(self.kinds("1..1\n  1..2\n  ok 1 x\nok 1 p\n" + END), {"badplan"})

    def test_parent_lies(self):
        text = "1..1\n  1..1\n  not ok 1 x\nok 1 p\n" + END
        self.assertEqual(self.kinds(text), {"notok"})

    def test_skip_needs_reason(self):
        self.assertEqual(self.kinds(GOOD.replace("ok 2 b", "ok 2 b # SKIP")), {"badskip"})
        self.assertEqual(self.kinds("1..0 # SKIP\n" + END), {"badskip"})
        self.assertEqual(self.kinds("1..0 # SKIP no disk\n" + END), set())

    def test_exit_status(self):
        self.assertEqual(self.kinds(GOOD.replace("end: 0", "end: 2")), {"exit"})
        self.assertEqual(self.kinds(GOOD.replace("end: 0", "end: 1").replace("ok 2", "not ok 2")),
                         {"notok"})

    def test_bail(self):
        self.assertEqual(self.kinds("1..2\nok 1 a\nBail out! x\n# vm-end: 1\n# vm-off: 0\n"), {"bail"})

    def test_early_end(self):
        cut = GOOD.split("ok 2")[0]
        self.assertEqual(self.kinds(cut, ended="died"), {"died"})
        self.assertEqual(self.kinds(cut, ended="timeout"), {"timeout"})
        self.assertEqual(self.kinds(cut, ended="poweroff"), {"badplan", "died"})
        self.assertEqual(self.kinds(GOOD, ended="timeout"), {"timeout"})

    def test_killed(self):
        cut = GOOD.split("ok 2")[0]
        self.assertEqual(self.kinds(cut, ended="killed"), {"died"})
        self.assertEqual(self.kinds(cut, ended="killed", may_die=True), set())
        self.assertEqual(self.kinds(cut, "BUG: x", ended="killed", may_die=True), {"splat"})
        self.assertEqual(self.kinds(cut.replace("ok 1", "not ok 1"), ended="killed",
                                    may_die=True), {"notok"})
        self.assertEqual(self.kinds(GOOD, may_die=True, must_die=True), {"survived"})

    def test_hooks(self):
        self.assertEqual(self.kinds(GOOD.replace("begin: 0", "begin: 1")), {"hook"})
        self.assertEqual(self.kinds(GOOD.replace("off: 0", "off: 1")), {"hook"})
        self.assertEqual(self.kinds(GOOD, files="3 of 4 bytes came"), {"hook"})
        self.assertEqual(self.kinds(GOOD.replace("# vm-off: 0\n", "")), {"died"})
        self.assertEqual(self.kinds(GOOD.replace("# vm-off: 0\n", ""), ended="timeout"), {"timeout"})

    def test_splats(self):
        self.assertEqual(self.kinds(GOOD, "[ 1.0] BUG: bad\n"), {"splat"})
        self.assertEqual(self.kinds(GOOD, "[ 1.0] BUG: known\n",
                                    allow=[re.compile("known")]), set())

    def test_last_words(self):
        log = "[ 9.0] sysrq: Show Blocked State\n[ 9.1] Call Trace:\n"
        self.assertEqual(self.kinds(GOOD, log, ended="timeout"), {"timeout"})
        self.assertEqual(self.kinds(GOOD, "BUG: x\n" + log, ended="timeout"),
                         {"timeout", "splat"})
        self.assertEqual(self.kinds(GOOD, log), {"splat"})

    def test_lists_must_be(self):
        with self.assertRaises(judge.ListError):
            judge.splats("x", [], [])
        with self.assertRaises(judge.ListError):
            judge.load_lists("/nonexistent/deny", "/nonexistent/allow")
        with self.assertRaises(judge.ListError):
            judge.read_list("(")
        with tempfile.NamedTemporaryFile("w", suffix=".deny") as empty:
            empty.write("# nothing\n")
            empty.flush()
            with self.assertRaises(judge.ListError):
                judge.load_lists(empty.name, empty.name)

    def test_our_lists(self):
        here = os.path.dirname(os.path.abspath(__file__))
        deny, allow = judge.load_lists(os.path.join(here, "splats.deny"),
                                       os.path.join(here, "splats.allow"))
        for line in (
                "BUG: kernel NULL pointer dereference, address: 0000000000000000",
                "WARNING: CPU: 0 PID: 1 at kernel/x.c:12 f+0x1/0x2 [rdlock]",
                "WARNING: possible circular locking dependency detected",
                "WARNING: suspicious RCU usage",
                "general protection fault, probably for non-canonical address",
                "watchdog: BUG: soft lockup - CPU#0 stuck for 22s!",
                "INFO: task rdlock:12 blocked for more than 30 seconds.",
                "rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:",
                "rcu: INFO: rcu_preempt self-detected stall on CPU",
                "refcount_t: underflow; use-after-free.",
                "BUG: KASAN: slab-use-after-free in f+0x1/0x2 [rdlock]",
                "UBSAN: shift-out-of-bounds in x.c:1:2",
                "kmemleak: 3 new suspected memory leaks (see /sys/kernel/debug/kmemleak)",
                "BUG rdlock_op (Tainted: G): Objects remaining in rdlock_op on __kmem_cache_shutdown()",
                "BUG: scheduling while atomic: x/1/0x2",
                "BUG: sleeping function called from invalid context at mm/slab.h:1",
                "unregister_netdevice: waiting for eth0 to become free. Usage count = 2",
                "Kernel panic - not syncing: sysrq triggered crash",
                "ODEBUG: free active (active state 0) object type: timer_list",
                "list_add corruption. prev->next should be next",
                "traps: x[12] trap invalid opcode ip:0",
                "abi_test[31]: segfault at 0 ip 0 sp 0 error 4"):
            self.assertTrue(judge.splats(line, deny, allow), line)
        for line in (
                "Kernel command line: T=BUG:",
                "infiniband rxe0: set active",
                "rdlock: probe: rxe0 has atomics",
                "debug: DEBUG_BUGVERBOSE",
                "random: crng init done"):
            self.assertFalse(judge.splats(line, deny, allow), line)


class Settle(unittest.TestCase):
    def test_expected_failure(self):
        bad = judged(GOOD.replace("ok 2", "not ok 2"))
        points, problems = judge.settle(bad, ["fail", "notok"])
        self.assertEqual([s for _, s, _ in points], ["pass"])
        self.assertFalse(problems)

    def test_expected_splat(self):
        bad = judged(GOOD, "[ 1.0] BUG: bad\n[ 1.1] in rdl_this+0x1\n[ 1.2] Call Trace:\n")
        for splat, status in (("", "pass"), (r"BUG: b.d$", "pass"), (r"rdl_this\+", "pass"), ("rdl_that", "fail")):
            points, problems = judge.settle(bad, ["fail", "splat"], splat)
            self.assertEqual([s for _, s, _ in points], [status], splat)
            self.assertEqual(bool(problems), status == "fail")
        # The right words do not make a splat.
        self.assertEqual(judge.settle(judged(GOOD, "rdl_this"), ["fail", "splat"], "rdl_this")[0][0][1], "fail")

    def test_expected_failure_of_another_kind(self):
        bad = judged(GOOD.replace("ok 2", "not ok 2"), "BUG: x")
        points, problems = judge.settle(bad, ["fail", "notok"])
        self.assertEqual([s for _, s, _ in points], ["fail"])
        self.assertTrue(problems)

    def test_expected_failure_that_passes(self):
        points, _ = judge.settle(judged(GOOD), ["fail", "notok"])
        self.assertEqual([s for _, s, _ in points], ["fail"])

    def test_expected_skip(self):
        skipped = judged("1..1\nok 1 a # SKIP no disk\n" + END)
        self.assertEqual(judge.settle(skipped, ["skip"])[0][0][1], "pass")
        self.assertEqual(judge.settle(judged(GOOD), ["skip"])[0][0][1], "fail")

    def test_each_problem_is_counted(self):
        for text, more in ((GOOD, {"console": "BUG: x"}), (GOOD, {"ended": "timeout"}),
                           ("", {}), ("1..1\n  1..1\n  not ok 1 x\nok 1 p\n" + END, {}),
                           (GOOD.replace("ok 2", "not ok 2"), {})):
            points, _ = judge.settle(judged(text, **more), ["pass"])
            self.assertIn("fail", [s for _, s, _ in points])

    def test_nothing_tested(self):
        points, _ = judge.settle(judge.Verdict(), ["pass"])
        self.assertEqual([s for _, s, _ in points], ["fail"])

    def test_summary_status(self):
        def result(*statuses):
            return report.Result(None, [("x", s, "") for s in statuses], [], 0, "")
        with open(os.devnull, "w", encoding="utf-8") as null:
            keep, sys.stdout = sys.stdout, null
            try:
                self.assertEqual(report.summary([result("pass", "skip")]), 0)
                self.assertEqual(report.summary([result("pass", "fail")]), 1)
                self.assertEqual(report.summary([result("skip")]), 1)
                self.assertEqual(report.summary([]), 1)
            finally:
                sys.stdout = keep


class Heads(unittest.TestCase):
    def head(self, text):
        with tempfile.NamedTemporaryFile("w", suffix=".sh") as script:
            script.write(text)
            script.flush()
            return scenario.read(script.name)

    def test_words(self):
        s = self.head("# SPDX-License-Identifier: GPL-2.0\n# What it is\n# vms: 3\n# smp: 2\n"
                      "# needs: rdlock.ko x_test\n# dies: 1 2\n# group: soak\n# rxe: no\n"
                      "# expect: fail notok splat\necho\n# vms: 9\n")
        self.assertEqual((s.about, s.vms, s.smp, s.rxe), ("What it is", 3, 2, False))
        self.assertEqual((s.needs, s.dies, s.groups), (["rdlock.ko", "x_test"], [1, 2], ["soak"]))
        self.assertEqual(s.expect, ["fail", "notok", "splat"])

    def test_load_and_boot(self):
        s = self.head("# load: idle\n# boot: cold\n")
        self.assertEqual((s.load, s.cold), ("idle", True))
        self.assertEqual((self.head("#\n").load, self.head("#\n").cold), ("busy", False))

    def test_timeout_that_scales(self):
        s = self.head("# timeout: 60 + 900 * SCALE\n")
        self.assertEqual((s.timeout, s.timeout_scaled), (60, 900))

    def test_mistakes(self):
        for line in ("vms: 5", "vms: two", "rxe: maybe", "expect: fail", "expect: fail x", "kernels:",
                     "expect: fail splat=", "expect: fail splat=(", "expect: pass splat=x",
                     "tiemout: 3", "timeout: 60 * 2", "load: 3", "boot: hot"):
            with self.assertRaises(scenario.HeadError, msg=line):
                self.head(f"# {line}\n")

    def test_expected_splat(self):
        s = self.head("# expect: fail notok splat=BUG: KASAN: .* in x=1 \n")
        self.assertEqual((s.expect, s.expect_splat), (["fail", "notok", "splat"], "BUG: KASAN: .* in x=1"))

    def test_kernels(self):
        a = scenario.Scenario("abi", "")
        b = scenario.Scenario("bug", "", groups=["check", "debug"], kernels=["debug", "local"])
        self.assertEqual(self.head("# kernels: debug local\n").kernels, b.kernels)
        self.assertEqual(scenario.choose([a, b], [], ["check"], "6.1"), [a])
        self.assertEqual(scenario.choose([a, b], [], ["check"], "debug"), [a, b])
        self.assertEqual(scenario.choose([a, b], ["*b*"], [], "6.1"), [a])
        self.assertEqual(scenario.choose([a, b], ["bug"], [], "local"), [b])
        for pattern in ("bug", "debug", "b?g", "ug"):
            with self.assertRaisesRegex(scenario.HeadError, "not for kernel 6.1, only for debug local"):
                scenario.choose([a, b], [pattern], [], "6.1")
        with self.assertRaises(scenario.HeadError):
            scenario.check_kernels([a, b], ["6.1", "debug"])
        scenario.check_kernels([a, b], ["local", "debug"])

    def test_choice(self):
        def choose(*args):
            return scenario.choose(*args, "6.1")

        a, b = scenario.Scenario("abi", ""), scenario.Scenario("abi_long", "", groups=["soak"])
        self.assertEqual(choose([a, b], [], ["check"]), [a])
        self.assertEqual(choose([a, b], ["abi"], []), [a])
        self.assertEqual(choose([a, b], ["soak"], []), [b])
        self.assertEqual(choose([a, b], ["long"], []), [b])
        self.assertEqual(choose([a, b], ["abi*"], []), [a, b])
        with self.assertRaises(scenario.HeadError):
            choose([a, b], ["none"], [])


class Schedule(unittest.TestCase):
    @staticmethod
    def one(name, vms=1, smp=1, load="busy"):
        return scenario.Scenario(name, "", vms=vms, smp=smp, load=load)

    def test_cost(self):
        self.assertEqual(schedule.cost(self.one("a", 2, 2), 9), 4)
        self.assertEqual(schedule.cost(self.one("a", 2, 1, "idle"), 9), 1)
        # What is greater than the machine runs nevertheless, by itself.
        self.assertEqual(schedule.cost(self.one("a", 4, 2), 3), 3)
        self.assertEqual(schedule.cost(self.one("a", 1, 1, "alone"), 3), 3)

    def test_pick(self):
        big, small, alone = self.one("big", 2), self.one("small"), self.one("alone", load="alone")
        self.assertIs(schedule.pick([big, small], [], 3), big)
        self.assertIs(schedule.pick([big, small], [big], 3), small)
        self.assertIsNone(schedule.pick([big], [big], 3))
        self.assertIsNone(schedule.pick([alone], [small], 3))
        self.assertIsNone(schedule.pick([small], [alone], 3))
        self.assertIs(schedule.pick([alone], [], 3), alone)
        self.assertIsNone(schedule.pick([], [], 3))

    def test_one_at_a_time(self):
        a, b = self.one("a"), self.one("b", load="idle")
        self.assertIs(schedule.pick([a, b], [], 0), a)
        self.assertIsNone(schedule.pick([b], [a], 0))

    def test_order(self):
        a, b, c = self.one("a"), self.one("b"), self.one("c", load="alone")
        self.assertEqual(schedule.order([a, b, c], {"a": 1, "b": 2, "c": 3}), [b, a, c])
        self.assertEqual(schedule.order([c, b, a], {}), [a, b, c])

    def test_everybody_gets_a_turn(self):
        waiting = [self.one(str(n), 1 + n % 4, 1 + n % 2, ("idle", "busy", "alone")[n % 3]) for n in range(40)]
        running, done = [], 0
        while waiting or running:
            s = schedule.pick(waiting, running, 3)
            if s:
                waiting.remove(s)
                running.append(s)
                self.assertLessEqual(sum(schedule.cost(r, 3) for r in running), 3)
                self.assertTrue(len(running) == 1 or not any(r.load == "alone" for r in running))
            else:
                running.pop(0)
                done += 1
        self.assertEqual(done, 40)

    def test_a_waiter_is_seen(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(schedule, "LOCK", f"{folder}/lock"), \
                mock.patch.object(schedule, "TURN_SECONDS", 0), \
                mock.patch.object(schedule, "LOOK_SECONDS", 0), schedule.Turn() as turn:
            self.assertFalse(turn.is_wanted())
            other = subprocess.Popen(["flock", f"{folder}/lock", "true"])
            end = time.monotonic() + 10
            while not turn.is_wanted() and time.monotonic() < end:
                time.sleep(0.01)
            self.assertTrue(turn.is_wanted())
            turn.pass_on()
            self.assertEqual(other.wait(10), 0)
            self.assertFalse(turn.is_wanted())


class Listed(unittest.TestCase):
    def test_order(self):
        names = ["a", "b", "c", "d"]
        listed = report.InOrder([scenario.Scenario(n, "") for n in names], brief=True)
        for name in ("c", "a", "d"):
            listed.add(report.Result(scenario.Scenario(name, ""), [("x", "pass", "")], [], 0, ""))
        self.assertEqual([r.scenario.name for r in listed.results], ["a"])
        # The run ended before b.
        listed.rest()
        self.assertEqual([r.scenario.name for r in listed.results], ["a", "c", "d"])


class Channels(unittest.TestCase):
    def test_much_goes_through(self):
        """More than a socket holds, before anybody listens and after."""
        sent, got, answers = os.urandom(3 << 20), bytearray(), []
        with tempfile.TemporaryDirectory() as folder, selectors.DefaultSelector() as loop:
            channel = wire.Channel(loop, f"{folder}/s", answers.append)
            channel.send(sent[:2 << 20])
            with socket.socket(socket.AF_UNIX) as peer:
                peer.connect(f"{folder}/s")
                peer.setblocking(False)
                peer.send(b"hello")
                channel.send(sent[2 << 20:])
                end = time.monotonic() + 20
                while len(got) < len(sent) and time.monotonic() < end:
                    for key, mask in loop.select(0.01):
                        key.data(mask)
                    try:
                        got += peer.recv(1 << 20)
                    except BlockingIOError:
                        pass
            channel.drain()
            channel.close()
        self.assertEqual(bytes(got), sent)
        self.assertEqual(b"".join(answers), b"hello")


class Snapshots(unittest.TestCase):
    def test_a_bad_boot_makes_none(self):
        class Boot:
            said, console, words, closed = b"", "", "", False

            def wait(self, *_):
                raise image.BuildError("it did not boot")

            def close(self):
                self.closed = True

        with tempfile.TemporaryDirectory() as folder:
            boot = Boot()
            with self.assertRaises(image.BuildError):
                snapshot.make(f"{folder}/x", boot, (DENY, []), 1)
            self.assertTrue(boot.closed)
            self.assertEqual(os.listdir(folder), [])

    def test_a_restore_that_fails_says_what_to_do(self):
        v = judged("", ended="died", hint="not restored: remove /c/booted-1")
        self.assertIn("remove /c/booted-1", " ".join(t for _, t in v.problems))
        self.assertIn("died", v.kinds)

    def test_nodes_are_told_apart(self):
        payload = image.Payload(image.Cpio())
        one, two = (payload.of_node({"NODE": n, "T": "a b'c"}) for n in (0, 1))
        for archive, node in ((one, 0), (two, 1)):
            with tempfile.TemporaryDirectory() as folder:
                subprocess.run(["cpio", "-id", "--quiet"], cwd=folder, input=archive, check=True)
                said = subprocess.run(["sh", "-c", '. ./vm/environment; echo "$NODE $T"; wc -c <vm/seed'], cwd=folder,
                                      stdout=subprocess.PIPE, check=True).stdout.decode().split("\n")
                self.assertEqual(said[:2], [f"{node} a b'c", "64"])
        self.assertNotEqual(one[-800:], two[-800:])


class Kernels(unittest.TestCase):
    def table(self, text):
        with tempfile.NamedTemporaryFile("w", suffix=".kernels") as table:
            table.write(text)
            table.flush()
            return kernel.read_table(table.name)

    def test_columns(self):
        found = self.table("# x\n\n6.1 debian linux-* 1 1 -\ndebug source y 3 2.5 slub_debug=FZ a=b\n")
        self.assertEqual(found, [kernel.Kernel("6.1"), kernel.Kernel("debug", 3, 2.5, "slub_debug=FZ a=b")])
        self.assertEqual(kernel.find(found, "debug").times, 3)
        with self.assertRaises(kernel.TableError):
            kernel.find(found, "6.2")

    def test_mistakes(self):
        for line in ("a b c 1 1", "a b c one 1 -", "a b c 0 1 -", "a b"):
            with self.assertRaises(kernel.TableError, msg=line):
                self.table(line + "\n")

    def test_ours(self):
        here = os.path.dirname(os.path.abspath(__file__))
        self.assertEqual(kernel.read_table(os.path.join(here, "kernels"))[0].name, "6.1")


class SentFiles(unittest.TestCase):
    def send(self, *pieces):
        with tempfile.TemporaryDirectory() as folder:
            files = wire.Files(os.path.join(folder, "x.tar"))
            for piece in pieces:
                files.take(piece)
            wrong = files.close()
            got = b""
            if os.path.exists(files.path):
                with open(files.path, "rb") as f:
                    got = f.read()
            return wrong, got

    def test_whole(self):
        self.assertEqual(self.send(), ("", b""))
        self.assertEqual(self.send(b"5\nab", b"cde"), ("", b"abcde"))
        self.assertEqual(self.send(b"1", b"2\n", b"abcdefghij", b"\nl"), ("", b"abcdefghij\nl"))
        self.assertEqual(self.send(b"0\n"), ("", b""))

    def test_broken(self):
        for pieces in ((b"5\nabcd",), (b"5\nabcdef",), (b"5",), (b"x\nabc",), (b"\n",), (b"999999999999\na",)):
            self.assertTrue(self.send(*pieces)[0], pieces)


class Limits(unittest.TestCase):
    def node(self, phase, ago, deadline):
        run = type("R", (), {"times": 2, "deadline": deadline})
        node = machine.Node(run, 0)
        node.phase, node.since = phase, 1000.0 - ago
        return node.late(1000.0)

    def test_each_has_its_own(self):
        hook = 2 * machine.HOOK_SECONDS
        for phase in ("boot", "begin"):
            self.assertTrue(self.node(phase, 1, 999.0))
            self.assertFalse(self.node(phase, 10 * hook, 1001.0))
            self.assertFalse(self.node(phase, 10 * hook, None))
        for phase in ("atstart", "end"):
            self.assertFalse(self.node(phase, hook - 1, 999.0))
            self.assertTrue(self.node(phase, hook + 1, 1001.0))

    def test_marks(self):
        node = machine.Node(None, 0)
        for line, phase in (("# vm-atstart", "atstart"), ("# vm-begin: 0", "begin"), ("# vm-endless", "begin"),
                            ("ok 1 # vm-end: 0", "begin"), ("# vm-end: 1", "end"), ("# vm-off: 0", "off")):
            node.mark(line)
            self.assertEqual(node.phase, phase, line)


class Archive(unittest.TestCase):
    def test_cpio_is_one(self):
        cpio = image.Cpio()
        cpio.file("a/b/c", b"data", 0o755)
        cpio.symlink("a/l", "/a/b/c")
        done = subprocess.run(["cpio", "-t", "--quiet"], input=cpio.bytes(),
                              stdout=subprocess.PIPE, check=True)
        self.assertEqual(done.stdout.decode().split(), ["a", "a/b", "a/b/c", "a/l"])


if __name__ == "__main__":
    unittest.main()
