"""The GGUF reader: what it reads, what it refuses and how it says so."""

from __future__ import annotations

import os
import struct
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amount import fuzzing
from gguf_writer import (
    ARRAY,
    INT32,
    STRING,
    TOKENS,
    UINT64,
    Tensor,
    Typed,
    gguf_bytes,
    sample_values,
    string,
    typed_array,
    value_bytes,
    write_sample,
)
from redraft.errors import ModelDamaged, ModelError, ModelMissing, ModelUnsupported
from redraft.models import CATALOGUE, read_metadata, require_supported
from redraft.models.architectures import ARCHITECTURES
from redraft.models.tensor_types import TENSOR_TYPES


def refusal(path: Path, kind: type[ModelError] = ModelDamaged) -> str:
    with pytest.raises(ModelError) as caught:
        require_supported(read_metadata(path))
    assert type(caught.value) is kind
    text = str(caught.value)
    assert "\n" not in text
    assert path.name in text
    return text


def test_a_pipe_is_refused_without_waiting_for_a_writer(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "m.gguf")
    assert "is not a regular file" in refusal(tmp_path / "m.gguf")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return tmp_path / "model.gguf"


def write(path: Path, **changes: Any) -> Path:
    return write_sample(path, **changes)


def test_reads_what_the_header_says(model: Path) -> None:
    metadata = read_metadata(write(model))
    assert metadata.architecture == "qwen2"
    assert metadata.name == "Sample"
    assert metadata.quantization == "Q4_K_M"
    assert (metadata.context_length, metadata.block_count) == (2048, 2)
    assert (metadata.vocabulary_size, metadata.tensor_count) == (len(TOKENS), 1)
    assert (metadata.bos, metadata.eos, metadata.eot) == (2, 4, None)
    assert (metadata.bos_text, metadata.eos_text) == ("<|endoftext|>", "<|im_end|>")
    assert not metadata.add_bos
    assert metadata.end_tokens == {2, 4}
    assert metadata.size == model.stat().st_size
    assert metadata.specials == tuple(TOKENS[2:11])
    require_supported(metadata)


def test_finds_markers_by_their_text(model: Path) -> None:
    fim = read_metadata(write(model)).fim
    assert (fim.prefix, fim.middle, fim.suffix) == (5, 6, 7)
    assert (fim.pad, fim.repository, fim.file_separator) == (8, 9, 10)


def test_explicit_keys_come_before_texts_and_none_ids_are_none(model: Path) -> None:
    changes = {
        "tokenizer__ggml__fim_pre_token_id": 1,
        "tokenizer__ggml__suffix_token_id": 0,
        "tokenizer__ggml__fim_mid_token_id": 2**32 - 1,
        "tokenizer__ggml__eos_token_id": Typed(INT32, -1),
    }
    metadata = read_metadata(write(model, **changes))
    assert (metadata.fim.prefix, metadata.fim.suffix, metadata.fim.middle) == (1, 0, 6)
    assert metadata.eos is None


def test_sentencepiece_markers_and_leading_token(model: Path) -> None:
    tokens = ["<unk>", "<s>", "</s>", "▁<PRE>", "▁<SUF>", "▁<MID>", "▁<EOT>"]
    metadata = read_metadata(
        write(
            model,
            general__architecture="llama",
            llama__context_length=10,
            llama__block_count=1,
            tokenizer__ggml__model="llama",
            tokenizer__ggml__tokens=tokens,
            tokenizer__ggml__token_type=[2, 3, 3, 3, 3, 3, 3],
            tokenizer__ggml__bos_token_id=1,
            tokenizer__ggml__eos_token_id=2,
            tokenizer__ggml__add_bos_token=None,
        )
    )
    assert (metadata.fim.prefix, metadata.fim.suffix, metadata.fim.middle) == (3, 4, 5)
    assert metadata.add_bos
    assert metadata.end_tokens == {2, 6}


def test_a_file_without_template_or_markers_is_read(model: Path) -> None:
    changes: dict[str, Any] = {
        "tokenizer__chat_template": None,
        "tokenizer__ggml__tokens": ["a", "", "<|x|>"],
        "tokenizer__ggml__token_type": [1, 1, 3],
    }
    metadata = read_metadata(write(model, **changes))
    assert metadata.chat_template is None
    assert metadata.fim.prefix is None


def test_version_2_is_read(model: Path) -> None:
    model.write_bytes(gguf_bytes(sample_values(), version=2))
    assert read_metadata(model).architecture == "qwen2"


# What is not a usable weights file


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"<!DOCTYPE html><html>", "web page"),
        (b"\n  <html lang=en>", "web page"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "Git LFS pointer"),
        (b"PK\x03\x04" + bytes(40), "zip archive"),
        ((70).to_bytes(8, "little") + b'{"__metadata__":{}}', "safetensors"),
        (b"lmgg" + bytes(40), "GGML"),
        (b'{"error": "Not found"}', "JSON"),
        (bytes(5000), "zero bytes"),
        (b"\x1f\x8b\x08" + bytes(40), "gzip"),
        (b"hello, world", "'hello, w'"),
        (b"GGUF", "ends inside its header"),
        (b"GGUF" + struct.pack("<IQQ", 1, 1, 1), "version 1"),
        (b"GGUF" + struct.pack("<IQQ", 77, 1, 1), "version 77"),
        (b"GGUF" + struct.pack(">IQQ", 3, 1, 1), "big-endian"),
    ],
)
def test_refuses_other_files_by_what_they_look_like(
    model: Path, content: bytes, words: str
) -> None:
    model.write_bytes(content)
    assert words in refusal(model)


def test_refuses_missing_folder_fifo_and_unreadable(tmp_path: Path) -> None:
    assert "no model file" in refusal(tmp_path / "none.gguf", ModelMissing)
    (tmp_path / "folder.gguf").mkdir()
    assert "cannot be read" in refusal(tmp_path / "folder.gguf", ModelMissing)
    assert "not a regular file" in refusal_of_device()


def refusal_of_device() -> str:
    with pytest.raises(ModelDamaged) as caught:
        read_metadata(Path("/dev/null"))
    return str(caught.value)


def test_truncated_header_and_truncated_tensors(model: Path) -> None:
    whole = gguf_bytes(sample_values(), [Tensor("a", (64,), size=256)])
    for length in sorted({*range(0, len(whole), 31), *range(len(whole) - 256, len(whole), 5)}):
        model.write_bytes(whole[:length])
        text = refusal(model)
        if length >= len(whole) - 256:
            assert f"is {len(whole) - length:,} bytes short of {len(whole):,}" in text


def test_a_truncated_catalogue_model_names_the_command(tmp_path: Path) -> None:
    path = tmp_path / CATALOGUE[0].file
    path.write_bytes(gguf_bytes(sample_values())[:-1])
    assert f"is 1 bytes short of {read_size(path)}" in refusal(path)
    assert f"'redraft models pull {CATALOGUE[0].id}'" in refusal(path)


def read_size(path: Path) -> str:
    return f"{path.stat().st_size + 1:,}"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"general__architecture": None}, "does not say its architecture"),
        ({"general__architecture": 5}, "general.architecture is no string"),
        ({"qwen2__context_length": None}, "lacks a usable qwen2.context_length"),
        ({"qwen2__block_count": 0}, "lacks a usable qwen2.block_count"),
        ({"tokenizer__chat_template": b"\xff\xfe"}, "chat_template is not UTF-8"),
        ({"tokenizer__chat_template": "x" * 2_000_000}, "2,000,000 bytes"),
        ({"tokenizer__ggml__token_type": [1, 2]}, "token_type does not fit"),
        ({"tokenizer__ggml__scores": [1, 2]}, "scores does not fit"),
        ({"tokenizer__ggml__merges": [1, 2]}, "merges is no list"),
        ({"general__alignment": 0}, "general.alignment"),
        ({"general__alignment": "32"}, "general.alignment"),
        ({"general__alignment": 48}, "general.alignment"),
    ],
)
def test_refuses_damaged_values(model: Path, changes: dict[str, Any], words: str) -> None:
    assert words in refusal(write(model, **changes))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"general__type": "adapter"}, "'adapter'"),
        ({"general__type": "mmproj"}, "'mmproj'"),
        ({"tokenizer__ggml__tokens": None}, "no vocabulary"),
        ({"tokenizer__ggml__tokens": [1, 2]}, "no vocabulary"),
        ({"split__count": 3}, "one of 3 pieces"),
        ({"tokenizer__ggml__model": "rwkv"}, "'rwkv'"),
        ({"tokenizer__ggml__pre": "newest"}, "'newest'"),
    ],
)
def test_refuses_unsuitable_models(model: Path, changes: dict[str, Any], words: str) -> None:
    assert words in refusal(write(model, **changes), ModelUnsupported)


@pytest.mark.parametrize(
    ("architecture", "words"),
    [
        ("nonesuch", "'nonesuch', which the ik engine does not support"),
        ("bert", "encoder"),
        ("mamba", "recurrent"),
        ("qwen2vl", "positions"),
    ],
)
def test_refuses_unsupported_architectures(model: Path, architecture: str, words: str) -> None:
    changes: dict[str, Any] = {
        "general__architecture": architecture,
        f"{architecture}__context_length": 10,
        f"{architecture}__block_count": 1,
    }
    assert words in refusal(write(model, **changes), ModelUnsupported)


def test_the_families_that_people_use_are_supported() -> None:
    assert {"llama", "qwen2", "qwen2moe", "qwen3", "qwen3moe", "gemma3", "phi3"} <= ARCHITECTURES
    assert {"starcoder2", "deepseek2", "granite", "command-r", "glm4", "gemma"} <= ARCHITECTURES


@pytest.mark.parametrize(
    ("tensors", "words"),
    [
        ([Tensor("a"), Tensor("a", offset=128)], "there twice"),
        ([Tensor("a", kind=4)], "unknown tensor type 4"),
        ([Tensor("a", kind=4_000_000_000)], "unknown tensor type"),
        ([Tensor("a", shape=(1, 1, 1, 1, 1))], "5 dimensions"),
        ([Tensor("a", shape=(0,))], "has the shape [0]"),
        ([Tensor("a", shape=(33,), kind=2)], "has the shape [33]"),
        ([Tensor("a", shape=(2**63,))], "has the shape"),
        ([Tensor("a", offset=3)], "not aligned"),
        ([Tensor("a\nb", offset=3)], r"'a\nb' is not aligned"),
    ],
)
def test_refuses_damaged_tensor_lists(model: Path, tensors: list[Tensor], words: str) -> None:
    model.write_bytes(gguf_bytes(sample_values(), tensors))
    assert words in refusal(model)


def test_no_tensors_is_no_language_model(model: Path) -> None:
    model.write_bytes(gguf_bytes(sample_values(), []))
    assert "no tensors" in refusal(model, ModelUnsupported)


def header(tensors: int, keys: int, rest: bytes = b"") -> bytes:
    return b"GGUF" + struct.pack("<IQQ", 3, tensors, keys) + rest


HUGE = 2**62


@pytest.mark.parametrize(
    "content",
    [
        header(HUGE, 1),
        header(2**64 - 1, 2**64 - 1),
        header(1, HUGE),
        header(60_000, 4_000),
        header(1, 1, struct.pack("<Q", HUGE) + b"key"),
        header(1, 1, struct.pack("<Q", 0)),
        header(1, 1, string(b"\xff\xff") + struct.pack("<I", 0)),
        header(1, 1, string("key") + struct.pack("<I", 99)),
        header(1, 1, string("key") + struct.pack("<IQ", STRING, HUGE)),
        header(1, 1, string("key") + struct.pack("<IIQ", ARRAY, STRING, HUGE)),
        header(1, 1, string("key") + struct.pack("<IIQ", ARRAY, STRING, 4_000_000)),
        header(1, 1, string("key") + struct.pack("<IIQ", ARRAY, UINT64, HUGE)),
        header(1, 1, string("key") + struct.pack("<IIQ", ARRAY, ARRAY, 1)),
        header(1, 1, string("key") + struct.pack("<IIQ", ARRAY, 13, 1)),
        header(1, 1, string("key") + struct.pack("<IIQQ", ARRAY, STRING, 1, 2**64 - 1)),
        header(1, 2, (string("key") + value_bytes(1)) * 2),
    ],
)
@pytest.mark.timeout(300)  # against a hang
def test_absurd_counts_cost_nothing(model: Path, content: bytes) -> None:
    model.write_bytes(content + bytes(1000))
    tracemalloc.start()
    refusal(model)
    assert tracemalloc.get_traced_memory()[1] < 20 << 20
    tracemalloc.stop()


@pytest.mark.parametrize("kind", [STRING, 0])
@pytest.mark.timeout(300)  # against a hang
def test_a_huge_sparse_file_is_refused_without_reading_it(model: Path, kind: int) -> None:
    count = 1 << 20 if kind == STRING else 1 << 38
    content = header(1, 1, string("key") + struct.pack("<IIQ", ARRAY, kind, count))
    with model.open("wb") as file:
        file.write(content)
        file.truncate(1 << 39)
    refusal(model)
    assert model.stat().st_blocks < 100


def test_a_header_longer_than_the_first_read(model: Path) -> None:
    changes = {"tokenizer__huggingface__json": "x" * (9 << 20)}
    assert read_metadata(write(model, **changes)).fim.prefix == 5


def test_strange_names_stay_on_one_line(tmp_path: Path) -> None:
    path = tmp_path / "a\nb\x1b[31m.gguf"
    path.write_bytes(b"")
    with pytest.raises(ModelDamaged) as caught:
        read_metadata(path)
    assert "\n" not in str(caught.value)
    assert "\x1b" not in str(caught.value)


# Fuzzing: whatever the bytes, only a ModelError comes out

SAMPLE = gguf_bytes(
    sample_values(extra=typed_array(UINT64, [1, 2]), more=typed_array(STRING, ["x", "yy"]))
)


@st.composite
def mutations(draw: st.DrawFn) -> bytes:
    data = bytearray(SAMPLE)
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, len(data) - 1))
        match draw(st.sampled_from(["byte", "number", "cut", "insert", "copy"])):
            case "byte":
                data[at] = draw(st.integers(0, 255))
            case "number":
                number = draw(st.sampled_from([0, 1, 8, 9, 255, 2**31, 2**32 - 1, 2**63, HUGE]))
                data[at : at + 8] = struct.pack("<Q", number)
            case "cut":
                del data[at : at + draw(st.integers(1, 64))]
            case "insert":
                data[at:at] = draw(st.binary(min_size=1, max_size=16))
            case "copy":
                other = draw(st.integers(0, len(data) - 1))
                data[at : at + 16] = data[other : other + 16]
        if not data:
            break
    return bytes(data)


@fuzzing(300)
@given(content=mutations())
def test_only_model_errors_come_out(model: Path, content: bytes) -> None:
    model.write_bytes(content)
    try:
        metadata = read_metadata(model)
        require_supported(metadata)
    except ModelError as error:
        assert "\n" not in str(error)
    else:
        assert metadata.size <= len(content)
        assert all(0 <= token < metadata.vocabulary_size for token in metadata.end_tokens)


@fuzzing(300)
@given(content=st.binary(max_size=300))
def test_only_model_errors_come_out_of_random_headers(model: Path, content: bytes) -> None:
    model.write_bytes(b"GGUF\x03\0\0\0" + content)
    with pytest.raises(ModelError):
        read_metadata(model)


def test_tensor_sizes_are_those_of_the_library() -> None:
    ik_library = pytest.importorskip("redraft.engines.ik_library")
    library = ik_library.load()
    import ctypes

    library.ggml_blck_size.restype = ctypes.c_int
    library.ggml_type_size.restype = ctypes.c_size_t
    library.ggml_row_size.restype = ctypes.c_size_t
    library.ggml_row_size.argtypes = [ctypes.c_int, ctypes.c_int64]
    for kind, form in TENSOR_TYPES.items():
        if form.name != "I2_S":
            assert library.ggml_blck_size(kind) == form.block
            assert library.ggml_type_size(kind) == form.block_bytes
            row = form.block * 4096
            assert library.ggml_row_size(kind, row) == form.size(row, 1)
