"""The table of edit tasks, by subject. Data only: what is cut, asked and checked."""

from redraft.bench.workloads.edit_table.behaviour import BEHAVIOUR_EDITS
from redraft.bench.workloads.edit_table.names import NAMES_EDITS
from redraft.bench.workloads.edit_table.structure import STRUCTURE_EDITS
from redraft.bench.workloads.edit_table.texts import TEXTS_EDITS

EDITS = (*NAMES_EDITS, *BEHAVIOUR_EDITS, *STRUCTURE_EDITS, *TEXTS_EDITS)

__all__ = ["EDITS"]
