"""Conversations and replies in the harmony format as openai-harmony renders and parses them: test/golden/harmony.json.

    TIKTOKEN_ENCODINGS_BASE=FOLDER python harmony.py      FOLDER holds o200k_base.tiktoken
"""

import json
import random
from pathlib import Path

from openai_harmony import (
    Author,
    Conversation,
    DeveloperContent,
    HarmonyEncodingName,
    Message,
    ReasoningEffort,
    Role,
    SystemContent,
    ToolDescription,
    load_harmony_encoding,
)

GOLDEN = Path(__file__).parents[2] / 'test/golden/harmony.json'
DATE = '2026-02-03'
WORDS = 'wind rain "quoted" café 東京 a\nb 🌧️ {"x": 1} to=functions.ping <b> analysis final \\ // tail'.split(' ')
ENCODING = load_harmony_encoding(HarmonyEncodingName.HARMONY_GPT_OSS)


def text(rng, most=6):
    return ' '.join(rng.choice(WORDS) for _ in range(rng.randint(1, most)))


def schema(rng, depth=0):
    kind = rng.choice(['string', 'integer', 'number', 'boolean', 'array', 'object', 'types', 'oneOf', 'any', 'enum'])
    made = {'type': kind}
    if kind in ('array', 'object', 'oneOf') and depth > 2:
        made = {'type': 'string'}
    elif kind == 'array':
        made = {'type': 'array', **({'items': schema(rng, depth + 1)} if rng.random() < 0.8 else {})}
    elif kind == 'object':
        made = object_schema(rng, depth + 1)
    elif kind == 'types':
        made = {'type': rng.sample(['string', 'integer', 'null', 'boolean'], 2)}
    elif kind == 'oneOf':
        made = {'oneOf': [schema(rng, depth + 1) for _ in range(rng.randint(1, 3))]}
    elif kind == 'any':
        made = {}
    elif kind == 'enum':
        made = {'type': 'string', 'enum': rng.sample(['a', 'b c', 'd'], rng.randint(1, 3))}
    if rng.random() < 0.4:
        made['description'] = rng.choice(['The first.', 'The second.'])
    if rng.random() < 0.2:
        made['title'] = 'A title'
    if rng.random() < 0.3:
        made['default'] = rng.choice(['a', 3, True, None, [1, 2]])
    if rng.random() < 0.2:
        made['nullable'] = True
    if rng.random() < 0.2:
        made['examples'] = rng.choice([['x', 'y'], ['z', 1], []])
    return made


def object_schema(rng, depth=0):
    names = rng.sample(['city', 'days', 'unit', 'where', 'tags'], rng.randint(0, 4))
    made = {'type': 'object', 'properties': {name: schema(rng, depth) for name in names}}
    if names and rng.random() < 0.7:
        made['required'] = rng.sample(names, rng.randint(1, len(names)))
    return made


def tool(rng, name):
    function = {'name': name, 'description': rng.choice(['Does a thing.', 'Line one\nline two', 'Ends with a break\n'])}
    if rng.random() < 0.8:
        function['parameters'] = object_schema(rng)
    return {'type': 'function', 'function': function}


def conversation(rng):
    """A conversation as a client of chat completions sends it."""
    tools = [tool(rng, name) for name in rng.sample(['get_weather', 'search', 'ping'], rng.randint(0, 3))]
    messages = [{'role': rng.choice(['system', 'developer']), 'content': text(rng)}] if rng.random() < 0.6 else []
    for _ in range(rng.randint(1, 3)):
        messages.append({'role': 'user', 'content': text(rng)})
        for turn in range(rng.randint(0, 2) if tools else 0):
            message = {'role': 'assistant', 'content': text(rng) if rng.random() < 0.4 else None}
            if rng.random() < 0.7:
                message['reasoning_content'] = text(rng)
            names = [rng.choice(tools)['function']['name'] for _ in range(rng.randint(1, 2))]
            message['tool_calls'] = [
                {'id': f'call_{len(messages)}_{i}', 'type': 'function', 'function': {'name': name, 'arguments': json.dumps({'q': text(rng, 2)})}}
                for i, name in enumerate(names)
            ]
            messages.append(message)
            results = [{'role': 'tool', 'tool_call_id': call['id'], 'content': text(rng)} for call in message['tool_calls']]
            messages += rng.sample(results, len(results))
        if rng.random() < 0.6:
            answer = {'role': 'assistant', 'content': text(rng)}
            if rng.random() < 0.5:
                answer['reasoning_content'] = text(rng)
            messages.append(answer)
    return {'messages': messages, 'tools': tools, 'effort': rng.choice(['low', 'medium', 'high'])}


def render(case):
    """The prompt of the same conversation, message by message. Reasoning before an answer is left out."""
    effort = {'low': ReasoningEffort.LOW, 'medium': ReasoningEffort.MEDIUM, 'high': ReasoningEffort.HIGH}[case['effort']]
    system = SystemContent.new().with_reasoning_effort(effort).with_conversation_start_date(DATE)
    made = [Message.from_role_and_content(Role.SYSTEM, system)]
    messages = case['messages']
    developer = DeveloperContent.new()
    has_instructions = messages[0]['role'] in ('system', 'developer')
    if has_instructions:
        developer = developer.with_instructions(messages[0]['content'])
        messages = messages[1:]
    if case['tools']:
        functions = [tool['function'] for tool in case['tools']]
        developer = developer.with_function_tools(
            [ToolDescription.new(f['name'], f['description'], parameters=f.get('parameters')) for f in functions]
        )
    if has_instructions or case['tools']:
        made.append(Message.from_role_and_content(Role.DEVELOPER, developer))
    answers = [i for i, m in enumerate(messages) if m['role'] == 'assistant' and not m.get('tool_calls')]
    names = {}
    for i, message in enumerate(messages):
        if message['role'] == 'user':
            made.append(Message.from_role_and_content(Role.USER, message['content']))
        elif message['role'] == 'tool':
            author = Author.new(Role.TOOL, f'functions.{names[message["tool_call_id"]]}')
            result = Message.from_author_and_content(author, message['content'])
            made.append(result.with_channel('commentary').with_recipient('assistant'))
        else:
            keeps = not answers or i > answers[-1]
            if keeps and 'reasoning_content' in message:
                made.append(Message.from_role_and_content(Role.ASSISTANT, message['reasoning_content']).with_channel('analysis'))
            if message['content'] is not None:
                channel = 'commentary' if message.get('tool_calls') else 'final'
                made.append(Message.from_role_and_content(Role.ASSISTANT, message['content']).with_channel(channel))
            for call in message.get('tool_calls', []):
                names[call['id']] = call['function']['name']
                said = Message.from_role_and_content(Role.ASSISTANT, call['function']['arguments']).with_channel('commentary')
                made.append(said.with_recipient(f'functions.{call["function"]["name"]}').with_content_type('json'))
    tokens = ENCODING.render_conversation_for_completion(Conversation.from_messages(made), Role.ASSISTANT)
    return ENCODING.decode_utf8(tokens)


def reply(rng):
    """A reply as a model writes it: messages with headers in the forms that occur."""
    parts = []
    for i in range(rng.randint(1, 5)):
        kind = rng.choice(['analysis', 'preamble', 'call', 'call', 'final'])
        start = '' if i == 0 else '<|start|>assistant'
        if kind == 'call':
            name = rng.choice(['get_weather', 'search', 'ping'])
            arguments = json.dumps({'q': text(rng, 2)}, ensure_ascii=False)
            mark = rng.choice([' <|constrain|>json', ' json', ''])
            header = rng.choice([
                f'{start}<|channel|>commentary to=functions.{name}{mark}',
                f'{start} to=functions.{name}<|channel|>commentary{mark}',
                f'{start}<|channel|>analysis to=functions.{name}{mark}',
            ])
            parts.append(f'{header}<|message|>{arguments}<|call|>')
        else:
            channel = {'analysis': 'analysis', 'preamble': 'commentary', 'final': 'final'}[kind]
            parts.append(f'{start}<|channel|>{channel}<|message|>{text(rng)}{"<|return|>" if kind == "final" else "<|end|>"}')
        if kind == 'final':
            break
    return ''.join(parts)


def parse(reply_text):
    tokens = ENCODING.encode(reply_text, allowed_special='all')
    messages = ENCODING.parse_messages_from_completion_tokens(tokens, Role.ASSISTANT)
    return [
        {'channel': m.channel, **({'recipient': m.recipient} if m.recipient else {}), 'text': m.content[0].text}
        for m in messages
    ]


def main():
    rng = random.Random(15)
    conversations = [conversation(rng) for _ in range(40)]
    replies = [reply(rng) for _ in range(40)]
    golden = {
        'date': DATE,
        'conversations': [{**case, 'prompt': render(case)} for case in conversations],
        'replies': [{'text': each, 'messages': parse(each)} for each in replies],
    }
    GOLDEN.write_text(json.dumps(golden, ensure_ascii=False) + '\n')


if __name__ == '__main__':
    main()
