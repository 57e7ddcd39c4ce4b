# SPDX-License-Identifier: GPL-2.0-or-later
"""The one exception that ends a script with one line for its user."""


class UserError(Exception):
    """Something the user gave, or the host lacks; the text says the fix."""
