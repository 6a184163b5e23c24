"""Type-checked only: the shipped engines satisfy the protocols."""

from redraft.engines.fake import FakeEngine, FakeSequence, FakeTokenizer
from redraft.engines.ik import IkEngine, IkSequence, IkTokenizer
from redraft.protocols import Engine, Sequence, Tokenizer


def engines(fake: FakeEngine, ik: IkEngine) -> tuple[Engine, Engine]:
    return fake, ik


def sequences(fake: FakeSequence, ik: IkSequence) -> tuple[Sequence, Sequence]:
    return fake, ik


def tokenizers(fake: FakeTokenizer, ik: IkTokenizer) -> tuple[Tokenizer, Tokenizer]:
    return fake, ik
