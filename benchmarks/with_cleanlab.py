"""What cleanlab says of labels, for benchmarks/judge_checks.py.

    python benchmarks/with_cleanlab.py GIVEN.npz FOUND.npz

Apart from the other benchmarks, because cleanlab asks for other versions: an interpreter that has
it is enough, without this project. Given are labels and out-of-sample probabilities of each table,
`labels_0` (n,) and `probabilities_0` (n, C), `labels_1`, …; found are the number of wrong labels
(`count_0`, by its default; `calibrated_0`, which it advises for fewer than four classes), which
they are (`flagged_0`) and its score of every label (`quality_0`).
"""

from __future__ import annotations

import sys
import warnings

import numpy as np


def main(given: str, found: str) -> None:
    warnings.simplefilter("ignore")
    import cleanlab
    from cleanlab.count import num_label_issues
    from cleanlab.filter import find_label_issues
    from cleanlab.rank import get_label_quality_scores

    data = np.load(given)
    result = {"version": cleanlab.__version__}
    for k in range(len(data.files) // 2):
        labels, probabilities = data[f"labels_{k}"], data[f"probabilities_{k}"]
        result[f"count_{k}"] = num_label_issues(labels, probabilities)
        result[f"calibrated_{k}"] = num_label_issues(
            labels, probabilities, estimation_method="off_diagonal_calibrated"
        )
        result[f"flagged_{k}"] = find_label_issues(labels, probabilities, n_jobs=1)
        result[f"quality_{k}"] = get_label_quality_scores(labels, probabilities)
    np.savez(found, **result)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
