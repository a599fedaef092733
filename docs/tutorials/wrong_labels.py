# %% [markdown]
# # Find wrong labels, and what they should be
#
# You have a table whose labels were given by people, and people err. How many labels are wrong,
# which, and what should they be? We take a table whose labels we know to be right, alter some of
# them, and ask.
#
# The table: 900 handwritten digits of scikit-learn. A row has the darkness of 64 pixels, and the
# digit as its label.

# %%
import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_digits

import nddv

rng = np.random.default_rng(0)
digits = load_digits()
chosen = rng.permutation(len(digits.data))[:900]
X, right = digits.data[chosen], digits.target[chosen]

y = right.copy()
altered = rng.choice(len(y), 60, replace=False)
y[altered] = (y[altered] + rng.integers(1, 10, len(altered))) % 10
print(f"{len(y)} rows, {(y != right).sum()} labels altered")

# %% [markdown]
# ## Ask
#
# One call. It trains NDDV once on all rows, for their values, and five times without a fifth of
# them, so that no row is judged by a model that has seen its label.

# %%
report = nddv.check(X, y, random_state=0)
print(report)

# %% [markdown]
# The rows to look at, the surest first. `p_wrong` is the probability that the label is wrong,
# `suggested` is the label that the row should have. Rows count from 1.

# %%
review = report.to_review()
columns = ["row", "label", "suggested", "p_wrong", "p_suggested", "value"]
print(review[columns].head(8).to_string(index=False, float_format="%.3f"))

# %% [markdown]
# ## Was it right?
#
# Here we know the truth.

# %%
at = review["row"].to_numpy() - 1
wrong = y != right
mended = review["suggested"].to_numpy() == right[at]
print(f"{wrong[at].sum()} of {len(at)} flagged labels are wrong; there are {wrong.sum()} in all")
print(f"{mended[wrong[at]].sum()} of these {wrong[at].sum()} have the right suggestion")

# %% [markdown]
# A value ranks all rows, also those that are not flagged. Look at the lowest values first, and
# most of the wrong labels turn up early.

# %%
order = report.rows["value"].to_numpy().argsort()
found = np.cumsum(wrong[order]) / wrong.sum()
figure, (left, other) = plt.subplots(1, 2, figsize=(9, 3.4))
left.plot(np.arange(1, len(y) + 1), found, label="lowest value first")
left.plot([0, len(y)], [0, 1], color="gray", linestyle=":", label="in any order")
left.set(xlim=(0, 200), xlabel="rows inspected", ylabel="share of wrong labels found")
left.legend()
p_wrong = report.rows["p_wrong"]
bins = np.linspace(0, 1, 21)
other.hist([p_wrong[~wrong], p_wrong[wrong]], bins, stacked=True, label=["right", "wrong"])
other.set(xlabel="p_wrong", ylabel="rows", yscale="log")
other.legend(title="label")
plt.show()

# %% [markdown]
# ## Mend, and train again
#
# Does it pay? A logistic regression is trained on the labels as they were given, without the
# flagged rows, and with the suggested labels; and measured on rows that took no part.

# %%
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

rest = np.setdiff1d(np.arange(len(digits.data)), chosen)
kept = np.setdiff1d(np.arange(len(y)), at)
cases = {
    "as given": (X, y),
    "flagged rows left out": (X[kept], y[kept]),
    "with the suggested labels": (X, report.rows["suggested"].to_numpy()),
    "with the right labels": (X, right),
}
for name, (features, labels) in cases.items():
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
    model.fit(features, labels)
    accuracy = model.score(digits.data[rest], digits.target[rest])
    print(f"{name:26} accuracy {accuracy:.3f}")

# %% [markdown]
# How the probabilities are made, how well they hold on real tables, and when not to believe them:
# [wrong labels](../checks.md).
