"""The table [tool.npuport], how it is found, what is wrong with it, and the command line on top of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from npuport.engine.registry import rules_matching
from npuport.sources.errors import UsageError
from npuport.sources.settings import DEFAULT_EXCLUDE, Settings, find_pyproject, load_settings, with_options
from tests.conftest import SITE, Command, write_files

TABLE = "[tool.npuport]\n"


def written(folder: Path, text: str) -> Path:
    file = folder / "pyproject.toml"
    file.write_text(text)
    return file


def test_defaults_hold_without_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert load_settings(tmp_path) == Settings(root=tmp_path)


def test_every_key_is_read(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        TABLE + 'select = ["NPU1"]\nextend-select = ["amp"]\nignore = ["NPU101"]\nexclude = ["a"]\n'
        'extend-exclude = ["b/**"]\nstyle = "portable"\ntarget-torch-npu = "2.7.1"\nfail-level = "error"\n'
        '[tool.npuport.per-file-ignores]\n"tests/*" = ["NPU1", "NPU5"]\n',
    )
    assert load_settings(tmp_path) == Settings(
        select=("NPU1",),
        extend_select=("amp",),
        ignore=("NPU101",),
        per_file_ignores={"tests/*": ("NPU1", "NPU5")},
        exclude=("a",),
        extend_exclude=("b/**",),
        style="portable",
        target_torch_npu="2.7.1",
        fail_level="error",
        root=tmp_path,
        file=file,
    )


def test_nearest_file_with_the_table_counts(tmp_path: Path) -> None:
    deep = tmp_path / "a" / "b" / "c"
    deep.mkdir(parents=True)
    written(tmp_path, TABLE)
    outer = written(tmp_path / "a", TABLE + 'style = "portable"\n')
    written(tmp_path / "a" / "b", "[tool.other]\nx = 1\n")
    assert find_pyproject(deep) == outer
    assert find_pyproject(deep / "agent.py") == outer
    assert load_settings(deep).root == tmp_path / "a"


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ("selct = []", "[tool.npuport] selct is no setting; did you mean 'select'?"),
        ("target-torch = '2.7.1'", "[tool.npuport] target-torch is no setting; did you mean 'target-torch-npu'?"),
        ("per_file_ignores = {}", "[tool.npuport] per_file_ignores is no setting; did you mean 'per-file-ignores'?"),
        ("root = '.'", "[tool.npuport] root is no setting"),
        ("zzz = 1", "[tool.npuport] zzz is no setting; there are: select, extend-select, ignore"),
        ("select = 'NPU1'", "[tool.npuport] select must be a list of strings"),
        ("ignore = [101]", "[tool.npuport] ignore must be a list of strings"),
        ("style = 'gpu'", "[tool.npuport] style must be one of npu, portable"),
        ("fail-level = 1", "[tool.npuport] fail-level must be one of error, warning, note, never"),
        ("target-torch-npu = 2.7", "[tool.npuport] target-torch-npu must be a string"),
        ("per-file-ignores = ['a']", "[tool.npuport] per-file-ignores must be a table of pattern = [codes]"),
        ("per-file-ignores = {'a.py' = 'NPU1'}", "[tool.npuport] per-file-ignores.'a.py' must be a list of strings"),
    ],
)
def test_wrong_table_says_where_and_what(tmp_path: Path, body: str, fault: str) -> None:
    file = written(tmp_path, f"{TABLE}{body}\n")
    with pytest.raises(UsageError) as caught:
        load_settings(tmp_path)
    assert str(caught.value).startswith(f"{file}: {fault}")


def test_table_must_be_a_table(tmp_path: Path) -> None:
    written(tmp_path, "[tool]\nnpuport = 1\n")
    with pytest.raises(UsageError, match=r"\[tool.npuport\] must be a table"):
        load_settings(tmp_path)


@pytest.mark.parametrize("text", ["[tool", 'x = "a\n', "tool = 1\n[tool.npuport]\n"])
def test_broken_toml_is_told(tmp_path: Path, text: str) -> None:
    file = written(tmp_path, text)
    with pytest.raises(UsageError) as caught:
        load_settings(tmp_path)
    assert str(caught.value).startswith(f"{file}: not valid TOML: ")


def test_bytes_that_are_no_text_are_told(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_bytes(b"[tool.npuport]\n# \xff\n")
    with pytest.raises(UsageError, match="not valid TOML"):
        load_settings(tmp_path)


@pytest.mark.parametrize("text", ["tool = 1\n", "[project]\nname = 'x'\n", ""])
def test_file_without_the_table_is_passed_over(tmp_path: Path, text: str) -> None:
    written(tmp_path, text)
    assert find_pyproject(tmp_path) is None


def test_options_win_over_the_file_and_absent_ones_do_not() -> None:
    settings = Settings(select=("NPU1",), style="portable", exclude=("a",))
    joined = with_options(settings, select=("NPU5",), style=None, exclude=(), fail_level="note")
    assert (joined.select, joined.style, joined.exclude, joined.fail_level) == (("NPU5",), "portable", ("a",), "note")


def test_command_line_wins_over_the_file(npuport: Command, tmp_path: Path) -> None:
    written(tmp_path, TABLE + 'select = ["NPU5"]\nstyle = "portable"\nfail-level = "never"\n')
    write_files(tmp_path, {"agent.py": SITE})
    assert npuport("check", "agent.py").out.startswith("All clear")
    run = npuport("check", "agent.py", "--select", "NPU102")
    assert (run.status, "NPU102" in run.out) == (0, True)
    assert npuport("check", "agent.py", "--select", "NPU102", "--fail-level", "error").status == 1
    assert b"DEVICE_TYPE" in npuport("fix", "agent.py", "--select", "NPU102").stdout
    assert b"+x = torch.zeros(3).npu()" in npuport("fix", "agent.py", "--select", "NPU102", "--style", "npu").stdout


def test_config_is_read_instead_of_the_nearest_file(npuport: Command, tmp_path: Path) -> None:
    written(tmp_path, TABLE + 'ignore = ["NPU102"]\n')
    write_files(tmp_path, {"agent.py": SITE, "other/mine.toml": TABLE + 'fail-level = "never"\n'})
    assert npuport("check", "agent.py").status == 0
    run = npuport("check", "agent.py", "--config", "other/mine.toml")
    assert (run.status, "NPU102" in run.out) == (0, True)


def test_settings_of_the_checked_folder_count_not_those_of_the_current_one(npuport: Command, tmp_path: Path) -> None:
    write_files(
        tmp_path,
        {"project/pyproject.toml": TABLE + 'ignore = ["NPU102"]\n', "project/agent.py": SITE, "other.py": SITE},
    )
    assert npuport("check", "project").status == 0
    assert npuport("check", "other.py").status == 1


def test_exclude_replaces_and_extend_exclude_adds(npuport: Command, tmp_path: Path) -> None:
    write_files(tmp_path, {"build/a.py": SITE, "old/b.py": SITE, "src/c.py": SITE})

    def files(*options: str) -> list[str]:
        lines = npuport("check", ".", "--output-format", "concise", "--quiet", "--no-cache", *options).out.splitlines()
        return [line.partition(":")[0] for line in lines]

    assert files() == ["old/b.py", "src/c.py"]
    assert files("--extend-exclude", "old") == ["src/c.py"]
    assert files("--exclude", "old,src") == ["build/a.py"]
    written(tmp_path, TABLE + 'exclude = ["src"]\nextend-exclude = ["build"]\n')
    assert files() == ["old/b.py"]


def test_show_settings_prints_a_table_that_means_the_same(npuport: Command, tmp_path: Path) -> None:
    text = TABLE + 'select = ["NPU1"]\nstyle = "portable"\n[tool.npuport.per-file-ignores]\n"t\\"ests/*" = ["NPU1"]\n'
    file = written(tmp_path, text)
    run = npuport("check", "--show-settings", "--ignore", "NPU101", "--target", "2.7.1.post2")
    assert run.status == 0
    assert run.out.startswith(f"# from {file}\n")
    expected = with_options(load_settings(tmp_path), ignore=("NPU101",), target_torch_npu="2.7.1.post2")
    written(tmp_path, run.out)
    assert load_settings(tmp_path) == expected
    assert expected.exclude == DEFAULT_EXCLUDE


def test_show_settings_says_where_no_file_was_found(npuport: Command) -> None:
    assert npuport("fix", "--show-settings").out.startswith("# from the defaults\n")


@pytest.mark.parametrize("release", ["latest", "2", "two.one", "2.13.0; rm", "", "v2.1.0"])
def test_malformed_release_is_status_2(npuport: Command, tmp_path: Path, release: str) -> None:
    write_files(tmp_path, {"agent.py": SITE})
    run = npuport("check", "agent.py", "--target", release)
    assert run.status == 2
    assert run.error == f"{release!r} is no torch_npu release; expected e.g. 2.13.0 or 2.7.1.post2"


def test_malformed_release_in_the_file_is_status_2(npuport: Command, tmp_path: Path) -> None:
    write_files(tmp_path, {"agent.py": SITE, "pyproject.toml": TABLE + 'target-torch-npu = "new"\n'})
    assert "'new' is no torch_npu release" in npuport("check", "agent.py").error


@pytest.mark.parametrize(
    ("word", "near"),
    [
        ("NPU8033", "NPU803"),
        ("NPV102", "NPU102"),
        ("cuda-metod", "cuda-method"),
        ("devise", "device"),
        ("DEVISE", "device"),
    ],
)
def test_unknown_rule_suggests_the_near_one(word: str, near: str) -> None:
    with pytest.raises(UsageError) as caught:
        rules_matching(word)
    assert str(caught.value) == f"no rule, family or topic {word!r}; did you mean {near}?"


def test_unknown_rule_with_nothing_near_points_to_the_list() -> None:
    with pytest.raises(UsageError, match="`npuport rules` lists them"):
        rules_matching("wibble-wobble")


@pytest.mark.parametrize("key", ["select", "extend-select", "ignore"])
def test_unknown_rule_in_the_file_is_status_2(npuport: Command, tmp_path: Path, key: str) -> None:
    write_files(tmp_path, {"agent.py": SITE, "pyproject.toml": f'{TABLE}{key} = ["cuda-metod"]\n'})
    run = npuport("check", "agent.py")
    assert run.status == 2
    assert "did you mean cuda-method?" in run.error
