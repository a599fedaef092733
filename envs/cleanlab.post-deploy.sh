#!/bin/sh
# Adds to the environment of cleanlab.yaml what the extra `cleanlab` adds to .venv.
set -e
python -m pip install "cleanlab>=2.9,<3"
