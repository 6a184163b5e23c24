"""The corpus: ordering, index file, building and drafting, with bytes as tokens."""

from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from filelock import FileLock
from hypothesis import given, settings
from hypothesis import strategies as st

from amount import examples
from redraft.drafters import Resources
from redraft.drafters.corpus.build import Budget, BuildReport, build_index, start_in_background
from redraft.drafters.corpus.drafter import CorpusDrafter
from redraft.drafters.corpus.files import (
    Segment,
    imported_names,
    installed_python,
    project_segment,
    python_segment,
    source_files,
)
from redraft.drafters.corpus.index import (
    SAMPLE,
    SIZES,
    CorpusIndex,
    fingerprint,
    index_bytes,
    open_index,
    write_index,
)
from redraft.drafters.corpus.ordering import DEPTH, bucket_starts, context_order
from redraft.engines.fake import FakeTokenizer
from redraft.errors import Cancelled, InputError
from redraft.protocols import DraftContext
from redraft.tokens import NO_DRAFT, Choice, Draft, Verdict

VOCAB = 5
streams = st.lists(st.lists(st.integers(0, VOCAB - 1), max_size=40), max_size=6)


def joined(files: list[list[int]]) -> np.ndarray:
    return np.array([token for file in files for token in (-1, *file)], np.int32)


def made(folder: Path, files: list[list[int]], name: str = "a.index") -> CorpusIndex:
    write_index(folder / name, "mark", VOCAB, joined(files), [])
    index = open_index(folder / name, "mark")
    assert index is not None
    return index


def project(folder: Path, **texts: str) -> Path:
    root = folder / "project"
    root.mkdir(exist_ok=True)
    for name, text in texts.items():
        (root / f"{name}.py").write_text(text)
    return root


def built(folder: Path, root: Path, budget: Budget | None = None) -> BuildReport:
    return build_index(folder / "index", project_segment(root), FakeTokenizer(), budget)


def drafted(folder: Path, text: str, limit: int = 12, language: str = "python") -> str:
    tokenizer = FakeTokenizer()
    drafter = CorpusDrafter.build(Resources(tokenizer, corpus=folder / "index"))
    drafter.start(DraftContext(tuple(tokenizer.encode(text)), language=language))
    return followed(drafter, limit)


def followed(drafter: CorpusDrafter, limit: int) -> str:
    """The text of up to `limit` tokens, asked for one by one, however unlikely."""
    tokens: tuple[int, ...] = ()
    while len(tokens) < limit and (more := drafter.propose(1, tokens)):
        tokens += more.tokens
    return FakeTokenizer().decode(tokens)


# ordering


@given(files=streams)
def test_positions_are_sorted_by_what_stands_before_them(files: list[list[int]]) -> None:
    tokens = joined(files)
    order = context_order(tokens, VOCAB)
    contexts = [tokens[max(0, p - DEPTH) : p][::-1].tolist() for p in order]
    assert contexts == sorted(contexts)
    useful = {p for p in range(1, len(tokens)) if tokens[p] >= 0 and tokens[p - 1] >= 0}
    assert set(order.tolist()) == useful and len(order) == len(useful)
    starts = bucket_starts(tokens, order, VOCAB)
    for token in range(VOCAB):
        bucket = order[starts[token] : starts[token + 1]]
        assert (tokens[bucket - 1] == token).all()
    assert starts[VOCAB] == len(order)


@pytest.mark.parametrize("vocab_size", [1, 2, 264, 151_936, 2**21, 2**31 - 2])
def test_any_size_of_vocabulary_is_sorted(vocab_size: int) -> None:
    top = vocab_size - 1
    tokens = np.array([-1, *[top, 0, top, top, 0, 0, top] * 8], np.int32)
    order = context_order(tokens, vocab_size)
    contexts = [tokens[max(0, p - DEPTH) : p][::-1].tolist() for p in order]
    assert contexts == sorted(contexts) and len(contexts) == len(tokens) - 2


# index


@given(files=streams, context=st.lists(st.integers(0, VOCAB - 1), max_size=30))
@settings(max_examples=examples(60))
def test_evidence_is_what_a_naive_search_finds(
    tmp_path_factory: pytest.TempPathFactory, files: list[list[int]], context: list[int]
) -> None:
    index = made(tmp_path_factory.mktemp("index"), files)
    found = index.evidence(context)
    expected: list[tuple[int, Counter[int]]] = []
    for size in SIZES:
        for length in range(min(len(context), DEPTH), 0, -1):
            wanted = context[len(context) - length :]
            following = [
                file[end]
                for file in files
                for end in range(length, len(file))
                if file[end - length : end] == wanted
            ]
            if len(following) >= size:
                if not expected or expected[-1][0] != length:
                    expected.append((length, Counter(following)))
                break
    assert [level.length for level in found] == [length for length, _ in expected]
    for level, (_, counts) in zip(found, expected, strict=True):
        if counts.total() <= SAMPLE:
            assert Counter(level.following) == counts
        else:
            assert len(level.following) == SAMPLE
            assert set(level.following) <= set(counts)


def test_a_large_sample_keeps_the_proportions(tmp_path: Path) -> None:
    index = made(tmp_path, [[1, 2] * 3000, [1, 3] * 1000])
    counts = Counter(index.evidence([1])[-1].following)
    assert counts.total() == SAMPLE
    assert counts[2] == pytest.approx(SAMPLE * 0.75, abs=2)


def test_an_index_keeps_its_files_and_size(tmp_path: Path) -> None:
    size = write_index(tmp_path / "a.index", "mark", VOCAB, joined([[1, 2, 3]]), [])
    assert size == (tmp_path / "a.index").stat().st_size
    index = open_index(tmp_path / "a.index", "mark")
    assert index is not None and index.files() == []
    assert index.tokens.tolist() == [-1, 1, 2, 3]
    assert (tmp_path / "a.index").stat().st_mode & 0o077 == 0, "others must not read the code"


@pytest.mark.parametrize("context", [(), (-1,), (-5, 2), (VOCAB,), (2**40,), (2**40, 1, 2)])
def test_tokens_that_cannot_occur_match_nothing_or_what_stands_after_them(
    tmp_path: Path, context: tuple[int, ...]
) -> None:
    index = made(tmp_path, [[1, 2, 3]])
    assert [level.length for level in index.evidence(context)] == ([2] if len(context) == 3 else
                                                                   [1] if context == (-5, 2) else
                                                                   [])  # fmt: skip


def test_another_vocabulary_is_another_index(tmp_path: Path) -> None:
    made(tmp_path, [[1, 2, 3]])
    assert open_index(tmp_path / "a.index", "other") is None
    assert open_index(tmp_path / "missing.index", "mark") is None


@given(cut=st.integers(0, 10_000))
@settings(max_examples=examples(40))
def test_a_truncated_index_is_ignored(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    folder = tmp_path_factory.mktemp("index")
    made(folder, [[1, 2, 3, 4] * 20])
    whole = (folder / "a.index").read_bytes()
    (folder / "a.index").write_bytes(whole[: cut % len(whole)])
    assert open_index(folder / "a.index", "mark") is None
    (folder / "a.index").write_bytes(whole + b"x" * (1 + cut % 9))
    assert open_index(folder / "a.index", "mark") is None


@given(
    damage=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), min_size=1),
    contexts=st.lists(st.lists(st.integers(0, VOCAB - 1), max_size=8), max_size=8),
)
@settings(max_examples=examples(150))
def test_a_damaged_index_never_fails_nor_gives_a_token_outside_the_vocabulary(
    tmp_path_factory: pytest.TempPathFactory,
    damage: list[tuple[float, int]],
    contexts: list[list[int]],
) -> None:
    folder = tmp_path_factory.mktemp("index")
    made(folder, [[1, 2, 3, 4] * 10, [4, 3, 2, 1, 0] * 10])
    content = bytearray((folder / "a.index").read_bytes())
    for place, value in damage:
        content[int(place * len(content))] = value
    (folder / "a.index").write_bytes(bytes(content))
    index = open_index(folder / "a.index", "mark")
    for context in contexts if index is not None else ():
        for level in index.evidence(context):
            assert all(0 <= token < VOCAB for token in level.following)


# building


def test_a_project_is_indexed_and_drafted_from(tmp_path: Path) -> None:
    root = project(tmp_path, a="def frobnicate(widget):\n    return widget\n")
    report = built(tmp_path, root)
    assert (report.files, report.written, report.reused) == (1, ("python",), 0)
    assert report.index_bytes <= index_bytes(report.tokens, 264) + 1000
    assert drafted(tmp_path, "x = frobni", 8) == "cate(wid"


def test_only_what_changed_is_tokenised_again(tmp_path: Path) -> None:
    class Counting(FakeTokenizer):
        texts: list[str] = []  # noqa: RUF012 - a record of the calls

        def encode(self, text: str, special: bool = False) -> list[int]:
            self.texts.append(text)
            return super().encode(text, special)

    root = project(tmp_path, a="alpha = 1\n", b="beta = 2\n")
    built(tmp_path, root)
    index = tmp_path / "index" / "project.python.index"
    before = index.stat().st_ino
    report = built(tmp_path, root)
    assert (report.written, report.reused) == ((), 2)
    assert index.stat().st_ino == before, "nothing changed, so nothing is written"
    (root / "b.py").write_text("gamma = 3333\n")
    (root / "c.py").write_text("delta = 4\n")
    report = build_index(tmp_path / "index", project_segment(root), Counting())
    assert (report.files, report.reused) == (3, 1)
    assert [text for text in Counting.texts if "=" in text and "def" not in text] == [
        "gamma = 3333\n",
        "delta = 4\n",
    ]
    assert drafted(tmp_path, "gamm", 6) == "a = 33"
    assert drafted(tmp_path, "alph", 4) == "a = "
    assert "beta" not in drafted(tmp_path, "bet", 1) + "bet"
    (root / "a.py").unlink()
    assert built(tmp_path, root).files == 2
    assert not drafted(tmp_path, "alph")


def test_a_touched_file_of_the_same_size_is_read_again(tmp_path: Path) -> None:
    root = project(tmp_path, a="one = 111\n")
    built(tmp_path, root)
    (root / "a.py").write_text("one = 222\n")
    os.utime(root / "a.py", ns=(1, 1))
    assert built(tmp_path, root).written == ("python",)
    assert drafted(tmp_path, "one", 6) == " = 222"


def test_each_language_has_its_own_index_and_unknown_asks_all(tmp_path: Path) -> None:
    root = project(tmp_path, a="value = 'python'\n")
    (root / "b.go").write_text("value = 'golang'\n")
    assert set(built(tmp_path, root).written) == {"python", "go"}
    assert drafted(tmp_path, "value = '", 6, "python") == "python"
    assert drafted(tmp_path, "value = '", 6, "go") == "golang"
    assert drafted(tmp_path, "value = '", 6, "cobol") == ""
    assert drafted(tmp_path, "value = '", 6, "") in ("python", "golang")
    (root / "b.go").unlink()
    built(tmp_path, root)
    assert drafted(tmp_path, "value = '", 6, "go") == ""


def test_no_match_crosses_files(tmp_path: Path) -> None:
    root = project(tmp_path, a="qqq", b="zzz")
    built(tmp_path, root)
    assert drafted(tmp_path, "qqq", 3) == "qqq"[:0] + drafted(tmp_path, "qqq", 3)
    assert "z" not in drafted(tmp_path, "qqq", 6)


def test_the_budget_bounds_tokens_and_bytes(tmp_path: Path) -> None:
    root = project(tmp_path, **{f"m{number:02}": "x = 12345\n" * 10 for number in range(20)})
    report = built(tmp_path, root, Budget(max_tokens=550))
    assert report.files == 5 and report.tokens <= 550
    report = built(tmp_path, root, Budget(max_bytes=index_bytes(320, 264)))
    assert report.files == 3 and report.index_bytes <= index_bytes(320, 264) + 1000
    report = built(tmp_path, root, Budget(max_file_bytes=50))
    assert report.files == 0
    assert not list((tmp_path / "index").glob("*.index"))


def test_files_that_are_no_example_of_code_are_left_out(tmp_path: Path) -> None:
    root = project(tmp_path, good="ok = 1\n", minified="x=1;" * 1000, empty="", zero="a\0b")
    (root / "latin.py").write_bytes(b"name = '\xe9'\n")
    (root / "notes.txt").write_text("text\n")
    (root / "lib.min.js").write_text("var a;\n")
    (root / "dangling.py").symlink_to(root / "nowhere.py")
    for folder in (".git", "node_modules", "build", "env"):
        (root / folder).mkdir()
        (root / folder / "inside.py").write_text("hidden = 1\n")
    (root / "env" / "pyvenv.cfg").write_text("")
    report = built(tmp_path, root)
    assert (report.files, report.unreadable) == (1, 3)


def test_newlines_and_byte_order_mark_are_made_plain(tmp_path: Path) -> None:
    root = project(tmp_path)
    (root / "dos.py").write_bytes(b"\xef\xbb\xbffirst = 1\r\nsecond = 2\r\n")
    built(tmp_path, root)
    assert drafted(tmp_path, "firs", 15) == "t = 1\nsecond = "


def test_what_is_excluded_is_not_indexed(tmp_path: Path) -> None:
    for name in ("keep/a.py", "secret/a.py", "deep/secret/b.py", "secret.py", "test_x.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x = 1\n")
    segment = Segment("project", (tmp_path,), exclude=("secret", "test_*"))
    found = [file.path.relative_to(tmp_path).as_posix() for file in source_files(segment, 1000)]
    assert found == ["keep/a.py"]


def test_imported_packages_come_first_and_none_takes_all(tmp_path: Path) -> None:
    site = tmp_path / "site"
    for package in ("aaa", "bbb", "ccc"):
        (site / package / "tests").mkdir(parents=True)
        (site / package / "tests" / "t.py").write_text("skip = 1\n")
        for number in range(8):
            (site / package / f"m{number}.py").write_text("word = 1\n" * 10)
    root = project(tmp_path, a="import os, sys\nfrom ccc.sub import x\n", b="  import ccc\n")
    assert imported_names(root) == ("ccc", "os")
    segment = Segment("python", (site,), installed=True, prefer=imported_names(root))
    packages = [file.package for file in source_files(segment, 1000)]
    assert packages == ["ccc"] * 8 + ["aaa"] * 8 + ["bbb"] * 8
    report = build_index(tmp_path / "index", segment, FakeTokenizer(), Budget(max_tokens=1600))
    taken = Counter(Path(file.path).parent.name for file in _files(tmp_path / "index"))
    assert taken == {"ccc": 8, "aaa": 3, "bbb": 3}
    assert report.tokens <= 1600


def _files(folder: Path) -> list:
    index = open_index(folder / "python.python.index", fingerprint(FakeTokenizer()))
    assert index is not None
    return index.files()


def test_the_project_environment_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    site = tmp_path / ".venv" / "lib" / "python3.12" / "site-packages"
    (site / "tiny").mkdir(parents=True)
    (site / "tiny" / "__init__.py").write_text("tiny = 1\n")
    stdlib, packages = installed_python(tmp_path)
    assert packages == site.resolve()
    assert (stdlib / "json").is_dir()
    assert installed_python(None)[-1] != packages
    segment = python_segment(tmp_path, exclude=("json",))
    names = {file.package for file in source_files(segment, 20_000)}
    assert {"tiny", "abc"} <= names and not {"json", "test"} & names


def test_one_build_at_a_time(tmp_path: Path) -> None:
    root = project(tmp_path, a="x = 1\n")
    (tmp_path / "index").mkdir()
    with FileLock(tmp_path / "index" / "project.lock"):
        assert built(tmp_path, root) == BuildReport("project", busy=True)
    assert built(tmp_path, root).files == 1


def test_what_a_killed_build_left_is_removed(tmp_path: Path) -> None:
    root = project(tmp_path, a="x = 1\n")
    (tmp_path / "index").mkdir()
    partial = tmp_path / "index" / ".project.python.index.abcd"
    partial.write_bytes(b"half")
    built(tmp_path, root)
    assert not partial.exists()


def test_a_failed_write_leaves_the_old_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = project(tmp_path, a="first = 1\n")
    built(tmp_path, root)
    (root / "a.py").write_text("second = 22\n")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(InputError, match=r"No space left.*make room"):
            built(tmp_path, root)
    assert drafted(tmp_path, "firs", 4) == "t = "
    assert sorted(path.name for path in (tmp_path / "index").iterdir()) == [
        "project.lock",
        "project.python.index",
    ]


def test_a_disk_without_room_is_seen_before_sorting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = project(tmp_path, a="first = 1\n")
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=100))
    monkeypatch.setattr("redraft.drafters.corpus.build.write_index", None)
    with pytest.raises(InputError, match=r"^no room for the corpus index: 0\.0 MB are needed in "):
        built(tmp_path, root)
    assert [path.name for path in (tmp_path / "index").iterdir()] == ["project.lock"]


def test_a_disk_that_fills_up_while_an_index_is_written(
    small_disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = project(tmp_path, a="first = 1\n" * 3000)
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=10**12))
    with pytest.raises(InputError, match=r"^cannot write the corpus index in .*; make room") as got:
        built(small_disk, root)
    assert str(got.value).isprintable()
    assert [path.name for path in (small_disk / "index").iterdir()] == ["project.lock"]


def test_a_build_can_be_stopped_at_every_file_and_between_the_stages(tmp_path: Path) -> None:
    root = project(tmp_path, a="first = 1\n", b="second = 2\n", c="third = 3\n")
    calls = 0

    def build(folder: Path, most: int) -> None:
        nonlocal calls
        calls = 0

        def check() -> None:
            nonlocal calls
            calls += 1
            if calls > most:
                raise Cancelled("interrupted")

        build_index(folder, project_segment(root), FakeTokenizer(), check=check)

    build(tmp_path / "whole", 1000)
    needed = calls
    assert needed >= 3 + 3  # each file, and the sorts
    for most in range(needed):
        with pytest.raises(Cancelled):
            build(tmp_path / "index", most)
        assert [path.name for path in (tmp_path / "index").iterdir()] == ["project.lock"]
    assert built(tmp_path, root).files == 3


def test_looking_for_packages_can_be_stopped(tmp_path: Path) -> None:
    def stop() -> None:
        raise Cancelled("interrupted")

    project(tmp_path, a="import json\n")
    with pytest.raises(Cancelled):
        python_segment(tmp_path, check=stop)
    with pytest.raises(Cancelled):
        next(source_files(python_segment(), 20_000, stop))


def test_a_damaged_index_is_built_again(tmp_path: Path) -> None:
    root = project(tmp_path, a="first = 1\n")
    built(tmp_path, root)
    path = tmp_path / "index" / "project.python.index"
    path.write_bytes(path.read_bytes()[:-4])
    assert drafted(tmp_path, "firs") == ""
    report = built(tmp_path, root)
    assert (report.written, report.reused) == (("python",), 0)
    assert drafted(tmp_path, "firs", 4) == "t = "


def test_a_folder_that_cannot_be_made_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "index").write_text("a file")
    with pytest.raises(InputError, match="choose another folder"):
        built(tmp_path, project(tmp_path, a="x = 1\n"))


def test_a_background_build_yields_to_everything_else(tmp_path: Path) -> None:
    report = "import os, time; time.sleep(0.3); print(os.getpriority(os.PRIO_PROCESS, 0))"
    process = start_in_background([sys.executable, "-c", report], tmp_path / "log" / "build.log")
    assert process.wait(timeout=20) == 0
    assert (tmp_path / "log" / "build.log").read_text().strip() == "19"
    with pytest.raises(InputError, match="cannot start"):
        start_in_background([str(tmp_path / "no-such-program")], tmp_path / "log" / "build.log")


# drafting


def test_without_an_index_there_is_no_draft(tmp_path: Path) -> None:
    assert drafted(tmp_path, "import ") == ""
    tokenizer = FakeTokenizer()
    drafter = CorpusDrafter.build(Resources(tokenizer))
    drafter.start(DraftContext((1, 2)))
    assert drafter.propose(4) == NO_DRAFT


def test_an_index_built_meanwhile_is_found_at_the_next_start(tmp_path: Path) -> None:
    tokenizer = FakeTokenizer()
    drafter = CorpusDrafter(tmp_path / "index", tokenizer)
    context = DraftContext(tuple(tokenizer.encode("firs")), language="python")
    drafter.start(context)
    assert not drafter.propose(4)
    root = project(tmp_path, a="first = 1\n")
    built(tmp_path, root)
    assert not drafter.propose(4)
    drafter.start(context)
    assert followed(drafter, 4) == "t = "
    (root / "a.py").write_text("firstly\n")
    built(tmp_path, root)
    assert followed(drafter, 4) == "t = "
    drafter.start(context)
    assert followed(drafter, 4) == "tly\n"


def test_after_continues_as_if_committed(tmp_path: Path) -> None:
    built(tmp_path, project(tmp_path, a="alpha, beta, gamma, delta\n" * 3))
    tokenizer = FakeTokenizer()
    drafter = CorpusDrafter(tmp_path / "index", tokenizer)
    drafter.start(DraftContext(tuple(tokenizer.encode("alp")), language="python"))
    more = tuple(tokenizer.encode("ha, be"))
    asked = drafter.propose(6, more)
    drafter.commit(Verdict(NO_DRAFT, 0, tuple(Choice(token, 0.0) for token in more)))
    assert drafter.propose(6) == asked
    assert tokenizer.decode(asked.tokens) == "ta, ga"[: len(asked)]


def test_the_project_counts_more_than_what_is_installed(tmp_path: Path) -> None:
    site = tmp_path / "site" / "pack"
    site.mkdir(parents=True)
    (site / "m.py").write_text("value = theirs\n" * 20)
    segment = Segment("python", (tmp_path / "site",), installed=True)
    build_index(tmp_path / "index", segment, FakeTokenizer())
    assert drafted(tmp_path, "value = ", 6) == "theirs"
    built(tmp_path, project(tmp_path, a="value = ours\n" * 20))
    assert drafted(tmp_path, "value = ", 4) == "ours"


def test_survival_follows_what_the_target_says(tmp_path: Path) -> None:
    built(tmp_path, project(tmp_path, a="value = ours\n" * 20))
    drafter = CorpusDrafter(tmp_path / "index", FakeTokenizer())
    drafter.start(DraftContext(tuple(b"value = "), language="python"))
    draft = drafter.propose(4)
    assert draft.survival[0] > 0.5
    for _ in range(40):
        one = Draft(draft.tokens[:1], draft.survival[:1], ("corpus",), draft.evidence[:1])
        drafter.commit(Verdict(one, 0, (Choice(7, 0.0),)))
    drafter.start(DraftContext(tuple(b"value = "), language="python"))
    assert drafter.propose(1).survival[0] < draft.survival[0] / 2
