"""What can go wrong. Every exception of this package is an Error, with the library's words."""


class Error(Exception):
    """Something that was asked for can't be done; the message says what, where, and what to do."""


class EngineMissing(Error, ImportError):
    """The library of an engine, such as ONNX Runtime's, is not there, or is none that can be used here."""


class InputError(Error, ValueError):
    """An array has another type or shape than the network's input, a name is wrong, or an argument does not fit."""


class FileError(Error, OSError):
    """A file can't be read or written."""


class FrameFailed(Error):
    """One frame has no result; others are not concerned."""


class Timeout(Error, TimeoutError):
    """What was waited for did not come in time."""


for _class in (Error, EngineMissing, InputError, FileError, FrameFailed, Timeout):
    _class.__module__ = "millstream"
