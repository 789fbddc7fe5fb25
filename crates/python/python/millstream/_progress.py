"""Progress of long work, as bars of tqdm."""

import threading
from typing import Any, Callable, Dict, Optional


class Progress:
    """Shows what goes on before frames flow as bars of tqdm, in notebooks as well as on terminals: Session(..., on_event=Progress()).

    Needs the package tqdm (pip install "millstream[progress]"). `bar` is what makes a bar, tqdm.auto.tqdm by default. What is no progress is
    written between the bars.
    """

    def __init__(self, bar: Optional[Callable[..., Any]] = None) -> None:
        if bar is None:
            try:
                from tqdm.auto import tqdm
            except ImportError as reason:
                raise ImportError('bars need the package tqdm: pip install "millstream[progress]"') from reason

            bar = tqdm
        self._make: Any = bar
        self._bar: Any = None
        self._activity: Optional[str] = None
        # Events come from several threads.
        self._lock = threading.Lock()

    def __call__(self, event: Dict[str, Any]) -> None:
        """Takes an event of on_event."""
        with self._lock:
            if event["kind"] != "progress":
                self._make.write(event["text"])
                return
            if event["is_over"]:
                if self._bar is not None and self._bar.n > 0:
                    # Often less is enough than was planned at the most.
                    self._bar.total = self._bar.n
                self._end()
                return
            if self._activity != event["text"]:
                self._end()
                unit = "s" if event["unit"] == "seconds" else "step"
                self._bar = self._make(desc=event["text"], total=event["total"], unit=unit)
                self._activity = event["text"]
            self._bar.total = event["total"]
            self._bar.update(event["done"] - self._bar.n)

    def close(self) -> None:
        """Ends the bar that is shown."""
        with self._lock:
            self._end()

    def _end(self) -> None:
        bar, self._bar, self._activity = self._bar, None, None
        if bar is not None:
            bar.close()


Progress.__module__ = "millstream"
