#!/bin/sh
# Adds to the environment of opendataval.yaml what `make opendataval` adds to .venv.
set -e
python -m pip install "requests>=2.31,<3"
python -m pip install --no-deps geomloss==0.2.6 opendataval==1.3.0
