"""What holds for any configuration file: values are where they are said to be, and nothing else ever changes."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from npuport.analysis.module import ProjectFacts
from npuport.engine.checking import check_source
from npuport.engine.file_checks import FileTask, check_bytes
from npuport.engine.fixing import fix_source
from npuport.engine.registry import all_rules
from npuport.sources.configuration import Use, read_configuration
from npuport.sources.text import SourceText
from tests.conftest import PORTABLE, checker

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

QUICK = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
# All rules that look into configuration files but NPU001, whose fix takes comments away.
CODES = [rule.code for rule in all_rules() if rule.configuration_triggers and rule.code != "NPU001"]
CHECKERS = {(style, gate): checker(CODES, style, gate=gate) for style in ("npu", PORTABLE) for gate in (True, False)}
SUFFIXES = ("yaml", "toml", "json", "sh")

KEYS = st.sampled_from(["device", "rl_device", "run_name", "cuda", "backend", "fp16", "env", "CUDA_VISIBLE_DEVICES"])
PLAIN = st.sampled_from(["cuda", "cuda:0", "nccl", "fp16", "true", "7", "0,1", "ant_cuda", "${oc.env:D,cuda}", "é😀"])
VALUES: st.SearchStrategy[Any] = st.recursive(
    PLAIN | st.sampled_from([1, 2.5, True]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=12,
)
DATA = st.dictionaries(KEYS, VALUES, min_size=1, max_size=4)
ENDS = st.sampled_from(["\n", "\r\n"])


def as_toml(data: dict[str, Any]) -> str:
    """Data as TOML: tables for mappings, inline ones below them."""

    def value(item: Any) -> str:
        if isinstance(item, dict):
            return "{" + ", ".join(f"{key} = {value(inner)}" for key, inner in item.items()) + "}"
        if isinstance(item, list):
            return "[\n" + "".join(f"  {value(inner)},  # cuda\n" for inner in item) + "]" if item else "[]"
        return json.dumps(item, ensure_ascii=False)

    plain = [f"{key} = {value(item)}" for key, item in data.items() if not isinstance(item, dict)]
    tables = [f"[{key}]\n" + as_toml(item) for key, item in data.items() if isinstance(item, dict) and not _deep(item)]
    inline = [f"{key} = {value(item)}" for key, item in data.items() if isinstance(item, dict) and _deep(item)]
    return "\n".join([*plain, *inline, *tables]) + "\n"


def _deep(table: dict[str, Any]) -> bool:
    """Whether a table would need tables in it, or lines in an inline table, which TOML 1.0 does not allow."""
    return any(isinstance(item, dict) for item in table.values())


def one_line_lists(data: Any) -> Any:
    """The data without lists inside mappings inside lists, which would need lines in an inline table."""
    if isinstance(data, dict):
        return {key: item for key, item in data.items() if not isinstance(item, list | dict)}
    return [one_line_lists(item) for item in data] if isinstance(data, list) else data


def texts_in(data: Any) -> Iterator[str]:
    """All strings that are values."""
    if isinstance(data, dict):
        data = list(data.values())
    if isinstance(data, list):
        for item in data:
            yield from texts_in(item)
    elif isinstance(data, str):
        yield data


def holds(name: str, text: str, style: str) -> str:
    """What is promised of every text; gives the text after the fix."""
    source = SourceText(Path(name), text)
    found = check_source(CHECKERS[style, True], source, ProjectFacts()).findings
    assert check_source(CHECKERS[style, False], source, ProjectFacts()).findings == found
    outcome = fix_source(CHECKERS[style, True], source, ProjectFacts(), unsafe=True)
    assert outcome.fault == ""
    assert (outcome.text == text) == (not any(finding.fix for finding in found))
    again = fix_source(CHECKERS[style, True], SourceText(Path(name), outcome.text), ProjectFacts(), unsafe=True)
    assert again.text == outcome.text
    return outcome.text


@QUICK
@given(DATA, ENDS, st.booleans())
def test_yaml_keeps_everything_but_the_values(data: dict[str, Any], end: str, flow: bool) -> None:
    text = yaml.safe_dump(data, default_flow_style=flow, allow_unicode=True).replace("\n", end)
    fixed = holds("config.yaml", text, "npu")
    assert holds("config.yaml", text, PORTABLE) == text
    before = [(e.keys, e.value.text) for e in read_configuration(SourceText(Path("c.yaml"), text)).entries]
    after = read_configuration(SourceText(Path("c.yaml"), fixed)).entries
    assert [len(keys) for keys, _ in before] == [len(entry.keys) for entry in after]
    for (keys, value), entry in zip(before, after, strict=True):
        if not {"device", "rl_device", "cuda", "backend"} & set(keys) and not value.startswith("cuda:"):
            assert entry.value.text == value


@QUICK
@given(DATA, ENDS)
def test_json_values_are_where_they_are_said_to_be(data: dict[str, Any], end: str) -> None:
    text = json.dumps(data, indent=2, ensure_ascii=False).replace("\n", end)
    entries = read_configuration(SourceText(Path("config.json"), text)).entries
    assert all(text[e.value.start : e.value.end] == e.value.text for e in entries)
    found = [e.value.text for e in entries if e.use is Use.SET]
    assert sorted(set(found)) == sorted({*texts_in(data), *(value for value in found if value in ("1", "2.5", "true"))})
    assert json.loads(holds("config.json", text, "npu")).keys() >= data.keys() - {"CUDA_VISIBLE_DEVICES"}


@QUICK
@given(DATA, ENDS)
def test_toml_values_are_where_they_are_said_to_be(data: dict[str, Any], end: str) -> None:
    data = {key: one_line_lists(item) for key, item in data.items()}
    text = as_toml(data).replace("\n", end)
    assert tomllib.loads(text) == data
    entries = read_configuration(SourceText(Path("config.toml"), text)).entries
    assert all(text[e.value.start : e.value.end] == e.value.text for e in entries)
    assert {*texts_in(data)} <= {e.value.text for e in entries if e.use is Use.SET}
    tomllib.loads(holds("config.toml", text, "npu"))


PIECES = st.sampled_from([
    "device: cuda", "cuda:0", "'", '"', "#", "\n", "\n  ", "- ", "{", "}", "[", "]", ",", "=", ": ", "${", "\\", "\\\n",
    "<<EOF\n", "EOF\n", "`", "(", ")", ";", " ", "\t", "é", "😀", "\x85", "&a ", "*a", "!t ", "---\n", "? ", "|",
    "# npuport: ignore[NPU112]", "\ufeff", "--device ", "export ", "CUDA_VISIBLE_DEVICES=0 ", "nccl", "run: |\n  ",
    "\x00",
])  # fmt: skip


@settings(QUICK, max_examples=400)
@given(st.lists(PIECES, max_size=16).map("".join), st.sampled_from(SUFFIXES))
@example("a: \udc80 cuda", "yaml")
@example("device = cuda\n" + "[" * 3000, "toml")
@example('{"device": "cuda", "a": ' + "[" * 100_000, "json")
@example("device: cuda\na: " + "[" * 20_000, "yaml")
@example("echo '" + '"' * 20_000 + "--device cuda", "sh")
def test_any_text_is_read_without_a_crash_and_only_device_words_change(text: str, suffix: str) -> None:
    fixed = holds(f"config.{suffix}", text, "npu")
    words = (("ASCEND_RT_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"), ("npu", "cuda"), ("hccl", "nccl"))
    for npu, cuda in words:
        fixed, text = fixed.replace(cuda, npu), text.replace(cuda, npu)
    assert fixed == text


@QUICK
@given(st.binary(max_size=60).map(lambda data: b"device: cuda\n" + data), st.sampled_from(SUFFIXES))
def test_any_bytes_are_checked_without_a_crash(data: bytes, suffix: str) -> None:
    findings = check_bytes(CHECKERS["npu", True], FileTask(Path(f"config.{suffix}"), data))
    assert all(finding.location.row >= 1 and finding.location.column >= 1 for finding in findings)
