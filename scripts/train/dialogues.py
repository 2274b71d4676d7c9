"""Whole conversations: exchanges of all skills, mixed over several turns.

`conversation(rng, skill, held_out)` yields a dict: skill, system, tools, thinking, messages and,
for the last turn, `expect` and `any_of`.
"""

import random

import json_answers
import memory
import reading
import skills
import tools
from exchange import Exchange
from phrases import expand

SINGLE = {
    "chat": skills.small_talk, "facts": skills.fact, "unknown": skills.unknown, "story": skills.story,
    "arithmetic": skills.arithmetic, "reading": reading.reading, "json": json_answers.in_json,
}  # fmt: skip
SKILLS = [*SINGLE, "memory", "tools"]
SYSTEM = [
    "You are a helpful assistant.",
    "You are Mini, a tiny chat model.",
    "You are a [helpful|friendly|kind|useful] [assistant|AI|AI assistant|chat model].",
    "Be [brief|short|kind|helpful|polite].",
    "Answer the [questions|user].",
    "You are [Mini|an assistant] and you [like to help|answer questions]. Be [brief|nice].",
]


def conversation(rng: random.Random, skill: str, held_out: bool = False) -> dict:
    system = expand(rng, rng.choice(SYSTEM)) if rng.random() < 0.25 else ""
    if skill == "tools":
        made = tools.conversation(rng, held_out)
        return {"skill": skill, "system": system, "thinking": False, "any_of": False, **made}
    turns = _turns(rng, skill, held_out)
    thinking = rng.random() < (0.6 if skill == "arithmetic" else 0.08)
    if turns[-1].system:
        system, turns = turns[-1].system, turns[-1:]
    offered: list[dict] = []
    if skill in ("chat", "facts", "memory", "arithmetic") and not held_out and rng.random() < 0.05:
        offered = tools.conversation(rng, held_out)["tools"][:2]
    messages: list[dict] = []
    for turn in turns:
        reply = {"role": "assistant", "content": turn.reply}
        if thinking:
            reply["reasoning_content"] = turn.reasoning
        elif skill == "arithmetic" and "=" in turn.reasoning:
            reply["content"] = turn.reasoning + " " + turn.reply
        messages += [{"role": "user", "content": turn.user}, reply]
    return {
        "skill": skill,
        "system": system,
        "tools": offered,
        "thinking": thinking,
        "messages": messages,
        "expect": turns[-1].expect,
        "any_of": turns[-1].any_of,
    }


def filler(rng: random.Random) -> Exchange:
    """A turn of another skill; mostly facts, which need to be met most often."""
    return rng.choices([skills.fact, skills.small_talk, skills.unknown, reading.reading], [5, 2, 1, 2])[0](rng, False)


def _turns(rng: random.Random, skill: str, held_out: bool) -> list[Exchange]:
    if skill == "memory":
        return _memory_turns(rng, held_out)
    if skill == "facts" and not held_out and rng.random() < 0.12:
        return skills.facts_in_a_row(rng)
    last = SINGLE[skill](rng, held_out)
    if last.system:
        return [last]
    before = rng.choice([0, 0, 1, 1, 2, 3]) if not held_out else rng.choice([0, 0, 1])
    draw = SINGLE[skill] if skill in ("json", "arithmetic") else lambda rng, _: filler(rng)
    turns = [draw(rng, False) for _ in range(before)]
    return [t for t in turns if not t.system] + [last]


def _memory_turns(rng: random.Random, held_out: bool) -> list[Exchange]:
    if rng.random() < 0.12:
        return [filler(rng) for _ in range(rng.choice([0, 0, 1, 2]))] + [memory.ask_untold(rng, held_out)]
    topics = ["name"] if rng.random() < 0.5 else rng.sample(list(memory.MEMORIES), rng.choice([1, 2, 2, 3]))
    pairs = [memory.tell_and_ask(rng, held_out, topic) for topic in topics]
    tells, asks = [p[0] for p in pairs], [p[1] for p in pairs]
    gap = [filler(rng) for _ in range(rng.choice([0, 0, 1, 1, 2, 3, 4]))]
    if held_out and not tells[0].expect and rng.random() < 0.3:
        return tells
    rng.shuffle(asks)
    asks = asks[: rng.choice([1, 2])]
    return ([filler(rng)] if rng.random() < 0.15 else []) + tells + gap + asks


def long_conversation(rng: random.Random) -> dict:
    """Something told at the start, many turns of all kinds, then asked for: up to about a thousand tokens."""
    made = conversation(rng, "memory")
    told, asked = made["messages"][:2], made["messages"][-2:]
    between: list[dict] = []
    for _ in range(rng.randint(4, 14)):
        turn = rng.choice([filler, filler, lambda r: skills.story(r, False), lambda r: json_answers.in_json(r, False)])(
            rng
        )
        if not turn.system:
            reply = {"role": "assistant", "content": turn.reply}
            if made["thinking"]:
                reply["reasoning_content"] = turn.reasoning
            between += [{"role": "user", "content": turn.user}, reply]
    middle = made["messages"][2:-2]
    return {**made, "messages": told + middle + between + asked}
