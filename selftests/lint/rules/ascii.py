# SPDX-License-Identifier: GPL-2.0
"""Text is plain ASCII: it reads the same in every console and pager."""

from lintlib import ROOT, finish, report, text_files

for name in text_files():
    for number, line in enumerate((ROOT / name).read_bytes().split(b"\n"), 1):
        if not line.isascii():
            report(name, number, "character outside ASCII")
finish()
