"""Streams, threads, order, and what becomes of frames that nobody waits for any more."""

import contextlib
import gc
import threading
import time
import weakref

import numpy as np
import pytest
from conftest import frame, growing, image, large

import millstream


class Stop(Exception):
    pass


class Circle:
    """Frames that count themselves, and know the results that are made of them: nothing of it is free before a collector has been there."""

    def __init__(self):
        self.number, self.results = 0, None

    def __iter__(self):
        return self


def means(session, count):
    return [session.run(frame(number))["mean"].copy() for number in range(count)]


def check(results, expected):
    assert len(results) == len(expected)
    for ours, theirs in zip(results, expected):
        np.testing.assert_allclose(ours["mean"], theirs, rtol=1e-4)


def test_results_come_in_order(session):
    expected = means(session, 16)
    results = list(session.stream(frame(number % 16) for number in range(300)))
    assert len(results) == 300
    check(results, (expected * 19)[:300])


def test_frames_are_taken_only_as_there_is_room(network, schedule):
    taken = []

    def frames():
        for number in range(1000):
            taken.append(number)
            yield frame(number)

    with millstream.Session(network, schedule=schedule, frames_outstanding=4) as session:
        results = session.stream(frames())
        for number in range(20):
            next(results)
            # Those in the pipeline, and one that found no room.
            assert len(taken) <= number + 1 + 4 + 1


@pytest.mark.parametrize("good", [0, 1, 40])
def test_an_error_of_the_frames_comes_after_the_results_before_it(session, good):
    def frames():
        for number in range(good):
            yield frame(number)
        raise Stop("no more")

    expected, results = means(session, good), session.stream(frames())
    check([next(results) for _ in range(good)], expected)
    with pytest.raises(Stop, match="no more"):
        next(results)
    assert next(results, None) is None
    session.run(frame(0))


def test_a_wrong_frame_does_not_end_the_stream(session):
    wrong = {"image": np.zeros(3, np.float32)}
    results = session.stream([frame(0), wrong, frame(1), wrong])
    expected = means(session, 2)
    check([next(results)], expected[:1])
    with pytest.raises(millstream.InputError):
        next(results)
    check([next(results)], expected[1:])
    with pytest.raises(millstream.InputError):
        next(results)
    assert next(results, None) is None


def test_no_frames_give_no_results(session):
    assert list(session.stream([])) == []
    with pytest.raises(TypeError):
        session.stream(7)


def test_frames_may_use_the_session_themselves(session):
    expected = means(session, 5)
    again = ({"image": image(number) + 0 * float(session.run(frame(0))["mean"].sum())} for number in range(5))
    check(list(session.stream(again)), expected)


def test_only_one_at_a_time_may_ask_for_the_next_result(session):
    told = []

    def frames():
        yield frame(0)
        try:
            next(results)
        except millstream.Error as error:
            told.append(str(error))
        yield frame(1)

    results = session.stream(frames())
    check(list(results), means(session, 2))
    assert len(told) == 1 and "one at a time" in told[0]


def test_submitted_frames_are_received_in_order(session):
    expected = means(session, 8)
    assert session.receive() is None
    numbers = [session.submit(frame(number)) for number in range(8)]
    assert numbers == sorted(numbers)
    check([session.receive(timeout=60) for _ in range(8)], expected)
    assert session.receive() is None


def test_who_submits_without_receiving_waits_and_may_stop_waiting(network, schedule):
    with millstream.Session(network, schedule=schedule, frames_outstanding=3) as session:
        submitted = 0
        with pytest.raises(TimeoutError, match="room"):
            for _ in range(100):
                session.submit(frame(submitted), timeout=0.2)
                submitted += 1
        assert submitted == 3
        with pytest.raises(TimeoutError):
            session.submit(frame(0), timeout=0)
        with pytest.raises(ValueError, match="timeout"):
            session.submit(frame(0), timeout=-1)
        # Others are not held up by that.
        session.run(frame(0))
        assert len(list(session.stream(frame(number) for number in range(20)))) == 20
        assert sum(session.receive() is not None for _ in range(submitted)) == submitted


def test_threads_get_their_own_results(session):
    expected = means(session, 12)
    wrong = []

    def runs(offset):
        for step in range(40):
            number = (offset + step) % 12
            if not np.allclose(session.run(frame(number))["mean"], expected[number], rtol=1e-4):
                wrong.append(number)

    def streams(offset):
        numbers = [(offset + step) % 12 for step in range(80)]
        results = session.stream(frame(number) for number in numbers)
        results = list(results)
        if len(results) != len(numbers):
            wrong.append(len(results))
        for number, result in zip(numbers, results):
            if not np.allclose(result["mean"], expected[number], rtol=1e-4):
                wrong.append(number)

    def submits():
        for step in range(60):
            session.submit(frame(step % 12))
        session.end()

    def receives():
        results = list(iter(lambda: session.receive(wait=True), None))
        if len(results) != 60:
            wrong.append(len(results))
        for step, result in enumerate(results):
            if not np.allclose(result["mean"], expected[step % 12], rtol=1e-4):
                wrong.append(step)

    work = [lambda: runs(0), lambda: runs(5), lambda: streams(3), lambda: streams(8), submits, receives]
    threads = [threading.Thread(target=task) for task in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive()
    assert wrong == []


def test_a_consumer_waits_for_a_producer_that_is_slow(session):
    expected, received, is_waiting = means(session, 3), [], threading.Event()

    def consume():
        is_waiting.set()
        for outputs in iter(lambda: session.receive(wait=True), None):
            received.append(outputs)

    thread = threading.Thread(target=consume)
    thread.start()
    is_waiting.wait()
    for number in range(3):
        time.sleep(0.2)
        assert thread.is_alive()
        session.submit(frame(number))
    time.sleep(0.2)
    assert thread.is_alive() and len(received) == 3
    session.end()
    thread.join(30)
    assert not thread.is_alive()
    check(received, expected)


def test_after_the_end_no_frame_is_submitted(session):
    expected = means(session, 1)
    session.submit(frame(0))
    session.end()
    session.end()
    with pytest.raises(millstream.Error, match="no frames can be submitted"):
        session.submit(frame(1))
    check([session.receive(wait=True)], expected)
    assert session.receive(wait=True) is None and session.receive() is None
    # That is about frames that are submitted one by one.
    check([session.run(frame(0)), *session.stream([frame(0)])], expected * 2)


def test_waiting_for_frames_has_its_limit_and_ends_with_the_session(network, schedule):
    session = millstream.Session(network, schedule=schedule)
    assert session.receive(timeout=5) is None
    with pytest.raises(TimeoutError, match="result"):
        session.receive(timeout=0.2, wait=True)
    told = []

    def wait():
        try:
            session.receive(wait=True)
        except millstream.Error as error:
            told.append(str(error))

    thread = threading.Thread(target=wait)
    thread.start()
    time.sleep(0.2)
    session.close()
    thread.join(30)
    assert told == ["the session is closed"]


@contextlib.contextmanager
def ticking():
    """When a thread got its turn."""
    ticks, is_over = [], threading.Event()

    def tick():
        while not is_over.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.005)

    thread = threading.Thread(target=tick)
    thread.start()
    yield ticks
    is_over.set()
    thread.join()


def longest_gap(ticks):
    return max(later - before for before, later in zip(ticks, ticks[1:]))


def test_other_threads_go_on_while_one_waits(network, schedule):
    with ticking() as ticks:
        with pytest.raises(TimeoutError):
            # There can't be room: only this thread could take the first result.
            with millstream.Session(network, schedule=schedule, frames_outstanding=1) as session:
                session.submit(frame(0))
                session.submit(frame(1), timeout=2.0)
    assert len(ticks) > 20 and longest_gap(ticks) < 1.5


def test_other_threads_go_on_while_a_session_is_dropped(growing_schedule):
    session = millstream.Session(growing(), schedule=growing_schedule)
    # On whatever computer: half a second, or a few of them.
    size, took = 400, 0.0
    while took < 0.5:
        size, begin = size * 3 // 2, time.monotonic()
        session.run(large(size))
        took = time.monotonic() - begin
    del session
    for end in [lambda sessions: sessions[0].close(), lambda sessions: sessions.clear()]:
        # Whoever else uses the computer may hold up the other thread once, but not each time.
        assert any(others_go_on(growing_schedule, size, end) for _ in range(4))


def others_go_on(growing_schedule, size, end):
    """Whether another thread gets its turn while a session ends that has a frame under way."""
    sessions = [millstream.Session(growing(), schedule=growing_schedule)]
    sessions[0].submit(large(size))
    time.sleep(0.1)
    with ticking() as ticks:
        begin = time.monotonic()
        end(sessions)
        took = time.monotonic() - begin
    return took > 0.2 and longest_gap(ticks) < took * 0.8


def test_who_interrupts_frames_does_not_wait_in_line(growing_schedule):
    """An error comes after the results before it; Ctrl-C and an end of the program don't wait for these."""
    with millstream.Session(growing(), schedule=growing_schedule) as session:
        for error, before in [(KeyboardInterrupt, 0), (SystemExit, 0), (ValueError, 1)]:

            def frames():
                yield large(800)
                # While the first one is under way.
                raise error

            seen = []
            with pytest.raises(error):
                for outputs in session.stream(frames()):
                    seen.append(outputs)
            assert len(seen) == before, error


def test_abandoned_results_are_given_up(session):
    for _ in range(50):
        results = session.stream(frame(number) for number in range(1000))
        next(results)
        del results
    gc.collect()
    check([session.run(frame(2))], means(session, 3)[2:])


def test_garbage_is_collected_while_frames_flow(network, schedule):
    class Frames(Circle):
        """The frames know the iterator that asks them."""

        def __next__(self):
            self.number += 1
            gc.collect(0)
            return frame(self.number)

    session = millstream.Session(network, schedule=schedule)
    frames = Frames()
    frames.results = session.stream(frames)
    for _ in range(20):
        next(frames.results)
    seen, gone = weakref.ref(session), weakref.ref(frames)
    begin = time.monotonic()
    del session, frames
    gc.collect()
    assert seen() is None and gone() is None
    assert time.monotonic() - begin < 5


def test_an_error_that_nobody_asked_for_keeps_nothing(growing_schedule):
    class Frames(Circle):
        """The error's traceback knows these frames, these frames the iterator, and that the error."""

        def __next__(self):
            self.number += 1
            if self.number == 2:
                raise Stop("no more")
            return large(800)

    session = millstream.Session(growing(), schedule=growing_schedule)
    frames = Frames()
    frames.results = session.stream(frames)
    next(frames.results)
    assert frames.number == 2, "another frame is asked for while the first one is under way"
    seen, gone = weakref.ref(session), weakref.ref(frames)
    del session, frames
    gc.collect()
    assert seen() is None and gone() is None


def test_closing_ends_what_waits(network, schedule):
    session = millstream.Session(network, schedule=schedule, frames_outstanding=1)
    session.submit(frame(0))
    told = []

    def wait():
        try:
            session.submit(frame(1))
        except millstream.Error as error:
            told.append(str(error))

    thread = threading.Thread(target=wait)
    thread.start()
    time.sleep(0.3)
    session.close()
    thread.join(30)
    assert told == ["the session is closed"]
