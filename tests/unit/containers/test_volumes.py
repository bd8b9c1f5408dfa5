"""The first container of a stack: it makes the key once, and refuses volumes that the others could not use."""

from pathlib import Path

import pytest

from services.cluster_key import read_key
from services.containers.volumes import KEY, NOTE, look
from services.settings import SettingsError

HERE = {"CLUSTER_ID": "c3RpZ21lcmd5LWNvbXBvcw", "KAFKA_IMAGE": "apache/kafka:4.1.0"}


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    """The volume of the cluster, empty."""
    (tmp_path / "cluster").mkdir()
    return tmp_path / "cluster"


@pytest.fixture
def volumes(tmp_path: Path) -> Path:
    """The folder with the volumes of Kafka and Redis, all empty."""
    for name in ("kafka", "kafka-east", "redis"):
        (tmp_path / "volumes" / name).mkdir(parents=True)
    return tmp_path / "volumes"


def test_a_first_start_makes_a_key_and_later_ones_keep_it(cluster: Path, volumes: Path) -> None:
    """Hosts that are still running know each other by it."""
    look(cluster, volumes, HERE, ours="0.1.0")
    key = read_key(cluster / KEY, {})
    (volumes / "kafka" / "meta.properties").write_text("version=1\ncluster.id=c3RpZ21lcmd5LWNvbXBvcw\nnode.id=1\n")
    look(cluster, volumes, HERE, ours="0.1.0")
    assert key == read_key(cluster / KEY, {})
    assert 0o600 == (cluster / KEY).stat().st_mode & 0o777


@pytest.mark.parametrize("broker", ["kafka", "kafka-east"])
def test_the_kafka_of_another_cluster_is_refused(cluster: Path, volumes: Path, broker: str) -> None:
    """The broker itself would end, start again and end, with a trace."""
    (volumes / broker / "meta.properties").write_text("version=1\ncluster.id=somebody-elses-cluster\n")
    message = rf"of {broker} belongs to the cluster somebody-elses-cluster[\s\S]*STIGMERGY_CLUSTER_ID="
    with pytest.raises(SettingsError, match=message):
        look(cluster, volumes, HERE, ours="0.1.0")
    assert not (cluster / KEY).exists()


@pytest.mark.parametrize(
    ("image", "is_older"),
    [
        ("redis:7.0-bookworm", True),
        ("redis:6", True),
        ("redis:7-bookworm", False),
        ("redis:7.2.1", False),
        ("redis", False),
    ],
)
def test_the_data_of_a_later_redis_is_refused(cluster: Path, volumes: Path, image: str, is_older: bool) -> None:
    """It would end again and again. Its own files say who wrote them; a name without a version says nothing."""
    files = volumes / "redis" / "appendonlydir"
    files.mkdir()
    (files / "appendonly.aof.1.base.rdb").write_bytes(b"REDIS0011\xfa\tredis-ver\x057.2.4\xfa\nredis-bits\xc0@")
    if not is_older:
        look(cluster, volumes, HERE | {"REDIS_IMAGE": image}, ours="0.1.0")
        return
    with pytest.raises(SettingsError, match=r"written by Redis 7\.2\.4, and this is [67][\s\S]*STIGMERGY_REDIS_IMAGE"):
        look(cluster, volumes, HERE | {"REDIS_IMAGE": image}, ours="0.1.0")


@pytest.mark.parametrize(
    ("image", "ours", "message"),
    [
        ("apache/kafka:4.0.1", "0.2.0", r"written by Kafka 4\.1\.0, and this is 4\.0\.1[\s\S]*STIGMERGY_KAFKA_IMAGE"),
        ("apache/kafka:4", "0.2.0", r"written by Redis 7\.2, and this is 7\.0[\s\S]*STIGMERGY_REDIS_IMAGE"),
        ("apache/kafka:4.1.0", "0.1.9", r"written by Stigmergy 0\.2\.0, and this is 0\.1\.9[\s\S]*STIGMERGY_IMAGE"),
    ],
)
def test_volumes_of_a_later_version_are_refused(
    cluster: Path, volumes: Path, image: str, ours: str, message: str
) -> None:
    """What a later one wrote, an earlier one may not be able to read."""
    look(cluster, volumes, HERE | {"REDIS_IMAGE": "redis:7.2"}, ours="0.2.0")
    with pytest.raises(SettingsError, match=message):
        look(cluster, volumes, HERE | {"KAFKA_IMAGE": image, "REDIS_IMAGE": "redis:7.0"}, ours=ours)


@pytest.mark.parametrize(
    "image", ["apache/kafka:4.1.2", "apache/kafka:4.10.0", "registry:5000/kafka", "kafka:latest", "kafka@sha256:12"]
)
def test_later_and_unknown_versions_are_welcome(cluster: Path, volumes: Path, image: str) -> None:
    """4.10 is later than 4.1; a name without a version says nothing, and takes nothing from the note."""
    look(cluster, volumes, HERE, ours="0.2.0")
    look(cluster, volumes, HERE | {"KAFKA_IMAGE": image}, ours="0.3.0")
    with pytest.raises(SettingsError, match=r"written by Kafka"):
        look(cluster, volumes, HERE | {"KAFKA_IMAGE": "apache/kafka:4.0.0"}, ours="0.3.0")


@pytest.mark.parametrize("is_world", [True, False])
def test_the_way_to_begin_anew_is_that_of_this_stack(cluster: Path, volumes: Path, is_world: bool) -> None:
    """A world is another project: the command for the plain stack would remove that one's data, and help nothing."""
    if not is_world:
        (volumes / "kafka-east").rmdir()
    (volumes / "kafka" / "meta.properties").write_text("version=1\ncluster.id=another\n")
    with pytest.raises(SettingsError) as caught:
        look(cluster, volumes, HERE, ours="0.1.0")
    assert "--file compose/compose.yaml" in caught.value.remedy
    assert is_world == ("--file compose/world.yaml" in caught.value.remedy)
    assert caught.value.remedy.endswith("down --volumes")


def test_a_volume_of_something_else_is_told(cluster: Path, volumes: Path) -> None:
    """Never a traceback."""
    (cluster / NOTE).write_text("[]")
    with pytest.raises(SettingsError, match="no note of ours"):
        look(cluster, volumes, HERE, ours="0.1.0")
