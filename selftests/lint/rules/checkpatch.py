# SPDX-License-Identifier: GPL-2.0
"""checkpatch --strict finds nothing; lines have at most 120 columns."""

import concurrent.futures
import hashlib
import os
import subprocess

from kernel import checkpatch
from lintlib import BUILD, CACHE, ROOT, fail_text, files, finish, need, skip

# Columns of a line of code in this project. The kernel's own limit is 100.
COLUMNS = 120

# So many at a time.
FILES = 10

# Everywhere: what checkpatch cannot know.
IGNORE = [
    "COMPLEX_MACRO",		# lists of names (X macros) are the project's habit; see core.h, stats_list.h
    "MACRO_ARG_REUSE",		# the same, and loops over lists
    "LINUX_VERSION_CODE",	# rule 'versions' is stricter
    "EMBEDDED_FUNCTION_NAME",	# takes a word such as "claim" in a message for the function of that name
    "BRACKET_SPACE",		# a designator, [X_##name] = ..., at the head of a macro's body
    "CONSTANT_COMPARISON",	# takes macros such as LINUX_VERSION_CODE for constants
    "BIT_MACRO",		# core and uapi have no BIT(); flags elsewhere look the same
    "UNCOMMENTED_DEFINITION",	# locks are explained in the kernel-doc of their structure
]
# User space: rules that only kernel code can follow.
USER_IGNORE = [
    "ARRAY_SIZE",
    "AVOID_EXTERNS",			# environ
    "CAMELCASE",			# PRIu64 and the like
    "ENOSYS",				# what a kernel without a system call says
    "MACRO_WITH_FLOW_CONTROL",		# assertions of tests
    "PREFER_DEFINED_ATTRIBUTE_MACRO",	# no <linux/compiler.h> there
    "PREFER_KERNEL_TYPES",		# uint64_t
    "SPDX_LICENSE_TAG",			# rule 'spdx' is stricter, and knows a program's output from its head
    "SPLIT_STRING",			# help texts
    "STRCPY", "STRLCPY", "STRNCPY",	# no strscpy() there
    "VOLATILE",				# sig_atomic_t
]
# Every trace header of the kernel is laid out so.
TRACE_IGNORE = ["OPEN_ENDED_LINE", "PARENTHESIS_ALIGNMENT"]


def arguments(name):
    user = not name.startswith(("kmod/", "uapi/")) or name.startswith("kmod/test/fabric/")
    ignore = IGNORE + (USER_IGNORE if user else []) + (TRACE_IGNORE if name.endswith("/trace.h") else [])
    return (f"--max-line-length={COLUMNS}", "--ignore", ",".join(ignore))


def clean_mark(name, version):
    data = (ROOT / name).read_bytes()
    key = hashlib.sha256(b"\0".join([version, " ".join(arguments(name)).encode(), name.encode(), data])).hexdigest()
    return CACHE / "checkpatch-clean" / key[:40]


def some(job):
    """What it says of a few files with the same arguments: it takes long to begin."""
    names, script, version = job
    # Not in the tree: it may leave a file behind.
    out = subprocess.run(["perl", str(script), "--no-tree", "--strict", "--terse", "--quiet", "--no-summary",
                          "--show-types", "--color=never", *arguments(names[0]), "-f"] + [str(ROOT / n) for n in names],
                         cwd=BUILD, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    said = out.stdout.decode(errors="replace").replace(f"{ROOT}/", "").splitlines()
    if not said and out.returncode:
        return "".join(f"{n}:1: checkpatch ended with {out.returncode}\n" for n in names)
    # It knows EXPORT_SYMBOL(), which may follow the function at once, but not our name for it.
    exports = ["\0"]
    for name in names:
        lines = (ROOT / name).read_bytes().split(b"\n")
        exports += [f"{name}:{n}: " for n, line in enumerate(lines, 1) if line.startswith(b"RDLOCK_EXPORT(")]
    said = [s for s in said if not (":LINE_SPACING:" in s and s.startswith(tuple(exports)))]
    of_none = [s for s in said if not s.startswith(tuple(n + ":" for n in names))]
    for name in names:
        if of_none or any(s.startswith(name + ":") for s in said):
            continue
        clean = clean_mark(name, version)
        clean.parent.mkdir(parents=True, exist_ok=True)
        clean.touch()
    return "".join(s + "\n" for s in said)


need("perl")
script = checkpatch()
if not script:
    skip("needs linux-source-6.1")
version = hashlib.sha256(script.read_bytes()).digest()
todo = {}
for name in files("*.c", "*.h"):
    if not clean_mark(name, version).exists():
        todo.setdefault(arguments(name), []).append(name)
jobs = [(names[i:i + FILES], script, version) for names in todo.values() for i in range(0, len(names), FILES)]
with concurrent.futures.ThreadPoolExecutor(max_workers=min(2, os.cpu_count() or 1)) as pool:
    for said in pool.map(some, jobs):
        fail_text(said)
finish()
