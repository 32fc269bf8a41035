# SPDX-License-Identifier: GPL-2.0
"""No path of somebody's machine stands in the tree."""

import re

from lintlib import finish, report, text, text_files

# This file and nothing else may name them.
SELF = "selftests/lint/rules/paths.py"
PLACE = re.compile(r"(?<![\w.$}~])/(?:work|home|root|Users|tmp/src|tmp/brief)/[\w.]")

for name in text_files():
    if name == SELF:
        continue
    for number, line in enumerate(text(name).split("\n"), 1):
        m = PLACE.search(line)
        if m:
            report(name, number, f"path of one machine: {m.group(0)}...")
finish()
