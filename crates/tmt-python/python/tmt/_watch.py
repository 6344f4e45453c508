"""Messages of a call while it runs: warnings at the line of the call, and how far it is, on a terminal or in a notebook."""

import logging
import os
import sys
import time
import warnings

_LOG = logging.getLogger("tmt")
_PACKAGE = os.path.dirname(__file__)

# Time before a call shows its progress, and that between two looks of a terminal or a notebook, s.
PATIENCE_S, REFRESH_S = 1.0, 0.2


class TmtWarning(UserWarning):
    """The result would mislead somebody who does not know this."""


class TmtNotice(UserWarning):
    """How a trace was read, where that is not obvious."""


def _stack_level():
    """The level of the first caller outside the package, as `warnings.warn` counts it from the function that calls this."""
    frame, level = sys._getframe(1), 1
    while frame is not None and os.path.dirname(frame.f_code.co_filename) == _PACKAGE:
        frame, level = frame.f_back, level + 1
    return level


def tell(severity, text):
    """Says a note: a warning at the line that called the package, or a message of its logger."""
    if severity == "info":
        _LOG.info(text)
    else:
        category = TmtWarning if severity == "warning" else TmtNotice
        warnings.warn(text, category, stacklevel=_stack_level())


def _time(seconds):
    """A time left, in its largest unit."""
    for unit, length in (("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds / length:.1f} {unit}"
    return f"{seconds:.0f} s"


class _Line:
    """Progress in one line of a terminal."""

    def show(self, text, _share):
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()

    def clear(self):
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


class _Cell:
    """Progress below a cell of a notebook."""

    def __init__(self):
        self.handle = None

    def show(self, text, share):
        from IPython.display import HTML, display

        bar = HTML(f'<progress value="{share:.4f}" max="1" aria-label="progress"></progress> {text}')
        if self.handle is None:
            self.handle = display(bar, display_id=True)
        else:
            self.handle.update(bar)

    def clear(self):
        from IPython.display import HTML

        if self.handle is not None:
            self.handle.update(HTML(""))


def _place():
    """Where progress is shown: below the cell of a notebook, on a terminal, or nowhere."""
    interactive = sys.modules.get("IPython")
    shell = interactive.get_ipython() if interactive else None
    if shell is not None and hasattr(shell, "kernel"):
        return _Cell()
    return _Line() if sys.stderr is not None and sys.stderr.isatty() else None


class Watcher:
    """Watches a call: what it says, and how far it is. A context that removes what it has shown."""

    def __init__(self):
        self.begun = time.monotonic()
        self.place = _shown() if _shown is not None else None
        self.last = 0.0
        self.has_shown = False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.has_shown:
            self.place.clear()

    def tell(self, severity, text):
        tell(severity, text)

    def progress(self, done, total, unit):
        """`done` steps of `total` are done."""
        now = time.monotonic()
        if self.place is None or now - self.begun < PATIENCE_S or now - self.last < REFRESH_S:
            return
        self.last = now
        share = min(done / total, 1.0)
        left = f", {_time((now - self.begun) * (1 - share) / share)} left" if share > 0 else ""
        self.place.show(f"{done} of {total} {unit}{left}", share)
        self.has_shown = True


_shown = _place


def show_progress(how=True):
    global _shown
    _shown = _place if how else None


show_progress.__doc__ = """Show the progress of calls that take longer than a second, or not.

It is a line on stderr, if that is a terminal, and a bar below the cell in a notebook, and goes when the call ends.

    how: False shows none
"""
