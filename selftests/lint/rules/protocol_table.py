# SPDX-License-Identifier: GPL-2.0
"""The state table and graph in the documentation are those of the code.

To bring them up to date: make -C selftests/sim, then build/sim/sim --table >Documentation/protocol-table.txt and
build/sim/sim --dot >Documentation/protocol.dot; or LINT_WRITE=1 selftests/lint/run protocol_table.
"""

import os
import subprocess

from lintlib import BUILD, ROOT, fail_text, files, finish, need, report

MAIN = """
void table_rst(void);
void table_dot(void);
int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1)
		table_dot();
	else
		table_rst();
	return 0;
}
"""

need("gcc")
if not files("selftests/sim/table.c"):
    report("selftests/sim/table.c", 1, "missing")
    finish()
BUILD.mkdir(parents=True, exist_ok=True)
(BUILD / "main.c").write_text(MAIN)
sources = [str(ROOT / n) for n in files("kmod/core/*.c", "selftests/sim/table.c", "selftests/sim/crc.c")]
program = BUILD / "table"
cc = subprocess.run(["gcc", "-std=gnu11", "-w", "-I", str(ROOT / "selftests/sim"), "-I", str(ROOT / "kmod/core"),
                     "-I", str(ROOT / "kmod"), "-o", str(program), str(BUILD / "main.c")] + sources,
                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
if cc.returncode:
    fail_text(cc.stdout)
    finish()
for name, args in (("Documentation/protocol-table.txt", []), ("Documentation/protocol.dot", ["dot"])):
    made = subprocess.run([str(program)] + args, stdout=subprocess.PIPE, text=True, check=True).stdout
    made = "".join(line.rstrip() + "\n" for line in made.splitlines())
    path = ROOT / name
    if os.environ.get("LINT_WRITE"):
        path.write_text(made)
    elif not path.exists() or path.read_text() != made:
        report(name, 1, "is not what the code says now; LINT_WRITE=1 selftests/lint/run protocol_table")
finish()
