"""Reads fields of a JSON body: their types and ranges, with a message that names the field.

Unknown fields are nobody's business here, and null is as good as absent. It does not know dialects.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any

import orjson

from redraft.server.generation import Refusal

_NAMES = {
    str: "a string",
    bool: "true or false",
    int: "a number",
    float: "a number",
    list: "an array",
    dict: "an object",
}
MOST_STOPS = 64


def invalid(message: str) -> Refusal:
    """A request that cannot be used."""
    return Refusal(400, "invalid_request_error", message)


class Fields:
    """A JSON object. Every reader raises Refusal, with status 400, for what it cannot use."""

    def __init__(self, values: Mapping[str, Any], place: str = "") -> None:
        self._values = values
        self._place = place

    @staticmethod
    def parse(body: bytes) -> Fields:
        """The object in a request's body."""
        try:
            value = orjson.loads(body)
        except orjson.JSONDecodeError as error:
            raise invalid(f"the body is no valid JSON: {error}") from None
        if not isinstance(value, dict):
            raise invalid(f"the body must be a JSON object, but is {_kind(value)}")
        return Fields(value)

    def has(self, name: str) -> bool:
        """Whether the field is there and not null."""
        return self._values.get(name) is not None

    def raw(self, name: str) -> Any:
        """The field's value, None where it is absent."""
        return self._values.get(name)

    def text(self, name: str, default: str = "") -> str:
        """A string."""
        value = self._values.get(name)
        if value is None:
            return default
        return str(self._typed(name, value, str))

    def required_text(self, name: str) -> str:
        """A string that has to be there."""
        if not self.has(name):
            raise invalid(f"{self._named(name)} is required; send a string")
        return self.text(name)

    def flag(self, name: str, default: bool = False) -> bool:
        """A truth value."""
        value = self._values.get(name)
        return default if value is None else bool(self._typed(name, value, bool))

    def integer(self, name: str, default: int, least: int, most: int) -> int:
        """A whole number in a range; one beyond `most` counts as `most`."""
        value = self.number(name, least)
        if value is None:
            return default
        if value != int(value):
            raise invalid(f"{self._named(name)} must be a whole number, but is {value}")
        return min(int(value), most)

    def number(self, name: str, least: float, most: float | None = None) -> float | None:
        """A number in a range; None where it is absent."""
        value = self._values.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise invalid(f"{self._named(name)} must be a number, but is {_kind(value)}")
        if not isfinite(value):
            raise invalid(f"{self._named(name)} is too large a number; send a smaller one")
        if value < least or (most is not None and value > most):
            allowed = f"{least} or more" if most is None else f"{least} … {most}"
            raise invalid(f"{self._named(name)} must be {allowed}, but is {value}")
        return value

    def items(self, name: str) -> list[Any]:
        """An array."""
        value = self._values.get(name)
        if value is None:
            return []
        items: list[Any] = self._typed(name, value, list)
        return items

    def objects(self, name: str) -> list[Fields]:
        """An array of objects."""
        found = []
        for index, value in enumerate(self.items(name)):
            place = f"{self._place}{name}[{index}]"
            if not isinstance(value, dict):
                raise invalid(f"Field '{place}' must be an object, but is {_kind(value)}")
            found.append(Fields(value, f"{place}."))
        return found

    def object(self, name: str) -> Fields:
        """An object; an empty one where it is absent."""
        value = self._values.get(name)
        values = {} if value is None else self._typed(name, value, dict)
        return Fields(values, f"{self._place}{name}.")

    def stops(self, name: str = "stop") -> tuple[str, ...]:
        """Stop strings: one, or an array of them."""
        value = self._values.get(name)
        found = [value] if isinstance(value, str) else self.items(name)
        for stop in found:
            if not isinstance(stop, str):
                raise invalid(f"{self._named(name)} must hold strings, but holds {_kind(stop)}")
        if len(found) > MOST_STOPS:
            raise invalid(f"{self._named(name)} has {len(found)} strings; send up to {MOST_STOPS}")
        return tuple(stop for stop in found if stop)

    def _typed(self, name: str, value: Any, wanted: type) -> Any:
        if not isinstance(value, wanted):
            raise invalid(f"{self._named(name)} must be {_NAMES[wanted]}, but is {_kind(value)}")
        return value

    def _named(self, name: str) -> str:
        return f"Field '{self._place}{name}'"


def _kind(value: object) -> str:
    return "null" if value is None else _NAMES[type(value)]
