# SPDX-License-Identifier: GPL-2.0-or-later
"""Code shared by the scripts: machine files, guest runs, results."""
