"""Conversations as training text, in the form that chat_template.jinja gives them.

The template cannot say which parts the model writes, so the same layout stands here once more;
`tokenizer.py` checks that both agree.
"""

import json

TOOLS_HEAD = "# Tools\n\nFunctions within <tools></tools>:\n<tools>"
TOOLS_TAIL = '\n</tools>\n\nA call within <tool_call></tool_call>:\n<tool_call>\n{"name": <function-name>, "arguments": <args-json-object>}\n</tool_call>'


def segments(conversation: dict) -> list[tuple[str, bool]]:
    """Returns the text in pieces, each with a flag that tells whether the model is trained to write it."""
    system, offered = conversation["system"], conversation["tools"]
    pieces: list[tuple[str, bool]] = []
    if system or offered:
        head = f"<|im_start|>system\n{system}"
        if offered:
            listed = "".join("\n" + json.dumps(tool["function"], ensure_ascii=False) for tool in offered)
            head += "\n\n" * bool(system) + TOOLS_HEAD + listed + TOOLS_TAIL
        pieces.append((head + "<|im_end|>\n", False))
    for message in conversation["messages"]:
        role, content = message["role"], message["content"]
        if role == "tool":
            pieces.append((f"<|im_start|>user\n<tool_response>\n{content}\n</tool_response><|im_end|>\n", False))
        elif role == "user":
            pieces.append((f"<|im_start|>user\n{content}<|im_end|>\n", False))
        else:
            pieces += _assistant(message, conversation["thinking"])
    return pieces


def _assistant(message: dict, thinking: bool) -> list[tuple[str, bool]]:
    calls = [
        json.dumps({"name": c["function"]["name"], "arguments": c["function"]["arguments"]}, ensure_ascii=False)
        for c in message.get("tool_calls", [])
    ]
    written = (
        message["content"]
        + "\n" * bool(message["content"] and calls)
        + "\n".join(f"<tool_call>\n{call}\n</tool_call>" for call in calls)
        + "<|im_end|>"
    )
    think = f"<think>\n{message.get('reasoning_content', '')}\n</think>\n\n"
    if thinking:
        return [("<|im_start|>assistant\n", False), (think + written, True), ("\n", False)]
    return [("<|im_start|>assistant\n" + think, False), (written, True), ("\n", False)]
