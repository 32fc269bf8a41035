# SPDX-License-Identifier: GPL-2.0
"""Nothing in the tree is marked as unfinished."""

import re

from lintlib import finish, report, text, text_files

# Written apart, so that the rule does not find itself.
WORDS = re.compile(r"\b(?:TO" r"DO|FIX" r"ME|X" r"XX|HA" r"CK)\b|\bnot (?:yet )?imple" r"mented\b")

# A directive of KTAP is called so; the harness has to know it.
EXEMPT = ("COPYING", "selftests/vm/harness/ktap.py", "selftests/vm/test_harness.py")

for name in text_files():
    if name in EXEMPT:
        continue
    for number, line in enumerate(text(name).split("\n"), 1):
        m = WORDS.search(line)
        if m:
            report(name, number, f"unfinished: {m.group(0)}")
finish()
