"""Frames one by one: results, shapes, types, errors."""

import gc
import json
import os
import pathlib
import time

import numpy as np
import pytest
from conftest import SIZE, convolutions, frame, image, mixed

import millstream


def test_results_are_those_of_onnxruntime(session, plain):
    for number in range(8):
        ours, theirs = session.run(frame(number)), plain(frame(number))
        for name, expected in zip(["sum", "mean"], theirs):
            np.testing.assert_allclose(ours[name], expected, rtol=1e-4, atol=1e-5)


def test_inputs_and_outputs_are_described(session):
    assert session.inputs == [millstream.Value("image", (1, 8, SIZE, SIZE), "float32")]
    assert [(value.name, value.dtype) for value in session.outputs] == [("sum", "float32"), ("mean", "float32")]
    assert session.outputs[1].shape == (1, 8)


def test_types_are_kept():
    pixels = np.arange(20, dtype=np.uint8).reshape(4, 5) * 12
    place = np.array([3, 1])
    with millstream.Session(mixed(), profile_seconds=0.2) as session:
        outputs = session.run({"pixels": pixels, "place": place})
        rows = pixels[place].astype(np.float32)
        np.testing.assert_array_equal(outputs["best"], rows.argmax(1))
        np.testing.assert_array_equal(outputs["above"], rows > 100)
        np.testing.assert_array_equal(outputs["half"], rows.astype(np.float16))
        assert [outputs[name].dtype for name in ("best", "above", "half")] == [np.int64, np.bool_, np.float16]


def test_an_array_may_be_changed_once_it_is_handed_over(session):
    array = image(1)
    expected = session.run({"image": array})["sum"].copy()
    session.submit({"image": array})
    array[:] = 0
    np.testing.assert_array_equal(session.receive()["sum"], expected)


def test_any_layout_and_byte_order_will_do(session):
    expected = session.run({"image": image(2)})["mean"]
    turned = np.asfortranarray(image(2))
    swapped = image(2).astype(image(2).dtype.newbyteorder())
    for other in (turned, swapped, image(2)[:, :, ::-1, :][:, :, ::-1, :]):
        np.testing.assert_array_equal(session.run({"image": other})["mean"], expected)


def test_results_outlive_the_session_and_cannot_be_written_to(network, schedule):
    session = millstream.Session(network, schedule=schedule)
    kept = session.run(frame(3))["sum"]
    expected = kept.copy()
    for number in range(20):
        session.run(frame(number))
    session.close()
    del session
    gc.collect()
    np.testing.assert_array_equal(kept, expected)
    with pytest.raises(ValueError):
        kept[:] = 0
    with pytest.raises(ValueError):
        kept.setflags(write=True)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"image": np.zeros((1, 3, 4, 4), np.float32)}, "'image' must be f32 [1, 8, 16, 16], but the frame has f32 [1, 3, 4, 4]"),
        ({"image": np.zeros((1, 8, SIZE, SIZE))}, "but the frame has f64"),
        ({"image": np.zeros((1, 8, SIZE, SIZE), np.complex64)}, "complex64"),
        ({"picture": image(0)}, "the frame has no 'image'; its inputs are 'image'"),
        ({"image": image(0), "picture": image(0)}, "no input 'picture'"),
        ({"image": [[1.0, 2.0], [3.0]]}, "'image' must be f32 [1, 8, 16, 16], but the frame has no array, as numpy says: setting an"),
        ([image(0)], "not a list"),
    ],
)
def test_a_wrong_frame_is_told(session, wrong, message):
    for call in (session.run, session.submit, lambda frame: next(session.stream([frame]))):
        with pytest.raises(ValueError) as error:
            call(wrong)
        assert message in str(error.value) and isinstance(error.value, millstream.InputError)
    assert session.receive() is None, "nothing is on its way"
    session.run(frame(0))


def test_a_closed_session_says_so(network, schedule):
    with millstream.Session(network, schedule=schedule) as session:
        results = session.stream(frame(number) for number in range(5))
        next(results)
        assert not session.closed
    assert session.closed and "closed" in repr(session)
    for call in (lambda: session.run(frame(0)), session.receive, session.report, lambda: next(results)):
        with pytest.raises(millstream.Error, match="closed"):
            call()
    session.close()


def test_a_schedule_can_be_written_and_read(network, schedule, tmp_path):
    model, file = tmp_path / "net.onnx", tmp_path / "schedule.json"
    model.write_bytes(network)
    with millstream.Session(pathlib.Path(model), objective="latency", min_throughput=1.0) as session:
        plan = session.plan()
        assert plan["format"] == "millstream-schedule" and plan["objective"] == "latency"
        expected = session.run(frame(1))["mean"]
    file.write_text(json.dumps(plan))
    for given in (plan, json.dumps(plan), file, str(file)):
        with millstream.Session(schedule=given) as session:
            assert session.configuration == plan["configuration"]
            np.testing.assert_allclose(session.run(frame(1))["mean"], expected, rtol=1e-4)


def test_the_report_counts(session):
    for _ in session.stream(frame(number) for number in range(30)):
        pass
    report = session.report()
    assert (report["frames"], report["failed_frames"], report["network"]) == (30, 0, "small")
    assert report["frames_per_second"] > 0 and report["latency"]["p50_seconds"] > 0
    last = max(stage["stage"] for stage in report["stages"])
    for stage in range(1, last + 1):
        assert sum(own["frames"] for own in report["stages"] if own["stage"] == stage) == 30


def test_errors_have_the_words_of_the_library(network, schedule, tmp_path):
    with pytest.raises(OSError, match="nowhere.onnx"):
        millstream.Session(tmp_path / "nowhere.onnx")
    with pytest.raises(millstream.FileError, match="nowhere.json"):
        millstream.Session(network, schedule=tmp_path / "nowhere.json")
    with pytest.raises(millstream.Error, match="protobuf|Protocol|malformed|not an ONNX|decode"):
        millstream.Session(b"nonsense")
    with pytest.raises(ValueError, match="speed"):
        millstream.Session(network, objective="speed")
    with pytest.raises(ValueError, match="max_latency"):
        millstream.Session(network, max_latency=-1.0)
    with pytest.raises(millstream.Error):
        millstream.Session(convolutions(layers=2), schedule=schedule)
    with pytest.raises(millstream.Error):
        millstream.Session(network, min_throughput=1e9)


def test_a_network_may_be_in_any_memory(network, schedule):
    for given in (bytearray(network), memoryview(network), np.frombuffer(network, np.uint8)):
        with millstream.Session(given, schedule=schedule) as session:
            session.run(frame(0))


def test_a_path_that_is_no_text_is_told(network, schedule, tmp_path):
    path = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9")
    for ending in (".onnx", ".json"):
        try:
            pathlib.Path(path + ending).write_bytes(network if ending == ".onnx" else json.dumps(schedule).encode())
        except OSError:
            pytest.skip("this file system has no such names")
    with pytest.raises(millstream.InputError, match=r"caf\\xE9\.onnx.*is not UTF-8"):
        millstream.Session(path + ".onnx")
    with millstream.Session(network, schedule=path + ".json") as session:
        session.run(frame(0))


def test_events_are_told(network):
    events = []
    with millstream.Session(network, on_event=events.append) as session:
        session.run(frame(0))
    assert events and all({"kind", "text"} <= set(event) for event in events)


def test_what_an_observer_raises_ends_the_work(network):
    class Stop(Exception):
        pass

    told = []

    def observe(event):
        told.append(event)
        raise Stop

    begin = time.monotonic()
    with pytest.raises(Stop):
        millstream.profile(network, seconds=60.0, on_event=observe)
    assert len(told) == 1 and time.monotonic() - begin < 30


def test_whole_numbers_are_refused_by_name(network, schedule):
    for name in ("frames_in_flight", "frames_outstanding", "batch"):
        with pytest.raises(millstream.InputError, match=f"{name} must not be negative: -1"):
            millstream.Session(network, schedule=schedule, **{name: -1})
        with pytest.raises(ValueError, match=f"{name} is too large: 1{'0' * 30}"):
            millstream.Session(network, schedule=schedule, **{name: 10**30})
        with pytest.raises(TypeError, match=name):
            millstream.Session(network, schedule=schedule, **{name: 1.5})
        with pytest.raises(millstream.InputError, match=f"{name} must be at least 1"):
            millstream.Session(network, schedule=schedule, **{name: 0})
    for name in ("frames", "frames_in_flight", "seed"):
        with pytest.raises(millstream.InputError, match=f"{name} must not be negative: -1"):
            millstream.simulate(schedule, model=network, **{name: -1})
    with pytest.raises(millstream.InputError, match="frames is too large: 1000000000000"):
        millstream.simulate(schedule, model=network, frames=10**12)
    with pytest.raises(millstream.InputError, match=r"dimensions\['n'\] must not be negative"):
        millstream.Session(network, dimensions={"n": -1})


def test_infinity_is_no_limit(session):
    session.submit(frame(0), timeout=float("inf"))
    assert session.receive(timeout=1e300)["mean"].shape == (1, 8)
    for wrong in (-1.0, float("nan"), -float("inf")):
        with pytest.raises(millstream.InputError, match="timeout must be a number of seconds that is not negative"):
            session.receive(timeout=wrong)


def test_a_dimension_that_the_network_does_not_have_is_told(network):
    with pytest.raises(millstream.Error, match="no open dimension called n; all of its sizes are fixed"):
        millstream.Session(network, dimensions={"n": 3})


def test_a_network_is_measured_with_given_frames(tmp_path):
    """Its second input says how the first one is split, for which no made-up numbers will do."""
    onnx = pytest.importorskip("onnx")
    helper, types = onnx.helper, onnx.TensorProto
    data = helper.make_tensor_value_info("data", types.FLOAT, [2, 6])
    sizes = helper.make_tensor_value_info("sizes", types.INT64, [2])
    outputs = [helper.make_tensor_value_info(name, types.FLOAT, [2, None]) for name in ("front", "back")]
    nodes = [helper.make_node("Relu", ["data"], ["kept"]), helper.make_node("Split", ["kept", "sizes"], ["front", "back"], axis=1)]
    graph = helper.make_graph(nodes, "split", [data, sizes], outputs)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    made.ir_version = 9
    network = made.SerializeToString()
    board = millstream.Board.detect(cache_folder=tmp_path / "cache")
    options = {"board": board, "profile_seconds": 0.5}
    with pytest.raises(millstream.Error, match="frames"):
        millstream.Session(network, **options)

    given = [{"data": np.ones((2, 6), np.float32), "sizes": np.array([2, 4])}]
    assert millstream.profile(network, frames=given, board=board, seconds=0.5)["format"] == "millstream-profile"
    assert millstream.plan(network, frames=given, **options)["format"] == "millstream-schedule"
    with millstream.Session(network, frames=given, **options) as session:
        assert session.run({"data": np.ones((2, 6), np.float32), "sizes": np.array([5, 1])})["front"].shape == (2, 5)
    lacking = [{"data": given[0]["data"]}]
    for wrong, words in [([], "a frame at least"), (lacking, "frames: the frame has no 'sizes'"), (given[0], "frames: ")]:
        with pytest.raises(millstream.InputError, match=words):
            millstream.Session(network, frames=wrong, **options)
