# SPDX-License-Identifier: GPL-2.0
"""Decides whether a VM passed. Pure: texts in, verdict out."""

import re
from dataclasses import dataclass, field
from typing import List, Tuple

from . import ktap

# How a VM can fail by itself, besides a test that says "not ok".
KINDS = ("notok", "noplan", "badplan", "badskip", "bail", "exit", "timeout", "died",
         "survived", "splat", "hook")

# How sysrq w begins.
LAST_WORDS = "sysrq: Show Blocked State"


class ListError(Exception):
    """The deny list is missing, empty or wrong: nothing can be judged."""


@dataclass
class Boot:
    """What one VM left behind. ended: poweroff, died, killed or timeout."""
    label: str
    ktap: str
    console: str
    ended: str
    may_die: bool = False
    must_die: bool = False
    # What is wrong with the files it sent; empty: all came, or none were to come.
    files: str = ""
    # More about its end, if the driver knows more.
    hint: str = ""


@dataclass
class Verdict:
    # (name, status, reason or notes)
    points: List[Tuple[str, str, str]] = field(default_factory=list)
    # (kind, text)
    problems: List[Tuple[str, str]] = field(default_factory=list)
    # (label, first bad line)
    splats: List[Tuple[str, str]] = field(default_factory=list)
    # The kernel logs, without what the driver made them say.
    logs: List[str] = field(default_factory=list)

    @property
    def kinds(self):
        return {kind for kind, _ in self.problems}

    def extend(self, other):
        self.points.extend(other.points)
        self.problems.extend(other.problems)
        self.splats.extend(other.splats)
        self.logs.extend(other.logs)


def read_list(text):
    patterns = [l.strip() for l in text.splitlines() if l.strip() and not l.startswith("#")]
    try:
        return [re.compile(p) for p in patterns]
    except re.error as err:
        raise ListError(f"bad pattern: {err}") from err


def load_lists(deny_path, allow_path):
    try:
        with open(deny_path, encoding="utf-8") as deny, open(allow_path, encoding="utf-8") as allow:
            lists = read_list(deny.read()), read_list(allow.read())
    except OSError as err:
        raise ListError(str(err)) from err
    if not lists[0]:
        raise ListError(f"{deny_path} is empty")
    return lists


def splats(console, deny, allow):
    if not deny:
        raise ListError("empty deny list")
    return [line for line in console.splitlines()
            if any(p.search(line) for p in deny) and not any(p.search(line) for p in allow)]


def judge_stream(stream, where, died, out):
    """Plan, counts and reasons, here and in every subtest."""
    for error in stream.errors:
        if not died:
            out.problems.append(("badplan", f"{where}: {error}"))
    if stream.bail is not None:
        out.problems.append(("bail", f"{where}: {stream.bail}"))
    if stream.skip_all is not None:
        if not stream.skip_all:
            out.problems.append(("badskip", f"{where}: skipped without a reason"))
        if stream.points:
            out.problems.append(("badplan", f"{where}: results after a plan of none"))
    elif stream.plan is None:
        if not died and stream.bail is None:
            out.problems.append(("noplan", f"{where}: no plan"))
    elif stream.plan != len(stream.points) and not died and stream.bail is None:
        out.problems.append(("badplan",
                             f"{where}: {stream.plan} planned, {len(stream.points)} seen"))
    for p in stream.points:
        if p.directive == "SKIP" and not p.reason:
            out.problems.append(("badskip", f"{where}: '{p.name}' skipped without a reason"))
        if p.sub is not None:
            judge_stream(p.sub, f"{where}/{p.name}", died, out)
            if p.ok and p.directive != "SKIP" and any(not q.ok for _, q in ktap.leaves(p.sub)):
                out.problems.append(("notok", f"{where}: '{p.name}' is ok, its subtests are not"))


def judge_hooks(stream, boot, out):
    """atstart and atend: a check that broke must not look like one that found nothing."""
    where = boot.label
    if stream.begin:
        out.problems.append(("hook", f"{where}: atstart's exit status is {stream.begin}"))
    if stream.off:
        out.problems.append(("hook", f"{where}: atend's exit status is {stream.off}"))
    if boot.files:
        out.problems.append(("hook", f"{where}: files.tar: {boot.files}"))
    if boot.ended == "poweroff" and stream.end is not None and stream.off is None:
        out.problems.append(("died", f"{where}: the VM ended after its scenario, before atend had"))


def judge(boot, deny, allow):
    out = Verdict()
    stream = ktap.parse(boot.ktap)
    where = boot.label
    excused = boot.ended == "killed" and boot.may_die

    for name, p in ktap.leaves(stream):
        text = p.reason if p.status == "skip" else "\n".join(p.notes)
        out.points.append((f"{where}: {name}", p.status, text))
        if p.status == "fail":
            out.problems.append(("notok", f"{where}: {name}"))
    if stream.skip_all is not None:
        out.points.append((where, "skip", stream.skip_all))

    # A VM that was cut off owes no plan: that it was cut off is the failure.
    cut = boot.ended in ("timeout", "died", "killed")
    judge_stream(stream, where, cut, out)

    if boot.ended == "timeout":
        out.problems.append(("timeout", f"{where}: not done in time"))
    elif cut and not excused:
        out.problems.append(("died", f"{where}: " + (boot.hint or "the VM ended before its scenario")))
    elif not cut and stream.bail is None:
        if stream.end is None:
            out.problems.append(("died", f"{where}: powered off before the scenario ended"))
        elif stream.end != 0 and "notok" not in out.kinds:
            # After a failed point it says nothing new: check() returns it.
            out.problems.append(("exit", f"{where}: the scenario's exit status is {stream.end}"))
    judge_hooks(stream, boot, out)
    if boot.must_die and boot.ended != "killed":
        out.problems.append(("survived", f"{where}: was to be killed, was not"))

    # What the driver itself made the kernel print is not the kernel's complaint.
    console = boot.console
    if boot.ended == "timeout":
        console = console.split(LAST_WORDS)[0]
    out.logs.append(console)
    # One report has many lines that match; it is one problem.
    bad = splats(console, deny, allow)
    if bad:
        more = f" (and {len(bad) - 1} lines more)" if len(bad) > 1 else ""
        out.problems.append(("splat", f"{where}: kernel log: {bad[0].strip()}{more}"))
        out.splats.append((where, bad[0]))
    return out


def settle(verdict, expect, splat=""):
    """Applies '# expect:'. Returns (points, problems) as the summary counts them.

    expect: ["pass"], ["skip"] or ["fail", KIND...]: with "fail", exactly these
    kinds of problem make the scenario one passed point. splat: a regular
    expression for some line of a kernel log, so that it is the right splat.
    """
    if expect[0] == "fail":
        want = set(expect[1:])
        lines = [line for log in verdict.logs for line in log.splitlines()]
        right = not splat or any(re.search(splat, line) for line in lines)
        if verdict.kinds == want and right:
            return [("fails as it must: " + " ".join(sorted(want)), "pass", "")], []
        text = f"expected {sorted(want)}, judged {sorted(verdict.kinds)}"
        if not right:
            text += f", no line of the kernel log matches {splat}"
        return [("fails as it must", "fail", text)], \
            [("expect", text)] + [(k, t) for k, t in verdict.problems if k not in want]
    if expect[0] == "skip":
        skipped = verdict.points and all(s == "skip" for _, s, _ in verdict.points)
        if skipped and not verdict.problems:
            return [("is skipped as it must", "pass", "")], []
        return [("is skipped as it must", "fail", "")], \
            verdict.problems or [("expect", "expected a skip")]
    points = list(verdict.points)
    points += [(f"{text}", "fail", kind) for kind, text in verdict.problems if kind != "notok"]
    # A parent that hides a failed subtest is a failure nobody else counts.
    failed = sum(1 for _, status, _ in points if status == "fail")
    if verdict.problems and not failed:
        points += [(text, "fail", kind) for kind, text in verdict.problems]
    if not points:
        points.append(("nothing was tested", "fail", ""))
        return points, [("noplan", "nothing was tested")]
    return points, verdict.problems
