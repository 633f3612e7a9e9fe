"""Where settings come from, which one wins, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from lastword.cli.settings import SETTINGS
from lastword.cli.settings.connecting import connection_from
from lastword.cli.settings.settings_file import load_settings, read_file
from lastword.errors import ConfigError, ConnectionFailedError


def write(directory: Path, text: str) -> Path:
    path = directory / "lastword.toml"
    path.write_text(text)
    return path


def test_a_flag_wins_over_the_environment_over_the_file_over_the_default(tmp_path: Path) -> None:
    file = write(tmp_path, "[broker]\nport = 1001\n")
    environ = {"LASTWORD_BROKER_PORT": "1002"}
    assert load_settings(None, {}, {})["broker.port"] == 9092
    assert load_settings(file, {}, {})["broker.port"] == 1001
    assert load_settings(file, environ, {})["broker.port"] == 1002
    assert load_settings(file, environ, {"broker.port": 1003})["broker.port"] == 1003


def test_a_flag_that_was_not_given_overrides_nothing(tmp_path: Path) -> None:
    file = write(tmp_path, "[broker]\nport = 1001\n")
    assert load_settings(file, {}, {"broker.port": None})["broker.port"] == 1001


def test_the_file_in_the_current_directory_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, 'application_id = "shop"\n')
    monkeypatch.chdir(tmp_path)
    assert load_settings(None, {}, {})["application_id"] == "shop"


@pytest.mark.parametrize(
    ("text", "nearest"),
    [
        ('[connection]\nbootstrap_server = "a:1"\n', "connection.bootstrap_servers"),
        ("[brokr]\nport = 1\n", "broker.port"),
        ('[tables.users]\nvalu = "json"\n', "tables.users.value"),
        ('hom = "x"\n', "home"),
    ],
)
def test_an_unknown_key_is_refused_with_the_nearest_valid_name(
    tmp_path: Path, text: str, nearest: str
) -> None:
    with pytest.raises(ConfigError) as failure:
        read_file(write(tmp_path, text))
    assert failure.value.hint == f"did you mean {nearest}?"


@pytest.mark.parametrize(
    "text",
    [
        '[broker]\nport = "9092"\n',
        "[broker]\nport = true\n",
        '[connection]\nsecurity_protocol = "SSH"\n',
        '[tables.users]\non_bad = "explode"\n',
        'connection = "localhost:9092"\n',
        "[tables]\nusers = 1\n",
        "this is not TOML",
    ],
)
def test_a_value_of_the_wrong_form_is_refused_and_the_file_is_named(
    tmp_path: Path, text: str
) -> None:
    with pytest.raises(ConfigError, match=r"lastword\.toml") as failure:
        read_file(write(tmp_path, text))
    assert failure.value.hint


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("LASTWORD_BROKER_PORT", "many"),
        ("LASTWORD_SSL_VERIFY_HOSTNAME", "perhaps"),
        ("LASTWORD_SECURITY_PROTOCOL", "SSH"),
    ],
)
def test_a_wrong_environment_variable_is_named(variable: str, text: str) -> None:
    with pytest.raises(ConfigError, match=variable):
        load_settings(None, {variable: text}, {})


def test_no_two_settings_share_an_environment_variable() -> None:
    variables = [setting.environment_variable for setting in SETTINGS]
    assert len(set(variables)) == len(variables)


def test_paths_in_the_file_are_relative_to_the_file(tmp_path: Path) -> None:
    file = write(tmp_path, '[connection]\nssl_ca = "certificates/ca.pem"\n')
    assert read_file(file)["connection.ssl_ca"] == tmp_path / "certificates" / "ca.pem"


def test_a_table_that_is_not_in_the_file_is_the_topic_of_that_name(tmp_path: Path) -> None:
    settings = read_file(write(tmp_path, '[tables.users]\ntopic = "user-profiles"\n'))
    assert settings.table("users")["topic"] == "user-profiles"
    assert settings.table("users")["value"] == "json"
    assert settings.table("orders")["topic"] == "orders"


def test_kafkas_own_settings_are_passed_on_as_text(tmp_path: Path) -> None:
    file = write(tmp_path, '[broker.properties]\n"log.cleaner.enable" = true\n"a.b" = 2\n')
    assert read_file(file).free["broker.properties"] == {"log.cleaner.enable": "true", "a.b": "2"}


def test_a_connection_is_made_of_the_settings(tmp_path: Path) -> None:
    environ = {
        "LASTWORD_BOOTSTRAP_SERVERS": "kafka.example.com:9093",
        "LASTWORD_SECURITY_PROTOCOL": "SASL_SSL",
        "LASTWORD_SASL_MECHANISM": "PLAIN",
        "LASTWORD_SASL_USERNAME": "alice",
        "LASTWORD_SASL_PASSWORD": "secret",
    }
    connection = connection_from(load_settings(None, environ, {}), tmp_path)
    assert connection.bootstrap_servers == "kafka.example.com:9093"
    assert connection.sasl_username == "alice"
    assert "secret" not in repr(connection)


def test_a_java_properties_file_makes_a_connection_too(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text("bootstrap.servers=kafka.example.com:9093\nsecurity.protocol=SSL\n")
    settings = load_settings(None, {}, {"connection.command_config": file})
    connection = connection_from(settings, tmp_path)
    assert connection.bootstrap_servers == "kafka.example.com:9093"
    assert connection.encrypted


def test_half_of_an_oauth_login_is_refused(tmp_path: Path) -> None:
    environ = {"LASTWORD_BOOTSTRAP_SERVERS": "a:1", "LASTWORD_OAUTH_CLIENT_ID": "me"}
    with pytest.raises(ConfigError) as failure:
        connection_from(load_settings(None, environ, {}), tmp_path)
    assert failure.value.hint == "set also oauth_client_secret, oauth_token_url"


def test_without_a_cluster_or_a_local_broker_the_hint_names_the_commands(tmp_path: Path) -> None:
    with pytest.raises(ConnectionFailedError) as failure:
        connection_from(load_settings(None, {}, {}), tmp_path)
    assert "lastword up" in str(failure.value.hint)
    assert "lastword broker start" in str(failure.value.hint)
