"""What has to stand in the environment before anything is loaded. Later it is left alone: other threads may be reading it."""

import importlib.util
import os
import pathlib
import sys
import tempfile


def prepare() -> None:
    """Names ONNX Runtime's library, and a folder for sessions on Linux, where nobody has."""
    _name_library()
    if sys.platform == "linux":
        # A layer of Mesa's looks for a desktop there when graphics devices are asked, and prints errors where there is none.
        os.environ.setdefault("XDG_RUNTIME_DIR", tempfile.gettempdir())


def _name_library() -> None:
    """Names the library of the package onnxruntime, unless ORT_DYLIB_PATH names one already. The package itself is not imported."""
    if os.environ.get("ORT_DYLIB_PATH"):
        return
    package = importlib.util.find_spec("onnxruntime")
    for folder in (package.submodule_search_locations or []) if package else []:
        libraries = sorted(
            file for file in pathlib.Path(folder, "capi").glob("libonnxruntime.*") if ".so" in file.name or file.suffix == ".dylib"
        )
        if libraries:
            os.environ["ORT_DYLIB_PATH"] = str(libraries[0])
            return
