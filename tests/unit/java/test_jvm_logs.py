"""What a JVM logs for one of the tasks that share it is logged as that task's."""

from contextvars import ContextVar

from connect.java import logs

task = ContextVar("task", default="")


def test_a_line_of_the_tenth_task_is_not_the_first_ones() -> None:
    with logs.logs_of("orders-1"):
        token = task.set("orders-10")
        try:
            with logs.logs_of("orders-10"):
                assert logs._context_of("task-thread-orders-10").get(task) == "orders-10"
                assert logs._context_of("task-thread-orders-1").get(task, "") == ""
        finally:
            task.reset(token)
