"""The examples, as programs."""

import pathlib
import subprocess
import sys

import numpy as np
import pytest
from conftest import model
from onnx import TensorProto, helper, numpy_helper

EXAMPLES = pathlib.Path(__file__).parents[1] / "examples"
SIZE = 64


def detector() -> bytes:
    """Finds one box, the same everywhere; how much it is of its class is how bright the picture is."""
    boxes = np.zeros((1, 6, 2), np.float32)
    boxes[0, :4, 0] = [32, 16, 20, 8]
    boxes[0, :4, 1] = [33, 16, 20, 8]
    weights = [numpy_helper.from_array(boxes, "boxes"), numpy_helper.from_array(np.array([[0, 0], [1, 0.9]], np.float32), "kinds")]
    # Two boxes that overlap, both of class 1 with the mean brightness as score: one is left.
    nodes = [
        helper.make_node("ReduceMean", ["images"], ["mean"], axes=[1, 2, 3], keepdims=0),
        helper.make_node("Mul", ["kinds", "mean"], ["scores"]),
        helper.make_node("Unsqueeze", ["scores", "axis"], ["batch"]),
        helper.make_node("Pad", ["batch", "pads"], ["padded"]),
        helper.make_node("Add", ["boxes", "padded"], ["output0"]),
    ]
    weights.append(numpy_helper.from_array(np.array([0], np.int64), "axis"))
    weights.append(numpy_helper.from_array(np.array([0, 4, 0, 0, 0, 0], np.int64), "pads"))
    return model(
        nodes, {"images": (TensorProto.FLOAT, [1, 3, SIZE, SIZE])}, {"output0": (TensorProto.FLOAT, [1, 6, 2])}, weights
    )


def test_frames_become_boxes(tmp_path):
    cv2 = pytest.importorskip("cv2")
    (tmp_path / "detector.onnx").write_bytes(detector())
    video = str(tmp_path / "in.avi")
    # Twice as wide and as high as the network's input: bright, then dark.
    writer = cv2.VideoWriter(video, cv2.VideoWriter_fourcc(*"MJPG"), 5, (128, 128))
    for brightness in (230, 230, 5):
        writer.write(np.full((128, 128, 3), brightness, np.uint8))
    writer.release()
    words = ["--model", "detector.onnx", "--input", video, "--output", "out.avi"]
    done = subprocess.run([sys.executable, EXAMPLES / "boxes.py", *words], cwd=tmp_path, capture_output=True, text=True, timeout=170)
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith("frame ")]
    # How far measuring is shows a bar, and not a line for each step.
    assert "measuring" in done.stderr and "measuring" not in done.stdout
    # Of 64 to 128 pixels: everything is twice as large there.
    assert lines == [f"frame {number}: class 1 at [44, 24, 40, 16]" for number in (0, 1)] + ["frame 2: nothing"]
    assert (tmp_path / "out.avi").stat().st_size > 1000


def test_frames_become_labels(tmp_path):
    cv2 = pytest.importorskip("cv2")
    # The score of a class is how much there is of its colour.
    nodes = [helper.make_node("ReduceMean", ["image"], ["scores"], axes=[2, 3], keepdims=0)]
    kinds = {"image": (TensorProto.FLOAT, [1, 3, SIZE, SIZE])}, {"scores": (TensorProto.FLOAT, [1, 3])}
    (tmp_path / "colours.onnx").write_bytes(model(nodes, *kinds, []))
    (tmp_path / "labels.txt").write_text("red\ngreen\nblue\n")
    writer = cv2.VideoWriter(str(tmp_path / "in.avi"), cv2.VideoWriter_fourcc(*"MJPG"), 5, (128, 96))
    # OpenCV has blue first.
    for colour in ([20, 20, 250], [250, 20, 20], [20, 250, 20], [20, 20, 250]):
        writer.write(np.full((96, 128, 3), colour, np.uint8))
    writer.release()
    words = ["--model", "colours.onnx", "--input", "in.avi", "--labels", "labels.txt", "--frames", "3"]
    done = subprocess.run([sys.executable, EXAMPLES / "classify.py", *words], cwd=tmp_path, capture_output=True, text=True, timeout=170)
    assert done.returncode == 0, done.stderr
    frames = [line.split(" (")[0] for line in done.stdout.splitlines() if line.startswith("frame ")]
    assert frames == ["frame 0: red", "frame 1: blue", "frame 2: green"]
    assert " frames/s, " in done.stdout.splitlines()[-1]


def test_what_opencv_can_not_open_is_said(tmp_path):
    pytest.importorskip("cv2")
    done = subprocess.run(
        [sys.executable, EXAMPLES / "boxes.py", "--model", "none.onnx", "--input", "none.mp4"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 1 and "OpenCV can't open none.mp4" in done.stderr
