"""Which peers and modes there are, and which of them can be run here."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec

from redraft.errors import UsageError

DRAFT = "draft"
"""The mode that needs the small model's weights."""


@dataclass(frozen=True, slots=True)
class PeerSpec:
    """One other engine."""

    name: str
    package: str
    """Distribution, and module to import, that it comes as."""
    module: str
    class_name: str
    """What runs in the peer's process."""
    modes: tuple[str, ...]

    @property
    def version(self) -> str | None:
        """None where it is not installed."""
        return version(self.package) if find_spec(self.package) is not None else None


LLAMA_CPP = PeerSpec(
    name="llama.cpp",
    package="xllamacpp",
    module="redraft.bench.peers.llamacpp_server",
    class_name="LlamaCppServer",
    modes=("plain", "ngram-simple", "ngram-map-k", "ngram-mod", "ngram-cache", DRAFT),
)
PEERS: tuple[PeerSpec, ...] = (LLAMA_CPP,)


@dataclass(frozen=True, slots=True)
class Contender:
    """One mode of one peer."""

    peer: PeerSpec
    mode: str

    @property
    def name(self) -> str:
        """As in tables."""
        return f"{self.peer.name} {self.mode}"


@dataclass(frozen=True, slots=True)
class Field:
    """Who is compared with."""

    contenders: tuple[Contender, ...]
    versions: dict[str, str]
    skipped: dict[str, str]
    """Peer to the reason why it is not run."""


def field_of(peers: Collection[PeerSpec], modes: Collection[str]) -> Field:
    """The contenders of these modes (all without any). Raises UsageError for an unknown mode."""
    known = {mode for peer in peers for mode in peer.modes}
    unknown = [mode for mode in modes if mode not in known]
    if unknown:
        raise UsageError(f"no peer has a mode {unknown[0]}; there are {', '.join(sorted(known))}")
    contenders: list[Contender] = []
    versions: dict[str, str] = {}
    skipped: dict[str, str] = {}
    for peer in peers:
        found = peer.version
        if found is None:
            skipped[peer.name] = f"{peer.package} is not installed; pip install 'redraft[peers]'"
            continue
        versions[peer.package] = found
        contenders += [Contender(peer, one) for one in peer.modes if not modes or one in modes]
    return Field(tuple(contenders), versions, skipped)
