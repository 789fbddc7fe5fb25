"""What goes on before frames flow, as bars."""

import io

import pytest
from conftest import frame

import millstream


def progress(text, done, total, *, unit="steps", is_over=False):
    return {"kind": "progress", "text": text, "done": done, "total": total, "unit": unit, "is_over": is_over}


class Bar:
    """As much of tqdm as is used, and a record of it."""

    told = []

    def __init__(self, *, desc, total, unit):
        self.desc, self.total, self.unit, self.n = desc, total, unit, 0

    def update(self, more):
        self.n += more
        self.told.append((self.desc, self.n, self.total))

    def close(self):
        self.told.append((self.desc, "closed", self.total))

    @classmethod
    def write(cls, text):
        cls.told.append(text)


def test_an_activity_is_a_bar():
    Bar.told = []
    show = millstream.Progress(Bar)
    show(progress("measuring", 1, 4))
    show({"kind": "cached-profile", "text": "using a profile"})
    # Their number may change, and come down again.
    show(progress("measuring", 3, 8))
    show(progress("measuring", 2, 8))
    show(progress("searching", 1, 2))
    show(progress("searching", 0, 0, is_over=True))
    show(progress("searching", 0, 0, is_over=True))
    assert Bar.told == [
        ("measuring", 1, 4),
        "using a profile",
        ("measuring", 3, 8),
        ("measuring", 2, 8),
        ("measuring", "closed", 8),
        ("searching", 1, 2),
        # Less was enough.
        ("searching", "closed", 1),
    ]
    show(progress("trying", 1, 2))
    show.close()
    show.close()
    assert Bar.told[-1] == ("trying", "closed", 2)


def test_a_session_shows_how_it_is_planned(network, tmp_path):
    tqdm = pytest.importorskip("tqdm").tqdm
    text = io.StringIO()
    board = millstream.Board.detect(cache_folder=tmp_path / "cache")
    show = millstream.Progress(lambda **options: tqdm(file=text, **options))
    show._make.write = lambda line: text.write(line + "\n")
    with millstream.Session(network, board=board, profile_seconds=0.5, on_event=show) as session:
        session.run(frame(0))
    assert "measuring" in text.getvalue() and "%" in text.getvalue()
