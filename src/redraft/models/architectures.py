"""Which architectures and pre-tokenizers the `ik` engine runs, found by giving each to its library.

The lists hold for the pinned version of the library. They leave out what it loads but redraft
cannot use: see `_UNUSABLE`. This module does not know how a model is run.
"""

from __future__ import annotations

from redraft.errors import ModelUnsupported
from redraft.models.catalogue import shown
from redraft.models.metadata import Metadata

_ARCHITECTURES_AS_TEXT = """
arctic baichuan bailingmoe2 bitnet bitnet-25 bitnet-b1.58 bloom chatglm codeshell cohere2
command-r dbrx deci deepseek2 dots1 ernie4_5 ernie4_5-moe falcon gemma gemma2 gemma3 gemma4
glm-dsa glm4 glm4moe gpt-oss gpt2 gptj gptneox granite granitemoe grok hunyuan-moe internlm2
jais llama llama4 mimo2 minicpm minimax-m2 mistral3 mistral4 mpt olmo openelm orion phi2 phi3
plamo qwen qwen2 qwen2moe qwen3 qwen3moe refact seed_oss smollm3 stablelm starcoder starcoder2
step35 xverse
"""
ARCHITECTURES = frozenset(_ARCHITECTURES_AS_TEXT.split())
"""`general.architecture` of decoders whose KV cache can be cut at any length."""

_PRETOKENIZERS_AS_TEXT = """
a.x-4.0 afmoe bailingmoe bailingmoe2 bloom chameleon chatglm-bpe codeshell command-r dbrx
deepseek-coder deepseek-llm deepseek-r1-qwen deepseek-v3 default exaone exaone-moe exaone4
f2llmv2 falcon falcon-h1 falcon3 gemma4 gigachat glm4 gpt-2 gpt-4o gpt3-finnish granite-docling
grok-2 hunyuan hunyuan-dense jais jais-2 jina-de jina-es jina-v1-en jina-v2-code jina-v2-de
jina-v2-es jina-v5-nano joyai-llm kanana2 kimi-k2 kormo lfm2 llada-moe llama-bpe llama-v3 llama3
llama4 megrez mellum midm-2.0 minerva-7b minimax-m2 modern-bert mpt olmo phi-2 pixtral poro-chat
qwen2 qwen35 refact roberta-bpe seed-coder smaug-bpe smollm solar-open stablelm2 starcoder
superbpe tekken tiny_aya trillion viking youtu
"""
PRETOKENIZERS = frozenset(_PRETOKENIZERS_AS_TEXT.split())
"""`tokenizer.ggml.pre` of byte-pair vocabularies; the library refuses to load others."""

_TOKENIZERS = frozenset({"gpt2", "llama"})

_UNUSABLE: dict[str, str] = {
    **dict.fromkeys(
        ["bert", "nomic-bert", "jina-bert-v2", "t5", "t5encoder"],
        "it is an encoder and generates nothing",
    ),
    **dict.fromkeys(
        ["mamba", "qwen3next", "qwen35", "qwen35moe"],
        "its recurrent state cannot be cut back after a rejected draft",
    ),
    **dict.fromkeys(
        ["qwen2vl", "qwen3vl", "qwen3vlmoe"], "its positions have several dimensions, for images"
    ),
}


def require_supported(metadata: Metadata) -> None:
    """Raise ModelUnsupported unless the `ik` engine runs this model."""
    start = f"model file {shown(metadata.path)}"
    architecture = metadata.architecture
    if architecture in _UNUSABLE:
        raise ModelUnsupported(
            f"{start} is of the architecture {architecture!r}: {_UNUSABLE[architecture]};"
            " choose another model"
        )
    if architecture not in ARCHITECTURES:
        raise ModelUnsupported(
            f"{start} is of the architecture {architecture!r}, which the ik engine does not"
            " support; choose another model, or the llamacpp engine if it knows this one"
        )
    if metadata.tokenizer_model not in _TOKENIZERS:
        raise ModelUnsupported(
            f"{start} has a tokenizer of the kind {metadata.tokenizer_model!r}; supported are"
            f" {' and '.join(sorted(_TOKENIZERS))}"
        )
    if metadata.tokenizer_model == "gpt2" and metadata.pretokenizer not in PRETOKENIZERS | {""}:
        raise ModelUnsupported(
            f"{start} cuts text by the rules {metadata.pretokenizer!r}, which the ik engine does"
            " not know; choose another model, or the llamacpp engine if it knows them"
        )
