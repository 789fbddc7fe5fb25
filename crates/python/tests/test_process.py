"""Signals, the end of the interpreter, forks: each in a process of its own."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest
from conftest import convolutions

PRELUDE = """
import json, os, sys, time
import numpy as np
import millstream
session = millstream.Session(open("net.onnx", "rb").read(), schedule=json.load(open("schedule.json")), frames_outstanding=2)
frame = {"image": np.zeros((1, 8, 16, 16), np.float32)}
"""


@pytest.fixture
def folder(network, schedule, tmp_path):
    import json

    (tmp_path / "net.onnx").write_bytes(network)
    (tmp_path / "schedule.json").write_text(json.dumps(schedule))
    return tmp_path


def start(folder, code):
    program = PRELUDE + textwrap.dedent(code)
    return subprocess.Popen(
        [sys.executable, "-c", program], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


WAITS = {
    "submit": """
        session.submit(frame); session.submit(frame)
        print("waiting", flush=True)
        session.submit(frame)
    """,
    "stream": """
        def frames():
            while True:
                yield frame
        print("waiting", flush=True)
        for outputs in session.stream(frames()):
            pass
    """,
    "run": """
        print("waiting", flush=True)
        while True:
            session.run(frame)
    """,
}


@pytest.mark.parametrize("wait", WAITS)
def test_ctrl_c_ends_what_waits(folder, wait):
    process = start(folder, WAITS[wait])
    assert process.stdout.readline() == "waiting\n", process.stderr.read()
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    begin = time.monotonic()
    _, errors = process.communicate(timeout=30)
    assert "KeyboardInterrupt" in errors and process.returncode == -signal.SIGINT, errors
    assert time.monotonic() - begin < 10


def test_ctrl_c_ends_planning(tmp_path):
    (tmp_path / "net.onnx").write_bytes(convolutions(channels=16, layers=12))
    code = """
    import sys, millstream
    millstream.Session("net.onnx", fresh=True, on_event=lambda event: print("event", flush=True))
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "event\n"
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert "KeyboardInterrupt" in errors and process.returncode == -signal.SIGINT, errors


def test_handlers_of_signals_run_while_something_waits(folder):
    process = start(
        folder,
        """
        import signal
        def handler(*_):
            raise RuntimeError("from the handler")
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        session.submit(frame); session.submit(frame)
        try:
            session.submit(frame)
        except RuntimeError as error:
            print(error)
        """,
    )
    output, errors = process.communicate(timeout=60)
    assert output == "from the handler\n" and process.returncode == 0, errors


def test_a_session_may_be_open_when_the_interpreter_ends(folder):
    process = start(
        folder,
        """
        session.submit(frame)
        results = session.stream([frame] * 10)
        kept = next(results)
        sys.modules["kept"] = (session, results, kept)
        """,
    )
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0 and errors == "", errors


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
def test_a_fork_is_told_that_the_session_is_not_its_own(folder):
    process = start(
        folder,
        """
        session.run(frame)
        child = os.fork()
        if child == 0:
            try:
                session.run(frame)
            except millstream.Error as error:
                assert "another process" in str(error)
                session.close()
                os._exit(3)
            os._exit(4)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
        session.run(frame)
        """,
    )
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
