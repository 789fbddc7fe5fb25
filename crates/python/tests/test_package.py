"""The package itself: stubs, names, boards, functions."""

import ast
import inspect
import json
import os
import pathlib
import sys

import numpy as np
import pytest
from conftest import frame

import millstream
from millstream import _native

STUBS = ast.parse(pathlib.Path(_native.__file__).with_name("_native.pyi").read_text())


def parameters(function):
    arguments = function.args
    return [own.arg for own in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]]


@pytest.mark.skipif(sys.version_info < (3, 10), reason="Python does not tell parameters of compiled classes")
def test_stubs_say_what_there_is():
    functions = {node.name: node for node in STUBS.body if isinstance(node, ast.FunctionDef)}
    classes = {node.name: node for node in STUBS.body if isinstance(node, ast.ClassDef)}
    public = {name for name in dir(_native) if not name.startswith("__")}
    assert public == set(functions) | set(classes)
    for name, node in functions.items():
        assert list(inspect.signature(getattr(_native, name)).parameters) == parameters(node), name
    for name, node in classes.items():
        own = getattr(_native, name)
        members = {member.name: member for member in node.body if isinstance(member, ast.FunctionDef)}
        assert {member for member in vars(own) if not member.startswith("_")} == {
            member for member in members if not member.startswith("_")
        }, name
        for member, stub in members.items():
            value = vars(own).get(member)
            is_property = any(isinstance(own, ast.Name) and own.id == "property" for own in stub.decorator_list)
            if member.startswith("_") or is_property:
                continue
            value = getattr(own, member)
            assert list(inspect.signature(value).parameters) == parameters(stub), f"{name}.{member}"
            assert value.__doc__, f"{name}.{member}"
    constructor = next(node for node in classes["Session"].body if getattr(node, "name", "") == "__new__")
    assert list(inspect.signature(millstream.Session).parameters) == parameters(constructor)[1:]


def test_defaults_of_stubs_are_those_of_the_code():
    for node in STUBS.body:
        if isinstance(node, ast.FunctionDef):
            signature = inspect.signature(getattr(_native, node.name))
            for argument, default in zip(node.args.kwonlyargs, node.args.kw_defaults):
                assert ast.literal_eval(default) == signature.parameters[argument.arg].default, argument.arg


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
    with pytest.raises(ValueError):
        millstream.simulate(plan, model=network, board=board, frame_rate=0.0)
    with millstream.Session(network, board=board, schedule=plan) as session:
        assert session.run(frame(0))["mean"].shape == (1, 8)


def test_a_profile_and_cost_models_are_not_both_taken(network):
    with pytest.raises(ValueError, match="not both"):
        millstream.plan(network, profile="a.json", costs="b.json")
