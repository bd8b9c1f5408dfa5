"""The compose files: what every service in them has, so that none is forgotten when one is added."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from services.embedded.world_file import load_world
from tests.unit.containers.composed import COMPOSE, services, volumes

OTHERS = ("kafka", "redis")
"""Official images, with their own ideas of a root file system."""

both = pytest.mark.parametrize("world", [False, True], ids=["compose", "world"])


def ours(*, world: bool) -> dict[str, dict[str, Any]]:
    """The services that run our own image."""
    return {name: each for name, each in services(world=world).items() if not name.startswith(OTHERS)}


@both
def test_every_service_has_a_memory_limit_a_restart_policy_and_a_bounded_log(world: bool) -> None:
    """One that grows must not take the machine with it."""
    for name, service in services(world=world).items():
        assert {"mem_limit", "restart", "logging"} <= service.keys(), name
        assert all("127.0.0.1" in port for port in service.get("ports", ())), name


@both
def test_no_service_has_privileges(world: bool) -> None:
    """What a function, a library or a broker can be made to do stays in its container."""
    for name, service in services(world=world).items():
        assert ["ALL"] == service["cap_drop"], name
        assert ["no-new-privileges:true"] == service["security_opt"], name
        assert "cap_add" not in service or name == "redis", name


@both
def test_our_own_services_have_a_read_only_root_and_a_bounded_tmp(world: bool) -> None:
    """What they may write is what the file lists."""
    for name, service in ours(world=world).items():
        assert service["read_only"] is True, name
        assert all(re.match(r"/tmp:size=\d+m", each) for each in service["tmpfs"]), name
        assert service["init"] is True, name


@both
def test_every_service_that_stays_says_when_it_is_ready(world: bool) -> None:
    """Others wait for it, and so does `up --wait`. The first container ends instead."""
    for name, service in services(world=world).items():
        assert ("healthcheck" in service) == (name != "volumes"), name


@both
def test_services_start_when_what_they_need_is_ready(world: bool) -> None:
    """Never only when its container was made."""
    found = services(world=world)
    for name, service in found.items():
        for needed, how in service.get("depends_on", {}).items():
            wanted = "service_completed_successfully" if needed == "volumes" else "service_healthy"
            assert wanted == how["condition"], f"{name} on {needed}"
        if name not in ("volumes", "redis", "links"):
            assert "volumes" in service["depends_on"] or "host" in service["depends_on"], name


@both
def test_every_volume_has_a_name_and_a_reader(world: bool) -> None:
    """One without a name is lost with its container."""
    mounts = [each for service in services(world=world).values() for each in service.get("volumes", ())]
    named = {each.partition(":")[0] for each in mounts if isinstance(each, str)}
    assert volumes(world=world) == named
    folders = {each["source"] for each in mounts if not isinstance(each, str)}
    assert {"${STIGMERGY_FUNCTIONS:-./functions}"} == folders


@both
def test_every_host_sees_the_functions_and_may_load_them_but_not_write(world: bool) -> None:
    """Otherwise no python operator could run in containers. The folder is there in a fresh clone, for everybody."""
    for name, service in services(world=world).items():
        if name.startswith("host"):
            (folder,) = [each for each in service["volumes"] if not isinstance(each, str)]
            assert folder["read_only"] is True
            assert f"{folder['target']}/" == service["command"][service["command"].index("--allow") + 1], name
    assert 0o005 == (COMPOSE / "functions").stat().st_mode & 0o005


def test_the_demo_of_a_world_sends_from_a_region_of_it() -> None:
    """A flow whose source is at a region without hosts is never placed."""
    entry = services(world=True)["demo"]["entrypoint"]
    region = entry[entry.index("--submit-at") + 1]
    assert region in {each.name for each in load_world(COMPOSE / "world.regions.yaml").regions}
    assert region in {
        service["environment"]["STIGMERGY_REGION"]
        for name, service in services(world=True).items()
        if name.startswith("host")
    }
    assert f"host-{region}" in services(world=True)["demo"]["depends_on"]


def test_an_image_built_by_hand_has_the_version_of_this_tree_on_its_label() -> None:
    """Compose can't ask pyproject.toml."""
    version = tomllib.loads((COMPOSE.parent / "pyproject.toml").read_text())["project"]["version"]
    assert f"ARG VERSION={version}\n" in (COMPOSE / "Dockerfile").read_text()
    arguments = services(world=False)["host"]["build"]["args"]
    assert f"${{STIGMERGY_VERSION:-{version}}}" == arguments["VERSION"]


def test_one_time_for_all_files_that_a_build_copies_from_its_stages() -> None:
    """Otherwise each build of the same lock would have other layers."""
    text = Path(COMPOSE / "Dockerfile").read_text()
    stages = dict(re.findall(r"^FROM \S+ AS (\S+)\n((?:(?!^FROM ).*\n)*)", text, re.MULTILINE))
    for target in ("models", "services"):
        sources = re.findall(r"^COPY --from=(\S+) (\S+) (\S+)$", stages[target], re.MULTILINE)
        assert sources
        for stage, what, where in sources:
            assert ("/image", "/") == (what, where), f"{target} from {stage}"
            assert "find /image -exec touch --no-dereference --date @0 {} +" in stages[stage], stage
