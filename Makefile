# Two commands matter: `make reproduce` and `make test`. Each builds the environment in .venv when it has to.
# Take another interpreter or leave uv out:  make test PYTHON=python3.12 UV=

SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
OPENDATAVAL := $(VENV)/.opendataval
DOCS := $(VENV)/.docs
CONVENTIONS := $(VENV)/.conventions
# an environment of their own: they need older versions of packages than ours
VALIDATORS := $(VENV)/validators
EXTRAS := workflow,encode,cleanlab,dev
LOCK := requirements.lock
# the same versions, with checksums of their files
HASHES := requirements.hashes
# the versions that were tested; the newest that pyproject.toml allows with  make environment LOCKED=
LOCKED ?= 1
CONSTRAINT := $(if $(LOCKED),--constraint $(LOCK))
# uv checks the checksums that a constraint has; pip would want one of everything
HASHED := $(if $(LOCKED),--constraint $(HASHES))
UV ?= $(shell command -v uv 2>/dev/null)
# the first interpreter that really starts and is new enough
PYTHON ?= $(shell for p in python3 python python3.11 python3.12 python3.13; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo "$$p"; break; }; done)

# uv reads none of pip's settings: hand on where packages, and the CPU build of torch, are to be found
comma := ,
space := $(subst ,, )
ifdef PIP_FIND_LINKS
export UV_FIND_LINKS ?= $(subst $(space),$(comma),$(strip $(PIP_FIND_LINKS)))
endif
ifdef PIP_INDEX_URL
export UV_DEFAULT_INDEX ?= $(PIP_INDEX_URL)
endif
ifdef PIP_EXTRA_INDEX_URL
export UV_INDEX ?= $(PIP_EXTRA_INDEX_URL)
endif
ifdef PIP_CERT
$(READY): export SSL_CERT_FILE ?= $(PIP_CERT)
endif

# real data sets beside the project, for the tests that can use them
ifneq ($(wildcard ../shared/data/.),)
export NDDV_DATA ?= $(abspath ../shared/data)
endif

# processes that share the tests; those of one file stay together, since they share what they look at
WORKERS ?= 2
EMBEDDED := config/config.yaml config/embedded.yaml
COMPLETE := $(EMBEDDED) config/complete.yaml
SNAKEMAKE = PATH="$(abspath $(BIN)):$$PATH" snakemake --cores all
# beside the reports of the full run, which it would overwrite
QUICK := results/quick

.PHONY: help environment lock reproduce full complete redraw keep add timings verify test lint format settings findings docs
.PHONY: metadata article crate conform unlock bench mutants opendataval conventions clean distclean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

environment: $(READY) ## build .venv (uv if there is one, otherwise pip)

# Compiled at the end, on all cores; what a package carries for other versions of Python stays as it is.
$(READY): pyproject.toml $(if $(LOCKED),$(LOCK))
	@if [ -z "$(PYTHON)" ]; then \
		echo "No Python 3.11 or newer was found. Install one, or name it: make PYTHON=/path/to/python" >&2; exit 1; fi
	@rm -rf $(VENV)
	@if [ -n "$(UV)" ]; then \
		echo "Building $(VENV) with uv ..."; \
		"$(UV)" venv --quiet --seed --python "$(PYTHON)" $(VENV) && \
		"$(UV)" pip install --quiet --python $(BIN)/python $(HASHED) --editable '.[$(EXTRAS)]' || { \
		echo "uv failed (message above). With pip instead: make UV= ..." >&2; exit 1; }; \
	else \
		echo "Building $(VENV) with pip (a few minutes; with uv on the PATH it is much quicker) ..."; \
		"$(PYTHON)" -m venv $(VENV) && \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile $(CONSTRAINT) --editable '.[$(EXTRAS)]'; \
	fi
	@$(BIN)/python -m compileall -q -j 0 $(VENV)/lib src > $(VENV)/compiled.log 2>&1 || true
	@echo "$(if $(LOCKED),locked,newest)" > $@

# Versions that are locked stay unless they have to change; for the newest, delete the file first. torch is pinned in
# pyproject.toml and left out, since its builds have versions of their own, and so is what only its CUDA builds need.
lock: ## write the versions of all dependencies to requirements.lock, checksums to requirements.hashes (needs uv)
	@if [ -z "$(UV)" ]; then echo "make lock needs uv on the PATH" >&2; exit 1; fi
	@"$(UV)" pip compile --quiet --universal --python-version 3.11 --fork-strategy fewest --all-extras \
		--no-emit-package torch --no-annotate --custom-compile-command 'make lock' --output-file $(LOCK) pyproject.toml
	@grep -Ev '^(cuda|nvidia)-|^triton==' $(LOCK) > $(LOCK).new
	@mv $(LOCK).new $(LOCK)
	@"$(UV)" pip compile --quiet --universal --python-version 3.11 --no-deps --generate-hashes --no-annotate \
		--custom-compile-command 'make lock' --output-file $(HASHES) $(LOCK)

reproduce: $(READY) ## the quick part of the embedded configuration: detection, and the verdicts that follow from it
	$(SNAKEMAKE) --configfile $(EMBEDDED) config/quick.yaml --directory $(QUICK)
	@echo "The report: $(abspath $(QUICK))/reports/index.html"

full: $(READY) ## all tables and figures of the paper on the embedded configuration (20 to 60 minutes on two cores)
	$(SNAKEMAKE) --configfile $(EMBEDDED)
	$(SNAKEMAKE) --configfile $(EMBEDDED) --report reports/report.html
	@echo "The report: $(abspath reports/index.html)"

complete: $(READY) ## the committed report: also data sets that NDDV_DATA names, more rates and sizes (hours)
	$(SNAKEMAKE) --configfile $(COMPLETE)
	@echo "The report: $(abspath reports/index.html)"

# Only times of files count: they are those of the run that was kept, which another state of the code may have made.
REDRAWN := results/redrawn
redraw: $(READY) ## the committed report, from the scores that were kept, in results/redrawn/reports (minutes)
	@mkdir -p $(REDRAWN)/results
	@cp results/kept.tar.xz $(REDRAWN)/results/
	cd $(REDRAWN) && $(abspath $(BIN))/python -m nddv.workflow.kept unpack
	$(SNAKEMAKE) --configfile $(COMPLETE) --directory $(REDRAWN) --rerun-triggers mtime --forcerun table figure

keep: $(READY) ## pack the scores and records of a run, without its arrays: results/kept.tar.xz
	$(BIN)/python -m nddv.workflow.kept pack

add: $(READY) ## add the methods that only another run has to the scores that were kept (RUN=results/more)
	$(BIN)/python -m nddv.workflow.kept unpack
	$(BIN)/python -m nddv.workflow.kept add $(RUN)
	$(BIN)/python -m nddv.workflow.kept pack

timings: $(READY) ## the run times of the committed report alone, up to a million points (an hour; run nothing else)
	$(SNAKEMAKE) --configfile $(COMPLETE) -- scaling

# a run in another folder:  make verify RUN=results/quick
RUN ?= .
verify: $(READY) ## look for damaged files of a run, and compare its scores and tables with the committed ones
	$(BIN)/python -m nddv.support.integrity $(RUN)
	$(BIN)/python -m nddv.workflow.verify $(RUN)

unlock: $(READY) ## after a run was killed: remove the locks that it left
	$(SNAKEMAKE) --unlock
	@if [ -d $(QUICK) ]; then $(SNAKEMAKE) --unlock --directory $(QUICK); fi

test: lint $(OPENDATAVAL) $(DOCS) $(CONVENTIONS) ## check style and types, then run all tests
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder

lint: $(READY) ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY) ## put the sources in shape
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/snakefmt Snakefile workflow

settings: $(READY) ## write docs/settings.md: every setting of every method, from the code
	$(BIN)/python -m nddv.methods.settings > docs/settings.md

findings: $(READY) ## write the verdicts of reports/tables/claims.csv to README.md
	$(BIN)/python -m nddv.reporting.readme

docs: $(DOCS) ## build the documentation site, and run its tutorials (a few minutes the first time)
	$(BIN)/mkdocs build --strict
	@echo "The site: $(abspath site/index.html)  (with search: $(BIN)/python -m http.server --directory site)"

metadata: $(CONVENTIONS) ## write what describes the project to others: CodeMeta, Zenodo, Croissant, RO-Crate, docs/reproducibility.md
	$(BIN)/python -m nddv.metadata

article: $(CONVENTIONS) ## write reports/article/article.pdf, a short article in the style of ReScience C, from reports/tables
	$(BIN)/python -m nddv.metadata.article

crate: $(CONVENTIONS) ## pack a finished run as an RO-Crate: results/crate.zip of its folder (RUN=results/quick)
	$(BIN)/python -m nddv.metadata.crate $(RUN)

conform: $(VALIDATORS)/.ready ## check CITATION.cff and the RO-Crate with the validators of their makers (needs a network)
	$(VALIDATORS)/bin/cffconvert --validate --infile CITATION.cff
	$(VALIDATORS)/bin/rocrate-validator --no-interactive validate --no-paging --profile-identifier workflow-ro-crate-1.0 .

bench: $(OPENDATAVAL) ## measure speed and memory, and write reports/benchmarks.md (half an hour; less with QUICK_BENCH=1)
	$(BIN)/python benchmarks/run.py $(if $(QUICK_BENCH),--quick)

mutants: $(READY) ## change the sources in small ways: do the unit tests notice? writes reports/mutants.md (an hour or two)
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/mutants.py

opendataval: $(OPENDATAVAL) ## add the OpenDataVal baselines to .venv

# it pins versions older than ours: without its dependencies, of which the extra names those it needs
$(OPENDATAVAL): $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(CONSTRAINT) --editable '.[opendataval]'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps opendataval==1.3.0
	@touch $@

$(DOCS): $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(CONSTRAINT) --editable '.[docs]'
	@touch $@

conventions: $(CONVENTIONS) ## add what `make metadata` and `make article` need to .venv

$(CONVENTIONS): $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(CONSTRAINT) --editable '.[conventions]'
	@touch $@

$(VALIDATORS)/.ready: $(READY)
	$(BIN)/python -m venv $(VALIDATORS)
	$(VALIDATORS)/bin/python -m pip install --quiet --disable-pip-version-check cffconvert==2.0.0 roc-validator==0.13.0
	@touch $@

clean: ## remove results and caches (the reports stay)
	rm -rf site .cache .snakemake .hypothesis .mypy_cache .pytest_cache .ruff_cache build dist
	find results -mindepth 1 ! -path results/README.md ! -path results/kept.tar.xz -delete 2>/dev/null || true
	find src tests workflow benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

distclean: clean ## ... and the environment
	rm -rf $(VENV)
