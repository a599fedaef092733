"""Pictures through the networks, against the same networks written out with functions."""

from __future__ import annotations

import json
import math
import pickle

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from nddv.problems.encoders.efficientnet import efficientnet_lite0
from nddv.problems.encoders.pictures import picture_encoder, resize, resize_and_crop
from nddv.problems.encoders.resnet import (
    keras_resnet50,
    read_tensorflow_js,
    torchvision_resnet50,
)

RESNET_BLOCKS = {2: "abc", 3: "abcd", 4: "abcdef", 5: "abc"}


def picture(height, width, seed=100):
    """Smooth colours with some noise, all channels different."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:height, :width] / max(height, width)
    waves = [np.sin(a * x + b * y) for a, b in rng.uniform(2, 9, size=(3, 2))]
    pixels = 127 + 90 * np.stack(waves, axis=2) + rng.normal(0, 9, size=(height, width, 3))
    return pixels.clip(0, 255).astype(np.uint8)


# --- resizing ---


@pytest.mark.parametrize("shape", [(300, 400), (500, 260), (32, 32), (64, 48), (224, 224)])
def test_resizing_agrees_with_pillow_to_a_grey_level(shape):
    """Pillow's bilinear filter is what torchvision's transforms use; it rounds, twice."""
    Image = pytest.importorskip("PIL.Image", reason="the extra 'encode' is not installed")
    item = picture(*shape)
    filtered = Image.fromarray(item).resize((224, 224), Image.Resampling.BILINEAR)
    ours = resize(item, 224, 224).permute(1, 2, 0).numpy()
    assert np.abs(ours - np.asarray(filtered, dtype=np.float32)).max() < 1.1

    scaled = [int(256 * size / min(shape)) for size in shape[::-1]]
    left, top = (round((size - 224) / 2) for size in scaled)
    cropped = (
        Image.fromarray(item)
        .resize(scaled, Image.Resampling.BILINEAR)
        .crop((left, top, left + 224, top + 224))
    )
    ours = resize_and_crop(item, 256, 224).permute(1, 2, 0).numpy()
    assert np.abs(ours - np.asarray(cropped, dtype=np.float32)).mean() < 0.5


def test_the_middle_is_cut_out():
    item = np.zeros((256, 356, 3), np.uint8)
    item[16:240, 66:290] = 200  # exactly the part that stays
    assert resize_and_crop(item, 256, 224).eq(200).all()


@pytest.mark.parametrize(
    "item",
    [np.zeros((8, 8), np.uint8), np.zeros((8, 8, 4), np.uint8), np.zeros((8, 8, 3), np.float32)],
)
def test_what_is_no_picture_is_refused(item):
    with pytest.raises(ValueError, match=r"must be \(height, width, 3\) uint8"):
        resize(item, 224, 224)


# --- ResNet50 ---


def random_norm(rng, channels):
    """Scale, shift, mean and variance of a batch norm, far from doing nothing."""
    scale, variance = rng.uniform(0.5, 1.5, channels), rng.uniform(0.05, 0.5, channels)
    return [a.astype(np.float32) for a in (scale, *rng.normal(0, 0.3, (2, channels)), variance)]


def random_kernel(rng, out, into, size):
    kernel = rng.standard_normal((out, into, size, size), dtype=np.float32)
    return kernel * np.float32(math.sqrt(0.2 / (into * size * size)))


def resnet_shapes():
    """Keras' name of every convolution, without res and bn, with (out, in, size)."""
    yield "conv1", (64, 3, 7)
    into = 64
    for stage, blocks in RESNET_BLOCKS.items():
        width = 64 * 2 ** (stage - 2)
        for block in blocks:
            place = f"{stage}{block}_branch"
            if block == "a":
                yield f"{place}1", (4 * width, into, 1)
            yield f"{place}2a", (width, into, 1)
            yield f"{place}2b", (width, width, 3)
            yield f"{place}2c", (4 * width, width, 1)
            into = 4 * width


@pytest.fixture(scope="module")
def resnet():
    """Kernel, bias and batch norm of every convolution of a ResNet50, by Keras' names."""
    rng = np.random.default_rng(100)
    return {
        name: (
            random_kernel(rng, *shape),
            rng.normal(0, 0.1, shape[0]).astype(np.float32),
            *random_norm(rng, shape[0]),
        )
        for name, shape in resnet_shapes()
    }


def resnet_by_functions(weights, x, epsilon, stride_in_first):
    """ResNet50 as in the paper by He et al., one line a layer."""

    def layer(x, name, stride=1, padding=0):
        kernel, bias, scale, shift, mean, variance = map(torch.from_numpy, weights[name])
        x = F.conv2d(x, kernel, bias, stride, padding)
        return F.batch_norm(x, mean, variance, scale, shift, eps=epsilon)

    x = F.max_pool2d(F.relu(layer(x, "conv1", 2, 3)), 3, 2, padding=1)
    for stage, blocks in RESNET_BLOCKS.items():
        for block in blocks:
            stride = 2 if block == "a" and stage > 2 else 1
            first, second = (stride, 1) if stride_in_first else (1, stride)
            place = f"{stage}{block}_branch"
            y = F.relu(layer(x, f"{place}2a", first))
            y = F.relu(layer(y, f"{place}2b", second, 1))
            y = layer(y, f"{place}2c")
            x = F.relu(y + (layer(x, f"{place}1", stride) if block == "a" else x))
    return x.mean(dim=(2, 3)).numpy()


def write_keras(folder, weights):
    """Lay weights down as TensorFlow.js does: channels last, end to end, cut into shards."""
    arrays = {}
    for name, (kernel, bias, scale, shift, mean, variance) in weights.items():
        convolution, norm = (
            ("conv1", "bn_conv1") if name == "conv1" else (f"res{name}", f"bn{name}")
        )
        arrays[f"{convolution}/kernel"] = kernel.transpose(2, 3, 1, 0)
        arrays[f"{convolution}/bias"] = bias
        parts = {"gamma": scale, "beta": shift, "moving_mean": mean, "moving_variance": variance}
        arrays |= {f"{norm}/{part}": array for part, array in parts.items()}
    folder.mkdir(parents=True)
    raw = b"".join(array.tobytes() for array in arrays.values())
    third = len(raw) // 3 + 1  # not a multiple of 4: an array may be cut anywhere
    paths = [f"group1-shard{i}of3.bin" for i in (1, 2, 3)]
    for i, path in enumerate(paths):
        (folder / path).write_bytes(raw[i * third : (i + 1) * third])
    listed = [
        {"name": name, "shape": list(array.shape), "dtype": "float32"}
        for name, array in arrays.items()
    ]
    manifest = {"weightsManifest": [{"paths": paths, "weights": listed}]}
    (folder / "model.json").write_text(json.dumps(manifest))


def torchvision_name(name):
    """Torchvision's names of the convolution and of the batch norm."""
    if name == "conv1":
        return "conv1", "bn1"
    place, branch = name.split("_branch")
    block = f"layer{int(place[0]) - 1}.{'abcdef'.index(place[1])}"
    if branch == "1":
        return f"{block}.downsample.0", f"{block}.downsample.1"
    number = "abc".index(branch[1]) + 1
    return f"{block}.conv{number}", f"{block}.bn{number}"


def test_keras_resnet50_is_the_network_with_kerass_conventions(resnet, tmp_path):
    """Shards, layout, blue first, means, strides in the first convolution, epsilon 1e-3."""
    write_keras(tmp_path / "package" / "ResNet50", resnet)
    items = [picture(224, 224, 100), picture(224, 224, 101)]
    rows = keras_resnet50(tmp_path, "cpu", batch_size=2)(items)
    x = torch.tensor(np.stack(items)[..., ::-1] - np.array([103.939, 116.779, 123.68], "f4"))
    expected = resnet_by_functions(resnet, x.permute(0, 3, 1, 2), 1e-3, stride_in_first=True)
    assert rows.shape == (2, 2048)
    np.testing.assert_allclose(rows, expected, rtol=1e-3, atol=1e-4 * expected.max())


def test_torchvision_resnet50_is_the_network_with_its_conventions(resnet, tmp_path):
    """Names, red first, mean and spread, strides in the second convolution, epsilon 1e-5."""
    state = {}
    for name, (kernel, _, *norm) in resnet.items():
        convolution, norm_name = torchvision_name(name)
        state[f"{convolution}.weight"] = torch.from_numpy(kernel)
        for part, array in zip(
            ("weight", "bias", "running_mean", "running_var"), norm, strict=True
        ):
            state[f"{norm_name}.{part}"] = torch.from_numpy(array)
        state[f"{norm_name}.num_batches_tracked"] = torch.tensor(7)
    state |= {"fc.weight": torch.zeros(1000, 2048), "fc.bias": torch.zeros(1000)}
    torch.save(state, tmp_path / "resnet50-0676ba61.pth")

    item = picture(256, 256)
    rows = torchvision_resnet50(tmp_path, "cpu")([item])
    x = item[16:240, 16:240] / np.float32(255)
    x = torch.tensor((x - np.array([0.485, 0.456, 0.406])) / np.array([0.229, 0.224, 0.225]))
    without_bias = {
        name: (parts[0], np.zeros_like(parts[1]), *parts[2:]) for name, parts in resnet.items()
    }
    expected = resnet_by_functions(
        without_bias, x.float().permute(2, 0, 1)[None], 1e-5, stride_in_first=False
    )
    np.testing.assert_allclose(rows, expected, rtol=1e-3, atol=1e-4 * expected.max())


def manifest(tmp_path, size, **changes):
    weight = {"name": "a", "shape": [2, 3], "dtype": "float32", **changes}
    content = {"weightsManifest": [{"paths": ["shard"], "weights": [weight]}]}
    (tmp_path / "model.json").write_text(json.dumps(content))
    (tmp_path / "shard").write_bytes(np.arange(size, dtype="<f4").tobytes())
    return tmp_path / "model.json"


def test_tensorflow_js_arrays_are_read_by_name_and_shape(tmp_path):
    arrays = read_tensorflow_js(manifest(tmp_path, 6))
    np.testing.assert_array_equal(arrays["a"], [[0, 1, 2], [3, 4, 5]])


def test_tensorflow_js_shards_of_another_size_or_kind_are_refused(tmp_path):
    for size in (5, 7):
        with pytest.raises(ValueError, match=f"hold {4 * size} bytes, but it lists 24"):
            read_tensorflow_js(manifest(tmp_path, size))
    for changes in ({"dtype": "int32"}, {"quantization": {"dtype": "uint8"}}):
        with pytest.raises(ValueError, match="a is not plain float32"):
            read_tensorflow_js(manifest(tmp_path, 6, **changes))


# --- EfficientNet-lite0 ---

# Kernel size, stride, expansion, input and output channels of all 16 blocks.
LITE0 = [
    (3, 1, 1, 32, 16),
    (3, 2, 6, 16, 24), (3, 1, 6, 24, 24),
    (5, 2, 6, 24, 40), (5, 1, 6, 40, 40),
    (3, 2, 6, 40, 80), (3, 1, 6, 80, 80), (3, 1, 6, 80, 80),
    (5, 1, 6, 80, 112), (5, 1, 6, 112, 112), (5, 1, 6, 112, 112),
    (5, 2, 6, 112, 192), (5, 1, 6, 192, 192), (5, 1, 6, 192, 192), (5, 1, 6, 192, 192),
    (3, 1, 6, 192, 320),
]  # fmt: skip


def lite0_state():
    rng = np.random.default_rng(100)
    state = {}

    def add(convolution, norm, out, into, size):
        state[f"{convolution}.weight"] = torch.from_numpy(1.5 * random_kernel(rng, out, into, size))
        for part, array in zip(
            ("weight", "bias", "running_mean", "running_var"), random_norm(rng, out), strict=True
        ):
            state[f"{norm}.{part}"] = torch.from_numpy(array)

    add("_conv_stem", "_bn0", 32, 3, 3)
    for i, (kernel, _, expansion, into, out) in enumerate(LITE0):
        wide = into * expansion
        if expansion > 1:
            add(f"_blocks.{i}._expand_conv", f"_blocks.{i}._bn0", wide, into, 1)
        add(f"_blocks.{i}._depthwise_conv", f"_blocks.{i}._bn1", wide, 1, kernel)
        add(f"_blocks.{i}._project_conv", f"_blocks.{i}._bn2", out, wide, 1)
    add("_conv_head", "_bn1", 1280, 320, 1)
    return state


def lite0_by_functions(state, x):
    def layer(x, convolution, norm, stride=1, groups=1):
        kernel = state[f"{convolution}.weight"]
        # TensorFlow's SAME: as many outputs as ⌈inputs/stride⌉, an odd pixel at the far side.
        size, width = x.shape[-1], kernel.shape[-1]
        total = max((math.ceil(size / stride) - 1) * stride + width - size, 0)
        x = F.pad(x, (total // 2, total - total // 2) * 2)
        parts = ("running_mean", "running_var", "weight", "bias")
        x = F.conv2d(x, kernel, None, stride, groups=groups)
        return F.batch_norm(x, *(state[f"{norm}.{part}"] for part in parts), eps=1e-3)

    x = F.relu6(layer(x, "_conv_stem", "_bn0", 2))
    for i, (_, stride, expansion, into, out) in enumerate(LITE0):
        block, y = f"_blocks.{i}.", x
        if expansion > 1:
            y = F.relu6(layer(y, f"{block}_expand_conv", f"{block}_bn0"))
        y = layer(y, f"{block}_depthwise_conv", f"{block}_bn1", stride, groups=into * expansion)
        y = layer(F.relu6(y), f"{block}_project_conv", f"{block}_bn2")
        x = x + y if stride == 1 and into == out else y
    return F.relu6(layer(x, "_conv_head", "_bn1")).mean(dim=(2, 3)).numpy()


def test_efficientnet_lite0_is_the_network_with_its_conventions(tmp_path):
    state = lite0_state()
    torch.save(state, tmp_path / "efficientnet-lite0-57934424.pth")
    items = [picture(224, 224, seed) for seed in (100, 101, 102)]
    x = torch.tensor((np.stack(items).astype(np.float32) - 127) / 128).permute(0, 3, 1, 2)
    expected = lite0_by_functions(state, x)
    assert np.abs(expected[0] - expected[1]).mean() > 0.1  # not the same for every picture
    encode = efficientnet_lite0(tmp_path, "cpu", batch_size=2)
    np.testing.assert_allclose(encode(items), expected, atol=1e-3)

    # Neither the order nor the batch changes a row.
    by_one = efficientnet_lite0(tmp_path, "cpu", batch_size=1)
    np.testing.assert_allclose(by_one(items[::-1])[::-1], encode(items), atol=1e-4)


class Touch:
    """What a malicious pickle may hold: a call that leaves a trace."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (self.path.touch, ())


def test_code_in_a_pth_file_is_not_executed(tmp_path):
    trace = tmp_path / "executed"
    torch.save({"_conv_stem.weight": Touch(trace)}, tmp_path / "efficientnet-lite0-0.pth")
    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
        efficientnet_lite0(tmp_path, "cpu")
    assert not trace.exists()


def test_batches_are_cut_and_joined_in_order():
    sizes = []

    class Mean(torch.nn.Module):
        def forward(self, x):
            sizes.append(len(x))
            return x.mean(dim=(2, 3))

    items = [np.full((4, 4, 3), i, np.uint8) for i in range(7)]
    encode = picture_encoder(Mean(), lambda item: resize(item, 2, 2), "cpu", batch_size=3)
    np.testing.assert_allclose(encode(items), [[i] * 3 for i in range(7)], rtol=1e-6)
    assert sizes == [3, 3, 1]
