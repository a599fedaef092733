"""The plan of this configuration, and the few helpers that turn wildcards into its questions."""

from functools import cache

from nddv.dynamics.readouts import CLASSIFICATION, REGRESSION
from nddv.methods.registry import REPLAYED_READOUTS, VARIANT_READOUTS, get_method
from nddv.methods.settings import settings_key
from nddv.problems.addresses import KINDS, RELEASED
from nddv.problems.registry import code_hash, split_name, task_of
from nddv.support import provenance
from nddv.workflow.configuration import check_configuration
from nddv.workflow.plan import Plan
from nddv.workflow.sources import MODULES, SEMIVALUES
from nddv.workflow.timings import TIMING
from nddv.workflow.valuations import ADDRESS, PROBLEM, without

try:
    check_configuration(config, ROOT)
    PLAN = Plan.of(config, ROOT)
    PLAN.check_documents()
except ValueError as error:  # every mistake is one line that names its key
    raise WorkflowError(str(error)) from None

SEEDS = PLAN.seeds
# Rules with hundreds of inputs go before others: while such a job waits, Snakemake measures its inputs each time it
# chooses jobs, which took most of a core.
PROMPT = 1
NDDV_SETTINGS = PLAN.settings("nddv-path")
OF_CLASSES, OF_TARGETS = map(PLAN.readouts_for, (CLASSIFICATION, REGRESSION))
BOOSTED = [name for name in PLAN.baselines if settings_key(name) == "boosting"]
WITH_TARGETS = "|".join(
    rf"{name}(@[A-Za-z0-9_-]+)?"
    for name in config["datasets"]
    if task_of(name, config["datasets"]) == REGRESSION
)
CORRUPTED = "|".join(KINDS[1:])

# Thousands of jobs ask for the same few: the sources are read once.
source_hash = cache(provenance.source_hash)


wildcard_constraints:
    dataset="[A-Za-z0-9_@-]+",
    n=r"\d+",
    corruption=rf"(clean|({CORRUPTED})\d+(\+({CORRUPTED})\d+)*)(@{RELEASED})?",
    seed=r"\d+",
    change="[a-z_]+=[A-Za-z0-9.+-]+",
    module="|".join(config["modules"]["trained"]),
    check="|".join(PLAN.shown("stability")),
    features=r"\d+",
    valid="fixed|tenth|none",
    table="|".join(PLAN.tables),
    figure="|".join(PLAN.figures),
    format="html|tex",


def for_seeds(pattern, **wildcards):
    """A pattern with a {seed}, for every seed and every value of the wildcards given; others stay."""
    return expand(pattern, **wildcards, seed=SEEDS, allow_missing=True)


def values_of_problem(suffix, curated=False):
    """The input of a rule: files of the values of a problem, of all its methods and seeds."""

    return lambda wildcards: PLAN.values_of(
        PROBLEM.format(**wildcards), suffix, curated
    )


def dataset_entry(wildcards):
    """The entry of a data set, whose name may carry an encoder."""
    return config["datasets"][split_name(wildcards.dataset)[0]]


def own_file(wildcards):
    """The file of a user's own table, so that a change of it is noticed; nothing for others."""
    path = dataset_entry(wildcards).get("path")
    return os.path.expanduser(path) if path else []


def encoder_entry(wildcards):
    """The entry of an encoder; None for a table."""
    name = split_name(wildcards.dataset)[1]
    return config["encoders"][name] if name else None


def method_sources(wildcards, *modules):
    """The code that decides the values of a method."""
    return source_hash(*get_method(wildcards.method).modules, *modules)


def entry_sources(entry, *modules):
    """The code that makes a table or figure, and lays it out."""
    layout = getattr(entry, "layout", "").partition(":")[0].removeprefix("nddv.")
    return source_hash(
        entry.module, "reporting.inputs", *modules, *filter(None, [layout])
    )


def in_report(path):
    """A table or figure that Snakemake's report shows: below its part, with its title."""
    return report(
        path,
        caption="../report/entry.rst",
        category=lambda wildcards, params: params.entry.part.capitalize(),
        labels=lambda wildcards, params: {"content": params.entry.title},
    )


def growing(limit):
    """A limit of a job, of megabytes or minutes, that doubles with each attempt: what died of it may live.

    limit : of the first attempt; a number, or a function of the wildcards.
    """

    def of_attempt(wildcards, attempt):
        first = limit(wildcards) if callable(limit) else limit
        return first * 2 ** (attempt - 1)

    return of_attempt


def project_file(path):
    """A file of the project, as seen from the folder where Snakemake runs."""
    return os.path.relpath(os.path.join(ROOT, path))


def check_writable():
    """Refuse, before any work, folders that nothing can be written to."""
    for folder in ("results", "reports"):
        if os.path.exists(folder) and not os.access(folder, os.W_OK):
            raise WorkflowError(
                f"{os.path.abspath(folder)} cannot be written to: make it writable, "
                "or run elsewhere with --directory"
            )


def start_jobs_at_once():
    """Lift the limit of Snakemake on how many jobs start in a second, where they run on this machine.

    For it, the scheduler wakes up once a second for each job that it has started, until the end: after some hundred
    jobs it takes a quarter of a core (snakemake issue 2967). Two cores start few jobs a second anyway.
    """
    if workflow.local_exec:
        workflow.scheduler.job_rate_limiter = None


def items_file(name):
    """The input of a rule: a file of the data set as networks read it."""
    return lambda wildcards: f"results/data/{PLAN.items_of(wildcards.dataset)}/{name}"
