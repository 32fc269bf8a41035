# SPDX-License-Identifier: GPL-2.0
"""kmod/core compiles in user space and as kernel objects, and calls nothing but an allow-list."""

import re
import subprocess
from pathlib import Path

from kernel import build_dir, kernel_make, mirror
from lintlib import BUILD, ROOT, fail_text, files, finish, need, report

# What the compiler itself may call, and the checksum, which plat.h gives.
ALLOWED = {"memcpy", "memset", "memmove", "memcmp", "__stack_chk_fail"}
USER = ALLOWED | {"_GLOBAL_OFFSET_TABLE_", "rdl_crc32c"}
KERNEL = ALLOWED | {"__crc32c_le", "crc32c", "__fentry__", "__x86_return_thunk", "__ref_stack_chk_guard",
                    "__memcpy", "__memset", "__memmove"}
# Sanitizers, coverage and mitigations put in calls of their own.
HOOKS = ("__asan_", "__kasan_", "__ubsan_", "__sanitizer_", "__gcov_", "__x86_indirect_thunk_", "__kcsan_", "__tsan_",
         "__kmsan_", "__msan_")


def undefined(objects, allowed):
    defined, wanted = set(), []
    for obj in objects:
        for line in subprocess.run(["nm", str(obj)], stdout=subprocess.PIPE, check=True, text=True).stdout.splitlines():
            kind, symbol = line.split()[-2:]
            if kind in "Uwv":
                wanted.append((obj, symbol))
            else:
                defined.add(symbol)
    for obj, symbol in wanted:
        if symbol not in defined and symbol not in allowed and not symbol.startswith(HOOKS):
            report(f"kmod/core/{obj.stem}.c", 1, f"calls {symbol}, which the core may not ({obj.parent.name})")


sources = files("kmod/core/*.c")
need("gcc", "nm")
if not sources:
    report("kmod/core", 1, "no source files")
    finish()

plat = [d for d in ("selftests/sim", "kmod/core") if (ROOT / d / "plat_user.h").exists()]
if plat:
    out = BUILD / "user"
    out.mkdir(parents=True, exist_ok=True)
    objects = []
    for name in sources:
        obj = out / (ROOT / name).with_suffix(".o").name
        cc = subprocess.run(["gcc", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-I", str(ROOT / plat[0]),
                             "-I", str(ROOT / "kmod/core"), "-c", "-o", str(obj), str(ROOT / name)],
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if cc.returncode:
            fail_text(cc.stdout)
        else:
            objects.append(obj)
    undefined(objects, USER)
else:
    report("selftests/sim/plat_user.h", 1, "missing: the core cannot be compiled in user space")

if build_dir():
    tree = BUILD / "tree"
    mirror(files("kmod/core/*", "kmod/compat.h"), tree)
    core = tree / "kmod/core"
    stems = sorted(Path(name).stem for name in sources)
    kbuild = "obj-m := rdl_all.o\nrdl_all-y := " + " ".join(s + ".o" for s in stems) + "\n"
    if not (core / "Kbuild").exists() or (core / "Kbuild").read_text() != kbuild:
        (core / "Kbuild").write_text(kbuild)
    status, output = kernel_make(core, ["W=1e", "rdl_all.o"])
    said = [s for s in output.splitlines() if re.search(r"\b(warning|error)\b", s, re.I)]
    if status or said:
        fail_text("\n".join(said or output.splitlines()[-5:]).replace(str(tree) + "/", ""))
    else:
        undefined([core / (stem + ".o") for stem in stems], KERNEL)
finish()
