"""Type-checked only: the shipped engines satisfy the protocols."""

from redraft.engines.fake import FakeEngine, FakeSequence, FakeTokenizer
from redraft.engines.ik import IkEngine, IkTokenizer, IkWeights
from redraft.engines.llamacpp import LlamaCppEngine, LlamaCppTokenizer, LlamaCppWeights
from redraft.engines.native import NativeSequence, NativeWeights
from redraft.protocols import Engine, Sequence, Tokenizer


def engines(
    fake: FakeEngine, ik: IkEngine, llamacpp: LlamaCppEngine
) -> tuple[Engine, Engine, Engine]:
    return fake, ik, llamacpp


def sequences(fake: FakeSequence, native: NativeSequence) -> tuple[Sequence, Sequence]:
    return fake, native


def tokenizers(
    fake: FakeTokenizer, ik: IkTokenizer, llamacpp: LlamaCppTokenizer
) -> tuple[Tokenizer, Tokenizer, Tokenizer]:
    return fake, ik, llamacpp


def weights(ik: IkWeights, llamacpp: LlamaCppWeights) -> tuple[NativeWeights, NativeWeights]:
    return ik, llamacpp
