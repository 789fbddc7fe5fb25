"""The Python of the book, of the README and of the package's page, each page as one script."""

import pathlib
import re

import pytest

import conftest
import millstream

ROOT = pathlib.Path(__file__).parents[3]
PAGES = ["README.md", "crates/python/README.md", "docs/tutorials/python-script.md"]


def snippets(page):
    return re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.skipif(not (ROOT / "docs").is_dir(), reason="the pages are in the repository")
@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_a_script_that_works(page, tmp_path, monkeypatch):
    # What pages take for granted: a network with an output named scores, and a camera.
    (tmp_path / "net.onnx").write_bytes(conftest.scoring())
    monkeypatch.chdir(tmp_path)
    # Measured for a moment, so that sessions need not do it for longer.
    millstream.profile("net.onnx", seconds=0.5)
    names = {"camera": [conftest.image(number) for number in range(3)]}
    found = snippets(page)
    assert found
    for number, snippet in enumerate(found):
        exec(compile(snippet, f"{page}, snippet {number + 1}", "exec"), names)
