"""Drives kafka-connect-py: an operation a line on standard input, what the client returned or raised on output."""

import json
import sys

import requests
from kafka_connect import KafkaConnect

client = KafkaConnect(sys.argv[1])
OPERATIONS = {
    "version": lambda ask: client.get_cluster_info(),
    "plugins": lambda ask: client.list_connector_plugins(),
    "validate": lambda ask: client.validate_connector_config(ask["plugin"], ask["config"]),
    "list": lambda ask: client.list_connectors(),
    "list with info": lambda ask: client.list_connectors(expand="info"),
    "list with status": lambda ask: client.list_connectors(expand="status"),
    "list by pattern": lambda ask: client.list_connectors(pattern=ask["name"], state="running"),
    "create": lambda ask: client.create_connector({"name": ask["name"], "config": ask["config"]}),
    "put": lambda ask: client.update_connector(ask["name"], ask["config"]),
    "info": lambda ask: client.get_connector(ask["name"]),
    "config": lambda ask: client.get_connector_config(ask["name"]),
    "status": lambda ask: client.get_connector_status(ask["name"]),
    "tasks": lambda ask: client.list_connector_tasks(ask["name"]),
    "task status": lambda ask: client.get_connector_task_status(ask["name"], ask["task"]),
    "pause": lambda ask: client.pause_connector(ask["name"]),
    "resume": lambda ask: client.resume_connector(ask["name"]),
    "stop": lambda ask: client.stop_connector(ask["name"]),
    "restart": lambda ask: client.restart_connector(ask["name"]),
    "restart all": lambda ask: client.restart_connector(ask["name"], include_tasks=True),
    "restart failed": lambda ask: client.restart_connector(ask["name"], include_tasks=True, only_failed=True),
    "restart task": lambda ask: client.restart_connector_task(ask["name"], ask["task"]),
    "topics": lambda ask: client.list_connector_topics(ask["name"]),
    "reset topics": lambda ask: client.reset_connector_topics(ask["name"]),
    "delete": lambda ask: client.delete_connector(ask["name"]),
}


def answer(ask):
    operation = OPERATIONS.get(ask["do"])
    if operation is None:
        return {"unknown": ask["do"]}
    try:
        return {"returned": operation(ask)}
    except requests.RequestException as error:
        response = error.response
        status = None if response is None else response.status_code
        return {"raised": type(error).__name__, "status": status, "message": str(error)}


for line in sys.stdin:
    sys.stdout.write(json.dumps(answer(json.loads(line))) + "\n")
    sys.stdout.flush()
