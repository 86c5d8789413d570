"""The settings of a server: where they may come from, which wins, what `arena config` says, that the docs have all."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from arena.commands.config import read_effective_settings, read_settings, unknown_variables
from arena.commands.settings import SETTINGS, ServerSettings, database_url
from commands import REPOSITORY, call
from protocol.errors import UsageFault

DOC = REPOSITORY / "docs" / "operating.md"


def rows() -> dict[str, tuple[str, str, str, str]]:
    """The rows of the tables of settings, by the first option in each."""
    found = {}
    for line in DOC.read_text().partition("\n## Settings\n")[2].partition("\n## ")[0].splitlines():
        if line.startswith("| `--"):
            option, variable, key, meaning = re.split(r"\s*\|\s*", line.strip("| "), maxsplit=3)
            found[re.findall(r"--[a-z-]+", option)[0]] = option, variable, key, meaning
    return found


def test_the_documents_have_every_setting_under_all_its_names_with_its_default() -> None:
    told = rows()
    options = {key: f"--{key.replace('_', '-')}" for key in SETTINGS} | {"games": "--game"}
    assert set(told) - {"--config"} == set(options.values())
    for key, option in options.items():
        _, variable, name, meaning = told[option]
        assert (variable, name) == (f"`ARENA_{key.upper()}`", f"`{key}`")
        default = getattr(ServerSettings(), key)
        if default and not isinstance(default, bool):
            assert re.search(rf"`(\./)?{re.escape(str(default))}`", meaning), (key, default)


def test_every_option_of_serve_is_one_of_config_too() -> None:
    of_serve, of_config = (
        set(re.findall(r"--[a-z-]+", call("arena", word, "--help").out)) for word in ("serve", "config")
    )
    assert of_config - of_serve == {"--json"}
    assert of_serve - of_config == set()


@pytest.mark.parametrize("key", SETTINGS)
def test_every_setting_comes_from_a_file_and_the_environment(key: str, tmp_path: Path) -> None:
    kind, setting = SETTINGS[key]
    before = getattr(ServerSettings(), key)
    fitting = {
        "clock": "3+1",
        "slow_clock": "3+1",
        "mqtt": "mqtt://broker",
        "socket_url": "wss://a.example",
        "dask": "tls://a.example:8786",
        "public_url": "wss://a.example/a",
        "trusted_proxy": "127.0.0.1",
        "allow_origin": "https://a.example",
        "admin_host": "a.example",
    }
    value = {
        bool: not before,
        int: setting.minimum + 1,
        str: next((one for one in setting.choices if one != before), fitting.get(key, "x")),
    }[kind]
    beside = {
        "tls_cert": {"tls_key": "x"},
        "tls_key": {"tls_cert": "x"},
        "node": {"db": "postgresql://db.example.org/arena"},
        "nodes": {"db": "postgresql://db.example.org/arena"},
    }
    given = {key: value, **beside.get(key, {})}
    file = tmp_path / "arena.toml"
    file.write_text("".join(f"{name} = {json.dumps(one)}\n" for name, one in given.items()))
    variables = {f"ARENA_{name.upper()}": str(one).lower() if kind is bool else str(one) for name, one in given.items()}
    assert getattr(read_settings({}, file, {}), key) == value
    assert getattr(read_settings({}, None, {"ARENA_CONFIG_FILE": str(file)}), key) == value
    assert getattr(read_settings({}, None, variables), key) == value
    assert unknown_variables(variables) == []


def test_flags_win_over_the_environment_and_that_over_the_file_which_is_told(tmp_path: Path) -> None:
    (tmp_path / "arena.toml").write_text('port = 1\nweb_port = 2\nclock = "3"\n')
    variables = {"ARENA_PORT": "4", "ARENA_WEB_PORT": "5"}
    found = read_effective_settings({"port": 6, "host": None}, tmp_path / "arena.toml", variables)
    assert (found.settings.port, found.settings.web_port, found.settings.clock) == (6, 5, "3")
    assert found.sources == {
        "port": "--port",
        "web_port": "ARENA_WEB_PORT",
        "clock": f"{tmp_path}/arena.toml, line 3",
    }


def test_a_list_of_toml_is_a_list_where_the_command_line_takes_several(tmp_path: Path) -> None:
    (tmp_path / "arena.toml").write_text('builtin_bots = ["random", "deep=alphabeta:nodes=9"]\n')
    assert read_settings({}, tmp_path / "arena.toml", {}).builtin_bots == "random,deep=alphabeta:nodes=9"


def test_config_prints_every_setting_and_where_it_is_from_within_80_columns(tmp_path: Path) -> None:
    (tmp_path / "arena.toml").write_text("port = 9000\n")
    long = ",".join(f"https://class-{number}.example.org" for number in range(9))
    words = ("config", "--config", str(tmp_path / "arena.toml"), "--allow-origin", long, "--admin")
    done = call("arena", *words, ARENA_RATED="approved", ARENA_RATD="all")
    lines = done.out.splitlines()
    assert max(map(len, lines)) <= 80
    assert [line.split()[0] for line in lines if line[0] != " "] == ["setting", *SETTINGS]
    assert re.search(r"^rated +approved +ARENA_RATED$", done.out, re.MULTILINE)
    assert re.search(r"^admin +true +--admin$", done.out, re.MULTILINE)
    assert re.search(r"^db +sqlite:///arena-data/arena\.db +default$", done.out, re.MULTILINE)
    assert re.search(r"^trusted_proxy +none +default$", done.out, re.MULTILINE)
    assert re.search(r"^host +127\.0\.0\.1 +default$", done.out, re.MULTILINE)
    assert (
        done.err
        == "arena: ARENA_RATD in the environment is ignored, because it is unknown: did you mean ARENA_RATED?\n"
    )
    told = json.loads(call("arena", *words, "--json").out)
    assert list(told) == list(SETTINGS)
    assert told["port"] == {"value": 9000, "source": f"{tmp_path}/arena.toml, line 1"}


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://arena:hidden@db.example/arena",
        "postgresql://db.example/arena?user=arena&password=hidden",
        "postgresql://arena:hid%40den:hidden@db.example/arena",
    ],
)
def test_no_password_is_printed(url: str) -> None:
    for words in (("config",), ("config", "--json")):
        done = call("arena", *words, ARENA_DB=url, ARENA_MQTT="mqtt://me:hidden@broker/arena")
        assert done.code == 0
        assert "hidden" not in done.out + done.err
        assert "db.example/arena" in done.out.replace("\n", "").replace(" ", "")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--builtin-bots", "randm"), "there is no built-in bot 'randm'"),
        (("--db", "@nowhere"), "db: the file 'nowhere' can't be read"),
        (("--mqtt", "@nowhere"), "mqtt: the file 'nowhere' can't be read"),
        (("--db", "mysql://host/arena"), "a database URL is sqlite:///FILE or postgresql://"),
        (("--operator-token-file", "nowhere"), "the operator's token can't be read from nowhere"),
        (("--nodes", "3"), "nodes is 3: nodes share a database on a server, so give db too"),
        (("--node", "b"), "node is b: nodes share a database on a server, so give db too"),
        (("--dask", "far:8786"), "dask is 'far:8786': it is like tls://cluster.example.org:8786"),
        (("--node", "a b"), "node is 'a b': it is a name like a or arena-0, 1 to 32 letters"),
        (("--node", "{node}"), "node is '{node}': it is a name like a or arena-0"),
        (
            ("--nodes", "3", "--db", "postgresql://host/arena", "--public-url", "wss://a.example"),
            "public_url is wss://a.example, the same for 3 nodes: write {node} where the name of each belongs",
        ),
        (
            ("--db", "postgresql://host/arena", "--trusted-proxy", "127.0.0.1"),
            "trusted_proxy is 127.0.0.1, so there is a proxy, and public_url is missing: nodes would send bots past it",
        ),
        (
            ("--db", "postgresql://host/arena", "--nodes", "2", "--socket-url", "wss://a.example/socket"),
            "socket_url is wss://a.example/socket, so there is a proxy, and public_url is missing",
        ),
        (("--public-url", "wss://a.example/{nod}"), "public_url is 'wss://a.example/{nod}': it is where clients"),
    ],
)
def test_config_refuses_what_serve_would_refuse(words: tuple[str, ...], said: str) -> None:
    for command in ("config", "serve"):
        done = call("arena", command, *words, ARENA_PORT="0", ARENA_WEB_PORT="0")
        assert done.code in (1, 2)
        assert said in done.err.partition("\n")[0]
        assert done.out == ""


def test_a_url_with_a_password_may_be_in_a_file(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("sqlite:////srv/arena.db\n")
    assert database_url(f"@{secret}", tmp_path) == "sqlite:////srv/arena.db"
    assert call("arena", "matches", ARENA_DB=f"@{secret}").err.startswith("arena: no arena data in /srv/arena.db: ")
    told = call("arena", "matches", ARENA_DB=f"@{tmp_path}/none").err
    assert told.startswith("arena: db: the file '")
    assert told.endswith("none' can't be read: No such file or directory\n")
    secret.write_text("0123456789abcdef")
    with pytest.raises(UsageFault, match="secret holds no URL like") as refused:
        database_url(f"@{secret}", tmp_path)
    assert "0123456789" not in str(refused.value)
    secret.write_text("http://broker:hidden@example.org")
    with pytest.raises(UsageFault, match="the MQTT address begins with 'http'") as refused:
        read_settings({"mqtt": f"@{secret}"}, None, {})
    assert "hidden" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("port = " + "9" * 5000, "a number has more than 4300 digits"),
        ("port = 0x" + "f" * 5000, "a number has more than 4300 digits"),
        ("house = [1, {a = 0b" + "1" * 50_000 + "}]", "a number has more than 4300 digits"),
        ("port = " + "9" * 4000, f"port in {{file}}, line 1, is {'9' * 37}...: it is a port from 0 to 65535"),
        ("port = " + "[" * 5000, "it is nested too deeply"),
    ],
)
def test_a_file_that_python_cannot_take_is_refused_in_one_line(text: str, says: str, tmp_path: Path) -> None:
    file = tmp_path / "arena.toml"
    file.write_text(f"{text}\n")
    with pytest.raises(UsageFault, match=re.escape(says.format(file=file))) as refused:
        read_settings({}, file, {})
    assert len(str(refused.value)) < 300


@pytest.mark.parametrize("digits", ["9" * 4000, "9" * 5000])
def test_a_variable_with_thousands_of_digits_is_refused_in_one_line(digits: str) -> None:
    with pytest.raises(UsageFault, match=r"^ARENA_PORT is .{1,210}: it is a") as refused:
        read_settings({}, None, {"ARENA_PORT": digits})
    assert len(str(refused.value)) < 300
