"""Docs agree with code, failures form one tree, imports look down."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

from everthread import errors
from everthread.errors import Failure
from everthread.http.app import ENDPOINTS
from everthread.http.reply import status_of
from everthread.settings import PREFIX, Settings, load
from front_door import KEY, Client, Everthread
from upstream import Upstream

ROOT = Path(__file__).parent.parent
FOREIGN = {".venv", ".venv-compat", ".venv-peers", "node_modules"}
FAILURES = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, Failure)]


def read(path: str) -> str:
    return (ROOT / path).read_text()


def test_imports_look_down_only() -> None:
    command = Path(sys.executable).parent / "lint-imports"
    done = subprocess.run([command, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_every_setting_is_documented_and_nothing_else() -> None:
    documented = set(re.findall(r"^\| `(EVERTHREAD_\w+)`", read("docs/settings.md"), re.MULTILINE))
    assert documented == {f"{PREFIX}{name.upper()}" for name in Settings.__struct_fields__}


def test_every_failure_has_its_own_code_a_message_and_a_place_in_the_tree() -> None:
    codes = [kind.code for kind in FAILURES]
    assert len(set(codes)) == len(codes)
    tree = errors.__doc__ or ""
    for kind in FAILURES:
        assert re.search(rf"\b{kind.__name__}\b", tree), f"{kind.__name__} is not drawn"
        assert kind().message.endswith(".") or '"' in kind().message


def test_every_error_code_is_documented_with_its_status() -> None:
    documented: dict[str, int] = {}
    for status, codes in re.findall(r"^\| (\d{3}) \| (.+?) \|", read("docs/api.md"), re.MULTILINE):
        documented.update(dict.fromkeys(re.findall(r"`(\w+)`", codes), int(status)))
    assert documented == {kind.code: status_of(kind())[0] for kind in FAILURES}


def test_every_endpoint_is_documented_and_described(client: Client) -> None:
    page = read("docs/api.md")
    described = client.get("/openapi.json").json["paths"]
    capable = client.get("/v1/capabilities").json["endpoints"]
    for endpoint in ENDPOINTS:
        path = endpoint.path.replace(":path", "")
        assert path in page or path.replace("{model}", "{id}") in page
        assert endpoint.method.lower() in described[path]
        assert capable[endpoint.name] == {"method": endpoint.method, "path": endpoint.path}
    shown = client.get("/docs")
    assert shown.status == 200
    assert all(path in shown.body.decode() for path in described)
    assert "<script" not in shown.body.decode()


@pytest.mark.parametrize(
    "page", sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("**/*.md") if not FOREIGN & {*path.parts})
)
def test_links_lead_somewhere_and_named_tests_exist(page: str) -> None:
    text = read(page)
    for link in re.findall(r"\]\((?!https?:)([^)#]+)\)", text):
        assert (ROOT / page).parent.joinpath(link).exists(), link
    for file, name in re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", text):
        assert (ROOT / file).exists(), file
        assert not name or f"def {name}(" in read(file), name


def test_the_snippet_of_the_readme_runs(
    server: Everthread, upstream: Upstream, capsys: pytest.CaptureFixture[str]
) -> None:
    found = re.search(r"```python\n(.*?)```", read("README.md"), re.DOTALL)
    assert found is not None
    code = found[1].replace("http://127.0.0.1:8642", server.url)
    code = re.sub(r'Path\("~/.everthread/key"\)[\w.()]*\(\)', repr(KEY), code)
    exec(compile(code, "README.md", "exec"), {})
    assert "I know Alex" in capsys.readouterr().out.splitlines()[-1]


def test_the_settings_come_from_the_environment_then_the_file(tmp_path: Path) -> None:
    (tmp_path / "everthread.toml").write_text(
        'port = 1234\nEVERTHREAD_MODEL = "from-file"\ncors_origins = ["https://a"]\n'
    )
    environ = {"EVERTHREAD_HOME": str(tmp_path), "EVERTHREAD_PORT": "4321", "EVERTHREAD_ALLOWED_HOSTS": "a, b"}
    found = load(environ)
    assert (found.port, found.model, found.cors_origins, found.allowed_hosts) == (
        4321,
        "from-file",
        ("https://a",),
        ("a", "b"),
    )
    assert found.database == tmp_path / "everthread.db"


@pytest.mark.parametrize(
    ("environ", "says"),
    [
        ({"EVERTHREAD_PORT": "many"}, "EVERTHREAD_PORT"),
        ({"EVERTHREAD_PROT": "1"}, "There is no setting EVERTHREAD_PROT"),
        ({"EVERTHREAD_UPSTREAM_URL": "localhost:1"}, "http or https"),
        ({"EVERTHREAD_STORE": "mongodb://x"}, "sqlite:///path"),
        ({"EVERTHREAD_LOG_LEVEL": "loud"}, "one of debug"),
        ({"OPENAI_API_KEY": "sk-x"}, "set EVERTHREAD_MODEL"),
        ({"EVERTHREAD_CONTEXT_BUDGET": "3"}, "EVERTHREAD_CONTEXT_BUDGET"),
    ],
)
def test_a_wrong_setting_is_named(environ: dict[str, str], says: str, tmp_path: Path) -> None:
    with pytest.raises(errors.Malformed, match=says):
        load({"EVERTHREAD_HOME": str(tmp_path), **environ})


def test_the_upstream_is_the_setting_then_openais_variables_then_embedded(tmp_path: Path) -> None:
    home = {"EVERTHREAD_HOME": str(tmp_path)}
    theirs = {"OPENAI_BASE_URL": "http://o/v1", "OPENAI_API_KEY": "sk"}
    ours = {"EVERTHREAD_UPSTREAM_URL": "http://e/v1"}
    assert load({**home, **theirs, **ours}).upstream_url == "http://e/v1"
    assert load({**home, **theirs, **ours}).upstream_key is None, "their key is not sent to our upstream"
    found = load({**home, **theirs})
    assert (found.upstream_url, found.upstream_key) == ("http://o/v1", "sk")
    assert load(home).upstream_url is None
