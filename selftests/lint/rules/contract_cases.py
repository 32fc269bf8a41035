# SPDX-License-Identifier: GPL-2.0
"""The scenario of the fabric's contract runs every case of the list, and no other.

That rdf_test.ko and the simulator have a function for each is checked by the compiler: both make their tables of the list.
"""

import re

from lintlib import files, finish, line_of, report, text

LIST = "kmod/test/fabric/cases.h"
SCENARIO = "selftests/vm/fabric.sh"
TABLES = ("kmod/test/fabric/loop.c", "selftests/sim/contract.c")

for name in files(LIST):
    cases = re.findall(r"^\t[XY]\((\w+),", text(name), re.M)
    if not cases:
        report(name, 1, "no cases found")
    for scenario in files(SCENARIO):
        loop = re.search(r"^\tfor t in ([a-z_ ]+); do\n.*\bcmd loop \$t\n", text(scenario), re.M)
        where = line_of(text(scenario), loop.start()) if loop else 1
        run = loop.group(1).split() if loop else []
        for case in cases:
            if case not in run:
                report(scenario, where, f"{case}: is in {LIST} and is not run")
        for case in run:
            if case not in cases:
                report(scenario, where, f"{case}: is not in {LIST}")
    for table in TABLES:
        if not files(table) or "RDF_CASES(" not in text(table):
            report(table, 1, f"does not make its table of {LIST}")
finish()
