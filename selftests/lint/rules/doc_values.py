# SPDX-License-Identifier: GPL-2.0
"""A constant that the documentation quotes as "``NAME`` = value" has that value; fault points are named; one version."""

import re

from lintlib import files, finish, report, text

QUOTED = re.compile(r"``([A-Z][A-Z0-9_]{4,})``\s+=\s+(0x[0-9a-fA-F]+|\d+)")
DEFINE = re.compile(r"^#define\s+([A-Z][A-Z0-9_]+)\s+\(?(0x[0-9a-fA-F]+|\d+)[uUlL]*\)?(?:\s|$)", re.M)

values = {}
for name in files("kmod/*.h", "kmod/*.c", "uapi/*.h"):
    for m in DEFINE.finditer(text(name)):
        values.setdefault(m.group(1), set()).add(int(m.group(2), 0))

docs = files("Documentation/*.rst", "README.md")
for name in docs:
    src = text(name)
    for m in QUOTED.finditer(src):
        line = src.count("\n", 0, m.start()) + 1
        if m.group(1) not in values:
            report(name, line, f"{m.group(1)} is no constant of the source")
        elif int(m.group(2), 0) not in values[m.group(1)]:
            now = ", ".join(str(v) for v in sorted(values[m.group(1)]))
            report(name, line, f"{m.group(1)} is {now}, not {m.group(2)}")

everything = "".join(text(n) for n in docs)
for name in files("kmod/fabric/fault_list.h"):
    src = text(name)
    for m in re.finditer(r"^\s*X\((\w+),", src, re.M):
        if f"``{m.group(1)}``" not in everything:
            report(name, src.count("\n", 0, m.start(1)) + 1, f"fault point {m.group(1)} is not in the documentation")

said = re.search(r'^#define RDLOCK_VERSION\s+"([^"]+)"', "".join(text(n) for n in files("kmod/main.h")), re.M)
for name, pattern in (("packaging/dkms.conf", r'^PACKAGE_VERSION="([^"]+)"'), ("CHANGES", r"^(\d[\w.]*)$")):
    for path in files(name):
        m = re.search(pattern, text(path), re.M)
        if said and (not m or m.group(1) != said.group(1)):
            report(path, 1, f"the version is not that of kmod/main.h, {said.group(1)}")
finish()
