# SPDX-License-Identifier: GPL-2.0
"""The table of kernels: what a VM needs to know of the one it boots."""

from dataclasses import dataclass
from typing import List


class TableError(Exception):
    """The table is not what its head says, or lacks a name."""


@dataclass
class Kernel:
    name: str
    # What timeouts and the VMs' memory are multiplied by.
    times: float = 1.0
    mem: float = 1.0
    arguments: str = ""


def read_table(path):
    found: List[Kernel] = []
    with open(path, encoding="utf-8") as table:
        for number, line in enumerate(table, 1):
            words = line.split()
            if not words or line.startswith("#"):
                continue
            try:
                name, _how, _source, times, mem, *arguments = words
                if not arguments or float(times) < 1 or float(mem) < 1:
                    raise ValueError("arguments are missing, or a factor is below 1")
                text = "" if arguments == ["-"] else " ".join(arguments)
                found.append(Kernel(name, float(times), float(mem), text))
            except ValueError as err:
                raise TableError(f"{path}:{number}: {err}") from err
    return found


def find(kernels, name):
    for kernel in kernels:
        if kernel.name == name:
            return kernel
    raise TableError(f"no kernel '{name}': there are {' '.join(k.name for k in kernels)}")
