# %% [markdown]
# # Semi-values with certificates
#
# Data Shapley, Data Banzhaf and leave-one-out ask what a point adds to a model that is trained on
# *some* of the others, and average over these coalitions. They are sampled, so they have errors.
# `nddv.semivalues` gives values, their standard errors, and says which orders of two points are
# certain.
#
# The data: 200 points of the formula 2dplanes, a tenth of the labels wrong. The model is a
# logistic regression.

# %%
import numpy as np
from matplotlib import pyplot as plt

import nddv
from nddv.problems import make_problem

sides = {"valid": 200, "test": 10, "meta": 10}
problem, truth = make_problem("2dplanes", 200, "label10", 100, sides)
data = (problem.X_train, problem.y_train, problem.X_valid, problem.y_valid)
found = nddv.semivalues(*data, law="shapley", coalitions=200, seconds=600, random_state=0)
print(f"reliability {found.reliability:.3f}; {found.ended}")

# %% [markdown]
# Every value with its standard error, in order. The unit is that of the utility, the mean
# probability of the true label of the validation points.

# %%
order = found.values.argsort()
figure, panel = plt.subplots(figsize=(8, 3.4))
for mask, colour, name in ((~truth.mask, "tab:blue", "right"), (truth.mask, "tab:red", "wrong")):
    at = np.flatnonzero(mask[order])
    some = order[at]
    bars = {"yerr": found.stderr[some], "fmt": ".", "color": colour, "label": name}
    panel.errorbar(at, found.values[some], elinewidth=0.8, **bars)
panel.axhline(0, color="gray", linewidth=0.8)
panel.set(xlabel="points, in order of their values", ylabel="Shapley value")
panel.legend(title="label")
plt.show()

# %% [markdown]
# ## Which orders are certain?
#
# Of two points, and of one point and zero. `certain` holds with a confidence of 95 %.

# %%
questions = {
    "highest and lowest": found.order(order[-1], order[0]),
    "two neighbours": found.order(order[101], order[100]),
    "lowest and zero": found.against(order[0]),
}
for question, answer in questions.items():
    interval = f"{answer.gap:+.4f} ({answer.low:+.4f} to {answer.high:+.4f})"
    print(f"{question:20} {interval}  certain: {answer.certain}")

# %% [markdown]
# And of all pairs. "single" is for one pair that you had in mind; with "bonferroni" all orders
# hold at once.

# %%
for family in ("single", "benjamini-hochberg", "bonferroni"):
    pairs, share = found.certain_pairs(alpha=0.05, family=family)
    print(f"{family:20} {share:.0%} of all pairs")

rank = order.argsort()
picture = np.zeros((len(rank), len(rank)))
picture[rank[pairs[:, 0]], rank[pairs[:, 1]]] = 1
figure, panel = plt.subplots(figsize=(4.2, 4.2))
panel.imshow(picture, cmap="Greens", vmin=0, vmax=1.5, origin="lower", interpolation="nearest")
panel.set(xlabel="rank of the lower point", ylabel="rank of the higher point")
panel.set_title("green: the order is certain (all at once)", fontsize=9)
plt.show()

# %% [markdown]
# ## More coalitions, more certainty

# %%
for coalitions in (50, 100, 200, 400):
    more = nddv.semivalues(*data, coalitions=coalitions, seconds=600, random_state=1)
    share = more.certain_pairs()[1]
    print(f"{coalitions:4} coalitions: reliability {more.reliability:.3f}, certain {share:.0%}")

# %% [markdown]
# ## One law for each question
#
# Shapley counts coalitions of all sizes alike, Banzhaf those of about half of the points,
# leave-one-out only all others together.

# %%
laws = ("shapley", "banzhaf", "loo")
values = [nddv.semivalues(*data, law=law, coalitions=100, seconds=600).values for law in laws]
print("correlation of the values:")
print("         ", *(f"{law:>8}" for law in laws))
for law, line in zip(laws, np.corrcoef(values), strict=True):
    print(f"{law:9}", *(f"{number:8.2f}" for number in line))

# %% [markdown]
# How this is done in seconds, and what the certificates assume: [semi-values](../semivalues.md).
