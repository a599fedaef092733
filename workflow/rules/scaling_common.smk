"""What the rules of run times, and those of their figures, share."""

TIMINGS = config["timings"]
TIMING = "{method}/n{n}/d{features}/{valid}"
# None where nothing is to be run, as with --unlock.
ALL_CORES = workflow.resource_settings.cores or 1
TIMING_TABLES = ["wallclock_scaling", "runtime_scaling"]


def timing_addresses(grid):
    """The timings of a grid: methods that read no validation rows are timed once for all regimes."""
    return [
        TIMING.format(method=method, n=n, features=features, valid=valid)
        for method in grid["methods"]
        for features in grid["features"]
        for n in grid["n"]
        for valid in (
            grid["valid"] if "valid" in get_method(method).needs else ["none"]
        )
    ]


def timing_timeouts():
    """Seconds that each timing may take: where tables share one, the longer time-out."""
    found = {}
    for grids in TIMINGS["tables"].values():
        for grid in grids:
            timeout = grid.get("timeout", TIMINGS["timeout"])
            for address in timing_addresses(grid):
                found[address] = max(timeout, found.get(address, 0))
    return found


TIMEOUTS = timing_timeouts()


def timing_rows(table):
    """The files that a table or figure of run times is made of."""
    addresses = [
        one for grid in TIMINGS["tables"][table] for one in timing_addresses(grid)
    ]
    return [f"results/timings/{address}.csv" for address in dict.fromkeys(addresses)]


def timing_timeout(wildcards):
    """Of a timing; one that no table has, but somebody asks for, has the general one."""
    return TIMEOUTS.get(TIMING.format(**wildcards), TIMINGS["timeout"])


def timing_settings(wildcards):
    """The settings of a method; an evaluator of OpenDataVal may have none."""
    name = "nddv" if wildcards.method.startswith("nddv-") else wildcards.method
    return config["settings"].get(name, {})


def timing_options(wildcards):
    """What is timed besides the address, and how often."""
    return {
        "timeout": timing_timeout(wildcards),
        "settings": timing_settings(wildcards),
        **{key: TIMINGS[key] for key in ("repeats", "repeat_below", "seed", "threads")},
    }


def timing_sources(wildcards):
    """The code of a method and of its timing."""
    return source_hash("timing.runs", *get_method(wildcards.method).modules)


def timing_memory(wildcards):
    """Megabytes: libraries, and the data in single and double precision with copies."""
    return 2000 + 24 * int(wildcards.n) * int(wildcards.features) // 10**6


def timing_minutes(wildcards):
    """Of a job: only its first run may take as long as the time-out; and time to make data."""
    again = TIMINGS["repeats"] * TIMINGS["repeat_below"]
    return 60 + int(timing_timeout(wildcards) + again) // 60


def timing_table_input(wildcards):
    """The rows of a table, and the published numbers where the paper has some."""
    found = {"rows": timing_rows(wildcards.timing)}
    published = f"config/paper/{wildcards.timing}.csv"
    if os.path.exists(os.path.join(workflow.basedir, published)):
        found["published"] = project_file(published)
    return found
