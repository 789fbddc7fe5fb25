import os
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Protocol, Union, final

import numpy as np

from millstream._values import Value

__all__ = ["Board", "Results", "Session", "__version__", "_close_all", "plan", "profile", "simulate"]

__version__: str

_Path = Union[str, "os.PathLike[str]"]
_Model = Union[_Path, bytes, bytearray, memoryview, "np.ndarray[Any, Any]"]
_Document = Union[_Path, Dict[str, Any]]
_Outputs = Dict[str, "np.ndarray[Any, Any]"]
_Observer = Callable[[Dict[str, Any]], object]

class _Array(Protocol):
    """An array of numpy's, or what makes itself one: lists of numbers become arrays of float64, which few networks take."""

    def __array__(self) -> "np.ndarray[Any, Any]": ...

_Frame = Mapping[str, _Array]

@final
class Board:
    @staticmethod
    def detect(*, engine: Optional[str] = None, cache_folder: Optional[_Path] = None) -> Board: ...
    @staticmethod
    def load(document: _Document, *, engine: Optional[str] = None, cache_folder: Optional[_Path] = None) -> Board: ...
    @property
    def name(self) -> str: ...
    def to_json(self) -> str: ...
    def to_dict(self) -> Dict[str, Any]: ...

@final
class Results(Iterator[_Outputs]):
    def __iter__(self) -> Results: ...
    def __next__(self) -> _Outputs: ...

@final
class Session:
    def __new__(
        cls,
        model: Optional[_Model] = None,
        *,
        objective: str = "throughput",
        max_latency: Optional[float] = None,
        min_throughput: Optional[float] = None,
        max_power: Optional[float] = None,
        margin: float = 0.0,
        schedule: Optional[_Document] = None,
        profile: Optional[_Path] = None,
        costs: Optional[_Path] = None,
        fresh: bool = False,
        profile_seconds: Optional[float] = None,
        dimensions: Optional[Dict[str, int]] = None,
        batch: Optional[int] = None,
        frames: Optional[Iterable[_Frame]] = None,
        board: Optional[Union[Board, _Document]] = None,
        frames_in_flight: Optional[int] = None,
        frames_outstanding: Optional[int] = None,
        frame_timeout: Optional[float] = None,
        on_event: Optional[_Observer] = None,
    ) -> Session: ...
    def run(self, frame: _Frame) -> _Outputs: ...
    def stream(self, frames: Iterable[_Frame]) -> Results: ...
    def submit(self, frame: _Frame, *, timeout: Optional[float] = None) -> int: ...
    def end(self) -> None: ...
    def receive(self, *, timeout: Optional[float] = None, wait: bool = False) -> Optional[_Outputs]: ...
    def plan(self) -> Dict[str, Any]: ...
    def report(self) -> Dict[str, Any]: ...
    @property
    def inputs(self) -> List[Value]: ...
    @property
    def outputs(self) -> List[Value]: ...
    @property
    def configuration(self) -> str: ...
    @property
    def closed(self) -> bool: ...
    def close(self) -> None: ...
    def __enter__(self) -> Session: ...
    def __exit__(self, *_exception: object) -> None: ...

def plan(
    model: _Model,
    *,
    objective: str = "throughput",
    max_latency: Optional[float] = None,
    min_throughput: Optional[float] = None,
    max_power: Optional[float] = None,
    margin: float = 0.0,
    profile: Optional[_Path] = None,
    costs: Optional[_Path] = None,
    fresh: bool = False,
    profile_seconds: Optional[float] = None,
    dimensions: Optional[Dict[str, int]] = None,
    batch: Optional[int] = None,
    frames: Optional[Iterable[_Frame]] = None,
    board: Optional[Union[Board, _Document]] = None,
    on_event: Optional[_Observer] = None,
) -> Dict[str, Any]: ...
def profile(
    model: _Model,
    *,
    seconds: Optional[float] = None,
    dimensions: Optional[Dict[str, int]] = None,
    batch: Optional[int] = None,
    frames: Optional[Iterable[_Frame]] = None,
    board: Optional[Union[Board, _Document]] = None,
    on_event: Optional[_Observer] = None,
) -> Dict[str, Any]: ...
def simulate(
    schedule: _Document,
    *,
    model: Optional[_Model] = None,
    board: Optional[Union[Board, _Document]] = None,
    profile: Optional[_Path] = None,
    costs: Optional[_Path] = None,
    frames: int = 1000,
    frame_rate: Optional[float] = None,
    frames_in_flight: Optional[int] = None,
    noise: float = 0.0,
    seed: int = 0,
    memory: bool = True,
    heat: bool = False,
) -> Dict[str, Any]: ...
def _close_all() -> None: ...
