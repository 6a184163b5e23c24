"""What the bench measures on: edits, functions, completions.

Knows where tasks come from and when an edit counts as carried out; does not know engines,
sessions or clocks.
"""

from redraft.bench.workloads.availability import FileNotNamed, WorkloadMissing
from redraft.bench.workloads.completions import CompletionTask, completion_tasks
from redraft.bench.workloads.edits import EditTask, edit_tasks
from redraft.bench.workloads.functions import FunctionTask, function_tasks
from redraft.bench.workloads.package import EDIT_PACKAGE, PackagePin, package_sources
from redraft.bench.workloads.task_set import Task, sample, tasks_sha256, unchanged_share

__all__ = [
    "EDIT_PACKAGE",
    "CompletionTask",
    "EditTask",
    "FileNotNamed",
    "FunctionTask",
    "PackagePin",
    "Task",
    "WorkloadMissing",
    "completion_tasks",
    "edit_tasks",
    "function_tasks",
    "package_sources",
    "sample",
    "tasks_sha256",
    "unchanged_share",
]
