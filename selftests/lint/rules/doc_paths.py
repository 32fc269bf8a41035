# SPDX-License-Identifier: GPL-2.0
"""Every file that the documentation names is there, and every document that a source file names."""

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
DOCUMENT = re.compile(r"(?<![\w<*-])((?:[\w.-]+/)*[\w.-]+\.(?:md|rst))\b")
for name in files("*.c", "*.h", "*.py", "*.sh", "*Makefile", "*Kbuild", exclude=("selftests/lint/*",)):
    for number, line in enumerate(text(name).split("\n"), 1):
        for path in DOCUMENT.findall(line):
            near = (ROOT / name).parent
            if not any((place / path).exists() for place in (ROOT, ROOT / "Documentation", near, near.parent)):
                report(name, number, f"no such document: {path}")
for name in files("Documentation/index.rst"):
    listed = text(name)
    for page in files("Documentation/*.rst"):
        stem = page[len("Documentation/"):-len(".rst")]
        if stem != "index" and not re.search(rf"^\s+{re.escape(stem)}$", listed, re.M):
            report(name, 1, f"{page} is in no table of contents")
finish()
