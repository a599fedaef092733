"""Which devices a process may use."""

from __future__ import annotations

import os


def hide_gpus_unless(granted: int) -> None:
    """Hide the GPUs of the machine from this process if it was granted none.

    ``device="auto"`` takes a GPU wherever it sees one. To be called before torch asks for GPUs.
    """
    if not granted:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
