"""Pass rates by skill, over HTTP from `svc serve` or in transformers from the checkpoint.

    python evaluate.py --url http://127.0.0.1:30000           # what a user gets
    python evaluate.py --model ../../models/svc-chat-mini     # the same prompts without the server

Two sets: prompts.jsonl, written by hand, and fresh conversations from the held-out phrasings of
the generator. Each is run greedily and at the model's own settings.
"""

import argparse
import collections
import json
import random
import re
import urllib.request
from collections.abc import Callable
from pathlib import Path

import dialogues
from template import TOOLS_HEAD, TOOLS_TAIL

LONGEST = 200
"""Tokens of a reply."""

Ask = Callable[[list[dict], bool, bool], str]
"""(messages, thinking, greedy) → the reply."""


def by_server(url: str) -> Ask:
    def ask(messages: list[dict], thinking: bool, greedy: bool) -> str:
        body = {
            "model": "default",
            "messages": messages,
            "max_tokens": LONGEST,
            "seed": 1,
            "chat_template_kwargs": {"enable_thinking": thinking},
        }
        if greedy:
            body["temperature"] = 0
        request = urllib.request.Request(
            url + "/v1/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request) as response:
            return json.load(response)["choices"][0]["message"]["content"] or ""

    return ask


def by_transformers(folder: Path) -> Ask:
    import torch
    import transformers
    from transformers import AutoTokenizer, GenerationConfig

    tokenizer = AutoTokenizer.from_pretrained(folder)
    (own_class,) = json.loads((folder / "config.json").read_text())["architectures"]
    model = getattr(transformers, own_class).from_pretrained(folder, dtype=torch.float32).eval()
    own = GenerationConfig.from_pretrained(folder, max_new_tokens=LONGEST)
    best = GenerationConfig(
        do_sample=False, max_new_tokens=LONGEST, eos_token_id=own.eos_token_id, pad_token_id=own.pad_token_id
    )
    torch.manual_seed(1)

    def ask(messages: list[dict], thinking: bool, greedy: bool) -> str:
        text = tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=True, enable_thinking=thinking
        )
        inputs = tokenizer(text, return_tensors="pt", return_token_type_ids=False)
        ids = model.generate(**inputs, generation_config=best if greedy else own)
        return tokenizer.decode(ids[0, inputs["input_ids"].shape[1] :], clean_up_tokenization_spaces=False).replace(
            "<|im_end|>", ""
        )

    return ask


def holds(text: str, word: object) -> bool:
    """Whether the text has the words, whole where they begin and end with a letter or digit."""
    word = re.escape(str(word).lower())
    before, after = r"(?<!\w)" if word[:1].isalnum() else "", r"(?!\d)" if word[-1:].isdigit() else ""
    return re.search(before + word + after, text.lower()) is not None


def _same(a: object, b: object) -> bool:
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_same(a[k], b[k]) for k in a)
    return str(a).lower() == str(b).lower()


def passes(reply: str, expect: dict) -> bool:
    said = reply.split("</think>")[-1].strip()
    call = re.search(r"<tool_call>\n(.*)\n</tool_call>", said, re.DOTALL)
    if "call" in expect:
        return call is not None and _same(_parsed(call[1]), expect["call"])
    if call or not said:
        return False
    if "json" in expect and not _same(_parsed(said), expect["json"]):
        return False
    if len(said.split()) < expect.get("words", 0):
        return False
    if any(holds(said, word) for word in expect.get("none", [])):
        return False
    return all(holds(said, word) for word in expect.get("all", [])) and (
        not expect.get("any") or any(holds(said, word) for word in expect["any"])
    )


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return None


def run(case: dict, ask: Ask, greedy: bool) -> tuple[bool, list[str]]:
    """Plays the case turn by turn with the model's own replies.

    Tools are written into the messages in the template's words, so that a server without
    tool support sees the very same prompt. The URL of a case's picture stands before its first question.
    """
    system = case.get("system", "")
    if case.get("tools"):
        listed = "".join("\n" + json.dumps(tool["function"], ensure_ascii=False) for tool in case["tools"])
        system += "\n\n" * bool(system) + TOOLS_HEAD + listed + TOOLS_TAIL
    messages = [{"role": "system", "content": system}] if system else []
    passed, replies = True, []
    for turn in case["turns"]:
        user = turn["user"] if "user" in turn else f"<tool_response>\n{turn['tool']}\n</tool_response>"
        messages.append({"role": "user", "content": user})
        if picture := case.get("picture") if turn is case["turns"][0] else None:
            parts = [{"type": "image_url", "image_url": {"url": picture}}, {"type": "text", "text": user}]
            messages[-1]["content"] = parts
        reply = ask(messages, case.get("thinking", False), greedy)
        replies.append(reply)
        messages.append({"role": "assistant", "content": reply.split("</think>")[-1].strip()})
        passed = passed and passes(reply, turn.get("expect", {}))
    return passed, replies


def held_out(count: int) -> list[dict]:
    """`count` conversations of each skill from held-out phrasings, as cases."""
    rng = random.Random(2026)
    cases = []
    for skill in dialogues.SKILLS:
        for _ in range(count):
            made = dialogues.conversation(rng, skill, held_out=True)
            case = {
                "skill": skill,
                "system": made["system"],
                "tools": made["tools"],
                "thinking": made["thinking"],
                "turns": [],
            }
            for message in made["messages"]:
                if message["role"] == "assistant":
                    calls = message.get("tool_calls")
                    case["turns"][-1]["expect"] = {"call": calls[0]["function"]} if calls else {}
                else:
                    case["turns"].append({"tool" if message["role"] == "tool" else "user": message["content"]})
            last = case["turns"][-1]
            if skill == "json":
                last["expect"] = {"json": json.loads(made["expect"][0])}
            elif not last["expect"]:
                last["expect"] = {"any" if made["any_of"] else "all": made["expect"]}
            cases.append(case)
    return cases


def print_rates(columns: dict[str, dict[str, list[bool]]], skills: list[str]) -> None:
    """A table of Markdown: for each column, the results by skill."""
    print("| skill | " + " | ".join(columns) + " |")
    print("|---" * (1 + len(columns)) + "|")
    for skill in [*skills, "all"]:
        row = []
        for rates in columns.values():
            results = [p for s, ps in rates.items() if skill in (s, "all") for p in ps]
            row.append(f"{100 * sum(results) / len(results):.0f} % of {len(results)}" if results else "")
        print(f"| {skill} | " + " | ".join(row) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--url")
    parser.add_argument("--model", type=Path)
    parser.add_argument("--count", type=int, default=30, help="held-out conversations of each skill")
    parser.add_argument("--settings", default="greedy,own", help="greedy, own or both")
    parser.add_argument("--failures", action="store_true", help="print what failed")
    args = parser.parse_args()
    ask = by_server(args.url) if args.url else by_transformers(args.model)
    sets = {
        "by hand": [json.loads(line) for line in (Path(__file__).parent / "prompts.jsonl").read_text().splitlines()],
        "held out": held_out(args.count),
    }
    columns: dict[str, dict[str, list[bool]]] = {}
    for setting in args.settings.split(","):
        for name, cases in sets.items():
            rates = columns.setdefault(f"{name}, {setting}", collections.defaultdict(list))
            for case in cases:
                passed, replies = run(case, ask, setting == "greedy")
                rates[case["skill"]].append(passed)
                if args.failures and not passed:
                    print(
                        f"{setting} {case['skill']}: {[t.get('user', t.get('tool')) for t in case['turns']]}\n    {replies} wanted {[t.get('expect') for t in case['turns']][-1]}",
                        flush=True,
                    )
    print_rates(columns, dialogues.SKILLS)


if __name__ == "__main__":
    main()
