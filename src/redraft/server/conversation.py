"""Reads chat messages and what goes with them. It does not know how they are answered."""

from __future__ import annotations

from redraft.models import Message
from redraft.server.fields import Fields, invalid

_ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}


def read_messages(fields: Fields) -> tuple[Message, ...]:
    """The field `messages`. Raises Refusal for roles and contents that cannot be rendered."""
    found = []
    for message in fields.objects("messages"):
        role = _ROLES.get(message.required_text("role"))
        if role is None:
            known = ", ".join(_ROLES)
            raise invalid(f"the role {message.text('role')!r} is not supported; known are {known}")
        found.append(Message(role, read_content(message)))  # type: ignore[arg-type]  # see _ROLES
    if not found:
        raise invalid("Field 'messages' is required; send at least one message")
    return tuple(found)


def read_content(fields: Fields) -> str:
    """The field `content`: a string, or an array of text parts."""
    if not isinstance(fields.raw("content"), list):
        return fields.text("content")
    texts = []
    for part in fields.objects("content"):
        kind = part.text("type", "text")
        if kind != "text":
            raise invalid(f"content of type {kind!r} is not supported; send text")
        texts.append(part.required_text("text"))
    return "".join(texts)
