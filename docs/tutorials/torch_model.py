# %% [markdown]
# # Your own torch model
#
# What is each training point worth *to your model*? `nddv.Replay` trains your module, and then
# goes through the training backwards. That gives the derivative of a validation utility by the
# weight of every training point, exactly, for about the price of one more training.
#
# The model: a small network on digits. Some training labels are wrong.

# %%
import numpy as np
import torch
from matplotlib import pyplot as plt
from sklearn.datasets import load_digits
from torch import nn

import nddv

digits = load_digits()
X = torch.tensor(digits.data / 16).float()
y = torch.tensor(digits.target)
torch.manual_seed(0)
order = torch.randperm(len(X))
train, valid = order[:600], order[600:900]
y[train[:60]] = (y[train[:60]] + 1) % 10
wrong = np.arange(len(train)) < 60

net = nn.Sequential(nn.Linear(64, 32), nn.GELU(), nn.Linear(32, 10))
run = nddv.Replay(net, learning_rate=0.1, epochs=15, progress=False).fit(X[train], y[train])

# %% [markdown]
# ## Values
#
# The utility is the mean log-likelihood of the validation points. The line about trust comes from
# retraining without some random groups of points: it says how well the values predict what
# happens.

# %%
found = run.values(X[valid], y[valid])
print(found.record["trust"]["line"])
print(f"mean value of right labels {found.values[~wrong].mean():+.4f}")
print(f"mean value of wrong labels {found.values[wrong].mean():+.4f}")

# %% [markdown]
# ## Leave points out, and look
#
# A value is a prediction: without this point the utility falls by so much. We check it for twenty
# points, by training the module again with the same batches and without the point.

# %%


def utility(module):
    """Mean log-likelihood of the validation points."""
    with torch.no_grad():
        return -nn.functional.cross_entropy(module(X[valid]), y[valid]).item()


before = utility(run.retrain(np.ones(len(train))))
points = np.random.default_rng(0).choice(len(train), 20, replace=False)
losses = []
for point in points:
    weights = np.ones(len(train))
    weights[point] = 0
    losses.append(before - utility(run.retrain(weights)))

figure, panel = plt.subplots(figsize=(4.6, 3.8))
predicted, actual = 1000 * found.values[points], 1000 * np.array(losses)
panel.scatter(predicted, actual, c=np.where(wrong[points], "tab:red", "tab:blue"))
panel.axline((0, 0), slope=1, color="gray", linestyle=":")
panel.set(xlabel="value × 1000", ylabel="loss of utility without the point × 1000")
panel.set_title("red: the label is wrong", fontsize=9)
plt.show()

# %% [markdown]
# ## How many points to drop?
#
# The curve adds up the values, lowest first. The dots are trainings without these points.

# %%
curve = run.drop_curve(found, X[valid], y[valid])
figure, panel = plt.subplots(figsize=(5.5, 3.4))
shown = np.arange(curve.checked.max() + 1)
panel.plot(shown, curve.predicted[shown], label="predicted")
panel.scatter(curve.checked, curve.measured, color="tab:orange", label="trained again")
panel.axvline(curve.best, color="gray", linestyle=":")
panel.set(xlabel="points dropped", ylabel="log-likelihood")
panel.legend()
plt.show()
print(
    f"drop {curve.best} points: {wrong[curve.order[: curve.best]].sum()} of them are wrong labels"
)

# %% [markdown]
# ## Why this prediction?
#
# `explain` asks the same of a single prediction: which training points made it?

# %%
why = run.explain(X[valid[0]])
for_it, against = why.values.argsort()[::-1][:5], why.values.argsort()[:5]
figure, panels = plt.subplots(2, 6, figsize=(8, 3.2))
for row, chosen, title in zip(panels, (for_it, against), ("for it", "against"), strict=True):
    pictures = [X[valid[0]], *X[train[chosen.copy()]]]
    titles = ["the point", *(f"{title}: {int(y[train[i]])}" for i in chosen)]
    for panel, picture, text in zip(row, pictures, titles, strict=True):
        panel.imshow(picture.reshape(8, 8), cmap="gray_r")
        panel.set_title(text, fontsize=8)
        panel.axis("off")
plt.show()

# %% [markdown]
# What is exact, what is refused, and how much memory it takes: [your own torch
# model](../replay.md).
