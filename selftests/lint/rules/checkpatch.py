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


def one(job):
    name, script, version = job
    user = not name.startswith(("kmod/", "uapi/")) or name.startswith("kmod/test/fabric/")
    ignore = IGNORE + (USER_IGNORE if user else []) + (TRACE_IGNORE if name.endswith("/trace.h") else [])
    args = [f"--max-line-length={COLUMNS}", "--ignore", ",".join(ignore)]
    data = (ROOT / name).read_bytes()
    key = hashlib.sha256(b"\0".join([version, " ".join(args).encode(), name.encode(), data])).hexdigest()
    clean = CACHE / "checkpatch-clean" / key[:40]
    if clean.exists():
        return ""
    # Not in the tree: it may leave a file behind.
    out = subprocess.run(["perl", str(script), "--no-tree", "--strict", "--terse", "--quiet", "--no-summary",
                          "--show-types", "--color=never"] + args + ["-f", str(ROOT / name)], cwd=BUILD,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    said = out.stdout.decode(errors="replace")
    said = said.replace(f"{ROOT}/", "")
    if not said.strip() and out.returncode:
        said = f"{name}:1: checkpatch ended with {out.returncode}"
    # It knows EXPORT_SYMBOL(), which may follow the function at once, but not our name for it.
    lines = data.split(b"\n")
    exports = {f"{name}:{n}: " for n, line in enumerate(lines, 1) if line.startswith(b"RDLOCK_EXPORT(")}
    said = "".join(s + "\n" for s in said.splitlines()
                   if not (":LINE_SPACING:" in s and s.startswith(tuple(exports) or ("\0",))))
    if not said.strip():
        clean.parent.mkdir(parents=True, exist_ok=True)
        clean.touch()
    return said


need("perl")
script = checkpatch()
if not script:
    skip("needs linux-source-6.1")
version = hashlib.sha256(script.read_bytes()).digest()
jobs = [(name, script, version) for name in files("*.c", "*.h")]
with concurrent.futures.ThreadPoolExecutor(max_workers=min(2, os.cpu_count() or 1)) as pool:
    for said in pool.map(one, jobs):
        fail_text(said)
finish()
