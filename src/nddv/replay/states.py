"""Where the states of a run are kept for its replay: in memory, or in a folder."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from nddv.replay.engine import State
from nddv.support.files import atomic_write, load_arrays, read_json, write_json
from nddv.support.provenance import HASH_LENGTH

RUN = "run.json"


class Kept(Sequence[State]):
    """States in memory, one before every k-th step."""

    def __init__(self, every: int) -> None:
        self.every, self.states = every, list[State]()

    def keep(self, state: State) -> None:
        """Keep a state if it is its turn."""
        if state.step % self.every == 0:
            self.states.append(state)

    def __len__(self) -> int:
        return len(self.states)

    def __getitem__(self, place: Any) -> Any:
        return self.states[place]


class Stored(Sequence[State]):
    """States as files in a folder, one before every k-th step; a run that was ended goes on there.

    Parameters
    ----------
    folder : is made if it is not there.
    every : k.
    about : what the run is; a folder of another run is refused.
    like : a tensor whose type and device the states have.
    """

    def __init__(
        self, folder: str | Path, every: int, about: dict[str, Any], like: torch.Tensor
    ) -> None:
        self.folder, self.every, self.like = Path(folder), every, like
        if (self.folder / RUN).exists():
            found = read_json(self.folder / RUN)
            other = sorted(k for k in {*found, *about} if found.get(k) != about.get(k))
            if other:
                raise ValueError(
                    f"{self.folder} holds another run (other {', '.join(other)}): name another "
                    "folder, or remove this one"
                )
        elif self.folder.exists() and any(self.folder.iterdir()):
            raise ValueError(f"{self.folder} is not empty and holds no run: name another folder")
        else:
            write_json(self.folder / RUN, about)

    def keep(self, state: State) -> None:
        """Write a state if it is its turn."""
        if state.step % self.every:
            return
        with atomic_write(self._path(state.step)) as temporary:
            flat, moments = state.flat.numpy(force=True), state.moments.numpy(force=True)
            np.savez(temporary, flat=flat, moments=moments)

    def newest(self) -> State | None:
        """The last state that was written; None if there is none."""
        return self[len(self) - 1] if len(self) else None

    def __len__(self) -> int:
        count = 0
        while self._path(count * self.every).exists():
            count += 1
        return count

    def __getitem__(self, place: Any) -> Any:
        step = range(len(self))[place] * self.every
        arrays = load_arrays(self._path(step))
        tensors = (torch.as_tensor(arrays[k]).to(self.like) for k in ("flat", "moments"))
        return State(step, *tensors)

    def __reversed__(self) -> Iterator[State]:
        return (self[place] for place in reversed(range(len(self))))

    def _path(self, step: int) -> Path:
        return self.folder / f"state{step:08d}.npz"


def digest(*tensors: torch.Tensor) -> str:
    """Twelve digits that tell tensors apart."""
    found = hashlib.sha256()
    for tensor in tensors:
        found.update(tensor.detach().contiguous().numpy(force=True).tobytes())
    return found.hexdigest()[:HASH_LENGTH]
