"""Runs ONNX networks on all processors of a machine at once, planned for it.

    import millstream

    with millstream.Session("net.onnx") as session:
        for outputs in session.stream({"image": image} for image in camera):
            print(outputs["scores"])
"""

from millstream._environment import prepare as _prepare

_prepare()

import atexit as _atexit

from millstream._errors import EngineMissing, Error, FileError, FrameFailed, InputError, Timeout
from millstream._native import Board, Results, Session, __version__, _close_all, plan, profile, simulate
from millstream._progress import Progress
from millstream._values import Value

_atexit.register(_close_all)

__all__ = [
    "Board",
    "EngineMissing",
    "Error",
    "FileError",
    "FrameFailed",
    "InputError",
    "Progress",
    "Results",
    "Session",
    "Timeout",
    "Value",
    "__version__",
    "plan",
    "profile",
    "simulate",
]
