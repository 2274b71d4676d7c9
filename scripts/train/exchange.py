"""One turn of the user and the reply."""

from dataclasses import dataclass, field


@dataclass
class Exchange:
    """What the user types, the reply, the thought before it, and words the reply must hold."""

    user: str
    reply: str
    reasoning: str
    expect: list[str] = field(default_factory=list)
    any_of: bool = False
    """Whether one word of `expect` is enough."""
    system: str = ""
