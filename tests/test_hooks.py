"""The hooks of ``.pre-commit-hooks.yaml``, driven by the real pre-commit in a scratch repository."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import SITE, SITE_FIXED, environment, git, write_files
from tests.notebook_files import notebook, sources

CHECKOUT = Path(__file__).parent.parent
# Left out of the scratch copy of the tool: not needed to install it.
UNNEEDED = ("tests/", "fixtures/", "benchmarks/", "docs/")


def published(folder: Path) -> str:
    """Put the tool as it stands into a repository of its own; gives the revision that hooks are taken from."""
    names = git(CHECKOUT, "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
    files = [name for name in names if name and not name.startswith(UNNEEDED) and (CHECKOUT / name).is_file()]
    write_files(folder, {name: (CHECKOUT / name).read_bytes() for name in files})
    git(folder, "init", "-q")
    git(folder, "add", "-A", "-f")
    git(folder, "commit", "-q", "--no-verify", "-m", "as it stands")
    return git(folder, "rev-parse", "HEAD").strip()


def commit(folder: Path, home: Path, **changes: str) -> tuple[int, str]:
    """Commit what is staged; status and what was said."""
    done = subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-m", "a port"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env=environment(PRE_COMMIT_HOME=str(home), **changes),
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_finding_fails_the_commit_and_the_fix_hook_mends_it(tmp_path: Path) -> None:
    pytest.importorskip("pre_commit")
    tool, project, home = tmp_path / "tool", tmp_path / "project", tmp_path / "home"
    revision = published(tool)
    config = f"repos:\n- repo: {tool}\n  rev: {revision}\n  hooks:\n  - id: npuport-fix\n  - id: npuport-check\n"
    excluding = '[tool.npuport]\nextend-exclude = ["generated"]\n'
    write_files(project, {
        ".pre-commit-config.yaml": config, "pyproject.toml": excluding, "agent.py": SITE, "generated/agent.py": SITE,
        "notes.txt": "torch.cuda", "agent.ipynb": notebook(SITE),
    })  # fmt: skip
    git(project, "init", "-q")
    subprocess.run(
        [sys.executable, "-m", "pre_commit", "install"], cwd=project, check=True, capture_output=True,
        env=environment(PRE_COMMIT_HOME=str(home)),
    )  # fmt: skip
    git(project, "add", "-A")

    status, said = commit(project, home, SKIP="npuport-fix")
    assert status == 1, said
    assert "agent.py:3:5" in said
    assert "agent.ipynb:cell 1:3:5" in said
    assert "NPU102" in said
    assert "generated/agent.py" not in said
    assert (project / "agent.py").read_text() == SITE

    status, said = commit(project, home)
    assert status == 1, said
    assert "files were modified by this hook" in said
    assert (project / "agent.py").read_text() == SITE_FIXED
    assert sources((project / "agent.ipynb").read_text()) == [SITE_FIXED]
    assert (project / "generated" / "agent.py").read_text() == SITE

    git(project, "add", "agent.py", "agent.ipynb")
    status, said = commit(project, home)
    assert status == 0, said
    assert git(project, "show", "HEAD:agent.py") == SITE_FIXED
    assert not (project / ".npuport_cache").exists() or ".npuport_cache" not in git(project, "status", "--short")
