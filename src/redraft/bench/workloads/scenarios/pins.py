"""Which packages the scenarios are cut from: each fixed by version and SHA-256. Data only.

A database and a service framework at least for every language, as registries serve them with
sources. Debian's Rust packages differ by architecture, so that one architecture is named.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Language = Literal["go", "rust", "python", "typescript"]
Registry = Literal["debian", "npm", "pypi"]

LANGUAGES: tuple[Language, ...] = ("go", "rust", "python", "typescript")


@dataclass(frozen=True, slots=True)
class SourcePin:
    """One package with sources in one language, fixed to the byte."""

    language: Language
    registry: Registry
    name: str
    """By which the registry's client knows it."""
    version: str
    archive: str
    """File name that the client gives it."""
    sha256: str

    @property
    def label(self) -> str:
        """Short, for the names of tasks: without what every package of its registry has."""
        bare = self.name.partition(":")[0].removeprefix("golang-").removeprefix("librust-")
        bare = bare.removesuffix("-dev").removeprefix("github-").removeprefix("@")
        return bare.replace("/", "-")


PINS = (
    SourcePin(
        "go",
        "debian",
        "golang-github-dgraph-io-badger-dev",
        "2.2007.2-3",
        "golang-github-dgraph-io-badger-dev_2.2007.2-3_all.deb",
        "aac6da74fdad594834092793937fdfffa0f5a7e75092ef63a597b591a59c7e12",
    ),
    SourcePin(
        "go",
        "debian",
        "golang-github-syndtr-goleveldb-dev",
        "0.0~git20200815.5c35d60-1",
        "golang-github-syndtr-goleveldb-dev_0.0~git20200815.5c35d60-1_all.deb",
        "805976421ea4ab7719b128d4d2a12510627812cae48bccefd8d2c919146db265",
    ),
    SourcePin(
        "go",
        "debian",
        "golang-github-gin-gonic-gin-dev",
        "1.8.1-1",
        "golang-github-gin-gonic-gin-dev_1.8.1-1_all.deb",
        "66d916769bcd36a6722b0c92a81719b8faca56f69662b17d1ef7ba257c85367a",
    ),
    SourcePin(
        "go",
        "debian",
        "golang-github-labstack-echo-dev",
        "4.2.1-3",
        "golang-github-labstack-echo-dev_4.2.1-3_all.deb",
        "3ec383b8cb239c415d9ab83b3e8871524931f6da13e75e41baf580b74b3599ef",
    ),
    SourcePin(
        "rust",
        "debian",
        "librust-rusqlite-dev:amd64",
        "0.28.0-4",
        "librust-rusqlite-dev_0.28.0-4_amd64.deb",
        "49ce0299378cb64afc25dd591be0abf794046860e5322e53e9e16f60801dbc84",
    ),
    SourcePin(
        "rust",
        "debian",
        "librust-tokio-postgres-dev:amd64",
        "0.7.7-2",
        "librust-tokio-postgres-dev_0.7.7-2_amd64.deb",
        "a1b8dcc7bce4d2d41fc66992b919b0a222e595a299a8f412b5c0b6f94857b50a",
    ),
    SourcePin(
        "rust",
        "debian",
        "librust-hyper-dev:amd64",
        "0.14.19-1",
        "librust-hyper-dev_0.14.19-1_amd64.deb",
        "aece343fc0a52b2bc5f479962d8ed191ee4ac75716224cfdc693515234e2beef",
    ),
    SourcePin(
        "rust",
        "debian",
        "librust-tower-dev:amd64",
        "0.4.13-2",
        "librust-tower-dev_0.4.13-2_amd64.deb",
        "34c4b5485085944a2152a9fb97bbcc965795d5e6f4e0ed24684423d3a66b0093",
    ),
    SourcePin(
        "python",
        "pypi",
        "sqlalchemy",
        "2.0.44",
        "sqlalchemy-2.0.44-py3-none-any.whl",
        "19de7ca1246fbef9f9d1bff8f1ab25641569df226364a0e40457dc5457c54b05",
    ),
    SourcePin(
        "python",
        "pypi",
        "starlette",
        "0.48.0",
        "starlette-0.48.0-py3-none-any.whl",
        "0764ca97b097582558ecb498132ed0c7d942f233f365b86ba37770e026510659",
    ),
    SourcePin(
        "python",
        "pypi",
        "werkzeug",
        "3.1.3",
        "werkzeug-3.1.3-py3-none-any.whl",
        "54b78bf3716d19a65be4fceccc0d1d7b89e608834989dfae50ea87564639213e",
    ),
    SourcePin(
        "typescript",
        "npm",
        "@tanstack/db",
        "0.15.2",
        "tanstack-db-0.15.2.tgz",
        "18682e004ce628f78fd144409e8780c9cca774eaac141f953d1a146a573738b9",
    ),
    SourcePin(
        "typescript",
        "npm",
        "@loopback/repository",
        "8.0.15",
        "loopback-repository-8.0.15.tgz",
        "10342eb58a64aea6559fa7baae1d2d929dac6c85c14a27477231ce383366d8bd",
    ),
    SourcePin(
        "typescript",
        "npm",
        "@loopback/rest",
        "15.0.16",
        "loopback-rest-15.0.16.tgz",
        "dcbf7c5f5d1e5340e29ff88342faada20b8b2d622ca3c8eb520634260bcc3f24",
    ),
    SourcePin(
        "typescript",
        "npm",
        "@trpc/server",
        "11.25.2",
        "trpc-server-11.25.2.tgz",
        "43d5562bf3d3ca2ba55bb37a91020c19d90ddaa3359a1eb55e5fefc62c6cb29a",
    ),
)
