"""Conversations with tools: the right one to call, and what to say of its result."""

import json
import random

import functions
from functions import Task
from phrases import expand, roughen

PREFIX = "[|||please |can you |could you |hey, |I want you to |I need you to |can you please |now |ok, |thanks, now |go ahead and |I would like you to |hi, can you |mini, |let us |could you please |quickly ]"
NO_TOOL = "[I have no tool for that|None of my tools can do that|Sorry, I do not have a tool for that]."


def _request(rng: random.Random, one: Task, held_out: bool) -> str:
    question = one.request.startswith(
        ("what", "how", "who", "where", "is ", "any ", "weather", "time", "current", "I ")
    )
    prefix = "would you kindly " if held_out and not question else "" if question else expand(rng, PREFIX) + " "
    ending = "?" if question else rng.choice(["", "", ".", " please"])
    return roughen(rng, (prefix + one.request + ending).strip(), one.keep)


def _distinct(rng: random.Random, count: int) -> list[Task]:
    tasks: list[Task] = []
    alike = rng.random() < 0.35
    while len(tasks) < count:
        new = functions.made_up(rng, like=tasks[0]) if alike and tasks else functions.task(rng)
        if all((alike or new.source != t.source) and new.name != t.name and new.about != t.about for t in tasks):
            tasks.append(new)
    return tasks


def conversation(rng: random.Random, held_out: bool) -> dict:
    """Up to four tools, one or two requests; sometimes a request that no tool fits."""
    tasks = _distinct(rng, rng.choice([1, 2, 2, 2, 3, 3, 4]))
    shown = [t.schema for t in tasks]
    rng.shuffle(shown)
    if len(tasks) > 1 and rng.random() < 0.06:
        shown.remove(tasks[0].schema)
        messages = [
            {"role": "user", "content": _request(rng, tasks[0], held_out)},
            {"role": "assistant", "content": expand(rng, NO_TOOL)},
        ]
        return {"tools": shown, "messages": messages, "expect": ["tool"]}
    messages = []
    for one in tasks[: rng.choice([1, 1, 1, 2])]:
        plain = rng.random() < 0.1
        first = next(iter(one.result.values()))
        call = {"name": one.name, "arguments": one.arguments}
        messages += [
            {"role": "user", "content": _request(rng, one, held_out)},
            {"role": "assistant", "content": "", "tool_calls": [{"type": "function", "function": call}]},
            {
                "role": "tool",
                "content": str(first) if plain and len(one.result) == 1 else json.dumps(one.result, ensure_ascii=False),
            },
            {"role": "assistant", "content": one.reply},
        ]
        expect = [str(first)]
    return {"tools": shown, "messages": messages, "expect": expect}
