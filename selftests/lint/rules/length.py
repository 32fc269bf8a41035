# SPDX-License-Identifier: GPL-2.0
"""No source file has more than 800 lines: it would hold two nouns."""

from lintlib import files, finish, report, shebang, text, text_files

LIMIT = 800
sources = set(files("*.c", "*.h", "*.py", "*.sh", "*Makefile", "*Kbuild"))
for name in text_files():
    if name in sources or shebang(name):
        lines = text(name).count("\n")
        if lines > LIMIT:
            report(name, lines, f"more than {LIMIT} lines")
finish()
