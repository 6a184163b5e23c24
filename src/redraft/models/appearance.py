"""Says what a file that is no GGUF file looks like, so that the user sees what went wrong.

It looks at the first bytes only.
"""

from __future__ import annotations

_BEGINNINGS: tuple[tuple[bytes, str], ...] = (
    (b"version https://git-lfs", "a Git LFS pointer: the file itself was not fetched"),
    (b"PK\x03\x04", "a zip archive, such as a wheel or a PyTorch checkpoint"),
    (b"\x1f\x8b", "a gzip archive: unpack it first"),
    (b"\xfd7zXZ", "an xz archive: unpack it first"),
    (b"\x28\xb5\x2f\xfd", "a zstd archive: unpack it first"),
    (b"lmgg", "the older GGML format: convert it to GGUF"),
    (b"ggml", "the older GGML format: convert it to GGUF"),
    (b"tjgg", "the older GGJT format: convert it to GGUF"),
    (b"fmgg", "the older GGMF format: convert it to GGUF"),
    (b"FUGG", "GGUF with its bytes swapped"),
    (b"\x80\x02", "a Python pickle"),
    (b"\x89HDF", "an HDF5 file"),
    (b"\x7fELF", "a program"),
)


def describe(data: bytes) -> str:
    """A few words on what begins with `data` (some kilobytes are enough)."""
    for beginning, words in _BEGINNINGS:
        if data.startswith(beginning):
            return f"it looks like {words}"
    start = data[:512].lstrip().lower()
    if start.startswith((b"<!doctype", b"<html", b"<head", b"<?xml")):
        return "it looks like a web page: the download answered with one"
    if data[8:10] == b'{"' and int.from_bytes(data[:8], "little") < 1 << 30:
        return "it looks like safetensors weights: fetch or convert to GGUF"
    if start.startswith((b"{", b"[")):
        return "it looks like JSON"
    if not data[:4096].strip(b"\0"):
        return "it begins with zero bytes only: an interrupted download?"
    return "it begins with " + ascii(data[:8].decode("latin-1"))
