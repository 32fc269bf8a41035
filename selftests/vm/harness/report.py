# SPDX-License-Identifier: GPL-2.0
"""What people and programs read after a run."""

import json
import os
from dataclasses import dataclass, field
from typing import List, Tuple

from .scenario import Scenario

# Of each file of a failed scenario, how many lines are shown.
LINES = {"console": 25, "ktap": 60, "qemu": 5}


@dataclass
class Result:
    scenario: Scenario
    points: List[Tuple[str, str, str]]
    problems: List[Tuple[str, str]]
    seconds: float
    out: str
    splats: List[Tuple[str, str]] = field(default_factory=list)
    # Seconds of the host's processors.
    cpu: float = 0.0

    def count(self, status):
        return sum(1 for _, s, _ in self.points if s == status)

    @property
    def failed(self):
        return self.count("fail")


def excerpt(path, lines, splat=None):
    """The end of a file, or of a kernel log what surrounds its first splat."""
    with open(path, "rb") as f:
        text = f.read().decode(errors="replace").splitlines()
    if splat in text:
        at = text.index(splat)
        text = text[max(0, at - 5):at + 2 * lines]
    else:
        text = text[-lines:]
    for line in text:
        print(f"    | {line.rstrip()}")


def show(result, brief=False):
    name = result.scenario.name
    word = "FAIL" if result.failed else "ok  "
    counts = ", ".join(f"{result.count(s)} {w}" for s, w in
                       (("pass", "passed"), ("fail", "failed"), ("skip", "skipped"))
                       if result.count(s))
    if not (brief and not result.failed):
        print(f"{word} {name:24} {counts}  ({result.seconds:.1f} s)", flush=True)
    for point, status, reason in result.points:
        if status == "skip":
            print(f"     skip {point}: {reason}")
    if not result.failed:
        return
    for point, status, text in result.points:
        if status == "fail":
            print(f"     not ok {point}")
            for line in text.splitlines()[:20]:
                print(f"          {line}")
    if not os.path.isdir(result.out):
        return
    for file in sorted(os.listdir(result.out)):
        label, _, what = file.rpartition(".")
        path = os.path.join(result.out, file)
        if what in LINES and os.path.getsize(path):
            print(f"   {os.path.relpath(path)}:")
            excerpt(path, LINES[what], dict(result.splats).get(label))
    print(f"   again: make vm T={name}", flush=True)


class InOrder:
    """Shows results in the order of the list, whichever scenario is done first."""

    def __init__(self, scenarios, brief):
        self.names, self.brief = [s.name for s in scenarios], brief
        self.waiting, self.results = {}, []

    def add(self, result):
        self.waiting[result.scenario.name] = result
        while self.names and self.names[0] in self.waiting:
            self.show(self.names.pop(0))

    def show(self, name):
        self.results.append(self.waiting.pop(name))
        show(self.results[-1], self.brief)

    def rest(self):
        """Of a run that ended early: what there is."""
        for name in [n for n in self.names if n in self.waiting]:
            self.show(name)


def save(results, out, **about):
    with open(os.path.join(out, "results.ktap"), "w", encoding="utf-8") as f:
        f.write(f"KTAP version 1\n1..{len(results)}\n")
        for i, r in enumerate(results, 1):
            f.write(f"  KTAP version 1\n  1..{len(r.points)}\n")
            for j, (name, status, reason) in enumerate(r.points, 1):
                skip = f" # SKIP {reason}" if status == "skip" else ""
                f.write(f"  {'not ' if status == 'fail' else ''}ok {j} {name}{skip}\n")
            f.write(f"{'not ' if r.failed else ''}ok {i} {r.scenario.name}\n")
    record = {
        **about,
        "passed": sum(r.count("pass") for r in results),
        "failed": sum(r.failed for r in results),
        "skipped": sum(r.count("skip") for r in results),
        "scenarios": [{
            "name": r.scenario.name,
            "seconds": round(r.seconds, 2),
            "cpu": round(r.cpu, 2),
            "points": [{"name": n, "status": s, "text": t} for n, s, t in r.points],
            "problems": [{"kind": k, "text": t} for k, t in r.problems],
        } for r in results],
    }
    with open(os.path.join(out, "results.json"), "w", encoding="utf-8") as f:
        json.dump(record, f, indent=1)
        f.write("\n")


def summary(results):
    """The last line, and the exit status."""
    slow = sorted(results, key=lambda r: r.seconds, reverse=True)[:5]
    if len(results) > len(slow):
        print("slowest: " + ", ".join(f"{r.scenario.name} {r.seconds:.0f} s" for r in slow))
    passed, failed, skipped = (sum(r.count(s) for r in results) for s in ("pass", "fail", "skip"))
    print(f"{passed} passed, {failed} failed, {skipped} skipped", flush=True)
    return 1 if failed or not passed else 0
