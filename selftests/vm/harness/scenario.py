# SPDX-License-Identifier: GPL-2.0
"""A scenario: a shell script with its needs in comments at its head."""

import fnmatch
import os
import re
from dataclasses import dataclass, field
from typing import List

from .judge import KINDS

HEAD = re.compile(r"# ([a-z]+):\s*(.*?)\s*$")


class HeadError(Exception):
    """A scenario's head says what nobody understands."""


@dataclass
class Scenario:
    name: str
    path: str
    about: str = ""
    vms: int = 1
    smp: int = 1
    mem: int = 256
    timeout: int = 60
    timeout_scaled: int = 0
    rxe: bool = True
    groups: List[str] = field(default_factory=lambda: ["check"])
    needs: List[str] = field(default_factory=list)
    cmdline: str = ""
    dies: List[int] = field(default_factory=list)
    expect: List[str] = field(default_factory=lambda: ["pass"])
    # With "fail splat=REGEX": what a line of some kernel log must match.
    expect_splat: str = ""
    # The names of those kernels alone that it is for; empty: all.
    kernels: List[str] = field(default_factory=list)
    scale: str = ""
    # Boots for real also where there are snapshots.
    cold: bool = False
    # idle: mostly waits; busy: keeps its processors at work; alone: measures time.
    load: str = "busy"


def read(path):
    name = os.path.splitext(os.path.basename(path))[0]
    found = Scenario(name, path)
    with open(path, encoding="utf-8") as script:
        for line in script:
            if not line.startswith("#"):
                break
            head = HEAD.match(line)
            if head:
                take(found, head.group(1), head.group(2))
            elif not found.about and line.startswith("# ") and "SPDX" not in line:
                found.about = line[2:].strip()
    return found


def take(found, key, value):
    try:
        if key in ("vms", "smp", "mem"):
            setattr(found, key, int(value))
        elif key == "timeout":
            # "60" or "60 + 900 * SCALE"
            plain, _, scaled = value.partition("+")
            found.timeout = int(plain)
            found.timeout_scaled = int(scaled.replace("* SCALE", "")) if scaled else 0
        elif key == "rxe":
            found.rxe = {"yes": True, "no": False}[value]
        elif key == "boot":
            found.cold = {"cold": True, "warm": False}[value]
        elif key == "load":
            if value not in ("idle", "busy", "alone"):
                raise ValueError(value)
            found.load = value
        elif key == "group":
            found.groups = value.split()
        elif key == "needs":
            found.needs += value.split()
        elif key == "cmdline":
            found.cmdline = value
        elif key == "dies":
            found.dies = [int(n) for n in value.split()]
        elif key == "scale":
            found.scale = str(float(value))
        elif key == "kernels":
            found.kernels = value.split()
            if not found.kernels:
                raise ValueError("which?")
        elif key == "expect":
            value, splat, found.expect_splat = value.partition("splat=")
            found.expect = value.split() + (["splat"] if splat else [])
            re.compile(found.expect_splat)
            if splat and (not found.expect_splat or found.expect[0] != "fail"):
                raise ValueError("fail splat=REGEX")
            unknown = set(found.expect[1:]) - set(KINDS)
            if found.expect[0] not in ("pass", "fail", "skip") or unknown:
                raise ValueError(value)
            if found.expect[0] == "fail" and len(found.expect) < 2:
                raise ValueError("fail of which kind?")
        elif key not in ("shellcheck", "note"):
            raise ValueError("unknown word")
    except (ValueError, KeyError, IndexError, re.error) as err:
        raise HeadError(f"{found.path}: '# {key}: {value}': {err}") from err
    if not 1 <= found.vms <= 4:
        raise HeadError(f"{found.path}: 1 to 4 VMs")


def read_all(*folders):
    paths = []
    for folder in folders:
        if os.path.isdir(folder):
            paths += [os.path.join(folder, f) for f in os.listdir(folder) if f.endswith(".sh")]
    found = [read(p) for p in sorted(paths)]
    names = [s.name for s in found]
    for name in names:
        if names.count(name) > 1:
            raise HeadError(f"two scenarios are called {name}")
    return found


def check_kernels(scenarios, names):
    """A kernel that nobody has would take a scenario out of every run, unseen."""
    for s in scenarios:
        for name in s.kernels:
            if name not in names:
                raise HeadError(f"{s.path}: '# kernels:' has '{name}'; there are {' '.join(names)}")


def choose(scenarios, patterns, groups, kernel):
    """By name or group if there are patterns (all must be of use), else by group."""
    def fits(s):
        return not s.kernels or kernel in s.kernels

    if not patterns:
        return [s for s in scenarios if set(s.groups) & set(groups) and fits(s)]
    chosen = []
    for pattern in patterns:
        hits = [s for s in scenarios
                if fnmatch.fnmatch(s.name, pattern) or pattern in s.groups]
        hits = hits or [s for s in scenarios if pattern in s.name]
        if not hits:
            raise HeadError(f"no scenario is, or has in its name, '{pattern}' (see --list)")
        if not any(fits(s) for s in hits):
            others = sorted({k for s in hits for k in s.kernels})
            raise HeadError(f"'{pattern}' is not for kernel {kernel}, only for {' '.join(others)}")
        chosen += [s for s in hits if fits(s) and s not in chosen]
    return chosen
