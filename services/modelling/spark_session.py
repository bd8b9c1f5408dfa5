"""The Spark session of the modelling service: small, quiet, on loopback by default, with the Kafka connector."""

from pathlib import Path

from pyspark.sql import SparkSession

from services.embedded.jars import OnProgress, ensure_jars, read_jar_set
from services.modelling.params import SparkParams

SPARK_JARS = Path(__file__).with_name("spark.jars")

LOG4J_PROPERTIES = """\
rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{ISO8601} %-5p %c{1} %m%n%ex{3}
# Each says at every start what is known, or what nothing is to be done about.
logger.native.name = org.apache.hadoop.util.NativeCodeLoader
logger.native.level = error
logger.admin.name = org.apache.kafka.clients.admin.AdminClientConfig
logger.admin.level = error
logger.resolve.name = org.apache.spark.sql.execution.streaming.ResolveWriteToStream
logger.resolve.level = error
"""


def connector(cache: Path, on_progress: OnProgress | None = None) -> Path:
    """The folder with the jars of the Kafka connector, fetched first if need be."""
    return ensure_jars(read_jar_set(SPARK_JARS), cache, on_progress)


def open_session(params: SparkParams) -> SparkSession:
    """A session; there is one in a process."""
    params.work.mkdir(parents=True, exist_ok=True)
    _log4j(params).write_text(LOG4J_PROPERTIES)
    builder = SparkSession.builder.appName("stigmergy-models").master(params.master)
    for name, value in settings_of(params).items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def settings_of(params: SparkParams) -> dict[str, str]:
    """All that Spark is told."""
    settings = {
        "spark.jars": ",".join(str(jar) for jar in sorted(params.jars.glob("*.jar"))),
        "spark.driver.memory": f"{params.memory_mb}m",
        "spark.driver.extraJavaOptions": (
            f"-Dlog4j2.configurationFile={_log4j(params).absolute().as_uri()} -XX:+UseSerialGC -Xss4m"
            " -XX:MaxMetaspaceSize=256m -XX:ReservedCodeCacheSize=96m"
        ),
        "spark.driver.host": params.driver_host,
        "spark.driver.bindAddress": params.driver_host,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": str(params.work),
        "spark.sql.warehouse.dir": str(params.work / "warehouse"),
        "spark.sql.session.timeZone": "UTC",
        # A number that can't be worked with becomes null: an error would end the query, on the same row for ever.
        "spark.sql.ansi.enabled": "false",
        # Sums of some thousand seats: more partitions would only be more tasks.
        "spark.sql.shuffle.partitions": "2",
        "spark.default.parallelism": "2",
        "spark.sql.adaptive.enabled": "false",
        # Saves the rename and the checksum of each small file: 80 ms a batch.
        "spark.sql.streaming.checkpointFileManagerClass": (
            "org.apache.spark.sql.execution.streaming.FileSystemBasedCheckpointFileManager"
        ),
        "spark.sql.streaming.minBatchesToRetain": "20",
        "spark.sql.streaming.numRecentProgressUpdates": "4",
        "spark.sql.streaming.metricsEnabled": "false",
        "spark.sql.streaming.noDataMicroBatches.enabled": "false",
        "spark.sql.ui.retainedExecutions": "4",
        "spark.ui.retainedJobs": "4",
        "spark.ui.retainedStages": "4",
        "spark.ui.retainedTasks": "100",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.cleaner.periodicGC.interval": "5min",
    }
    if not params.master.startswith("local"):
        settings |= {"spark.executor.memory": f"{params.memory_mb}m"}
    return settings


def _log4j(params: SparkParams) -> Path:
    return params.work / "log4j2.properties"
