# SPDX-License-Identifier: GPL-2.0
"""No white space at the end of a line, no carriage returns, a newline at the end of a file and no empty lines there."""

from lintlib import ROOT, finish, report, text_files

for name in text_files():
    data = (ROOT / name).read_bytes()
    if not data:
        continue
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.endswith(b"\r"):
            report(name, number, "carriage return")
        elif line.endswith((b" ", b"\t")) and name != "COPYING":
            report(name, number, "white space at the end of the line")
    if not data.endswith(b"\n"):
        report(name, data.count(b"\n") + 1, "no newline at the end of the file")
    elif data.endswith(b"\n\n"):
        report(name, data.count(b"\n"), "empty line at the end of the file")
finish()
