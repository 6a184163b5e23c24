"""Type-checked only: the shipped engines satisfy the protocols."""

from redraft.engines.fake import FakeEngine, FakeSequence, FakeTokenizer
from redraft.engines.ik import IkWeights
from redraft.engines.llamacpp import LlamaCppWeights
from redraft.engines.native import NativeEngine, NativeSequence, NativeWeights
from redraft.engines.vocabulary import NativeTokenizer
from redraft.protocols import Engine, Sequence, Tokenizer


def engines(fake: FakeEngine, native: NativeEngine) -> tuple[Engine, Engine]:
    return fake, native


def sequences(fake: FakeSequence, native: NativeSequence) -> tuple[Sequence, Sequence]:
    return fake, native


def tokenizers(fake: FakeTokenizer, native: NativeTokenizer) -> tuple[Tokenizer, Tokenizer]:
    return fake, native


def weights(ik: IkWeights, llamacpp: LlamaCppWeights) -> tuple[NativeWeights, NativeWeights]:
    return ik, llamacpp
