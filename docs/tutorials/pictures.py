# %% [markdown]
# # Texts and pictures without a hub
#
# `nddv value photos/` encodes pictures with a network that was trained on photographs, and fetches
# its weights once. This tutorial needs no weights and no network: an encoder is any function that
# turns an item into a row of numbers. First pictures, then texts.
#
# ## Pictures
#
# We write small pictures to a folder: digits of scikit-learn, 600 files. Some get a wrong label.

# %%
import tempfile
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt
from PIL import Image
from sklearn.datasets import load_digits

import nddv
from nddv.problems.encoders import encode_items

rng = np.random.default_rng(1)
digits = load_digits()
chosen = rng.permutation(len(digits.images))[:600]
right = digits.target[chosen]
y = right.copy()
altered = rng.choice(len(y), 40, replace=False)
y[altered] = (y[altered] + rng.integers(1, 10, len(altered))) % 10

temporary = tempfile.TemporaryDirectory()  # it is deleted in the end
folder = Path(temporary.name)
paths = [folder / f"{number}.png" for number in range(len(chosen))]
for path, image in zip(paths, digits.images[chosen], strict=True):
    Image.fromarray((255 - image * 255 / 16).astype(np.uint8)).save(path)
print(len(list(folder.glob("*.png"))), "pictures")

# %% [markdown]
# The encoder `pixels` leaves pictures as they are: 32 × 32 pixels, three colours. That is enough
# for drawings; for photographs take one that knows them ([the list](../media.md)). A picture that
# cannot be read would be in `refused`, with the reason.

# %%
encoded = encode_items(paths, "pixels", kind="picture", cache=folder / "cache", progress=False)
print(encoded.X.shape, "refused:", encoded.refused)

# %% [markdown]
# Neighbouring pixels say the same. Sixty directions hold nearly all of it, and make the check much
# quicker.

# %%
from sklearn.decomposition import PCA

X = PCA(60, random_state=0).fit_transform(encoded.X)
report = nddv.check(X, y, random_state=0)
print(report)

# %%
review = report.to_review()
at = review["row"].to_numpy() - 1
wrong = y[at] != right[at]
print(f"{wrong.sum()} of {len(at)} flagged labels are wrong, of {len(altered)} in all")

# %% [markdown]
# The twelve pictures whose label is most surely wrong.

# %%
figure, panels = plt.subplots(2, 6, figsize=(9, 3.6))
for panel, (_, line) in zip(panels.flat, review.head(12).iterrows(), strict=True):
    panel.imshow(Image.open(paths[line["row"] - 1]), cmap="gray")
    panel.set_title(f"given {line['label']}, looks like {line['suggested']}", fontsize=7)
    panel.axis("off")
plt.show()

# %% [markdown]
# ## Texts
#
# Weather reports and recipes, put together from words. Five of them have the wrong label.
# scikit-learn counts the words; the rest is the same.

# %%
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

weather = "rain wind cloud sun storm cold front warm sky snow north south"
recipe = "salt pan butter flour onion warm oven cold spoon pepper oil bowl"
words = {"weather": weather.split(), "recipe": recipe.split()}
subjects = np.array(rng.choice(list(words), 200))
texts = [" ".join(rng.choice(words[subject], 14)) for subject in subjects]
labels = subjects.copy()
labels[:5] = np.where(subjects[:5] == "weather", "recipe", "weather")

counts = TfidfVectorizer().fit_transform(texts)
X = TruncatedSVD(10, random_state=0).fit_transform(counts)
report = nddv.check(X, labels, random_state=0)
print(report.sentences()[0])
for _, line in report.to_review().iterrows():
    text = texts[line["row"] - 1]
    print(f"row {line['row']}: {line['label']} -> {line['suggested']}: {text[:50]} …")
