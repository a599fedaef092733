"""For all tests: one thread, no display, the same examples every time, the folder of real data."""

import os
import signal
import subprocess
import sys
from copy import deepcopy
from pathlib import Path

# Before numpy or torch is imported anywhere, and inherited by the processes that tests start.
for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = "1"
os.environ.setdefault("MPLBACKEND", "Agg")

# A shell that runs the tests in the background has them, and what they start, ignore Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)

import pytest  # noqa: E402
from hypothesis import settings  # noqa: E402

settings.register_profile("nddv", deadline=None, derandomize=True, print_blob=True)
# Other examples every time, and more of fuzzed inputs: pytest --hypothesis-profile=random
settings.register_profile("random", settings.get_profile("nddv"), derandomize=False)
settings.load_profile("nddv")


@pytest.fixture(scope="session")
def says_why():
    """A function that checks an error meant for users: one line of words, not too long."""

    def check(error: Exception) -> None:
        text = str(error)
        assert len(text.split()) >= 3, f"{type(error).__name__} says only {text!r}"
        assert not set("\n\r") & set(text), f"not one line: {text!r}"
        assert len(text) < 1000, f"{len(text)} letters: {text[:200]}"

    return check


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of real data sets that NDDV_DATA names; without it the test is skipped."""
    folder = os.environ.get("NDDV_DATA")
    if not folder:
        pytest.skip("NDDV_DATA is not set: no folder of real data sets")
    path = Path(folder)
    if not path.is_dir():
        pytest.fail(f"NDDV_DATA={folder} is not a folder")
    return path


@pytest.fixture(scope="session")
def real_table(data_folder):
    """A function that loads a data set of the configuration from that folder, by its name."""
    import yaml

    from nddv.problems import load_dataset
    from nddv.problems.encoders import known_encoders

    config = Path(__file__).parents[1] / "config"
    datasets = yaml.safe_load((config / "datasets.yaml").read_text())["datasets"]
    encoders = known_encoders()

    def load(name: str):
        dataset, _, encoder = name.partition("@")
        entry = datasets[dataset]
        return load_dataset(name, entry, encoders.get(encoder), allowed=["local"], progress=False)

    return load


def overlaid(config, overlay):
    """As Snakemake overlays a configuration: mappings are merged, all else is replaced."""
    if not (isinstance(config, dict) and isinstance(overlay, dict)):
        return deepcopy(overlay)
    return {
        key: overlaid(config.get(key), overlay[key]) if key in overlay else config[key]
        for key in [*config, *(key for key in overlay if key not in config)]
    }


@pytest.fixture(scope="session")
def configuration():
    """A function that reads the project's configuration, with overlays: files or dicts."""
    from nddv.problems.encoders import known_encoders
    from nddv.support.schemas import read_yaml

    folder = Path(__file__).parents[1] / "config"

    def read(*overlays):
        parts = ["config", "datasets", {"encoders": known_encoders()}, "methods", *overlays]
        config = {}
        for part in parts:
            own = read_yaml(folder / f"{part}.yaml") if isinstance(part, str) else part
            config = overlaid(config, own)
        return config

    return read


@pytest.fixture(scope="session")
def private_mounts() -> tuple[str, ...]:
    """A command that runs another with ``sh -c`` among mounts of its own, which vanish with it.

    Where the system does not let users do so, the test is skipped.
    """
    command = ("unshare", "--map-root-user", "--mount", "sh", "-c")
    try:
        done = subprocess.run(
            [*command, "mount -t tmpfs tmpfs /mnt"], capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        pytest.skip("there is no unshare here: no mounts of one's own")
    if done.returncode:
        pytest.skip(f"no mounts of one's own: {done.stderr.strip()}")
    return command


@pytest.fixture(scope="session")
def package_index(tmp_path_factory) -> None:
    """A package index that pip can reach; without one the test is skipped."""
    folder = tmp_path_factory.mktemp("index")
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--dest", str(folder)]
    done = subprocess.run(
        [*command, "--retries", "1", "six==1.16.0"], capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip(f"no package index can be reached: {done.stderr.strip().splitlines()[-1]}")
