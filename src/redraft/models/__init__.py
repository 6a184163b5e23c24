"""Weights by name or path: the catalogue, pulling and verifying, headers, and prompt templates.

It does not load weights (engines do) and knows no tokenizer but through the protocol.
"""

from redraft.models.architectures import require_supported
from redraft.models.catalogue import (
    CATALOGUE,
    DRAFTER,
    TARGET,
    CatalogueModel,
    entry,
    find,
    location,
    models_folder,
)
from redraft.models.checksum import is_marked
from redraft.models.metadata import MarkerTokens, Metadata, read_metadata
from redraft.models.packages import PackageIndex
from redraft.models.progress import Progress, Report
from redraft.models.pulling import pull, verify
from redraft.models.sources import GivenFile, HuggingFace, Source
from redraft.models.templates import (
    Message,
    Segment,
    completion_ends,
    encode_segments,
    fill_in_middle,
    render_chat,
)

__all__ = [
    "CATALOGUE",
    "DRAFTER",
    "TARGET",
    "CatalogueModel",
    "GivenFile",
    "HuggingFace",
    "MarkerTokens",
    "Message",
    "Metadata",
    "PackageIndex",
    "Progress",
    "Report",
    "Segment",
    "Source",
    "completion_ends",
    "encode_segments",
    "entry",
    "fill_in_middle",
    "find",
    "is_marked",
    "location",
    "models_folder",
    "pull",
    "read_metadata",
    "render_chat",
    "require_supported",
    "verify",
]
