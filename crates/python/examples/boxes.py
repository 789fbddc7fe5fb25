# %% [markdown]
# Camera frames to boxes with OpenCV: a notebook as a script. Editors run it cell by cell, and Python as a whole:
#
#     python boxes.py --model detector.onnx --input 0 --labels labels.txt      a camera
#     python boxes.py --model detector.onnx --input street.mp4 --output boxes.mp4
#
# It needs OpenCV, and tqdm for bars of progress: pip install "millstream[progress]" opencv-python-headless
#
# The network has one input, pictures as [1, 3, height, width] from 0 to 1, and one output, [1, 4 + classes, boxes]: centre, width and height of each box
# in pixels of the input, then its score for each class. Networks of the YOLO family are exported like that.

# %%
import argparse
import itertools

import cv2
import numpy as np

import millstream

# %% [markdown]
# What is wanted: in a notebook, give the list of words here.

# %%
parser = argparse.ArgumentParser(description="Draws boxes around what a network finds in pictures of a camera or a video.")
parser.add_argument("--model", required=True, help="an ONNX file")
parser.add_argument("--input", default="0", help="a video, a picture, or a camera's number")
parser.add_argument("--output", help="a video with the boxes; without it, a line is printed for each frame")
parser.add_argument("--labels", help="a file with a label in each line")
parser.add_argument("--frames", type=int, help="frames at most")
parser.add_argument("--score", type=float, default=0.25, help="the least score that counts")
options = parser.parse_args()
labels = open(options.labels).read().splitlines() if options.labels else []


# %% [markdown]
# A picture is brought to the network's size without being stretched: what is left is grey. The same numbers take boxes back.


# %%
def fit(picture, height, width):
    scale = min(height / picture.shape[0], width / picture.shape[1])
    small = cv2.resize(picture, (max(1, round(picture.shape[1] * scale)), max(1, round(picture.shape[0] * scale))))
    whole = np.full((height, width, 3), 114, np.uint8)
    whole[: small.shape[0], : small.shape[1]] = small
    planes = cv2.cvtColor(whole, cv2.COLOR_BGR2RGB).transpose(2, 0, 1)[np.newaxis]
    return planes.astype(np.float32) / 255, scale


# %%
def found(output, scale):
    """Boxes (left, top, width, height) in pixels of the picture, scores and classes; of boxes that overlap, the best."""
    rows = output[0].T
    classes = rows[:, 4:].argmax(axis=1)
    scores = rows[np.arange(len(rows)), 4 + classes]
    sizes = rows[:, 2:4]
    boxes = np.concatenate([rows[:, :2] - sizes / 2, sizes], axis=1) / scale
    kept = cv2.dnn.NMSBoxesBatched(boxes.tolist(), scores.tolist(), classes.tolist(), options.score, 0.45)
    return [(boxes[index], float(scores[index]), int(classes[index])) for index in kept]


# %%
def draw(picture, boxes):
    for (left, top, width, height), score, kind in boxes:
        corner = (round(left), round(top))
        cv2.rectangle(picture, corner, (round(left + width), round(top + height)), (0, 200, 255), 2)
        name = labels[kind] if kind < len(labels) else f"class {kind}"
        cv2.putText(picture, f"{name} {score:.2f}", (corner[0], corner[1] - 4), cv2.FONT_HERSHEY_SIMPLEX, 0.5, (0, 200, 255))


# %% [markdown]
# Results come in the order of the frames, so the pictures wait in a list until theirs is there.

# %%
capture = cv2.VideoCapture(int(options.input) if options.input.isdigit() else options.input)
if not capture.isOpened():
    raise SystemExit(f"OpenCV can't open {options.input}")
waiting, writer = [], None


def pictures():
    is_there, picture = capture.read()
    while is_there:
        yield picture
        is_there, picture = capture.read()


try:
    with millstream.Session(options.model, on_event=millstream.Progress()) as session:
        (value,) = session.inputs
        _, _, height, width = value.shape

        def camera():
            for picture in itertools.islice(pictures(), options.frames):
                planes, scale = fit(picture, height, width)
                waiting.append((picture, scale))
                yield {value.name: planes}

        for number, outputs in enumerate(session.stream(camera())):
            picture, scale = waiting.pop(0)
            boxes = found(outputs[session.outputs[0].name], scale)
            draw(picture, boxes)
            told = [f"class {kind} at {box.round().astype(int).tolist()}" for box, _, kind in boxes]
            print(f"frame {number}: {', '.join(told) or 'nothing'}")
            if options.output:
                if writer is None:
                    rate = capture.get(cv2.CAP_PROP_FPS) or 25.0
                    writer = cv2.VideoWriter(options.output, cv2.VideoWriter_fourcc(*"mp4v"), rate, picture.shape[1::-1])
                writer.write(picture)
        report = session.report()
        print(f"{session.configuration}: {report['frames']} frames, {report['frames_per_second'] or 0:.1f} frames/s")
finally:
    # Also of a cell that was stopped or has failed, a video is whole as far as it goes, and the camera is free again.
    capture.release()
    if writer is not None:
        writer.release()
