# SPDX-License-Identifier: GPL-2.0
"""Every file that the documentation names is there."""

import re

from lintlib import ROOT, files, finish, report, text

NAMED = re.compile(r"(?<![\w/.])((?:kmod|uapi|selftests|userspace|scripts|packaging|Documentation|\.ci)/[\w./*-]*[\w*])")
DIRECTIVE = re.compile(r"^\s*\.\. (?:kernel-doc|include|literalinclude|code-block-file)::\s*(\S+)")

for name in files("Documentation/*.rst", "Documentation/ABI/*", "README.md", "MAINTAINERS", "packaging/*"):
    for number, line in enumerate(text(name).split("\n"), 1):
        for path in NAMED.findall(line):
            if not (list(ROOT.glob(path)) or (ROOT / path).exists()):
                report(name, number, f"no such file: {path}")
        m = DIRECTIVE.match(line)
        if m and not ((ROOT / m.group(1)).exists() or (ROOT / name).parent.joinpath(m.group(1)).exists()):
            report(name, number, f"no such file: {m.group(1)}")
        for page in re.findall(r":doc:`(?:[^`<]*<)?([\w/-]+)>?`", line):
            if not (ROOT / "Documentation" / (page + ".rst")).exists():
                report(name, number, f"no such page: {page}")
for name in files("Documentation/index.rst"):
    listed = text(name)
    for page in files("Documentation/*.rst"):
        stem = page[len("Documentation/"):-len(".rst")]
        if stem != "index" and not re.search(rf"^\s+{re.escape(stem)}$", listed, re.M):
            report(name, 1, f"{page} is in no table of contents")
finish()
