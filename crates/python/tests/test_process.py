"""Signals, the end of the interpreter, forks: each in a process of its own."""

import os
import pathlib
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


def start(folder, code, **models):
    for name, model in models.items():
        (folder / f"{name}.onnx").write_bytes(model)
    return python(folder, PRELUDE + textwrap.dedent(code))


def python(folder, program):
    return subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Shells have what they start in the background ignore Ctrl-C, and these tests with it.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def finish(process, limit):
    try:
        return process.communicate(timeout=limit)
    finally:
        process.kill()


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
    _, errors = finish(process, 30)
    assert "KeyboardInterrupt" in errors and process.returncode == -signal.SIGINT, errors
    assert time.monotonic() - begin < 10


def test_ctrl_c_ends_planning(tmp_path):
    (tmp_path / "net.onnx").write_bytes(convolutions(channels=16, layers=12))
    code = """
    import sys, millstream
    millstream.Session("net.onnx", fresh=True, on_event=lambda event: print("event", flush=True))
    """
    process = python(tmp_path, textwrap.dedent(code))
    assert process.stdout.readline() == "event\n"
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    _, errors = finish(process, 60)
    assert "KeyboardInterrupt" in errors and process.returncode == -signal.SIGINT, errors


def test_ctrl_c_ends_a_start_that_looks_at_nothing_else(tmp_path):
    """As on a disk that does not answer: nobody writes into the pipe."""
    os.mkfifo(tmp_path / "net.onnx")
    code = """
    import millstream
    board = millstream.Board.detect()
    print("starting", flush=True)
    try:
        millstream.Session("net.onnx", board=board)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
        raise
    """
    process = python(tmp_path, textwrap.dedent(code))
    assert process.stdout.readline() == "starting\n"
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    # The end of the interpreter waits for what was left behind, but not for ever.
    output, errors = finish(process, 60)
    assert output == "interrupted\n"
    assert "KeyboardInterrupt" in errors and process.returncode == -signal.SIGINT, errors


def test_what_was_left_behind_ends_before_the_interpreter_does(folder):
    """The network comes late: it is loaded, and a session started, when the program is over."""
    os.mkfifo(folder / "late.onnx")
    code = """
    import atexit, glob, json, threading, time

    def threads():
        names = [open(file).read().strip() for file in glob.glob("/proc/self/task/*/comm")]
        print("long work" in names)

    # Before the package's own, and so after it.
    atexit.register(threads)
    import millstream
    board, schedule = millstream.Board.detect(), json.load(open("schedule.json"))

    def write():
        time.sleep(2.5)
        with open("late.onnx", "wb") as late:
            late.write(open("net.onnx", "rb").read())

    threading.Thread(target=write, daemon=True).start()
    print("starting", flush=True)
    try:
        millstream.Session("late.onnx", schedule=schedule, board=board)
    except KeyboardInterrupt:
        threads()
    """
    process = python(folder, textwrap.dedent(code))
    assert process.stdout.readline() == "starting\n"
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    output, errors = finish(process, 60)
    assert (output, errors, process.returncode) == ("True\nFalse\n", "", 0)


def test_a_signal_takes_no_result_away(folder):
    """Each result is appended before the interpreter looks at signals again: what is lost was lost in the package."""
    process = start(
        folder,
        """
        import signal
        class Alarm(Exception):
            pass
        def handler(*_):
            raise Alarm
        signal.signal(signal.SIGALRM, handler)
        session.close()
        model = open("slow.onnx", "rb").read()
        session = millstream.Session(model, profile_seconds=0.3)
        frames = [{"image": np.full((1, 64, 64, 64), number, np.float32)} for number in range(20)]
        expected = [session.run(own)["mean"].copy() for own in frames]
        received, alarms = [], 0
        for own in frames:
            session.submit(own)
            is_over = False
            while not is_over:
                try:
                    # Less than a frame takes.
                    signal.setitimer(signal.ITIMER_REAL, 0.002)
                    for outputs in iter(session.receive, None):
                        received.append(outputs["mean"])
                    signal.setitimer(signal.ITIMER_REAL, 0)
                    is_over = True
                except Alarm:
                    alarms += 1
        assert alarms > 3, alarms
        assert len(received) == 20, len(received)
        for own, other in zip(received, expected):
            np.testing.assert_allclose(own, other, rtol=1e-4)
        """,
        slow=convolutions(channels=64, layers=6, size=64),
    )
    _, errors = finish(process, 120)
    assert process.returncode == 0, errors


def test_ctrl_c_is_noticed_where_nothing_of_pythons_runs_between_results(folder):
    process = start(
        folder,
        """
        import itertools
        print("waiting", flush=True)
        # Neither `repeat` nor `deque` is written in Python.
        __import__("collections").deque(session.stream(itertools.repeat(frame)), maxlen=0)
        """,
    )
    assert process.stdout.readline() == "waiting\n", process.stderr.read()
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    _, errors = finish(process, 30)
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
    output, errors = finish(process, 60)
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
    _, errors = finish(process, 60)
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
    _, errors = finish(process, 60)
    assert process.returncode == 0, errors


def engine_in(folder, library, content):
    """Starts a session with what stands in place of ONNX Runtime's library."""
    file = folder / library
    if content is not None:
        file.write_bytes(content)
    code = """
    import sys, millstream
    try:
        millstream.Session("net.onnx")
    except ImportError as error:
        assert isinstance(error, millstream.EngineMissing) and isinstance(error, millstream.Error)
        print(error)
    """
    environment = {**os.environ, "ORT_DYLIB_PATH": str(file)}
    command = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and str(file) in done.stdout, done.stderr
    return done.stdout


def test_an_engine_that_is_nowhere_is_told(folder):
    """As with Pythons for which there is no package onnxruntime."""
    code = """
    import importlib.util
    importlib.util.find_spec = lambda name: None
    import millstream
    try:
        millstream.Session("net.onnx")
    except millstream.EngineMissing as error:
        print(error)
    """
    environment = {name: value for name, value in os.environ.items() if name != "ORT_DYLIB_PATH"}
    command = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "set ORT_DYLIB_PATH to" in done.stdout, done.stderr
    assert "pip install --upgrade onnxruntime" in done.stdout, done.stdout


def test_a_missing_engine_is_told(folder):
    library = pathlib.Path(os.environ["ORT_DYLIB_PATH"]).read_bytes()
    assert "ORT_DYLIB_PATH" in engine_in(folder, "none.so", None)
    assert "ORT_DYLIB_PATH" in engine_in(folder, "half.so", library[: len(library) // 2])
    # The header's field e_machine: AArch64 where this is x86, and the other way round.
    machine = {183: 62}.get(int.from_bytes(library[18:20], sys.byteorder), 183)
    other = library[:18] + machine.to_bytes(2, sys.byteorder) + library[20:]
    assert "ORT_DYLIB_PATH" in engine_in(folder, "other.so", other)


def test_nothing_of_a_desktop_is_needed(folder):
    code = """
        import os
        import millstream
        before = dict(os.environ)
        print(millstream.Board.detect().name, before == dict(os.environ))
    """
    variables = {name: value for name, value in os.environ.items() if name != "XDG_RUNTIME_DIR"}
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], cwd=folder, env=variables, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.endswith(" True\n"), done.stderr
    assert "XDG_RUNTIME_DIR" not in done.stderr, done.stderr


def test_all_sessions_end_with_the_program(folder):
    code = """
        sessions = [millstream.Session("net.onnx", profile_seconds=0.2) for _ in range(2)]
        millstream._close_all()
        print([session.closed for session in sessions])
    """
    out, errors = finish(python(folder, "import millstream\n" + textwrap.dedent(code)), 60)
    assert out == "[True, True]\n", errors
