# %% [markdown]
# # How a score relates to retraining
#
# The honest question about any score: if this point had not been there, what would have changed?
# We can afford the answer here. NDDV is trained once, and again without single points, with the
# same batches and the same noise. Then we compare three readouts of the *one* run with what
# happened.
#
# - `terminal` is the paper's score: state times co-state at the end of the training.
# - `participation` is the derivative of the validation log-likelihood by the weight of the point,
#   through the whole run.
# - `path` is what finds wrong labels best. It has a configuration of its own, and makes no claim
#   about retraining.

# %%
import numpy as np
from matplotlib import pyplot as plt
from scipy.stats import spearmanr

import nddv
from nddv.audit.retraining import leave_one_out_retrained
from nddv.problems import make_problem

sides = {"valid": 100, "test": 10, "meta": 100}
problem, truth = make_problem("2dplanes", 300, "label10", 100, sides)
meta, valid = (problem.X_meta, problem.y_meta), (problem.X_valid, problem.y_valid)
model = nddv.NDDV(readout="participation", random_state=0)
model.fit(problem.X_train, problem.y_train, *meta, *valid)
print(f"{len(model.values_)} points, {truth.mask.sum()} of them with a wrong label")

# %% [markdown]
# ## Forty trainings without a point
#
# The loss is U(all) − U(all but i), U the mean log-likelihood of the validation points.

# %%
points = np.random.default_rng(0).choice(len(model.values_), 40, replace=False)
losses = leave_one_out_retrained(model, points)
print(f"without a point the log-likelihood changes by {np.abs(losses).mean():.5f} on average")

# %%
readouts = {
    "participation": model.readout_values("participation"),
    "terminal": model.readout_values("terminal"),
    "path": nddv.value(problem.X_train, problem.y_train, random_state=0).values,
}
colours = np.where(truth.mask[points], "tab:red", "tab:blue")
figure, panels = plt.subplots(1, 3, figsize=(10, 3.4), sharey=True)
for panel, (name, values) in zip(panels, readouts.items(), strict=True):
    rho = spearmanr(values[points], losses).statistic
    panel.scatter(values[points], losses, c=colours, s=18)
    panel.axhline(0, color="gray", linewidth=0.6)
    panel.set_title(f"{name}: Spearman's ρ = {rho:.2f}", fontsize=10)
    panel.set_xlabel("value")
panels[0].set_ylabel("loss without the point")
figure.suptitle("red: the label is wrong", fontsize=9)
plt.show()

# %% [markdown]
# The derivative predicts retraining. The terminal score does not: it says how a point fits, not
# what it did.
#
# ## Then which one finds wrong labels?
#
# Another question, with another answer. As many of the lowest values are flagged as there are
# wrong labels.

# %%
budget = int(truth.mask.sum())
for name, values in readouts.items():
    hits = truth.mask[values.argsort()[:budget]].sum()
    print(f"{name:14} {hits} of {budget} wrong labels among the {budget} lowest values")

# %% [markdown]
# ## How far does a derivative reach?
#
# The weight of a point goes from 1 (it is there) to 0 (it is not). The derivative is the tangent
# at 1. For the three points that matter most, the utility is measured in between.

# %%
from nddv.audit.retraining import RetrainedGame

game = RetrainedGame(model)
derivative = model.readout_sensitivities("participation")
levels = np.linspace(0, 1, 5)
figure, panel = plt.subplots(figsize=(5.5, 3.6))
for point in np.abs(derivative).argsort()[::-1][:3]:
    weights = np.ones((len(levels), len(derivative)))
    weights[:, point] = levels
    utilities = game.utilities(weights).ravel()
    (line,) = panel.plot(levels, utilities, "o-", label=f"point {point}")
    tangent = utilities[-1] - derivative[point] * (1 - levels)
    panel.plot(levels, tangent, linestyle=":", color=line.get_color())
panel.set(xlabel="weight of the point", ylabel="validation log-likelihood")
panel.set_title("dotted: what the derivative predicts", fontsize=9)
panel.legend()
plt.show()

# %% [markdown]
# The same for all methods, on real data and with spreads over seeds: [scores against
# retraining](../audits.md).
