# SPDX-License-Identifier: GPL-2.0-or-later
"""Which other values of a machine file's parameters are worth a run."""

from . import docs
from .errors import UserError
from .machine import CLOCK, CONTENTION, Word

# Of the clock only what a machine has; the others are the simulator's.
_CLOCK = ("instruction-ps", "pause-ns")
_STEP_PCT = 10


def _number(value):
    """A parameter's form: a whole number, or up to three decimals."""
    return f"{value:.3f}".rstrip("0").rstrip(".")


def _span(name, value, form):
    """A tenth less and a tenth more, as far as the form has such values."""
    found = []
    for percent in (100 - _STEP_PCT, 100 + _STEP_PCT):
        other = value * percent / 100
        if type(form).__name__ == "Number":
            other = round(other)
        if other != value and form.low <= other <= form.high:
            found.append(f"{name}={_number(other)}")
    return found


def default(model):
    """NAME=VALUE of every other choice, and of numbers a tenth off."""
    found = []
    for name, form in {**{name: CLOCK[name] for name in _CLOCK},
                       **CONTENTION}.items():
        group = "clock" if name in CLOCK else "contention"
        value = model.values(group)[name]
        if isinstance(form, Word):
            found += [f"{name}={other}" for other in form.choices
                      if other != value]
        else:
            found += _span(name, value, form)
    return found


def explicit(text):
    """NAME=VALUE of each value of NAME=VALUE[,VALUE...]."""
    name, equals, values = text.partition("=")
    if not equals or not all(values.split(",")):
        raise UserError(f"--vary {text}: give NAME=VALUE[,VALUE...]")
    return [f"{name}={value}" for value in values.split(",")]


def table(base, rows):
    """Markdown: base is {column: rate}, rows [(label, {column: rate})].

    Where a guest has failed, which a model of other values may well make it
    do, there is no rate.
    """
    columns = list(base)
    body = [["as in the machine file",
             *(f"{base[column]:.2f}" for column in columns)]]
    for label, rates in rows:
        body.append([f"`{label}`" if "=" in label else label,
                     *(f"{(rates[column] / base[column] - 1) * 100:+.1f} %"
                       if rates[column] else "failed"
                       for column in columns)])
    return docs.grid(["", *columns], body)
