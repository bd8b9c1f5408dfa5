"""Settings come from the file, the environment and flags; of these, a later one wins."""

import re
from pathlib import Path

import pytest

from services.settings import COMPOSE_VARIABLES, NAMES, OTHER_VARIABLES, SettingsError, as_environment, load_settings


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder, and no configuration of the person who runs the tests."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    return tmp_path


def test_without_anything_all_are_defaults(folder: Path) -> None:
    """A newcomer sets nothing."""
    loaded = load_settings(environment={})
    assert {"default"} == set(loaded.origins.values())
    assert 1 == loaded.settings.brokers


def test_a_flag_beats_the_environment_which_beats_the_file(folder: Path) -> None:
    """The nearer to the person, the stronger."""
    (folder / "stigmergy.toml").write_text('brokers = 2\nlog_level = "error"\nhome = "from-file"\n')
    environment = {"STIGMERGY_BROKERS": "3", "STIGMERGY_LOG_LEVEL": "debug"}
    loaded = load_settings({"brokers": 5, "bootstrap": None}, environment)
    found = (loaded.settings.brokers, loaded.settings.log_level, loaded.settings.home)
    assert (5, "debug", folder / "from-file") == found
    assert "flag --brokers" == loaded.origins["brokers"]
    assert "environment STIGMERGY_LOG_LEVEL" == loaded.origins["log_level"]
    assert f"file {folder / 'stigmergy.toml'}" == loaded.origins["home"]
    assert "default" == loaded.origins["bootstrap"]


def test_the_file_is_named_or_here_or_the_users(folder: Path) -> None:
    """In this order; only one is read."""
    (folder / "xdg" / "stigmergy").mkdir(parents=True)
    (folder / "xdg" / "stigmergy" / "stigmergy.toml").write_text("brokers = 2")
    assert 2 == load_settings(environment={}).settings.brokers
    (folder / "stigmergy.toml").write_text("brokers = 3")
    assert 3 == load_settings(environment={}).settings.brokers
    (folder / "named.toml").write_text("brokers = 4")
    assert 4 == load_settings(environment={"STIGMERGY_CONFIG": str(folder / "named.toml")}).settings.brokers


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("broker = 3", r"no setting 'broker'[\s\S]*did you mean brokers\?"),
        ("colour = 3", r"no setting 'colour'[\s\S]*the settings are home, "),
        ("brokers = ", r"stigmergy\.toml: Invalid value[\s\S]*must be TOML"),
        ('brokers = "many"', r"brokers is 'many', expected a whole number"),
        ("brokers = true", r"brokers is True, expected a whole number"),
        ("brokers = 0", r"brokers is 0, expected a whole number"),
        ("brokers = 99", r"brokers is 99, expected a whole number from 1 to 9"),
        ("models_heap_mb = 100", r"models_heap_mb is 100, expected a whole number from 480 to 65536"),
        ('demo = "perhaps"', r"demo is 'perhaps'[\s\S]*true or false"),
        ("home = 3", r"home is 3, expected a path"),
        ("bootstrap = 9092", r"bootstrap is 9092, expected a text"),
        ("silent_s = 1", r"silent_s is 1, expected seconds, 2 or more"),
        ('silent_s = "long"', r"silent_s is 'long', expected seconds"),
        ("return_s = -1", r"return_s is -1, expected seconds, 0 or more"),
        ('log_level = "loud"', r"log_level is 'loud'[\s\S]*one of debug, info"),
    ],
)
def test_a_wrong_file_is_told_with_what_to_do(folder: Path, text: str, message: str) -> None:
    """Never a traceback, never a silent default."""
    (folder / "stigmergy.toml").write_text(text)
    with pytest.raises(SettingsError, match=message):
        load_settings(environment={})


def test_a_misspelt_variable_is_told_with_the_nearest_one(folder: Path) -> None:
    """Ignoring it would start one broker for a person who asked for three. What is no near miss is left alone."""
    with pytest.raises(SettingsError, match=r"STIGMERGY_BROKER is no setting[\s\S]*did you mean STIGMERGY_BROKERS\?"):
        load_settings(environment={"STIGMERGY_BROKER": "3"})
    assert load_settings(environment={"STIGMERGY_DATA": "/x", "STIGMERGY_UNRELATED": "1"})


def test_variables_that_other_parts_read_are_known(folder: Path) -> None:
    """Otherwise one of them could be taken for a misspelt setting."""
    services = Path(__file__).parents[3] / "services"
    read = {name for file in services.rglob("*.py") for name in re.findall(r'"STIGMERGY_([A-Z_]+)"', file.read_text())}
    assert set() == read - {name.upper() for name in NAMES} - {*OTHER_VARIABLES, *COMPOSE_VARIABLES, "CONFIG"}


def test_settings_of_the_compose_files_are_not_taken_for_misspelt_ones(folder: Path) -> None:
    """A shell that has them exported can still use the command."""
    example = (Path(__file__).parents[3] / "compose" / ".env.example").read_text()
    names = re.findall(r"^#?(STIGMERGY_\w+)=", example, re.MULTILINE)
    assert 20 < len(names)
    ours = {f"STIGMERGY_{name.upper()}" for name in NAMES}
    assert load_settings(environment={name: "x" for name in names if name not in ours})


def test_a_named_file_must_exist(folder: Path) -> None:
    """Falling back to another file would hide a typing error."""
    with pytest.raises(SettingsError, match=r"no-such.toml, which is not a file"):
        load_settings(environment={"STIGMERGY_CONFIG": "no-such.toml"})


def test_settings_travel_to_another_process(folder: Path) -> None:
    """`up --detach` starts a second process, which must see what this one saw: flags, and what was left out."""
    settings = load_settings({"brokers": 3, "home": "here", "bootstrap": "a:1"}, {}).settings
    (folder / "stigmergy.toml").write_text('brokers = 7\nlog_level = "debug"\n')
    assert settings == load_settings(environment=as_environment(settings)).settings
    assert set(NAMES) == {name.removeprefix("STIGMERGY_").lower() for name in as_environment(settings)}
