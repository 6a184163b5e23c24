"""What redraft wants to know of a weights file, taken from its GGUF header and checked.

It knows the meaning of header keys and of well-known marker tokens; the bytes are read by
`redraft.models.gguf`. It knows no engine: whether an engine runs the architecture is said by
`redraft.models.architectures`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from redraft.errors import ModelDamaged, ModelMissing, ModelUnsupported
from redraft.models.catalogue import remedy, shown
from redraft.models.gguf import Header, Numbers, Strings, Unreadable, read_header
from redraft.models.tensor_types import FILE_TYPES

_LARGEST_VOCABULARY = 1 << 20
_LONGEST_TEMPLATE = 1 << 20
_LONGEST_MARKER = 256
_MOST_SPECIALS = 1 << 15
_CONTROL = 3
_USER_DEFINED = 4
_INT32 = (4, 5)
_FLOAT32 = 6

# Texts under which the marker tokens are known, as in llama.cpp, tried in this order; files of
# one vendor lack the explicit keys, those of another have them.
_MARKERS: dict[str, tuple[str, ...]] = {
    "prefix": (
        "<|fim_prefix|>",
        "<fim-prefix>",
        "<fim_prefix>",
        "<｜fim▁begin｜>",
        "<PRE>",
        "▁<PRE>",
        "<|code_prefix|>",
        "<|prefix|>",
    ),
    "suffix": (
        "<|fim_suffix|>",
        "<fim-suffix>",
        "<fim_suffix>",
        "<｜fim▁hole｜>",
        "<SUF>",
        "▁<SUF>",
        "<|code_suffix|>",
        "<|suffix|>",
    ),
    "middle": (
        "<|fim_middle|>",
        "<fim-middle>",
        "<fim_middle>",
        "<｜fim▁end｜>",
        "<MID>",
        "▁<MID>",
        "<|code_middle|>",
        "<|middle|>",
    ),
    "pad": ("<|fim_pad|>", "<fim-pad>", "<fim_pad>"),
    "repository": (
        "<|fim_repo|>",
        "<|repo_name|>",
        "<fim-repo>",
        "<REPO>",
        "<reponame>",
        "<repo_name>",
    ),
    "file_separator": ("<|file_sep|>", "<file_sep>"),
}
_MARKER_KEYS: dict[str, tuple[str, ...]] = {
    "prefix": ("fim_pre_token_id", "prefix_token_id"),
    "suffix": ("fim_suf_token_id", "suffix_token_id"),
    "middle": ("fim_mid_token_id", "middle_token_id"),
    "pad": ("fim_pad_token_id",),
    "repository": ("fim_rep_token_id",),
    "file_separator": ("fim_sep_token_id",),
}
_END_TEXTS = (
    "<|eot_id|>",
    "<|im_end|>",
    "<|end|>",
    "<end_of_turn>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<EOT>",
    "_<EOT>",
    "▁<EOT>",
    "[EOT]",
    "<｜end▁of▁sentence｜>",
    "<|EOT|>",
    "<|eom_id|>",
    "<|return|>",
    "<|cursor|>",
)


@dataclass(frozen=True, slots=True)
class MarkerTokens:
    """Ids of the fill-in-the-middle markers; None where the vocabulary has none."""

    prefix: int | None = None
    suffix: int | None = None
    middle: int | None = None
    pad: int | None = None
    repository: int | None = None
    file_separator: int | None = None


@dataclass(frozen=True, slots=True)
class Metadata:
    """A weights file by its header. Token ids are within the vocabulary; texts are valid."""

    path: Path
    architecture: str
    name: str
    quantization: str
    """Such as `Q4_K_M`; empty when the file does not say."""
    context_length: int
    block_count: int
    tensor_count: int
    vocabulary_size: int
    tokenizer_model: str
    """`gpt2` (byte pairs), `llama` (SentencePiece) and so on."""
    pretokenizer: str
    """`tokenizer.ggml.pre`; empty when the file does not say."""
    chat_template: str | None
    fim: MarkerTokens
    bos: int | None
    eos: int | None
    eot: int | None
    bos_text: str
    eos_text: str
    add_bos: bool
    """Whether a prompt begins with `bos`."""
    end_tokens: frozenset[int]
    """Tokens that end an answer: end of text, of turn, of message."""
    specials: tuple[str, ...]
    """Texts of control and user-defined tokens."""
    size: int
    """Bytes the file must have at least, by its tensor list."""


def read_metadata(path: Path) -> Metadata:
    """Read and check the header of the weights at `path`; takes well under 150 ms.

    Raises ModelMissing (no such file, not readable), ModelDamaged (empty, truncated, corrupt, not
    GGUF) and ModelUnsupported (GGUF, but no language model, in pieces, or of an unknown tensor
    type), each with one line that names the remedy.
    """
    try:
        header = read_header(path)
        if header.file_size < header.required_size:
            short = header.required_size - header.file_size
            raise Unreadable(f"is {short:,} bytes short of {header.required_size:,}")
        return _Reading(path, header).metadata()
    except Unreadable as error:
        raise ModelDamaged(f"model file {shown(path)} {error}; {remedy(path)}") from None
    except FileNotFoundError:
        raise ModelMissing(f"no model file {shown(path)}; {remedy(path)}") from None
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ModelMissing(f"model file {shown(path)} cannot be read: {reason}") from None


class _Reading:
    """One header on its way to a Metadata."""

    def __init__(self, path: Path, header: Header) -> None:
        self._path = path
        self._header = header
        self._values = header.values

    def metadata(self) -> Metadata:
        architecture = self._text("general.architecture", _LONGEST_MARKER)
        if not architecture:
            raise Unreadable("does not say its architecture")
        self._refuse_other_kinds()
        tokens = self._tokens(architecture)
        texts = self._bracketed(tokens)
        fim = MarkerTokens(**{part: self._marker(part, tokens, texts) for part in _MARKERS})
        bos, eos = self._special("bos", tokens), self._special("eos", tokens)
        eot = self._special("eot", tokens)
        return Metadata(
            path=self._path,
            architecture=architecture,
            name=self._text("general.name", 4096) or self._path.stem,
            quantization=FILE_TYPES.get(self._integer("general.file_type", -1), ""),
            context_length=self._required(f"{architecture}.context_length"),
            block_count=self._required(f"{architecture}.block_count"),
            tensor_count=self._header.tensor_count,
            vocabulary_size=len(tokens),
            tokenizer_model=self._text("tokenizer.ggml.model", _LONGEST_MARKER),
            pretokenizer=self._text("tokenizer.ggml.pre", _LONGEST_MARKER),
            chat_template=self._text("tokenizer.chat_template", _LONGEST_TEMPLATE) or None,
            fim=fim,
            bos=bos,
            eos=eos,
            eot=eot,
            bos_text=self._token_text(tokens, bos),
            eos_text=self._token_text(tokens, eos),
            add_bos=bos is not None and self._add_bos(),
            end_tokens=self._ends(tokens, texts),
            specials=self._specials(tokens),
            size=self._header.required_size,
        )

    def _refuse_other_kinds(self) -> None:
        kind = self._text("general.type", _LONGEST_MARKER)
        if kind not in ("", "model"):
            raise ModelUnsupported(
                f"model file {shown(self._path)} is of the kind {kind!r}, not a language model;"
                " choose the model's main GGUF file"
            )
        pieces = self._integer("split.count", 1)
        if pieces > 1:
            raise ModelUnsupported(
                f"model file {shown(self._path)} is one of {pieces} pieces;"
                " join them with llama-gguf-split --merge"
            )

    def _tokens(self, architecture: str) -> Strings:
        tokens = self._values.get("tokenizer.ggml.tokens")
        if not isinstance(tokens, Strings) or not len(tokens) or not self._header.tensor_count:
            raise ModelUnsupported(
                f"model file {shown(self._path)} ({architecture}) holds no vocabulary or no"
                " tensors, so it is no language model; choose the model's main GGUF file"
            )
        count = len(tokens)
        if count > _LARGEST_VOCABULARY:
            raise Unreadable(f"claims {count:,} tokens in its vocabulary")
        # The engines' library aborts the process when these disagree.
        for key, kinds in (("token_type", _INT32), ("scores", (_FLOAT32,))):
            value = self._values.get(f"tokenizer.ggml.{key}")
            if value is not None and (
                not isinstance(value, Numbers) or value.kind not in kinds or value.count != count
            ):
                raise Unreadable(f"is damaged: tokenizer.ggml.{key} does not fit the vocabulary")
        if not isinstance(self._values.get("tokenizer.ggml.merges", tokens), Strings):
            raise Unreadable("is damaged: tokenizer.ggml.merges is no list of strings")
        return tokens

    def _text(self, key: str, longest: int) -> str:
        value = self._values.get(key, b"")
        if not isinstance(value, bytes):
            raise Unreadable(f"is damaged: {key} is no string")
        if len(value) > longest:
            raise Unreadable(f"is damaged: {key} has {len(value):,} bytes")
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise Unreadable(f"is damaged: {key} is not UTF-8") from None

    def _integer(self, key: str, default: int) -> int:
        value = self._values.get(key, default)
        return value if isinstance(value, int) and not isinstance(value, bool) else default

    def _required(self, key: str) -> int:
        value = self._integer(key, 0)
        if not 0 < value < 1 << 31:
            raise Unreadable(f"is damaged: it lacks a usable {key}")
        return value

    def _add_bos(self) -> bool:
        # SentencePiece vocabularies begin with it unless told otherwise, as in llama.cpp.
        default = self._text("tokenizer.ggml.model", _LONGEST_MARKER) == "llama"
        return bool(self._values.get("tokenizer.ggml.add_bos_token", default))

    def _special(self, part: str, tokens: Strings) -> int | None:
        return self._within(self._integer(f"tokenizer.ggml.{part}_token_id", -1), tokens)

    def _within(self, token: int, tokens: Strings) -> int | None:
        """Files with id -1 or 2**32 - 1 for "none" exist, so such an id is not an error."""
        return token if 0 <= token < len(tokens) else None

    def _marker(self, part: str, tokens: Strings, texts: dict[str, int]) -> int | None:
        for key in _MARKER_KEYS[part]:
            token = self._within(self._integer(f"tokenizer.ggml.{key}", -1), tokens)
            if token is not None:
                return token
        return next((texts[text] for text in _MARKERS[part] if text in texts), None)

    def _bracketed(self, tokens: Strings) -> dict[str, int]:
        """The tokens that end like a marker, by text. The few are picked before any is decoded."""
        filled = np.flatnonzero(tokens.ends > tokens.starts)
        last = np.frombuffer(self._header.data, np.uint8)[tokens.ends[filled] - 1]
        chosen = filled[(last == ord(">")) | (last == ord("]"))]
        return {self._token_text(tokens, token): token for token in map(int, reversed(chosen))}

    def _token_text(self, tokens: Strings, token: int | None) -> str:
        if token is None:
            return ""
        raw = self._header.text(tokens, token)
        return raw[:_LONGEST_MARKER].decode(errors="replace")

    def _ends(self, tokens: Strings, texts: dict[str, int]) -> frozenset[int]:
        named = (self._special(part, tokens) for part in ("eos", "eot", "eom"))
        known = (texts.get(text) for text in _END_TEXTS)
        return frozenset(token for token in (*named, *known) if token is not None)

    def _specials(self, tokens: Strings) -> tuple[str, ...]:
        types = self._values.get("tokenizer.ggml.token_type")
        if not isinstance(types, Numbers):
            return ()
        kinds = np.frombuffer(self._header.data, "<i4", types.count, types.start)
        marked = np.flatnonzero((kinds == _CONTROL) | (kinds == _USER_DEFINED))[:_MOST_SPECIALS]
        texts = (self._token_text(tokens, int(token)) for token in marked)
        return tuple(text for text in texts if text)
