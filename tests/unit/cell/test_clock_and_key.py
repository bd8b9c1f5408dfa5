"""The broker's clock as a host sees it, and the key by which hosts know each other."""

import stat
from pathlib import Path

import pytest

from services.cluster_key import KEY_VARIABLE, make_key, read_key
from services.process.clock import BrokerClock
from services.settings import SettingsError


def test_the_fastest_exchange_tells_the_offset() -> None:
    """A slow one may have been slow in one direction only."""
    clock = BrokerClock(local=lambda: 5_000.0)
    assert not clock.is_set.is_set()
    clock.exchanged(sent_ms=1_000.0, stamped_ms=1_700.0, answered_ms=1_400.0)
    assert 500.5 == clock.offset_ms
    clock.exchanged(sent_ms=2_000.0, stamped_ms=2_301.0, answered_ms=2_002.0)
    clock.exchanged(sent_ms=3_000.0, stamped_ms=3_900.0, answered_ms=3_900.0)
    assert (300.5, 5_300.5) == (clock.offset_ms, clock.now_ms())
    assert clock.is_set.is_set()


def test_a_clock_that_was_set_is_believed_at_once() -> None:
    """Two exchanges that can't both be right: by the older one a host would stamp results with a time of last month."""
    month_ms = 30 * 86_400_000.0
    clock = BrokerClock()
    clock.exchanged(sent_ms=0.0, stamped_ms=100.0, answered_ms=1.0)
    clock.exchanged(sent_ms=month_ms, stamped_ms=1_100.0, answered_ms=month_ms + 200)
    assert 1_000.5 - month_ms == clock.offset_ms
    clock.exchanged(sent_ms=2_000.0, stamped_ms=2_100.0, answered_ms=2_003.0)
    assert 99.0 == clock.offset_ms


def test_an_exchange_in_which_the_clock_was_set_back_does_not_count() -> None:
    """It would seem the fastest of all."""
    clock = BrokerClock()
    clock.exchanged(sent_ms=0.0, stamped_ms=100.0, answered_ms=1.0)
    clock.exchanged(sent_ms=9_000.0, stamped_ms=9_100.0, answered_ms=2_000.0)
    assert 100.0 == clock.offset_ms


def test_a_key_is_made_once_for_its_owner_only(tmp_path: Path) -> None:
    """Whoever reads it can send ants."""
    file = tmp_path / "cluster.key"
    make_key(file)
    key = read_key(file, {})
    make_key(file)
    assert key == read_key(file, {})
    assert (64, 0o600) == (len(key), stat.S_IMODE(file.stat().st_mode))


def test_a_flag_comes_before_the_environment_and_that_before_a_setting(tmp_path: Path) -> None:
    """As with all settings: who names a file with --key-file means that file."""
    file, variable = tmp_path / "k", {KEY_VARIABLE: "0123456789abcdef\n"}
    make_key(file)
    assert file.read_bytes().strip() == read_key(file, variable, otherwise=Path("/nowhere/key"))
    assert b"0123456789abcdef" == read_key(None, variable, otherwise=file)
    assert file.read_bytes().strip() == read_key(None, {}, otherwise=file)


@pytest.mark.parametrize(
    ("file", "environment", "what"),
    [
        (None, {}, "none was given"),
        (Path("/nowhere/key"), {}, "can't be read from /nowhere/key"),
        (None, {KEY_VARIABLE: "short"}, "has 5 bytes; 16 are the least"),
    ],
)
def test_without_a_usable_key_there_is_a_clear_refusal(file: Path | None, environment: dict, what: str) -> None:
    """A host that made one up would be deaf to all others."""
    with pytest.raises(SettingsError, match=what) as refused:
        read_key(file, environment)
    assert "short" not in str(refused.value)
    assert refused.value.remedy
