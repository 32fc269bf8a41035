# SPDX-License-Identifier: GPL-2.0
"""What starts with #! can be executed, and nothing else can."""

import os

from lintlib import ROOT, finish, listing, report, shebang

for name in listing():
    can = os.access(ROOT / name, os.X_OK) and (ROOT / name).stat().st_mode & 0o111
    if shebang(name) and not can:
        report(name, 1, "starts with #! but is not executable")
    elif can and not shebang(name):
        report(name, 1, "is executable without #!")
finish()
