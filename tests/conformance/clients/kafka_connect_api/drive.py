"""Drives kafka-connect-api: an operation a line on standard input, what the client returned or raised on output."""

import json
import sys

from kafka_connect_api.errors import ConnectGenericException
from kafka_connect_api.kafka_connect_api import Api, Cluster, Connector, Task

api = Api(url=sys.argv[1])
cluster = Cluster(api)


def connector(ask):
    return Connector(cluster, ask["name"])


def put(ask):
    connector(ask).config = ask["config"]


def tasks(ask):
    return [{"id": task.id, "config": task.config, "running": task.is_running()} for task in connector(ask).tasks]


def task(ask):
    return Task(connector(ask), ask["task"], {})


def set_level(ask):
    cluster.root_logger = ask["level"]


OPERATIONS = {
    "version": lambda ask: [cluster.version, cluster.kafka_cluster],
    "list": lambda ask: list(cluster.connectors),
    "create": lambda ask: api.post("/connectors", json={"name": ask["name"], "config": ask["config"]}),
    "put": put,
    "exists": lambda ask: connector(ask).exists(),
    "config": lambda ask: connector(ask).config,
    "status": lambda ask: connector(ask).status,
    "tasks": tasks,
    "task status": lambda ask: task(ask).status,
    "pause": lambda ask: connector(ask).pause(),
    "resume": lambda ask: connector(ask).resume(),
    "restart": lambda ask: connector(ask).restart(),
    "restart all": lambda ask: connector(ask).restart_all_tasks(),
    "restart task": lambda ask: task(ask).restart(),
    "delete": lambda ask: connector(ask).delete(),
    "set level": set_level,
    "wrong level": lambda ask: api.put("/admin/loggers/root", json={"level": "LOUD"}),
}


def answer(ask):
    operation = OPERATIONS.get(ask["do"])
    if operation is None:
        return {"unknown": ask["do"]}
    try:
        return {"returned": operation(ask)}
    except ConnectGenericException as error:
        return {"raised": type(error).__name__, "status": error.code, "message": str(error.details)}


for line in sys.stdin:
    sys.stdout.write(json.dumps(answer(json.loads(line))) + "\n")
    sys.stdout.flush()
