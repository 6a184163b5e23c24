"""Small sources in four languages, and packages of every registry's kind made from them."""

from __future__ import annotations

import hashlib
import io
import shutil
import subprocess
import tarfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from redraft.bench.workloads.scenarios.pins import Language, SourcePin

GO = """// Package store keeps pairs.
package store

import "errors"

// Store is a map with a name.
type Store struct {
	name  string
	pairs map[string]string
}

// New makes an empty store.
func New(name string) *Store {
	if name == "default" {
		return &Store{name: "default", pairs: map[string]string{}}
	}
	return &Store{name: name, pairs: map[string]string{}}
}

// Get finds a value. It fails
// where there is none.
func (s *Store) Get(key string) (string, error) {
	value, ok := s.pairs[key]
	if !ok {
		return "", errors.New("missing")
	}
	return value, nil
}

// Set keeps a value.
func (s *Store) Set(key, value string) {
	s.pairs[key] = value
}

func newPair(key, value string) [2]string {
	return [2]string{key, value}
}

func (s *Store) all() [][2]string {
	found := [][2]string{}
	for key, value := range s.pairs {
		found = append(found, newPair(key, value))
	}
	return found
}
"""
RUST = """use std::collections::HashMap;

/// A map with a name.
pub struct Store {
    name: String,
    pairs: HashMap<String, String>,
}

impl Store {
    /// Makes an empty store.
    #[inline]
    pub fn new(name: &str) -> Store {
        if name == "default" {
            return Store { name: String::from("default"), pairs: HashMap::new() };
        }
        Store { name: name.to_string(), pairs: HashMap::new() }
    }

    /// Finds a value.
    pub fn get(&self, key: &str) -> Option<&String> {
        self.pairs.get(key)
    }

    // not documentation

    pub(crate) fn count(&self) -> usize {
        self.pairs.len()
    }
}

/// Joins two texts.
pub fn make_pair(left: &str, right: &str) -> String {
    let mut pair = String::new();
    pair.push_str(left);
    pair.push_str(right);
    pair
}

fn doubled(text: &str) -> String {
    make_pair(text, text)
}

#[cfg(test)]
mod tests {
    #[test]
    fn works() {
        assert!(true);
    }
}
"""
TYPESCRIPT = """import {Entry} from './entry';

/**
 * A map with a name.
 */
export class Store {
  private pairs = new Map<string, string>();

  constructor(public name: string) {}

  /** Finds a value. */
  get(key: string): string | undefined {
    return this.pairs.get(key);
  }

  private all(): Entry[] {
    return [...this.pairs.entries()].map(pair => makeEntry(pair[0], pair[1]));
  }
}

/** Makes an entry. */
export function makeEntry(key: string, value: string): Entry {
  if (key === 'default') {
    return {key: 'default', value: value.trim()};
  }
  return {key, value};
}

function isEmpty(entry: Entry): boolean {
  return entry.key === '' && entry.value === '';
}
"""
PYTHON = '''"""Keeps pairs."""

import functools


class Store:
    """A map with a name."""

    def __init__(self, name):
        self.name = name
        self.pairs = {}

    def get(self, key):
        """Find a value."""
        if key == "default":
            return self.pairs.get("default", None)
        return self.pairs.get(key)


@functools.cache
def make_pair(left, right):
    """Join two texts,
    the left one first."""
    # in this order
    pair = left + right
    return pair


def doubled(text):
    return make_pair(text, text)
'''
SOURCES: Mapping[Language, str] = {
    "go": GO,
    "rust": RUST,
    "typescript": TYPESCRIPT,
    "python": PYTHON,
}


def write_deb(folder: Path, name: str, version: str, files: Mapping[str, str]) -> Path:
    """A package that the real dpkg-deb made."""
    tree = folder / f"tree-{name}"
    control = f"Package: {name}\nVersion: {version}\nArchitecture: all\nMaintainer: Nobody\n"
    (tree / "DEBIAN").mkdir(parents=True)
    (tree / "DEBIAN" / "control").write_text(control + "Description: for a test\n")
    for path, text in files.items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text(text)
    archive = folder / f"{name}_{version}_all.deb"
    subprocess.run(
        ["dpkg-deb", "--root-owner-group", "--build", str(tree), str(archive)],
        check=True,
        capture_output=True,
    )
    return archive


def write_npm(folder: Path, name: str, version: str, files: Mapping[str, str]) -> Path:
    """A package as `npm pack` makes it: all below `package/`."""
    archive = folder / f"{name}-{version}.tgz"
    with tarfile.open(archive, "w:gz") as packed:
        for path, text in files.items():
            member = tarfile.TarInfo(f"package/{path}")
            member.size = len(text.encode())
            packed.addfile(member, io.BytesIO(text.encode()))
    return archive


def write_wheel(folder: Path, name: str, version: str, files: Mapping[str, str]) -> Path:
    """A wheel that pip accepts."""
    archive = folder / f"{name}-{version}-py3-none-any.whl"
    info = f"{name}-{version}.dist-info"
    tags = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    with zipfile.ZipFile(archive, "w") as packed:
        for path, text in files.items():
            packed.writestr(path, text)
        packed.writestr(f"{info}/METADATA", metadata)
        packed.writestr(f"{info}/WHEEL", tags)
        packed.writestr(f"{info}/RECORD", "")
    return archive


def pin_of(language: Language, archive: Path, name: str, version: str) -> SourcePin:
    """The pin that an archive satisfies."""
    registries = {".deb": "debian", ".tgz": "npm", ".whl": "pypi"}
    checksum = hashlib.sha256(archive.read_bytes()).hexdigest()
    registry = registries[archive.suffix]
    return SourcePin(language, registry, name, version, archive.name, checksum)  # type: ignore[arg-type]


class LocalClients:
    """Stands for apt-get and npm: copies what they would download. pip is the real one."""

    def __init__(self, index: Path) -> None:
        self.index = index
        self.commands: list[list[str]] = []

    def __call__(self, command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
        self.commands.append(list(command))
        if command[0] == "apt-get":
            name, _, version = command[-1].partition("=")
            pattern, refusal = (
                f"{name}_{version}_*.deb",
                f"E: Version '{version}' for '{name}' was not found",
            )
        else:
            name, _, version = command[-1].rpartition("@")
            bare = name.removeprefix("@").replace("/", "-")
            pattern, refusal = f"{bare}-{version}.tgz", f"npm error 404 No match for {command[-1]}"
        found = sorted(self.index.glob(pattern))
        for archive in found:
            shutil.copy(archive, folder)
        return subprocess.CompletedProcess(
            command, 0 if found else 100, "", "" if found else refusal
        )
