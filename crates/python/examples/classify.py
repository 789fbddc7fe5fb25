"""Frames to labels: plans for a network on this machine, streams frames through it, and prints what it takes each of them for.

    python classify.py                                   made-up frames through a built-in network
    python classify.py --model net.onnx --input video.mp4 --labels labels.txt
    python classify.py --model net.onnx --input 0        a camera

Videos, cameras and pictures need OpenCV (pip install opencv-python-headless). Pixels become what most classifiers take: RGB from 0 to 1, minus the
mean, by the deviation of ImageNet.
"""

import argparse
import itertools

import numpy as np

import millstream

MEAN = np.array([0.485, 0.456, 0.406], np.float32)
DEVIATION = np.array([0.229, 0.224, 0.225], np.float32)


def pictures(source, width, height):
    """Frames of a video, a picture or a camera, in RGB."""
    import cv2

    capture = cv2.VideoCapture(int(source) if source.isdigit() else source)
    if not capture.isOpened():
        raise SystemExit(f"OpenCV can't open {source}")
    while True:
        is_there, picture = capture.read()
        if not is_there:
            return
        yield cv2.cvtColor(cv2.resize(picture, (width, height)), cv2.COLOR_BGR2RGB)


def made_up(width, height):
    """Noise, of which nobody knows what it shows."""
    random = np.random.default_rng(0)
    while True:
        yield random.integers(0, 256, (height, width, 3), np.uint8)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="zoo:squeezenet", help="an ONNX file, or zoo:NAME")
    parser.add_argument("--input", help="a video, a picture, or a camera's number")
    parser.add_argument("--labels", help="a file with a label in each line")
    parser.add_argument("--frames", type=int, help="frames at most")
    return parser.parse_args()


def main():
    options = arguments()
    labels = open(options.labels).read().splitlines() if options.labels else []
    with millstream.Session(options.model, on_event=show) as session:
        (value,) = session.inputs
        _, _, height, width = value.shape
        source = pictures(options.input, width, height) if options.input else made_up(width, height)

        def frames():
            for picture in itertools.islice(source, options.frames):
                planes = (picture.astype(np.float32) / 255 - MEAN) / DEVIATION
                yield {value.name: planes.transpose(2, 0, 1)[np.newaxis]}

        for number, outputs in enumerate(session.stream(frames())):
            scores = outputs[session.outputs[0].name].ravel()
            best = int(scores.argmax())
            print(f"frame {number}: {labels[best] if best < len(labels) else f'class {best}'} ({scores[best]:.3f})")
        report = session.report()
        print(f"{session.configuration}: {report['frames_per_second'] or 0:.1f} frames/s, {report['latency']['p50_seconds'] * 1e3:.1f} ms")


def show(event):
    """Says what goes on before frames flow."""
    if event["kind"] != "progress" or event["done"] == 0:
        print(event["text"])


if __name__ == "__main__":
    main()
