# SPDX-License-Identifier: GPL-2.0
"""The VM test harness: see ../run."""
