"""Writes the models of the `onnx` package's own backend tests, with inputs and expected outputs, into a folder.

Usage: onnx_suite.py FOLDER. The package carries some of them as files and makes the others; random data are seeded.
"""

import os
import shutil
import sys
import warnings

import numpy

warnings.filterwarnings("ignore")
numpy.random.seed(0)

import onnx  # noqa: E402
from onnx import numpy_helper  # noqa: E402
from onnx.backend.test.case import model as model_cases  # noqa: E402
from onnx.backend.test.case import node as node_cases  # noqa: E402


def save(path, value, info):
    """Writes one input or output as the type that its declaration names."""
    if isinstance(value, onnx.TensorProto):
        message = value
    elif info.type.HasField("sequence_type"):
        message = numpy_helper.from_list(value, info.name)
    elif info.type.HasField("optional_type"):
        message = numpy_helper.from_optional(value, info.name)
    elif info.type.HasField("map_type"):
        message = numpy_helper.from_dict(value, info.name)
    else:
        message = numpy_helper.from_array(numpy.asarray(value), info.name)
    with open(path, "wb") as file:
        file.write(message.SerializeToString())


def main():
    folder = sys.argv[1]
    cases = list(node_cases.collect_testcases(None)) + list(model_cases.collect_testcases())
    for case in cases:
        if case.model is None:
            continue
        own = os.path.join(folder, case.kind, case.name)
        data = os.path.join(own, "test_data_set_0")
        os.makedirs(data)
        with open(os.path.join(own, "model.onnx"), "wb") as file:
            file.write(case.model.SerializeToString())
        inputs, outputs = case.data_sets[0]
        for index, value in enumerate(inputs):
            save(os.path.join(data, f"input_{index}.pb"), value, case.model.graph.input[index])
        for index, value in enumerate(outputs):
            save(os.path.join(data, f"output_{index}.pb"), value, case.model.graph.output[index])
    packaged = os.path.join(os.path.dirname(onnx.__file__), "backend", "test", "data")
    for kind in ("pytorch-converted", "pytorch-operator"):
        shutil.copytree(os.path.join(packaged, kind), os.path.join(folder, kind))
    shutil.copytree(os.path.join(packaged, "light"), os.path.join(folder, os.pardir, "light"))


main()
