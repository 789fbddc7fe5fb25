"""Each argument changes something, and each thing that goes wrong has its own exception."""

import threading
import time

import numpy as np
import pytest
from conftest import convolutions, frame, growing, large, model
from onnx import TensorProto, helper, numpy_helper

import millstream

BOARD = {"board": "khadas-vim3", "costs": "khadas-vim3"}


@pytest.fixture(scope="module")
def plan() -> dict:
    """For a board that is not here, so that nothing is measured."""
    return millstream.plan("zoo:squeezenet", **BOARD)


USUAL = {"frames": 60, "noise": 0.1, "seed": 1, "frames_in_flight": 2}


@pytest.mark.parametrize(
    "other",
    [{"frames": 61}, {"frame_rate": 1.0}, {"frames_in_flight": 1}, {"noise": 0.3}, {"seed": 2}, {"memory": False}, {"heat": True}],
    ids=lambda other: next(iter(other)),
)
def test_each_argument_of_simulate_changes_what_it_shows(plan, other):
    usual = millstream.simulate(plan, **BOARD, **USUAL)
    assert usual == millstream.simulate(plan, **BOARD, **USUAL), "the same again is the same"
    assert usual != millstream.simulate(plan, **BOARD, **{**USUAL, **other})


def test_limits_and_their_margin_are_in_the_plan():
    limits = {"max_latency": 10.0, "min_throughput": 0.5, "max_power": 100.0, "margin": 0.25}
    plan = millstream.plan("zoo:squeezenet", objective="energy", **limits, **BOARD)
    assert plan["objective"] == "energy"
    assert plan["constraints"] == {
        "max_latency_seconds": 10.0,
        "min_throughput_hertz": 0.5,
        "max_watts": 100.0,
        "margin": 0.25,
    }


def test_limits_that_nothing_meets_are_wrong_arguments():
    for limit in ({"max_latency": 1e-6}, {"min_throughput": 1e6}, {"max_power": 1e-6}):
        with pytest.raises(ValueError, match="no pipeline"):
            millstream.plan("zoo:squeezenet", **limit, **BOARD)


def test_names_that_there_are_not_are_wrong_arguments(network):
    for call, message in [
        (lambda: millstream.Session("zoo:none"), "no network 'none'"),
        (lambda: millstream.plan(network, dimensions={"n": 3}), "no open dimension called n"),
        (lambda: millstream.Board.detect(engine="nothing"), "nothing"),
        (lambda: millstream.Board.load("khadas-vim3", engine="nothing"), "nothing"),
    ]:
        with pytest.raises(ValueError, match=message) as error:
            call()
        assert isinstance(error.value, millstream.InputError)


def opened() -> bytes:
    """An input with an open first dimension."""
    nodes = [helper.make_node("Relu", ["x"], ["y"])]
    return model(nodes, {"x": (TensorProto.FLOAT, ["n", 3])}, {"y": (TensorProto.FLOAT, ["n", 3])}, [])


def test_a_batch_is_in_the_shape_of_inputs():
    with millstream.Session(opened(), batch=4, profile_seconds=0.1) as session:
        assert session.inputs[0].shape == (4, 3)
        assert session.run({"x": np.ones((4, 3), np.float32)})["y"].shape == (4, 3)


def test_fresh_measures_again_for_as_long_as_is_said(tmp_path):
    network = convolutions(layers=3)
    board = millstream.Board.detect(cache_folder=tmp_path / "cache")

    def kinds(call, **options) -> set:
        told = []
        made = call(network, board=board, profile_seconds=0.2, on_event=told.append, **options)
        if isinstance(made, millstream.Session):
            made.close()
        return {event["kind"] for event in told}

    for call in (millstream.plan, millstream.Session):
        kinds(call)
        assert "cached-profile" in kinds(call) and "cached-profile" not in kinds(call, fresh=True)


def indexed() -> bytes:
    """A row of a table; there are five."""
    table = numpy_helper.from_array(np.arange(10, dtype=np.float32).reshape(5, 2), "table")
    nodes = [helper.make_node("Gather", ["table", "index"], ["row"])]
    return model(nodes, {"index": (TensorProto.INT64, [1])}, {"row": (TensorProto.FLOAT, [1, 2])}, [table])


def test_a_frame_that_fails_raises_and_the_next_one_does_not():
    with millstream.Session(indexed(), profile_seconds=0.1) as session:
        for call in (session.run, lambda frame: next(session.stream([frame]))):
            with pytest.raises(millstream.FrameFailed, match="frame [0-9]+: "):
                call({"index": [9]})
            np.testing.assert_array_equal(session.run({"index": [3]})["row"], [[6, 7]])
        numbers = [session.submit({"index": [index]}) for index in (9, 1)]
        with pytest.raises(millstream.FrameFailed, match=f"frame {numbers[0]}: "):
            session.receive()
        np.testing.assert_array_equal(session.receive()["row"], [[2, 3]])
        assert session.report()["failed_frames"] == 3


def test_a_frame_that_takes_too_long_fails(growing_schedule):
    with millstream.Session(growing(), schedule=growing_schedule, frame_timeout=0.1) as session:
        session.run(large(2))
        with pytest.raises(millstream.FrameFailed, match="within 100ms"):
            session.run(large(3000))


def test_frames_in_flight_say_how_much_room_there_is(growing_schedule):
    """A pipeline takes twice as many frames as are in flight; callers with one frame each fill it."""

    def has_room(frames_in_flight) -> bool:
        options = {"frames_in_flight": frames_in_flight, "frames_outstanding": 1}
        with millstream.Session(growing(), schedule=growing_schedule, **options) as session:
            streams = [session.stream([large(3000)]) for _ in range(2)]
            threads = [threading.Thread(target=list, args=(stream,)) for stream in streams]
            for thread in threads:
                thread.start()
            time.sleep(0.3)
            try:
                session.submit(large(2), timeout=0.01)
            except millstream.Timeout:
                return False
            finally:
                for thread in threads:
                    thread.join()
            return True

    assert not has_room(1) and has_room(4)


def test_bfloat16_is_what_numpy_makes_of_it():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    nodes = [
        helper.make_node("Cast", ["x"], ["wide"], to=TensorProto.FLOAT),
        helper.make_node("Neg", ["wide"], ["negative"]),
        helper.make_node("Cast", ["negative"], ["y"], to=TensorProto.BFLOAT16),
    ]
    network = model(nodes, {"x": (TensorProto.BFLOAT16, [3])}, {"y": (TensorProto.BFLOAT16, [3])}, [])
    with millstream.Session(network, profile_seconds=0.1) as session:
        assert session.inputs == [millstream.Value("x", (3,), "bfloat16")]
        given = np.array([1.5, -2, 1e30], ml_dtypes.bfloat16)
        returned = session.run({"x": given})["y"]
        assert returned.dtype == ml_dtypes.bfloat16
        np.testing.assert_array_equal(returned, -given)


def test_texts_keep_their_shape():
    texts = (TensorProto.STRING, [2, 3])
    network = model([helper.make_node("Identity", ["x"], ["y"])], {"x": texts}, {"y": texts}, [])
    given = np.array([["a", "", "zwei ä"], ["b", "c", "d"]], dtype=object)
    with millstream.Session(network, profile_seconds=0.1) as session:
        assert session.inputs == [millstream.Value("x", (2, 3), "object")]
        returned = session.run({"x": given})["y"]
        assert returned.dtype == object
        np.testing.assert_array_equal(returned, given)


def test_what_a_simulation_shows_is_beside_what_was_predicted(plan):
    shown = millstream.simulate(plan, **BOARD, frames=300, frames_in_flight=8, memory=False)
    predicted = plan["predicted"]
    assert shown["predicted_frames_per_second"] > 1.0 and shown["frames_per_second"] > 1.0
    # Without what others stream from memory, frames are at least as fast as the plan promises, which counts it.
    assert shown["frames_per_second"] >= 0.99 / predicted["period_seconds"]
    np.testing.assert_allclose(shown["predicted_frames_per_second"], shown["frames_per_second"], rtol=0.02)
    # Queues hold up frames that have them to wait in.
    assert shown["worst_latency_seconds"] > 1.01 * shown["predicted_latency_seconds"]


def test_what_a_session_is_planned_on_is_read(network, tmp_path):
    for name in ["profile", "costs"]:
        with pytest.raises(millstream.FileError, match="nosuch"):
            millstream.Session(network, **{name: tmp_path / "nosuch.json"})
    with pytest.raises(millstream.Error):
        millstream.Session(network, max_power=1e-9, profile_seconds=0.3)


def test_progress_says_in_what_it_counts(network, tmp_path):
    events = []
    board = millstream.Board.detect(cache_folder=tmp_path / "cache")
    millstream.profile(network, seconds=1.5, board=board, on_event=events.append)
    progress = [event for event in events if event["kind"] == "progress"]
    # Segments are counted; what is left of the time shows in how many there are.
    assert progress and {event["unit"] for event in progress} == {"steps"}
    assert all(event["total"] == int(event["total"]) for event in progress)


def test_outputs_have_the_types_of_the_network():
    kinds = ["INT8", "UINT8", "INT16", "UINT16", "INT32", "UINT32", "INT64", "UINT64", "FLOAT16", "DOUBLE"]
    nodes = [helper.make_node("Cast", ["data"], [kind], to=getattr(TensorProto, kind)) for kind in kinds]
    outputs = {kind: (getattr(TensorProto, kind), [4]) for kind in kinds}
    cast = model(nodes, {"data": (TensorProto.FLOAT, [4])}, outputs, [])
    data = np.array([-3, -1, 0, 7], np.float32)
    with millstream.Session(cast, profile_seconds=0.2) as session:
        found = session.run({"data": np.abs(data)})
        signed = session.run({"data": data})
    for kind in kinds:
        dtype = helper.tensor_dtype_to_np_dtype(getattr(TensorProto, kind))
        np.testing.assert_array_equal(found[kind], np.abs(data).astype(dtype))
        assert found[kind].dtype == dtype, kind
        if not kind.startswith("UINT"):
            np.testing.assert_array_equal(signed[kind], data.astype(dtype))
