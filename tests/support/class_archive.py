"""Spark's classes in a file that JVMs map (class data sharing, JEP 350): half of a start's work is loading them.

A Spark of a test lives for seconds, and there are hundreds in a run. The file is made once for a Java and a PySpark, in
some 30 s, and kept in the cache. A JVM that it does not fit goes on without it.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.metadata
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from connect.jvm import class_archive
from connect.jvm.java import Java, JavaNotFound, find_java, home_without
from connect.ports import free_port

# What tests have Spark do, in as few lines as load its classes: in the driver, and asked over Spark Connect.
_WORK = """
import subprocess, sys
from pyspark.sql import SparkSession
folder, port, client = sys.argv[1:]
spark = (
    SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    .config("spark.plugins", "org.apache.spark.sql.connect.SparkConnectPlugin")
    .config("spark.connect.grpc.binding.port", port).config("spark.sql.shuffle.partitions", "1").getOrCreate()
)
rows = spark.createDataFrame([(1, "a", [1.5], {"k": "v"})], "n int, s string, a array<double>, m map<string,string>")
rows.write.mode("overwrite").parquet(folder + "/p")
spark.read.parquet(folder + "/p").createOrReplaceTempView("p")
spark.sql("SELECT s, count(*), max(n) FROM p JOIN (SELECT s AS t FROM p) ON s = t GROUP BY s ORDER BY s").collect()
spark.sql("SELECT to_json(struct(*)), from_json('{}', 'x int'), current_timestamp(), n + 1.5 FROM p").toArrow()
stream = spark.readStream.schema("n int, s string, a array<double>, m map<string,string>").parquet(folder + "/p")
query = stream.writeStream.foreachBatch(lambda batch, number: batch.count()).trigger(availableNow=True).start()
query.awaitTermination()
subprocess.run([sys.executable, "-W", "ignore", "-c", client, port, folder], check=True)
jvm = spark.sparkContext._gateway.proc
spark.stop()
jvm.stdin.close()
jvm.wait()
"""
_CLIENT = """
import sys
from pyspark.sql import SparkSession
port, folder = sys.argv[1:]
spark = SparkSession.builder.remote(f"sc://127.0.0.1:{port}").getOrCreate()
spark.createDataFrame([(1, "a")], "n int, s string").createOrReplaceTempView("t")
spark.sql("SELECT s, count(*) FROM t GROUP BY s").collect()
spark.read.parquet(folder + "/p").write.mode("append").parquet(folder + "/q")
spark.stop()
"""


def sharing(jvm_options: str, *, make: bool) -> str:
    """The options with which JVMs of Spark share their classes; none where that cannot be.

    Args:
        jvm_options: what else they get.
        make: make the archive where there is none yet.
    """
    try:
        java = find_java(17)
        pyspark = importlib.metadata.version("pyspark")
    except (JavaNotFound, importlib.metadata.PackageNotFoundError):
        return ""
    version = subprocess.run([java.path, "-version"], capture_output=True, check=True).stderr
    made_of = (java.path.resolve(), version, pyspark, sys.prefix, jvm_options, _WORK, _CLIENT)
    name = hashlib.sha256(repr(made_of).encode()).hexdigest()[:16]
    archive = class_archive.folder() / f"spark-{name}.jsa"
    if make:
        _make_once(archive, java, jvm_options)
    return " ".join(class_archive.sharing(archive))


def _make_once(archive: Path, java: Java, jvm_options: str) -> None:
    archive.parent.mkdir(parents=True, exist_ok=True)
    with archive.with_suffix(".lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not archive.exists():
            _make(archive, java, jvm_options)


def _make(archive: Path, java: Java, jvm_options: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        unfinished = archive.with_suffix(".part")
        environment = {
            **os.environ,
            "JAVA_HOME": str(home_without(java, "jdk.incubator.vector")),
            "SPARK_SUBMIT_OPTS": f"{jvm_options} -XX:ArchiveClassesAtExit={unfinished}",
            "SPARK_LOCAL_DIRS": folder,
        }
        command = [sys.executable, "-W", "ignore", "-c", _WORK, folder, str(free_port()), _CLIENT]
        with Path(folder, "log").open("w+b") as log:
            done = subprocess.run(command, cwd=folder, env=environment, stdout=log, stderr=log, check=False)
            log.seek(0)
            said = log.read().decode(errors="replace")
        if done.returncode == 0 and unfinished.exists():
            unfinished.replace(archive)
        else:
            sys.stderr.write(f"Spark starts more slowly, for its classes were not archived:\n{said[-2000:]}\n")
    class_archive.remove_old()
