"""The same service on a Spark standalone cluster: a real master and a real executor on loopback."""

import importlib.util
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from services.embedded import EmbeddedStack, StackParams
from services.embedded.furniture import make_topics
from services.embedded.java import java_program
from services.embedded.ports import LOOPBACK, choose_ports
from tests.integration.modelling.ground import ARRIVALS, KEY, Ground, ModellingProcess, Pace, wait_until

pytestmark = pytest.mark.spark_cluster


@pytest.fixture
def master(tmp_path: Path) -> Iterator[str]:
    """The address of a master with one executor's worth of room."""
    spec = importlib.util.find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    home = Path(spec.origin).parent
    port, *pages = choose_ports([None, None, None])
    address = f"spark://{LOOPBACK}:{port}"
    java = [java_program(), "-Xmx256m", "-cp", f"{home / 'jars'}/*"]
    master = ["org.apache.spark.deploy.master.Master", "--host", LOOPBACK, "--port", str(port)]
    worker = ["org.apache.spark.deploy.worker.Worker", "--host", LOOPBACK, "--cores", "2", "--memory", "1g"]
    commands = [
        [*java, *master, "--webui-port", str(pages[0])],
        [*java, *worker, "--webui-port", str(pages[1]), "--work-dir", str(tmp_path / "work"), address],
    ]
    logs = [tmp_path / "master.log", tmp_path / "worker.log"]
    environment = {"SPARK_HOME": str(home), "SPARK_LOCAL_IP": LOOPBACK, "PATH": "/usr/bin:/bin"}
    environment |= {"SPARK_SCALA_VERSION": "2.13"}  # as Spark's own start scripts say: workers need it for executors
    children = []
    try:
        for command, log in zip(commands, logs, strict=True):
            with log.open("w") as output:
                children.append(subprocess.Popen(command, env=environment, stdout=output, stderr=subprocess.STDOUT))
        wait_until(lambda: "Successfully registered with master" in logs[1].read_text(), "the worker to register")
        yield address
    finally:
        for child in reversed(children):
            child.kill()
            child.wait()


def test_a_standalone_cluster_makes_the_same_models(tmp_path: Path, master: str) -> None:
    """Executors parse and sum, the driver fits: the figures are those of one process."""
    with EmbeddedStack(StackParams(home=tmp_path / "stack")) as stack:
        make_topics(stack.bootstrap)
        service = ModellingProcess(stack, tmp_path / "models", master=master)
        service.start()
        try:
            ground = Ground(stack, service)
            with Pace(stack.bootstrap) as pace:
                rate = ground.model_of(KEY, int(time.time()) + 5)
                assert ARRIVALS == rate.body.per_s
                assert rate.second >= pace.first
            assert 0 == service.end(signal.SIGTERM)
        finally:
            if service.is_running():
                service.end(signal.SIGKILL)
    assert list((tmp_path / "work").glob("app-*/0/stderr")), "no executor ran"
