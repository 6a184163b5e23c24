"""Files keep their form: encoding, byte order mark, line endings, final newline, permissions."""

from __future__ import annotations

import codecs
import errno
import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from amount import examples
from availability import small_disk_at
from redraft.errors import InputError
from redraft.files import TextForm, parse, read, render, write_atomically


def refusal(error: pytest.ExceptionInfo[InputError]) -> str:
    text = str(error.value)
    assert "\n" not in text
    return text


MARKS = {
    "utf-8": codecs.BOM_UTF8,
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
    "utf-32-le": codecs.BOM_UTF32_LE,
    "utf-32-be": codecs.BOM_UTF32_BE,
}
texts = st.lists(
    st.one_of(
        st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=8),
        st.sampled_from(["\n", "\r\n", "\r", "\t", "é", "\x0c", "\u2028", "x = 1", ""]),
    ),
    max_size=30,
).map("".join)


@settings(deadline=None)
@given(text=texts, encoding=st.sampled_from([*MARKS, "plain"]))
def test_unchanged_text_gives_the_same_bytes(text: str, encoding: str) -> None:
    data = text.encode() if encoding == "plain" else MARKS[encoding] + text.encode(encoding)
    source = parse(data)
    assert "\r" not in source.text
    assert render(source.text, source.form) == data
    if encoding != "plain":
        assert source.form.mark == MARKS[encoding]


@settings(deadline=None, max_examples=examples(300))
@given(
    data=st.binary(max_size=200).map(lambda data: data.replace(b"\0", b"\n")),
    cookie=st.sampled_from(["", "latin-1", "cp1252", "shift_jis", "utf-7", "utf-16", "rot13", "?"]),
)
@example(data=b"\xff", cookie="")
@example(data=b"\xfe\xff\xd8", cookie="")
@example(data=b"\x81", cookie="cp1252")
def test_any_bytes_come_back(data: bytes, cookie: str) -> None:
    data = f"# -*- coding: {cookie} -*-\n".encode() + data if cookie else data
    try:
        source = parse(data)
    except InputError:
        assert data.startswith(tuple(MARKS.values()))  # U+0000 in UTF-16 or -32
        return
    assert render(source.text, source.form) == data
    source.text.encode()  # no lone surrogates, which no tokenizer takes


@pytest.mark.parametrize(
    ("cookie", "encoding", "lost"),
    [
        ("shift_jis", "shift_jis", "\u00a5"),
        ("shift_jis", "shift_jis", "\u203e"),
        ("euc_jp", "euc_jp", "\u00a5"),
        ("euc_jp", "euc_jp", "\u203e"),
        ("cp1252", "cp1252", "\u2192"),
        *((codec, "ascii", "é") for codec in ("hz", "punycode", "idna", "undefined")),
        ("unicode_escape", "ascii", "é"),
    ],
)
def test_what_would_be_read_back_as_other_text_is_refused(
    cookie: str, encoding: str, lost: str
) -> None:
    source = parse(f"# coding: {cookie}\nx = 1\n".encode(), "a.py")
    assert render(source.text, source.form) == source.text.encode()
    with pytest.raises(InputError) as error:
        render(source.text + f"y = '{lost}'\n", source.form)
    assert f"a.py is encoded as {encoding}, which has no {lost!a} (new line 3)" in refusal(error)


@settings(deadline=None, max_examples=examples(200))
@given(added=texts, cookie=st.sampled_from(["shift_jis", "euc_jp", "iso2022_jp", "hz", "gb18030"]))
def test_what_is_written_is_read_as_the_same_text(added: str, cookie: str) -> None:
    source = parse(f"# coding: {cookie}\n".encode())
    text = source.text + added.replace("\r\n", "\n").replace("\r", "\n").rstrip("\n") + "\n"
    try:
        data = render(text, source.form)
    except InputError:
        assert not added.isascii()
    else:
        assert data.decode(source.form.encoding) == text


@pytest.mark.parametrize(
    ("data", "encoding", "text"),
    [
        (b"", "utf-8", ""),
        ("naïve\n".encode(), "utf-8", "naïve\n"),
        ("# coding: latin-1\nx = 'é'\n".encode("latin-1"), "iso8859-1", None),
        ("# vim: set fileencoding=shift_jis :\n日本\n".encode("shift_jis"), "shift_jis", None),
        ("#!/bin/sh\n# coding: koi8-r\nпривет\n".encode("koi8-r"), "koi8-r", None),
        (b"\n\n# coding: koi8-r\n", "utf-8", None),
        (b"# coding: koi8-r\nascii\n", "koi8-r", None),
        ("# coding: latin-1\né\n".encode(), "utf-8", "# coding: latin-1\né\n"),
        (b"# coding: utf-16\nascii\n", "ascii", None),
        (b"# coding: hex\nascii\n", "ascii", None),
        (b"# coding: utf-8-sig\nascii\n", "utf-8", None),
        (b"# coding: no-such\n\xe9\n", "cp1252", None),
        (b"\x93quoted\x94\n", "cp1252", "“quoted”\n"),
        (b"\x81\xe9\n", "latin-1", "\x81é\n"),
    ],
)
def test_encodings_are_found(data: bytes, encoding: str, text: str | None) -> None:
    source = parse(data)
    assert source.form.encoding == encoding
    assert source.text == (data.decode(encoding) if text is None else text)
    assert render(source.text, source.form) == data


def test_new_text_gets_the_old_form() -> None:
    form = parse(codecs.BOM_UTF8 + b"a\r\nb\r\n").form
    assert render("a\nc\n", form) == codecs.BOM_UTF8 + b"a\r\nc\r\n"
    assert render("a\r\nc\r", form) == codecs.BOM_UTF8 + b"a\r\nc\r\n"
    assert render("a\rb", parse(b"x\ry\r").form) == b"a\rb\r"
    assert render("é\n", parse(b"# coding: latin-1\n\n").form) == b"\xe9\n"


@pytest.mark.parametrize(
    ("old", "new", "written"),
    [
        (b"a\n", "b", b"b\n"),
        (b"a\n", "b\n\n", b"b\n\n"),
        (b"a", "b\n", b"b"),
        (b"a", "b", b"b"),
        (b"a\r\nb", "b\nc\n", b"b\r\nc"),
        (b"", "b", b"b"),
        (b"", "b\n", b"b\n"),
        (b"a\n", "", b""),
    ],
)
def test_the_final_newline_stays_as_it_was(old: bytes, new: str, written: bytes) -> None:
    assert render(new, parse(old).form) == written


@pytest.mark.parametrize(
    ("old", "new", "written"),
    [
        (b"a\r\nb\nc\r\n", "a\nb\nc\n", b"a\r\nb\nc\r\n"),
        (b"a\r\nb\nc\r\n", "new\na\nb\nc\n", b"new\r\na\r\nb\nc\r\n"),
        (b"a\nb\r\nc\nd", "a\nx\nb\nd", b"a\nx\nb\r\nd"),
        (b"a\nb\r\nc\nd", "a\nb\nc\nd\ne", b"a\nb\r\nc\nd\ne"),
        (b"a\rb\nc\r", "a\nb\nc\nd\n", b"a\rb\nc\rd\r"),
        (b"a\r\r\nb\n", "a\n\nb\n", b"a\r\r\nb\n"),
    ],
)
def test_unchanged_lines_keep_their_ending(old: bytes, new: str, written: bytes) -> None:
    assert render(new, parse(old).form) == written


@pytest.mark.timeout(300)  # against a hang
def test_long_files_of_equal_lines_take_no_minutes() -> None:
    data = b"\r\n\n" * 20_000 + b"x\n"
    source = parse(data)
    assert render(source.text, source.form) == data
    assert render("y\n" + source.text[:-2] + "z\n", source.form).startswith(b"y\n")


def test_characters_that_the_encoding_does_not_have() -> None:
    source = parse(b"# coding: latin-1\r\nx = '\xe9'\r\n", "old.py")
    with pytest.raises(InputError) as caught:
        render(source.text + "y = '→'\n", source.form)
    text = refusal(caught)
    assert text.startswith("old.py is encoded as iso8859-1, which has no '\\u2192' (new line 3)")


# What cannot be read


@pytest.mark.parametrize("data", [b"a\0b", "x".encode("utf-16-le") * 4, b"\x7fELF\0\0"])
def test_binary_data_are_refused(data: bytes) -> None:
    with pytest.raises(InputError) as caught:
        parse(data, "some.bin")
    assert refusal(caught).startswith("some.bin looks binary")


def test_utf16_with_null_characters_is_binary() -> None:
    with pytest.raises(InputError, match="NUL characters"):
        parse(codecs.BOM_UTF16_LE + "a\0b".encode("utf-16-le"))


def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a folder"):
        read(tmp_path)
    with pytest.raises(InputError, match="there is no file"):
        read(tmp_path / "none")
    with pytest.raises(InputError, match="is not a regular file"):
        read(Path("/dev/null"))
    with pytest.raises(InputError, match="Not a directory"):
        read(Path("/dev/null/x"))
    (tmp_path / "long").write_text("12345")
    assert read(tmp_path / "long", limit=5).text == "12345"
    with pytest.raises(InputError, match="longer than 4 bytes"):
        read(tmp_path / "long", limit=4)
    (tmp_path / "a\nb").mkdir()
    with pytest.raises(InputError) as caught:
        read(tmp_path / "a\nb")
    refusal(caught)


@pytest.fixture
def users_folder() -> Iterator[Path]:
    """A folder of a user without rights, as whom the test runs where it was started by root."""
    with tempfile.TemporaryDirectory() as name:
        if os.geteuid() != 0:
            yield Path(name)
            return
        os.chown(name, 65534, 65534)
        os.seteuid(65534)
        try:
            yield Path(name)
        finally:
            os.seteuid(0)


def test_permissions_are_respected(users_folder: Path) -> None:
    path = users_folder / "closed"
    path.write_text("x")
    path.chmod(0)
    with pytest.raises(InputError, match="may not be read"):
        read(path)
    path.chmod(0o444)
    with pytest.raises(InputError, match="is read-only"):
        write_atomically(path, b"y")
    path.chmod(0o644)
    users_folder.chmod(0o555)
    with pytest.raises(InputError, match="may not be written to"):
        write_atomically(path, b"y")
    users_folder.chmod(0o755)
    assert path.read_text() == "x"


# Writing


def only(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_writing_keeps_permissions_and_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "script.sh"
    path.write_bytes(b"old")
    path.chmod(0o750)
    write_atomically(path, b"new")
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o750
    write_atomically(tmp_path / "fresh", b"x")
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE((tmp_path / "fresh").stat().st_mode) == 0o666 & ~umask
    assert only(tmp_path) == ["fresh", "script.sh"]


@pytest.mark.skipif(sys.platform != "linux", reason="Python has the calls on Linux only")
def test_writing_keeps_extended_attributes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"old")
    try:
        os.setxattr(path, "user.origin", b"elsewhere")
        os.setxattr(path, "user.refused", b"x")
    except OSError as error:
        pytest.skip(f"this file system has none: {error}")
    really = os.setxattr

    def refuse(file: int, name: str, value: bytes) -> None:
        if name == "user.refused":
            raise OSError(errno.ENOSPC, "no space")
        really(file, name, value)

    monkeypatch.setattr(os, "setxattr", refuse)
    write_atomically(path, b"new")
    assert path.read_bytes() == b"new"
    assert os.listxattr(path) == ["user.origin"]
    assert os.getxattr(path, "user.origin") == b"elsewhere"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_root_does_not_take_a_file_over(tmp_path: Path) -> None:
    path = tmp_path / "theirs"
    path.write_bytes(b"old")
    os.chown(path, 65534, 65534)
    write_atomically(path, b"new")
    assert (path.stat().st_uid, path.stat().st_gid) == (65534, 65534)


def test_writing_follows_links(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    path = tmp_path / "real" / "file"
    path.write_bytes(b"old")
    link = tmp_path / "link"
    link.symlink_to("real/file")
    write_atomically(link, b"new")
    assert link.is_symlink()
    assert path.read_bytes() == b"new"
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    with pytest.raises(InputError, match="link to itself"):
        write_atomically(loop, b"x")
    with pytest.raises(InputError):
        read(loop)


def test_what_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a regular file"):
        write_atomically(tmp_path, b"x")
    with pytest.raises(InputError, match="there is no folder"):
        write_atomically(tmp_path / "no" / "file", b"x")
    with pytest.raises(InputError, match="not a regular file"):
        write_atomically(Path("/dev/null"), b"x")
    with pytest.raises(InputError) as caught:
        write_atomically(Path("/proc/file"), b"x")
    assert "file" in refusal(caught)


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "full"), KeyboardInterrupt()])
def test_a_failed_write_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def fail(_: int) -> None:
        raise error

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises((InputError, KeyboardInterrupt)) as caught:
        write_atomically(path, b"new")
    if isinstance(caught.value, InputError):
        assert "was not changed: the disk is full" in str(caught.value)
    assert path.read_bytes() == b"old"
    assert only(tmp_path) == ["file"]


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Path]:
    """A disk of 64 KB of its own."""
    with small_disk_at(tmp_path / "disk", 64) as folder:
        yield folder


def test_a_full_and_a_read_only_disk(mounted: Path) -> None:
    path = mounted / "file"
    path.write_bytes(b"old")
    with pytest.raises(InputError, match="the disk is full"):
        write_atomically(path, bytes(100_000))
    subprocess.run(["mount", "-o", "remount,ro", str(mounted)], check=True)
    with pytest.raises(InputError) as caught:
        write_atomically(path, b"new")
    assert "read-only" in refusal(caught) or "may not be written to" in refusal(caught)
    assert path.read_bytes() == b"old"
    assert only(mounted) == ["file"]


def test_a_form_by_itself_is_plain() -> None:
    assert render("é\n", TextForm()) == "é\n".encode()
