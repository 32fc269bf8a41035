# SPDX-License-Identifier: GPL-2.0
"""KTAP and TAP: text in, tree of results out."""

import re
from dataclasses import dataclass, field
from typing import List, Optional

RESULT = re.compile(r"(not )?ok\b(?:\s+(\d+))?(?:\s+-)?(?:\s+(.*))?$")
PLAN = re.compile(r"1\.\.(\d+)(?:\s*#\s*SKIP\b\s*(.*))?\s*$", re.I)
VERSION = re.compile(r"(K?TAP) version \d+\s*$")
BAIL = re.compile(r"Bail out!\s*(.*)$")
DIRECTIVE = re.compile(r"(.*?)\s*(?<!\\)#\s*(SKIP|TODO|XFAIL|TIMEOUT|ERROR)\b:?\s*(.*)$", re.I)
# What init says of the VM itself: the exit statuses of atstart, the scenario and atend.
MARK = re.compile(r"# vm-(begin|end|off): (-?\d+)\s*$")


@dataclass
class Point:
    """One result line, with the subtests printed before it."""
    ok: bool
    name: str
    number: Optional[int] = None
    directive: str = ""
    reason: str = ""
    sub: Optional["Stream"] = None
    notes: List[str] = field(default_factory=list)

    @property
    def status(self):
        if not self.ok:
            return "fail"
        return "skip" if self.directive == "SKIP" else "pass"


@dataclass
class Stream:
    """What one program, or one VM, has said."""
    plan: Optional[int] = None
    skip_all: Optional[str] = None
    bail: Optional[str] = None
    begin: Optional[int] = None
    end: Optional[int] = None
    off: Optional[int] = None
    points: List[Point] = field(default_factory=list)
    errors: List[str] = field(default_factory=list)


def looks_like_ktap(lines):
    return any(VERSION.match(l) or PLAN.match(l) or RESULT.match(l)
               for l in (line.strip() for line in lines))


def dedent(lines):
    width = min((len(l) - len(l.lstrip(" ")) for l in lines if l.strip()), default=0)
    return [l[width:] for l in lines]


def parse(text):
    """Parses KTAP. What is no KTAP is a note: to the result before it, and to the next one if that is a failure."""
    lines = text.splitlines() if isinstance(text, str) else text
    stream = Stream()
    indented, notes = [], []
    for line in lines:
        line = line.rstrip("\r\n")
        if line.startswith("  ") or line.startswith("\t"):
            indented.append(line.expandtabs(2))
            continue
        plan, result, bail, mark = (PLAN.match(line), RESULT.match(line),
                                    BAIL.match(line), MARK.match(line))
        if plan:
            if stream.plan is not None:
                stream.errors.append("two plans")
            stream.plan = int(plan.group(1))
            if stream.plan == 0:
                stream.skip_all = plan.group(2) or ""
        elif result:
            stream.points.append(point(result, indented, notes, stream))
            indented, notes = [], []
        elif bail:
            stream.bail = bail.group(1) or "no reason given"
        elif mark:
            setattr(stream, mark.group(1), int(mark.group(2)))
        elif line and not VERSION.match(line):
            notes.append(line)
            # A shell explains the failure before it; a program's test says what is wrong and then "not ok".
            if stream.points:
                stream.points[-1].notes.append(line)
    if looks_like_ktap(indented):
        stream.errors.append("subtests without a result of their parent")
        stream.points.append(Point(False, "(unfinished)", sub=parse(dedent(indented))))
    return stream


def point(match, indented, notes, stream):
    number = int(match.group(2)) if match.group(2) else None
    name = (match.group(3) or "").strip()
    found = Point(match.group(1) is None, name, number)
    directive = DIRECTIVE.match(name)
    if directive:
        found.name = directive.group(1).lstrip("- ").strip()
        found.directive = directive.group(2).upper()
        found.reason = directive.group(3).strip()
    if looks_like_ktap(indented):
        found.sub = parse(dedent(indented))
        if found.directive == "SKIP" and found.sub.skip_all:
            found.reason = found.sub.skip_all
    elif indented:
        found.notes.extend(indented)
    if not found.ok:
        found.notes.extend(notes)
    if number is not None and number != len(stream.points) + 1:
        stream.errors.append(f"result {number} where {len(stream.points) + 1} was due")
    return found


def leaves(stream, prefix=""):
    """(name, point) of every result that counts: a parent only where it adds one."""
    for p in stream.points:
        name = f"{prefix}{p.name}" if p.name else f"{prefix}{p.number}"
        if p.sub is None or not p.sub.points:
            yield name, p
            continue
        below = list(leaves(p.sub, f"{name}/"))
        yield from below
        if not p.ok and all(q.ok for _, q in below):
            yield name, p
