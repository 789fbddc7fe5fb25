"""Small networks, made here, and a cache of their own for what is measured of them."""

import faulthandler
import os
import tempfile

# Before the package is imported: the user's own profiles and sessions have nothing to do with these tests.
os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(prefix="millstream-python-")
# Graphics libraries complain where there is no session.
os.environ.setdefault("XDG_RUNTIME_DIR", tempfile.gettempdir())

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import millstream

SIZE = 16


def convolutions(channels: int = 8, layers: int = 6, size: int = SIZE) -> bytes:
    """A chain of convolutions with a branch, which takes well under a millisecond; sums are exact nowhere, so that results tell."""
    random = np.random.default_rng(7)
    weights, nodes, last = [], [], "image"
    for layer in range(layers):
        filters = random.normal(0, 0.2, (channels, channels, 3, 3)).astype(np.float32)
        weights.append(numpy_helper.from_array(filters, f"filters{layer}"))
        nodes.append(helper.make_node("Conv", [last, f"filters{layer}"], [f"map{layer}"], pads=[1, 1, 1, 1]))
        nodes.append(helper.make_node("Relu", [f"map{layer}"], [f"active{layer}"]))
        last = f"active{layer}"
    nodes.append(helper.make_node("Add", [last, "image"], ["sum"]))
    nodes.append(helper.make_node("ReduceMean", ["sum"], ["mean"], axes=[2, 3], keepdims=0))
    shape = [1, channels, size, size]
    return model(
        nodes,
        {"image": (TensorProto.FLOAT, shape)},
        {"sum": (TensorProto.FLOAT, shape), "mean": (TensorProto.FLOAT, [1, channels])},
        weights,
    )


def scoring(channels: int = 8) -> bytes:
    """As classifiers are: an image in, scores out."""
    nodes = [
        helper.make_node("Relu", ["image"], ["active"]),
        helper.make_node("ReduceMean", ["active"], ["scores"], axes=[2, 3], keepdims=0),
    ]
    return model(
        nodes,
        {"image": (TensorProto.FLOAT, [1, channels, SIZE, SIZE])},
        {"scores": (TensorProto.FLOAT, [1, channels])},
        [],
    )


def growing() -> bytes:
    """Multiplies two matrices as large as the frame says: one frame takes no time, another one very long."""
    nodes = [
        helper.make_node("Concat", ["size", "size"], ["shape"], axis=0),
        helper.make_node("ConstantOfShape", ["shape"], ["square"], value=numpy_helper.from_array(np.ones(1, np.float32))),
        helper.make_node("MatMul", ["square", "square"], ["product"]),
        helper.make_node("ReduceMean", ["product"], ["mean"], axes=[0, 1], keepdims=0),
    ]
    return model(nodes, {"size": (TensorProto.INT64, [1])}, {"mean": (TensorProto.FLOAT, [])}, [])


def mixed() -> bytes:
    """Two inputs of different types, and outputs of different types."""
    nodes = [
        helper.make_node("Cast", ["pixels"], ["floats"], to=TensorProto.FLOAT),
        helper.make_node("Gather", ["floats", "place"], ["row"], axis=0),
        helper.make_node("ArgMax", ["row"], ["best"], axis=1, keepdims=0),
        helper.make_node("Greater", ["row", "limit"], ["above"]),
        helper.make_node("Cast", ["row"], ["half"], to=TensorProto.FLOAT16),
    ]
    limit = numpy_helper.from_array(np.array([100], np.float32), "limit")
    return model(
        nodes,
        {"pixels": (TensorProto.UINT8, [4, 5]), "place": (TensorProto.INT64, [2])},
        {"best": (TensorProto.INT64, [2]), "above": (TensorProto.BOOL, [2, 5]), "half": (TensorProto.FLOAT16, [2, 5])},
        [limit],
    )


def model(nodes, inputs, outputs, weights) -> bytes:
    def ports(values):
        return [helper.make_tensor_value_info(name, *kind) for name, kind in values.items()]

    graph = helper.make_graph(nodes, "small", ports(inputs), ports(outputs), weights)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.checker.check_model(made)
    return made.SerializeToString()


def image(number: int, channels: int = 8, size: int = SIZE) -> np.ndarray:
    return np.random.default_rng(number).random((1, channels, size, size), dtype=np.float32)


def frame(number: int) -> dict:
    return {"image": image(number)}


@pytest.fixture(autouse=True)
def limit():
    """No test may hang for ever."""
    faulthandler.dump_traceback_later(600, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


@pytest.fixture(scope="session")
def network() -> bytes:
    return convolutions()


@pytest.fixture(scope="session")
def schedule(network) -> dict:
    """Planned once; the first session measures."""
    return millstream.plan(network, profile_seconds=0.5)


@pytest.fixture(scope="session")
def growing_schedule() -> dict:
    return millstream.plan(growing(), profile_seconds=0.1)


def large(size: int) -> dict:
    """A frame that takes long."""
    return {"size": np.array([size])}


@pytest.fixture
def session(network, schedule):
    with millstream.Session(network, schedule=schedule) as session:
        yield session


@pytest.fixture(scope="session")
def plain(network):
    """The same network in plain ONNX Runtime."""
    onnxruntime = pytest.importorskip("onnxruntime")
    return lambda frame: onnxruntime.InferenceSession(network, providers=["CPUExecutionProvider"]).run(None, frame)
