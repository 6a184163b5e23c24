"""Settings: precedence, origins, and that nothing but one clear line comes out of bad ones."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as some

from amount import fuzzing
from redraft.config import NAMES, Settings, explain, layers, load_settings
from redraft.cores import available_cores
from redraft.errors import InputError, RedraftError, UsageError


@pytest.fixture(autouse=True)
def only_the_tests_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in [name for name in os.environ if name.startswith("REDRAFT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "user"))
    (tmp_path / "user" / "redraft").mkdir(parents=True)
    (tmp_path / "project" / "deep").mkdir(parents=True)
    yield


def user_file(tmp_path: Path, text: str | bytes) -> None:
    write(tmp_path / "user" / "redraft" / "redraft.toml", text)


def write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def origin(found: Settings, name: str) -> str:
    return next(item.origin for item in explain(found) if item.name == name)


def test_flags_go_before_variables_before_files_before_defaults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = tmp_path / "project" / "deep"
    assert load_settings(start=start).seed == 0
    user_file(tmp_path, "seed = 1\ntop_k = 1")
    assert load_settings(start=start).seed == 1
    write(tmp_path / "project" / "redraft.toml", "seed = 2")
    found = load_settings(start=start)
    assert (found.seed, found.top_k) == (2, 1)
    assert origin(found, "seed") == str(tmp_path / "project" / "redraft.toml")
    write(start / "redraft.toml", "seed = 3")
    assert load_settings(start=start).seed == 3
    monkeypatch.setenv("REDRAFT_SEED", "4")
    found = load_settings({"top_p": None}, start)
    assert (found.seed, origin(found, "seed")) == (4, "REDRAFT_SEED")
    found = load_settings({"seed": "5"}, start)
    assert (found.seed, origin(found, "seed"), origin(found, "min_p")) == (5, "--seed", "default")


def test_a_bad_value_that_is_overridden_does_not_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REDRAFT_SEED", "many")
    assert load_settings({"seed": 6}, tmp_path).seed == 6


def test_an_empty_variable_is_not_set_and_a_foreign_one_is_ignored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REDRAFT_MODEL", "")
    monkeypatch.setenv("REDRAFT_XYZZY", "1")
    assert load_settings(start=tmp_path) == Settings()


def test_lists_come_with_commas_or_as_toml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDRAFT_DRAFTERS", " suffix, source ,")
    assert load_settings(start=tmp_path).drafters == ("suffix", "source")
    assert load_settings({"drafters": "model"}, tmp_path).drafters == ("model",)
    assert load_settings({"drafters": ""}, tmp_path).drafters == ()
    write(tmp_path / "redraft.toml", 'drafters = ["corpus"]')
    monkeypatch.delenv("REDRAFT_DRAFTERS")
    assert load_settings(start=tmp_path).drafters == ("corpus",)


def test_paths_in_a_file_are_meant_from_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    write(project / "redraft.toml", 'model = "w/x.gguf"\ncorpus_paths = ["src", "/abs"]')
    found = load_settings(start=project / "deep")
    assert found.model == str(project / "w" / "x.gguf")
    assert found.corpus_paths == (project / "src", Path("/abs"))
    write(project / "redraft.toml", 'model = "qwen2.5-coder-0.5b"')
    assert load_settings(start=project).model == "qwen2.5-coder-0.5b"
    monkeypatch.setenv("REDRAFT_MODEL", "w/x.gguf")
    assert load_settings(start=project).model == "w/x.gguf"


def test_home_comes_from_the_environment_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REDRAFT_HOME", str(tmp_path / "elsewhere"))
    found = load_settings(start=tmp_path)
    assert (found.home, origin(found, "home")) == (tmp_path / "elsewhere", "REDRAFT_HOME")
    write(tmp_path / "redraft.toml", 'home = "/x"')
    with pytest.raises(UsageError, match="set the environment variable REDRAFT_HOME"):
        load_settings(start=tmp_path)


def test_settings_are_frozen_and_threads_are_known(tmp_path: Path) -> None:
    found = load_settings(start=tmp_path)
    assert found.threads == available_cores() >= 1
    assert Settings(threads=3).threads == 3
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.seed = 1  # type: ignore[misc]


def test_the_corpus_belongs_to_the_project(tmp_path: Path) -> None:
    (tmp_path / "project" / ".git").mkdir()
    inside = load_settings(start=tmp_path / "project" / "deep")
    assert inside.project == tmp_path / "project"
    assert inside.corpus_directory == load_settings(start=tmp_path / "project").corpus_directory
    elsewhere = load_settings({"corpus_paths": "/a,/b"}, tmp_path / "project")
    assert elsewhere.corpus_directory != inside.corpus_directory
    outside = dataclasses.replace(inside, project=None)
    assert outside.corpus_directory.name == "packages"


REFUSED = [
    ("seed = -1", "redraft.toml: seed is '-1'; it must be a whole number, 0 … 2^64 - 1"),
    ("seed = 1.5", "seed is '1.5'; it must be a whole number"),
    ("threads = true", "threads is 'True'; it must be a whole number, 0 … 1024"),
    ("context = 3", "context is '3'; it must be a whole number, 256 … 1048576"),
    ("temperature = nan", "temperature is 'nan'; it must be a number, 0 … 100"),
    ("temperature = inf", "temperature is 'inf'; it must be a number, 0 … 100"),
    ("top_p = 0", "top_p is '0'; it must be a number, above 0, at most 1"),
    ("min_p = 'low'", "min_p is 'low'; it must be a number, 0 … 1"),
    ("seed = '1'", "seed is '1'; it must be a whole number, 0 … 2^64 - 1, without quotation marks"),
    ("seed = 1.0", "seed is '1.0'; it must be a whole number, 0 … 2^64 - 1"),
    ("top_p = '0.5'", "it must be a number, above 0, at most 1, without quotation marks"),
    ("record = 'true'", "record is 'true'; it must be true or false, without quotation marks"),
    ("record = 1", "record is '1'; it must be true or false"),
    ("seed = 0x" + "f" * 5000, "seed is 'a number of thousands of digits'; it must be a whole"),
    ("corpus_paths = ['~nosuchuser/x']", "redraft.toml: corpus_paths names the home folder of a"),
    ("model = '~nosuchuser/x.gguf'", "redraft.toml: model names the home folder of a user who"),
    ("record = 'perhaps'", "record is 'perhaps'; it must be true or false"),
    (
        "policy = 'fixed:0'",
        "policy is 'fixed:0'; it must be none, cost, gate, seed, seed-regions or fixed:k",
    ),
    ("policy = 'fixed:64'", "with k = 1 … 63"),
    ("numerics = 'exact'", "numerics is 'exact'; it must be one of invariant, fast"),
    ("engine = 'gpu'", "it must be one of auto, ik, llamacpp, fake"),
    ("drafters = ['source', 'source']", "it must be different names of source, suffix"),
    ("drafters = ['sourc']", "different names of source, suffix, corpus, model"),
    ("drafters = 3", "drafters is '3'"),
    ("model = ''", "model is ''; it must be a model's name or the path of a .gguf file"),
    ('model = "a\\u0000b"', "it must be a model's name or the path"),
    ("model = ['a']", "it must be a model's name or the path"),
    ('corpus_paths = ["a\\u0000"]', "corpus_paths is"),
    ("tempreature = 1", "tempreature is no setting; did you mean temperature?"),
    ("max-tokens = 1", "max-tokens is no setting; did you mean max_tokens?"),
    ("[corpus]\npaths = ['a']", "there is no setting 'corpus'; known are model, small_model"),
    ("seed = ", "redraft.toml is no valid TOML: "),
    ("seed = 1\nseed = 2", "redraft.toml is no valid TOML: "),
    ("x = " + "[" * 9000, "redraft.toml is nested too deeply"),
    ("a." * 50_000 + "a = 1", "redraft.toml is nested too deeply"),
    ("seed = " + "9" * 5000, "redraft.toml has a number of thousands of digits; shorten it"),
    (b"\xff\xfe", "redraft.toml is not UTF-8 (line 1)"),
    (b"seed = 1\n# \xe9\n", "redraft.toml is not UTF-8 (line 2)"),
    (b"seed = 1\0", "is no valid TOML"),
    ("#" * (1 << 18) + "#", "redraft.toml is longer than 262,144 bytes"),
]


@pytest.mark.parametrize(("content", "message"), REFUSED, ids=[str(m)[:40] for _, m in REFUSED])
def test_a_file_that_cannot_be_used_is_refused(
    tmp_path: Path, content: str | bytes, message: str
) -> None:
    write(tmp_path / "redraft.toml", content)
    with pytest.raises(UsageError) as caught:
        load_settings(start=tmp_path)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


def test_refusals_name_the_flag_or_the_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match=r"^--max-tokens is 'x'; it must be a whole number"):
        load_settings({"max_tokens": "x"}, tmp_path)
    with pytest.raises(UsageError, match=r"^there is no setting 'colour'"):
        load_settings({"colour": 1}, tmp_path)
    monkeypatch.setenv("REDRAFT_SEED", "x")
    with pytest.raises(UsageError, match=r"^environment variable REDRAFT_SEED is 'x'"):
        load_settings(start=tmp_path)
    monkeypatch.setenv("REDRAFT_TEMPRATURE", "x")
    with pytest.raises(UsageError, match=r"^REDRAFT_TEMPRATURE is no setting; did you mean temp"):
        load_settings({"seed": 1}, tmp_path)


def test_a_value_that_is_not_utf8_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REDRAFT_MODEL", "a\udcff.gguf")
    with pytest.raises(UsageError, match=r"variable REDRAFT_MODEL is .*udcff.*in UTF-8$"):
        load_settings(start=tmp_path)
    with pytest.raises(UsageError, match=r"^--corpus-paths is .*udcff.*in UTF-8$"):
        load_settings({"model": "a", "corpus_paths": "b,a\udcff"}, tmp_path)


@pytest.mark.parametrize(
    ("home", "words"),
    [("~nosuchuser", "names no user's home folder; set"), ("/a\udcff", "is no readable path")],
)
def test_a_home_that_is_none_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: str, words: str
) -> None:
    monkeypatch.setenv("REDRAFT_HOME", home)
    with pytest.raises(UsageError) as caught:
        load_settings(start=tmp_path)
    assert str(caught.value).startswith("REDRAFT_HOME=")
    assert words in str(caught.value)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("kind", ["folder", "pipe", "endless", "loop", "dangling"])
@pytest.mark.parametrize("place", ["project", "user/redraft"])
def test_a_settings_file_that_is_none_is_not_passed_over(
    tmp_path: Path, kind: str, place: str
) -> None:
    path = tmp_path / place / "redraft.toml"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to({"endless": "/dev/zero", "loop": path.name, "dangling": "nowhere"}[kind])
    with pytest.raises(InputError) as caught:
        load_settings(start=tmp_path / "project")
    assert str(caught.value).startswith(f"{path} cannot be read: ")
    assert str(caught.value).endswith("; mend or remove it")


def test_a_file_that_may_not_be_read_is_an_input_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "redraft.toml", "seed = 1")

    def refuse(_: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(layers, "open_regular", refuse)
    with pytest.raises(InputError, match="cannot be read: Permission denied"):
        load_settings(start=tmp_path)


def test_a_working_directory_that_is_gone_is_an_input_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(InputError, match="does not exist any more"):
        load_settings()


def loads_or_refuses(tmp_path: Path, overrides: dict[str, object] | None = None) -> None:
    """Valid settings, or one line; nothing else."""
    try:
        found = load_settings(overrides, tmp_path)
    except RedraftError as error:
        assert isinstance(error, (UsageError, InputError))
        assert str(error).isprintable()
        assert 0 < len(str(error)) < 1000
    else:
        assert found.threads >= 1
        assert 0.0 <= found.temperature <= 100.0
        assert 0.0 < found.top_p <= 1.0
        assert all(isinstance(path, Path) for path in found.corpus_paths)
        assert len(explain(found)) == len(NAMES) + 2


some_name = some.sampled_from(NAMES) | some.text(max_size=12)
some_scalar = (
    some.none() | some.booleans() | some.integers() | some.floats() | some.text() | some.binary()
)
some_value = some.recursive(
    some_scalar,
    lambda inner: some.lists(inner) | some.dictionaries(some.text(), inner),
    max_leaves=4,
)


@fuzzing(120)
@given(content=some.binary(max_size=200))
@example(content=b"\xef\xbb\xbfseed = 1")
def test_any_bytes_as_a_file(tmp_path: Path, content: bytes) -> None:
    write(tmp_path / "redraft.toml", content)
    loads_or_refuses(tmp_path)


@fuzzing(120)
@given(
    lines=some.lists(
        some.tuples(
            some_name,
            some.sampled_from(["=", " = ", ".x = ", ""]),
            some.sampled_from(
                ["1", "-1", "1e999", "nan", "true", "''", '"\\u0007"', "[1]", "{a=1}"]
            )
            | some.text(max_size=8),
        ),
        max_size=5,
    )
)
def test_anything_like_toml_as_a_file(tmp_path: Path, lines: list[tuple[str, str, str]]) -> None:
    text = "\n".join("".join(line) for line in lines)
    write(tmp_path / "redraft.toml", text.encode("utf-8", "surrogatepass"))
    loads_or_refuses(tmp_path)


@fuzzing(120)
@given(overrides=some.dictionaries(some_name, some_value, max_size=4))
def test_anything_as_flags(tmp_path: Path, overrides: dict[str, object]) -> None:
    loads_or_refuses(tmp_path, overrides)


@fuzzing(120)
@given(
    variables=some.dictionaries(
        some.sampled_from(NAMES).map(str.upper)
        | some.text(alphabet="ABCDE_=xyz\udcff", max_size=9).filter(lambda name: "=" not in name),
        some.text(max_size=20).map(lambda text: text.replace("\0", "\udc80")),
        max_size=4,
    )
)
def test_anything_in_the_environment(tmp_path: Path, variables: dict[str, str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            usable = value.encode("utf-8", "replace").decode()
            patch.setenv(f"REDRAFT_{name}", usable)
        loads_or_refuses(tmp_path)
