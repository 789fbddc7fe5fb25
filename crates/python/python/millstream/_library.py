"""Where ONNX Runtime's library is."""

import importlib.util
import os
import pathlib


def find() -> None:
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
