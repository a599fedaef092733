"""Reproduction of the paper: problems -> values -> evaluation -> tables, figures, report."""

import os
import sys

from snakemake.utils import min_version

min_version("9.0")

# The folder of this file, also where workflow/Snakefile includes it.
ROOT = workflow.current_basedir.get_path_or_uri(secret_free=True)
# The library is used from the sources of this folder, also inside conda environments.
SRC = os.path.join(ROOT, "src")
sys.path.insert(0, SRC)
os.environ.update(
    PYTHONPATH=os.pathsep.join([SRC, os.getenv("PYTHONPATH", "")]).rstrip(os.pathsep)
)


# What the experiment is; which data sets, encoders and methods there are. --configfile overlays all.
configfile: os.path.join(ROOT, "config", "config.yaml")
configfile: os.path.join(ROOT, "config", "datasets.yaml")
configfile: os.path.join(SRC, "nddv", "problems", "encoders", "encoders.yaml")
configfile: os.path.join(ROOT, "config", "methods.yaml")


report: "workflow/report/workflow.rst"


include: "workflow/rules/common.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/values.smk"
include: "workflow/rules/audits.smk"
include: "workflow/rules/semivalues.smk"
include: "workflow/rules/modules.smk"
include: "workflow/rules/evaluation.smk"
include: "workflow/rules/anatomy.smk"
include: "workflow/rules/scaling.smk"
include: "workflow/rules/reporting.smk"


onstart:
    check_writable()
    start_jobs_at_once()


rule all:
    default_target: True
    input:
        [PLAN.part_files(part) for part in config["parts"]],


# Every part of the report is a target of its own: `snakemake audits`.
for part in PLAN.parts:

    rule:
        name:
            part
        input:
            PLAN.part_files(part),
