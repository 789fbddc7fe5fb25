"""The package itself: stubs, names, boards, functions."""

import ast
import copy
import importlib.metadata
import inspect
import json
import os
import pathlib
import re
import sys
import typing

import numpy as np
import pytest
from conftest import frame

import millstream
from millstream import _native

STUBS = ast.parse(pathlib.Path(_native.__file__).with_name("_native.pyi").read_text())


def parameters(function):
    """Names, kinds and defaults of parameters."""
    return [(own.name, own.kind, own.default) for own in inspect.signature(function).parameters.values()]


def stated(stub):
    """The same of a stub."""
    arguments = copy.deepcopy(stub.args)
    for own in ast.walk(arguments):
        if isinstance(own, ast.arg):
            own.annotation = None
    return parameters(eval(f"lambda {ast.unparse(arguments)}: None"))


def is_marked(stub, name):
    return any(isinstance(own, ast.Name) and own.id == name for own in stub.decorator_list)


@pytest.mark.skipif(sys.version_info < (3, 10), reason="Python does not tell parameters of compiled classes")
def test_stubs_say_what_there_is():
    functions = {node.name: node for node in STUBS.body if isinstance(node, ast.FunctionDef)}
    # Others are only for what stubs say.
    classes = {node.name: node for node in STUBS.body if isinstance(node, ast.ClassDef) and is_marked(node, "final")}
    public = {name for name in dir(_native) if not name.startswith("__")}
    assert public == set(functions) | set(classes)
    for name, node in functions.items():
        assert parameters(getattr(_native, name)) == stated(node), name
    for name, node in classes.items():
        own = getattr(_native, name)
        members = {member.name: member for member in node.body if isinstance(member, ast.FunctionDef)}
        # What every object has needs no stub.
        assert set(vars(own)) - set(vars(object)) - {"__module__", "__weakref__"} == set(members) - {"__new__"}, name
        for member, stub in members.items():
            value = vars(own)[member]
            if member == "__new__":
                assert parameters(own) == stated(stub)[1:], name
            elif is_marked(stub, "property"):
                assert inspect.isdatadescriptor(value) and value.__doc__, f"{name}.{member}"
            elif is_marked(stub, "staticmethod"):
                assert isinstance(value, staticmethod) and parameters(getattr(own, member)) == stated(stub), f"{name}.{member}"
            else:
                # The object itself has another kind.
                assert parameters(value)[1:] == stated(stub)[1:], f"{name}.{member}"
            assert member.startswith("_") or getattr(own, member).__doc__, f"{name}.{member}"


def test_python_code_says_its_types():
    functions = [millstream.Progress.__init__, millstream.Progress.__call__, millstream.Progress.close]
    for function in functions:
        hints = typing.get_type_hints(function)
        assert set(hints) == {"return", *list(inspect.signature(function).parameters)[1:]}, function


def test_the_page_of_the_package_leads_nowhere_that_is_not_on_it():
    page = importlib.metadata.metadata("millstream").get_payload()
    assert "Runs ONNX networks" in page
    assert [link for link in re.findall(r"\]\(([^)]*)\)", page) if not link.startswith(("https://", "#"))] == []


def test_everything_public_is_documented_and_called_by_its_name():
    for name in millstream.__all__:
        value = getattr(millstream, name)
        assert name == "__version__" or value.__doc__, name
        if isinstance(value, type):
            assert value.__module__ == "millstream", name
    assert pathlib.Path(millstream.__file__).with_name("py.typed").exists()


def test_the_library_of_onnxruntime_is_found():
    onnxruntime = pytest.importorskip("onnxruntime")
    assert pathlib.Path(os.environ["ORT_DYLIB_PATH"]).is_relative_to(pathlib.Path(onnxruntime.__file__).parent)


def test_boards():
    board = millstream.Board.detect()
    document = json.loads(board.to_json())
    assert document == board.to_dict() and document["format"] == "millstream-board"
    for given in (document, board.to_json()):
        assert millstream.Board.load(given).to_dict() == document
    label = document["clusters"][0]["label"]
    assert board.name in str(board) and f"\n  {label}: cores" in str(board) and board.name in repr(board)
    with pytest.raises(millstream.Error, match="nothing"):
        millstream.Board.detect(engine="nothing")
    with pytest.raises(millstream.Error):
        millstream.Board.load({"format": "millstream-board"})
    with pytest.raises(OSError, match="no file and no built-in board 'nosuch'"):
        millstream.Board.load("nosuch")


def test_a_board_may_be_named_wherever_one_is_taken():
    plan = millstream.plan("zoo:squeezenet", board="khadas-vim3", costs="khadas-vim3")
    document = millstream.Board.load("khadas-vim3").to_dict()
    simulated = [
        millstream.simulate(plan, board=board, costs="khadas-vim3", frames=10) for board in ("khadas-vim3", document)
    ]
    assert simulated[0] == simulated[1] and simulated[0]["frames"] == 10
    with pytest.raises(TypeError):
        millstream.plan("zoo:squeezenet", board=3, costs="khadas-vim3")


def test_a_profile_serves_plans_and_simulations(network, tmp_path):
    board = millstream.Board.detect(cache_folder=tmp_path / "cache")
    profile = millstream.profile(network, seconds=0.3, board=board)
    assert profile["format"] == "millstream-profile"
    file = tmp_path / "profile.json"
    file.write_text(json.dumps(profile))
    plan = millstream.plan(network, profile=file, board=board)
    simulated = millstream.simulate(plan, model=network, profile=file, board=board, frames=100)
    assert simulated["frames"] == 100 and simulated["configuration"] == plan["configuration"]
    assert simulated["frames_per_second"] > 0
    slow = millstream.simulate(plan, model=network, board=board, frames=50, frame_rate=1.0)
    np.testing.assert_allclose(slow["frames_per_second"], 1.0, rtol=1e-3)
    wrong = [("frame_rate", value) for value in (0.0, -1.0, float("nan"), float("inf"))]
    wrong += [("noise", value) for value in (-0.1, float("nan"), float("inf"))] + [("frames", 0), ("frames_in_flight", 0)]
    for name, value in wrong:
        with pytest.raises(millstream.InputError, match=name.replace("_", ".")):
            millstream.simulate(plan, model=network, board=board, **{name: value})
    with millstream.Session(network, board=board, schedule=plan) as session:
        assert session.run(frame(0))["mean"].shape == (1, 8)


def test_a_profile_and_cost_models_are_not_both_taken(network):
    with pytest.raises(ValueError, match="not both"):
        millstream.plan(network, profile="a.json", costs="b.json")
