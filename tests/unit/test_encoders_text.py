"""Documents through a transformer: a tiny BERT with random weights, written here."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from nddv.problems.encoders.text import mean_pooled_transformer

transformers = pytest.importorskip("transformers", reason="the extra 'encode' is not installed")

WORDS = [f"w{i}" for i in range(40)]
LONGEST = 24


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A 2-layer BERT whose tokens are whole words, in a folder inside the folder."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import WhitespaceSplit
    from tokenizers.processors import BertProcessing

    outer = tmp_path_factory.mktemp("bert")
    inner = outer / "package" / "model"
    vocabulary = {word: i for i, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS])}
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    tokenizer.post_processor = BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    torch.manual_seed(100)
    config = transformers.BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=LONGEST,
        initializer_range=0.5,
    )
    transformers.BertModel(config).save_pretrained(inner)
    tokenizer.save(str(inner / "tokenizer.json"))
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": LONGEST,
        "pad_token": "[PAD]",
        "unk_token": "[UNK]",
    }
    (inner / "tokenizer_config.json").write_text(json.dumps(settings))
    return outer


@pytest.fixture(scope="module")
def documents():
    rng = np.random.default_rng(100)
    return [" ".join(rng.choice(WORDS, size=length)) for length in (3, 17, 1, 9, 9, 20, 5, 2, 12)]


def alone(folder, document, max_tokens):
    """Mean of the hidden states of one document, with no batch, no padding and no tokenizer."""
    words = document.split()[: max_tokens - 2]
    tokens = torch.tensor([[2, *(4 + WORDS.index(word) for word in words), 3]])
    model = transformers.BertModel.from_pretrained(folder / "package" / "model").eval()
    with torch.no_grad():
        hidden = model(input_ids=tokens).last_hidden_state
    return hidden[0].mean(dim=0).numpy()


@pytest.mark.parametrize("normalise", [False, True])
@pytest.mark.parametrize("max_tokens", [LONGEST, 8])
def test_a_row_is_the_mean_over_the_tokens_that_are_left(folder, documents, max_tokens, normalise):
    encode = mean_pooled_transformer(
        folder, "cpu", max_tokens=max_tokens, normalise=normalise, batch_size=4
    )
    expected = np.array([alone(folder, document, max_tokens) for document in documents])
    if normalise:
        expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    rows = encode(documents)
    assert rows.dtype == np.float32
    np.testing.assert_allclose(rows, expected, atol=1e-5)


def test_neither_order_nor_batches_change_a_row(folder, documents):
    whole = mean_pooled_transformer(folder, "cpu", max_tokens=20, batch_size=100)(documents)
    order = np.random.default_rng(100).permutation(len(documents))
    for batch_size in (1, 2, 5):
        encode = mean_pooled_transformer(folder, "cpu", max_tokens=20, batch_size=batch_size)
        rows = encode([documents[i] for i in order])
        np.testing.assert_allclose(rows, whole[order], atol=1e-5)


def test_an_empty_document_has_a_row_of_its_own(folder):
    rows = mean_pooled_transformer(folder, "cpu", max_tokens=20)(["", "w1"])
    np.testing.assert_allclose(rows[0], alone(folder, "", 20), atol=1e-5)


def test_what_is_not_text_is_refused(folder):
    encode = mean_pooled_transformer(folder, "cpu", max_tokens=20)
    with pytest.raises(TypeError, match="must be a str, got nan"):
        encode(["w1", float("nan")])


def test_more_tokens_than_the_model_has_places_for_are_refused(folder):
    with pytest.raises(ValueError, match="max_tokens is 25, but .* at most 24"):
        mean_pooled_transformer(folder, "cpu", max_tokens=LONGEST + 1)


def test_weights_in_a_pickle_are_not_read(tmp_path):
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    (tmp_path / "pytorch_model.bin").write_bytes(b"anything")
    with pytest.raises(FileNotFoundError, match="exactly one model.safetensors"):
        mean_pooled_transformer(tmp_path, "cpu", max_tokens=20)


def test_code_next_to_the_weights_is_not_executed(folder, documents, tmp_path):
    import shutil

    copy = tmp_path / "model"
    shutil.copytree(folder / "package" / "model", copy)
    (copy / "modeling_own.py").write_text(
        f"from pathlib import Path\nPath({str(tmp_path / 'executed')!r}).touch()\n"
        "from transformers import BertConfig as OwnConfig, BertModel as OwnModel\n"
    )
    config = json.loads((copy / "config.json").read_text())
    config["auto_map"] = {
        "AutoConfig": "modeling_own.OwnConfig",
        "AutoModel": "modeling_own.OwnModel",
    }
    (copy / "config.json").write_text(json.dumps(config))
    rows = mean_pooled_transformer(copy, "cpu", max_tokens=20)(documents[:2])
    expected = mean_pooled_transformer(folder, "cpu", max_tokens=20)(documents[:2])
    np.testing.assert_array_equal(rows, expected)
    assert not (tmp_path / "executed").exists()
