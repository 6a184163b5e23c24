"""Writes small GGUF files for tests: any header, well-formed or not."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

UINT32, INT32, FLOAT32, BOOL, STRING, ARRAY, UINT64 = 4, 5, 6, 7, 8, 9, 10
_FORMS = {UINT32: "<I", INT32: "<i", FLOAT32: "<f", BOOL: "<?", UINT64: "<Q"}


@dataclass(frozen=True)
class Typed:
    """A value with a GGUF type of the test's choice."""

    kind: int
    value: Any


def typed_array(kind: int, items: Iterable[Any]) -> Typed:
    return Typed(ARRAY, (kind, list(items)))


def string(text: str | bytes) -> bytes:
    raw = text.encode() if isinstance(text, str) else text
    return struct.pack("<Q", len(raw)) + raw


def _payload(kind: int, value: Any) -> bytes:
    if kind == STRING:
        return string(value)
    if kind == ARRAY:
        inner, items = value
        return struct.pack("<IQ", inner, len(items)) + b"".join(_payload(inner, i) for i in items)
    return struct.pack(_FORMS[kind], value)


def value_bytes(value: Any) -> bytes:
    """A value with its type in front; Python values get the usual types."""
    if isinstance(value, Typed):
        return struct.pack("<I", value.kind) + _payload(value.kind, value.value)
    if isinstance(value, bool):
        return value_bytes(Typed(BOOL, value))
    if isinstance(value, int):
        return value_bytes(Typed(UINT32, value))
    if isinstance(value, float):
        return value_bytes(Typed(FLOAT32, value))
    if isinstance(value, (str, bytes)):
        return value_bytes(Typed(STRING, value))
    return value_bytes(typed_array(STRING if isinstance(value[0], (str, bytes)) else INT32, value))


@dataclass(frozen=True)
class Tensor:
    name: str
    shape: tuple[int, ...] = (32,)
    kind: int = 0
    offset: int = 0
    size: int = 128


def gguf_bytes(
    values: Mapping[str | bytes, Any],
    tensors: Iterable[Tensor] = (Tensor("token_embd.weight"),),
    version: int = 3,
    alignment: int = 32,
) -> bytes:
    tensors = list(tensors)
    out = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(values))
    for key, value in values.items():
        out += string(key) + value_bytes(value)
    for tensor in tensors:
        out += string(tensor.name) + struct.pack("<I", len(tensor.shape))
        out += struct.pack(f"<{len(tensor.shape)}Q", *tensor.shape)
        out += struct.pack("<IQ", tensor.kind, tensor.offset)
    out += b"\0" * (-len(out) % alignment)
    return out + bytes(max((t.offset + t.size for t in tensors), default=0))


TOKENS = [
    "a",
    "b",
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|fim_prefix|>",
    "<|fim_middle|>",
    "<|fim_suffix|>",
    "<|fim_pad|>",
    "<|repo_name|>",
    "<|file_sep|>",
    "Ġ>",
]
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def sample_values(**changes: Any) -> dict[str | bytes, Any]:
    """The header of a small qwen2 model; `changes` by key with `__` for the dot, None removes."""
    values: dict[str | bytes, Any] = {
        "general.architecture": "qwen2",
        "general.name": "Sample",
        "general.file_type": 15,
        "qwen2.context_length": 2048,
        "qwen2.block_count": 2,
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "qwen2",
        "tokenizer.ggml.tokens": TOKENS,
        "tokenizer.ggml.token_type": [1, 1, *[3] * 9, 1],
        "tokenizer.ggml.merges": ["a b"],
        "tokenizer.ggml.eos_token_id": 4,
        "tokenizer.ggml.bos_token_id": 2,
        "tokenizer.ggml.add_bos_token": False,
        "tokenizer.chat_template": TEMPLATE,
    }
    for key, value in changes.items():
        name = key.replace("__", ".")
        if value is None:
            del values[name]
        else:
            values[name] = value
    return values


def write_sample(path: Path, **changes: Any) -> Path:
    path.write_bytes(gguf_bytes(sample_values(**changes)))
    return path
