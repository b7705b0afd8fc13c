"""Reports of a watched run: the verdict in its order, the same figures in every format, and nothing that breaks one."""

from __future__ import annotations

import dataclasses
import io
import json
import os
import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import TextIO

import pytest

from npuport.observe.measurement import (
    DOWN,
    UP,
    Line,
    LossInput,
    Measurement,
    NonFiniteLoss,
    Outcome,
    measurement_from_json,
)
from npuport.reports import measured_html, measured_json, measured_text
from npuport.reports.measured import CLAIM, figures, size, verdict
from npuport.reports.measured_lines import NOT_FOUND, Findings, line_rows
from npuport.reports.measured_remarks import odd_dtype
from tests.watched_run import watched_run

FORMATS = [measured_text, measured_json, measured_html]


@pytest.fixture
def run(tmp_path: Path) -> Measurement:
    return watched_run(tmp_path)[0]


@pytest.fixture
def found(tmp_path: Path) -> Findings:
    return watched_run(tmp_path)[1]


def written(write: Callable[[Measurement, Findings, TextIO], None], run: Measurement, found: Findings) -> str:
    out = io.StringIO()
    write(run, found, out)
    return out.getvalue()


def kinds(run: Measurement) -> list[str]:
    return [sentence.kind for sentence in verdict(run)]


def on_cpu(run: Measurement, *, tensors: bool = False) -> Measurement:
    return replace(run, device_tensors=tensors, device_parameters=False)


def test_a_silent_cpu_run_is_called_out_first(run: Measurement, found: Findings) -> None:
    """It is the commonest failure; a crash, or anything that was counted, comes after it."""
    crashed = replace(on_cpu(run), outcome=Outcome("crashed", 1, "RuntimeError: no"))
    assert kinds(crashed) == ["silent_cpu", "crashed"]
    text = written(measured_text.write, crashed, found)
    assert text.startswith(
        "Ran silently on the CPU: 1,000 transitions, 250 updates. No tensor ever lived on the emulated"
    )
    page = written(measured_html.write, crashed, found)
    assert page.index("Ran silently on the CPU") < page.index("RuntimeError") < page.index("copies to the device")


def test_tensors_on_the_device_are_no_training_there(run: Measurement) -> None:
    sentences = verdict(on_cpu(run, tensors=True))
    assert sentences[0].kind == "silent_cpu"
    assert "no parameter of an optimiser lived there" in sentences[0].text


def test_nothing_that_ran_is_not_called_training(run: Measurement) -> None:
    empty = replace(on_cpu(run), transitions=0, updates=0, outcome=Outcome("crashed", 1, "ImportError: x"))
    assert kinds(empty) == ["nothing_on_device", "crashed"]


@pytest.mark.parametrize(
    ("outcome", "kind", "text"),
    [
        (
            Outcome("crashed", 1, "ValueError: bad", Line("/a/train.py", 7)),
            "crashed",
            "(/a/train.py:7): ValueError: bad",
        ),
        (Outcome("killed", 137, "SIGKILL"), "killed", "SIGKILL"),
        (Outcome("interrupted", 130), "interrupted", "up to then"),
        (Outcome("exited", 3), "exited", "exit status 3"),
        (Outcome("steps", 0), "steps", "--max-steps"),
    ],
)
def test_how_it_ended_is_told(run: Measurement, outcome: Outcome, kind: str, text: str) -> None:
    sentences = verdict(replace(run, outcome=outcome))
    assert [one.kind for one in sentences] == ["on_device", kind, "claim"]
    assert text in sentences[1].text


def test_an_end_without_trouble_needs_no_word(run: Measurement) -> None:
    assert kinds(run) == ["on_device", "claim"]
    assert kinds(replace(run, outcome=Outcome("exited", 0))) == ["on_device", "claim"]


def test_a_loss_that_is_not_finite_is_in_the_verdict(run: Measurement) -> None:
    run.non_finite.append(NonFiniteLoss(run.lines[0].place, 120, "nan", 12))
    assert kinds(run) == ["on_device", "non_finite", "claim"]
    assert "The loss was nan after 120 transitions" in verdict(run)[1].text


def test_claims_hold_for_their_device_only(run: Measurement, tmp_path: Path) -> None:
    assert CLAIM in verdict(run)[-1].text
    npu = watched_run(tmp_path, "npu")[0]
    assert "Trained on the Ascend910B3" in verdict(npu)[0].text
    assert not any(CLAIM in sentence.text for sentence in verdict(npu))
    assert kinds(watched_run(tmp_path, "cpu")[0]) == ["on_cpu"]


def test_figures_are_those_of_the_measurement(run: Measurement, found: Findings) -> None:
    data = json.loads(written(measured_json.write, run, found))
    assert data["per_transition"] == {
        "copies_up": run.per_transition(UP),
        "bytes_up": run.bytes_per_transition(UP),
        "copies_down": run.per_transition(DOWN),
        "bytes_down": run.bytes_per_transition(DOWN),
        "copies_on_device": 0.02,
        "bytes_on_device": 4.0,
        "waits": 6.26,
        "kernels": 3.0,
    }
    text = written(measured_text.write, run, found)
    assert re.search(r"^copies to the device +5\.25 +1\.0 kB +5,250 +12 \(48\.0 kB\)$", text, re.MULTILINE)
    assert re.search(r"^waits for the device +6\.26 +6,260 +12$", text, re.MULTILINE)


def test_json_reads_back_as_the_measurement(run: Measurement, found: Findings) -> None:
    data = json.loads(written(measured_json.write, run, found))
    assert measurement_from_json(data) == run
    assert [finding["code"] for finding in data["findings"]] == ["NPU203", "NPU401"]
    assert {field.name for field in dataclasses.fields(Measurement)} < set(data)


def test_json_holds_what_json_has_no_numbers_for(run: Measurement, found: Findings) -> None:
    nan = replace(run, losses=[1.0, float("nan"), float("inf")])
    text = written(measured_json.write, nan, found)
    assert json.loads(text, parse_constant=pytest.fail)["losses"] == [1.0, None, None]


def test_lines_come_by_what_they_cost_with_what_check_says(run: Measurement, found: Findings) -> None:
    rows = line_rows(run, found)
    assert [row.place.line for row in rows] == [4, 3, 5, 0]
    assert rows[0].verdict == "NPU203 float64-to-device, NPU401 copy-per-transition"
    assert rows[1].verdict == NOT_FOUND
    assert rows[1].source.startswith("action = q(torch.tensor(")


def test_what_no_line_explains_is_shown(run: Measurement, found: Findings) -> None:
    """Ten copies down have no line: four were seen without one, six were never seen on a stack."""
    unexplained = line_rows(run, found)[-1]
    assert (unexplained.calls(DOWN), unexplained.calls("wait"), unexplained.verdict) == (10, 10, "")
    assert "no line of yours" in written(measured_text.write, run, found)
    assert "no line of yours" in written(measured_html.write, run, found)


def test_lines_and_the_unexplained_add_up_to_what_was_counted(run: Measurement, found: Findings) -> None:
    rows = line_rows(run, found)
    totals = {figure.name: figure.count.calls for figure in figures(run)}
    assert sum(row.calls(UP) for row in rows) == totals["copies_up"]
    assert sum(row.calls(DOWN) for row in rows) == totals["copies_down"]
    assert sum(row.calls("wait") for row in rows) == totals["waits"]


def test_setup_is_no_line_of_the_loop(run: Measurement, found: Findings) -> None:
    assert 1 not in [row.place.line for row in line_rows(run, found)]


@pytest.mark.parametrize("module", FORMATS[::2])
def test_all_that_was_seen_is_told(module: object, run: Measurement, found: Findings) -> None:
    run.non_finite.append(NonFiniteLoss(run.lines[0].place, 120, "nan", 12))
    text = written(module.write, run, found)  # type: ignore[attr-defined]
    for words in (
        "aten::linalg_qr, 7 times, on ",
        "250 from ",
        "aclnnSmoothL1Loss DT_INT64, 3 times, on ",
        ": int64 enters the loss",
        "nan first after 120 transitions, on ",
        "30 episodes, mean return 5.5 of the first 10, 25.5 of the last 10",
        "Not measured: the utilisation of the device",
        "no speed can be read off this run",
        "dtype checks strict",
    ):
        assert words in text, words


@pytest.mark.parametrize("module", FORMATS)
def test_a_run_in_which_nothing_happened_is_reported(module: object) -> None:
    empty = Measurement("gone.py", [], "emulated", outcome=Outcome("crashed", 1, "SyntaxError: x"))
    assert "SyntaxError" in written(module.write, empty, {})  # type: ignore[attr-defined]


def test_text_on_80_columns_keeps_numbers_and_findings(run: Measurement, found: Findings) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    out = Terminal()
    measured_text.write(run, found, out)
    plain = re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue())
    assert out.getvalue() != plain or "NO_COLOR" in os.environ
    assert re.search(r"^ +4\.25 +\. +4\.25 +\. ", plain, re.MULTILINE)
    assert "NPU401" in plain


def test_text_in_a_file_has_no_colours_and_no_trailing_blanks(run: Measurement, found: Findings) -> None:
    text = written(measured_text.write, run, found)
    assert "\x1b" not in text
    assert not re.search(r"[ \t]+$", text, re.MULTILINE)


class _Page(HTMLParser):
    """Checks that tags are closed in order, and collects them."""

    VOID = {"meta", "line", "polyline", "br"}

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert tag in self.VOID or self.open.pop() == tag


def test_page_is_whole_and_loads_nothing(run: Measurement, found: Findings) -> None:
    text = written(measured_html.write, replace(run, losses=[1.0, 0.5, None, 0.25]), found)
    page = _Page()
    page.feed(text)
    assert page.open == []
    assert text.count("<svg") == 2
    for tag, attributes in page.tags:
        assert tag not in ("script", "link", "img", "iframe")
        assert not {"src", "href"} & set(attributes)
    assert "url(" not in text
    assert "prefers-color-scheme: dark" in text


def test_page_escapes_what_the_user_wrote(run: Measurement, tmp_path: Path) -> None:
    evil = "</script><b>"
    place = replace(run.lines[0].place, line=6)
    hostile = replace(
        run,
        arguments=[evil],
        versions={evil: evil},
        kernels={evil: 3},
        fallbacks={evil: 1},
        lines=[replace(run.lines[0], place=place)],
        loss_inputs=[LossInput(place, evil, (evil,), 1)],
        not_measured=[evil],
        outcome=Outcome("crashed", 1, evil, Line(f"{tmp_path}/{evil}", 1)),
    )
    text = written(measured_html.write, hostile, {})
    assert "<b>" not in text
    assert "<script" not in text
    assert "&lt;/script&gt;&lt;b&gt;&quot; + &#x27;&amp;amp;&#x27;" in text


def test_a_long_run_stays_a_page_that_can_be_sent(run: Measurement, found: Findings) -> None:
    episodes = [replace(run.episodes[0], transition=number, episodic_return=1.0) for number in range(100_000)]
    text = written(measured_html.write, replace(run, episodes=episodes), found)
    assert len(text) < 100_000
    assert "99,999 transitions" in text


def test_losses_without_a_loss_function_are_told(run: Measurement, found: Findings) -> None:
    text = written(measured_text.write, replace(run, loss_inputs=[]), found)
    assert re.search(r"^into the loss +no loss function of torch was called$", text, re.MULTILINE)


def test_many_lines_are_folded_away_and_counted(run: Measurement, found: Findings) -> None:
    lines = [replace(run.lines[0], place=replace(run.lines[0].place, line=number)) for number in range(1, 41)]
    many = replace(run, lines=lines)
    assert "30 more lines; the formats html and json have all" in written(measured_text.write, many, found)
    assert "<summary>15 more lines</summary>" in written(measured_html.write, many, found)


@pytest.mark.parametrize(
    ("function", "dtypes", "odd"),
    [
        ("mse_loss", ("torch.float32", "torch.float32"), ""),
        ("mse_loss", ("torch.float32", "torch.bool"), "bool enters the loss"),
        ("mse_loss", ("torch.float32", "torch.float64"), "float64 enters the loss"),
        ("mse_loss", ("torch.float16", "torch.float32"), "float16 and float32 are mixed"),
        ("cross_entropy", ("torch.float32", "torch.int64"), ""),
        ("nll_loss", ("torch.float32", "torch.int64"), ""),
    ],
)
def test_odd_dtypes_of_a_loss(function: str, dtypes: tuple[str, ...], odd: str) -> None:
    assert odd_dtype(LossInput(Line("a.py", 1), function, dtypes, 1)) == odd


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0 B"), (999, "999 B"), (0.4, "0.4 B"), (0.01, "<0.1 B"), (1000, "1.0 kB"), (2.5e9, "2.5 GB")],
)
def test_sizes(number: float, text: str) -> None:
    assert size(number) == text
