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
def kafka(tmp_path: Path) -> Path:
    """The volume of Kafka, empty."""
    (tmp_path / "kafka").mkdir()
    return tmp_path / "kafka"


def test_a_first_start_makes_a_key_and_later_ones_keep_it(cluster: Path, kafka: Path) -> None:
    """Hosts that are still running know each other by it."""
    look(cluster, kafka, HERE, ours="0.1.0")
    key = read_key(cluster / KEY, {})
    (kafka / "meta.properties").write_text("version=1\ncluster.id=c3RpZ21lcmd5LWNvbXBvcw\nnode.id=1\n")
    look(cluster, kafka, HERE, ours="0.1.0")
    assert key == read_key(cluster / KEY, {})
    assert 0o600 == (cluster / KEY).stat().st_mode & 0o777


def test_the_kafka_of_another_cluster_is_refused(cluster: Path, kafka: Path) -> None:
    """The broker itself would end, start again and end, with a trace."""
    (kafka / "meta.properties").write_text("version=1\ncluster.id=somebody-elses-cluster\n")
    with pytest.raises(SettingsError, match=r"the cluster somebody-elses-cluster[\s\S]*STIGMERGY_CLUSTER_ID="):
        look(cluster, kafka, HERE, ours="0.1.0")
    assert not (cluster / KEY).exists()


@pytest.mark.parametrize(
    ("image", "ours", "message"),
    [
        ("apache/kafka:4.0.1", "0.2.0", r"written by Kafka 4\.1\.0, and this is 4\.0\.1[\s\S]*STIGMERGY_KAFKA_IMAGE"),
        ("apache/kafka:4.1.0", "0.1.9", r"written by Stigmergy 0\.2\.0, and this is 0\.1\.9[\s\S]*STIGMERGY_IMAGE"),
    ],
)
def test_volumes_of_a_later_version_are_refused(
    cluster: Path, kafka: Path, image: str, ours: str, message: str
) -> None:
    """What a later one wrote, an earlier one may not be able to read."""
    look(cluster, kafka, HERE, ours="0.2.0")
    with pytest.raises(SettingsError, match=message):
        look(cluster, kafka, HERE | {"KAFKA_IMAGE": image}, ours=ours)


@pytest.mark.parametrize("image", ["apache/kafka:4.1.2", "apache/kafka:4.10.0", "registry:5000/kafka", "kafka:latest"])
def test_later_and_unknown_versions_are_welcome(cluster: Path, kafka: Path, image: str) -> None:
    """4.10 is later than 4.1; a name without a version says nothing, and takes nothing from the note."""
    look(cluster, kafka, HERE, ours="0.2.0")
    look(cluster, kafka, HERE | {"KAFKA_IMAGE": image}, ours="0.3.0")
    with pytest.raises(SettingsError, match=r"written by Kafka"):
        look(cluster, kafka, HERE | {"KAFKA_IMAGE": "apache/kafka:4.0.0"}, ours="0.3.0")


def test_a_volume_of_something_else_is_told(cluster: Path, kafka: Path) -> None:
    """Never a traceback."""
    (cluster / NOTE).write_text("[]")
    with pytest.raises(SettingsError, match="no note of ours"):
        look(cluster, kafka, HERE, ours="0.1.0")
