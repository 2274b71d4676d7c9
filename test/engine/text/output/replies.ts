// Replies as models of each format write them, and what they mean.

import { ELEMENT_REPLIES } from './element-replies.ts';
import { MARKED_REPLIES, type Reply } from './marked-replies.ts';
import { NEWER_REPLIES } from './newer-replies.ts';
import { VARIANT_REPLIES } from './variant-replies.ts';

const weather = '{"city": "Zürich 🌦", "where": {"lat": 47.4, "tags": ["a}", "]b", "\\"q\\" </tool_call>"]}}';

const JSON_AND_PYTHON: Reply[] = [
  {
    name: 'hermes: reasoning, content, two calls, content',
    tools: 'hermes',
    reasoning: 'qwen3',
    text: `<think>\nRain? 雨。\n</think>\n\nI look.\n<tool_call>\n{"name": "get_weather", "arguments": ${weather}}\n</tool_call>\n<tool_call>\n{"arguments": {"query": "x"}, "name": "search"}\n</tool_call>\nDone.`,
    told: [
      { reasoning: 'Rain? 雨。' },
      { content: 'I look.' },
      { name: 'get_weather', arguments: weather },
      { name: 'search', arguments: '{"query": "x"}' },
      { content: '\n\nDone.' },
    ],
  },
  {
    name: 'hermes: no arguments, null, arguments as text, other members, a brace too many',
    tools: 'hermes',
    text: '<tool_call>{"name": "ping"}</tool_call><tool_call>{"name":"ping","arguments":null}</tool_call><tool_call>{"id": [1, {}], "name": "ping", "arguments": "{\\"a\\": \\"\\\\n\\"}"}}</tool_call>',
    told: [
      { name: 'ping', arguments: '{}' },
      { name: 'ping', arguments: '{}' },
      { name: 'ping', arguments: '{"a": "\\n"}' },
    ],
  },
  {
    name: 'hermes: what looks like a call and is none',
    tools: 'hermes',
    text: 'Write <tool_call> then\n<tool_call>\n<tool_cal\n<tool_call>{"nam": 1}</tool_call> <tool_call>{"name": "ping", "arguments": {}}</tool_call>',
    told: [
      {
        content: 'Write <tool_call> then\n<tool_call>\n<tool_cal\n<tool_call>{"nam": 1}</tool_call>',
      },
      { name: 'ping', arguments: '{}' },
    ],
  },
  {
    name: 'hermes: cut in the arguments',
    tools: 'hermes',
    text: 'So:\n\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Zü',
    told: [{ content: 'So:' }, { name: 'get_weather', arguments: '{"city": "Zü' }],
  },
  {
    name: 'hermes: cut in the name',
    tools: 'hermes',
    text: 'So:\n\n<tool_call>\n{"name": "get_wea',
    told: [{ content: 'So:\n\n<tool_call>\n{"name": "get_wea' }],
  },
  {
    name: 'hermes: an unfinished value does not swallow the closing tag',
    tools: 'hermes',
    text: '<tool_call>{"name": "search", "arguments": {"query": [1, </tool_call>Sorry.',
    told: [{ name: 'search', arguments: '{"query": [1, ' }, { content: 'Sorry.' }],
  },
  {
    name: 'qwen3_coder: typed by the schema',
    tools: 'qwen3_coder',
    reasoning: 'qwen3',
    begins: 'reasoning',
    text: 'hm\n</think>\n\n<tool_call>\n<function=get_weather>\n<parameter=city>\nNew\n"York"\n\n</parameter>\n<parameter=days>\n3\n</parameter>\n<parameter=metric>\nTrue\n</parameter>\n<parameter=where>\n{"lat": 1, "x": "</function>"}\n</parameter>\n<parameter=tags>\n[\'a\', "b\\\'"]\n</parameter>\n<parameter=note>\nnull\n</parameter>\n</function>\n</tool_call>\n<tool_call>\n<function=search>\n<parameter=query>\n1 < 2 && </param> 雨\n</parameter>\n<parameter=limit>\n2.5\n</parameter>\n</function>\n</tool_call>',
    told: [
      { reasoning: 'hm' },
      {
        name: 'get_weather',
        arguments:
          '{"city": "New\\n\\"York\\"\\n", "days": 3, "metric": true, "where": {"lat": 1, "x": "</function>"}, "tags": ["a", "b\'"], "note": null}',
      },
      { name: 'search', arguments: '{"query": "1 < 2 && </param> 雨", "limit": 2.5}' },
    ],
  },
  {
    name: 'qwen3_coder: without the outer tag, unknown tool and argument, no arguments',
    tools: 'qwen3_coder',
    text: '<function=unknown_one>\n<parameter=n>\n5\n</parameter>\n<parameter=s>\nfive\n</parameter>\n</function>\n<function=ping>\n</function>',
    told: [
      {
        content:
          '<function=unknown_one>\n<parameter=n>\n5\n</parameter>\n<parameter=s>\nfive\n</parameter>\n</function>',
      },
      { name: 'ping', arguments: '{}' },
    ],
  },
  {
    name: 'qwen3_coder: cut in a value',
    tools: 'qwen3_coder',
    text: '<tool_call>\n<function=search>\n<parameter=query>\nhalf a\n',
    told: [{ name: 'search', arguments: '{"query": "half a\\n' }],
  },
  {
    name: 'qwen3_coder: values and keys without their ends',
    tools: 'qwen3_coder',
    text: '<tool_call>\n<function=get_weather>\n<parameter=city>\nBern\n<parameter=days>\n3\n<parameter=note>\nsay </function> twice\n</function>\n</tool_call>\n<tool_call>\n<function=search>\n<parameter=query\n1 <2\n</parameter>\n<parameter=limit>5</tool_call>\n<tool_call>\n<function=ping>\n</function>\n</tool_call>',
    told: [
      {
        name: 'get_weather',
        arguments: '{"city": "Bern", "days": 3, "note": "say </function> twice"}',
      },
      { name: 'search', arguments: '{"query": "1 <2", "limit": 5}' },
      { name: 'ping', arguments: '{}' },
    ],
  },
  {
    name: 'mimo: line breaks belong to a value',
    tools: 'mimo',
    text: '<tool_call>\n<function=search>\n<parameter=query>\npwd &amp;&amp; ls\n</parameter>\n<parameter=limit>3</parameter>\n</function>\n</tool_call>',
    told: [{ name: 'search', arguments: '{"query": "\\npwd &amp;&amp; ls\\n", "limit": 3}' }],
  },
  {
    name: 'llama3: after its token, several calls',
    tools: 'llama3',
    specials: ['<|python_tag|>'],
    text: '<|python_tag|>{"name": "search", "parameters": {"query": "a;b"}}; {"type": "function", "name": "ping", "parameters": {}}',
    told: [
      { name: 'search', arguments: '{"query": "a;b"}' },
      { name: 'ping', arguments: '{}' },
    ],
  },
  {
    name: 'llama3: bare, a known name',
    tools: 'llama3',
    text: '\n{"name": "search", "parameters": {"query": "q"}}',
    told: [{ name: 'search', arguments: '{"query": "q"}' }],
  },
  {
    name: 'llama3: JSON that is an answer',
    tools: 'llama3',
    text: '{"name": "Ann", "parameters": {"age": 3}}',
    told: [{ content: '{"name": "Ann", "parameters": {"age": 3}}' }],
  },
  {
    name: 'pythonic',
    tools: 'pythonic',
    text: "[get_weather(city=\"Z\\u00fcr'ich\", days=3, metric=False, where={'a': [1, (2,)], \"b\": None}, tags=[]), search(query='it\\'s [x](y)', limit=.5), ping()]",
    told: [
      {
        name: 'get_weather',
        arguments:
          '{"city": "Zür\'ich", "days": 3, "metric": false, "where": {"a": [1, [2]], "b": null}, "tags": []}',
      },
      { name: 'search', arguments: '{"query": "it\'s [x](y)", "limit": 0.5}' },
      { name: 'ping', arguments: '{}' },
    ],
  },
  {
    name: 'pythonic: a list that is none, before one that is',
    tools: 'pythonic',
    text: '[see(note)] and [ping()]',
    told: [{ content: '[see(note)] and' }, { name: 'ping', arguments: '{}' }],
  },
  {
    name: 'lfm2: python within its tokens, then text',
    tools: 'lfm2',
    specials: ['<|tool_call_start|>', '<|tool_call_end|>'],
    text: '<|tool_call_start|>[search(query="<|tool_call_end|"), ping(x=1)]<|tool_call_end|>Looking.',
    told: [
      { name: 'search', arguments: '{"query": "<|tool_call_end|"}' },
      { name: 'ping', arguments: '{"x": 1}' },
      { content: 'Looking.' },
    ],
  },
  {
    name: 'lfm2: JSON',
    tools: 'lfm2',
    text: '<|tool_call_start|>[{"name": "search", "arguments": {"query": "1"}}]<|tool_call_end|>',
    told: [{ name: 'search', arguments: '{"query": "1"}' }],
  },
  {
    name: 'mistral: a list',
    tools: 'mistral_json',
    specials: ['[TOOL_CALLS]'],
    text: '[TOOL_CALLS] [{"name": "search", "arguments": {"query": "]"}, "id": "abc123def"}, {"name": "ping", "arguments": {}}]',
    told: [
      { name: 'search', arguments: '{"query": "]"}' },
      { name: 'ping', arguments: '{}' },
    ],
  },
  {
    name: 'mistral: name and arguments, reasoning',
    tools: 'mistral',
    reasoning: 'mistral',
    specials: ['[TOOL_CALLS]', '[ARGS]', '[CALL_ID]', '[THINK]', '[/THINK]'],
    text: '[THINK]why[/THINK]OK.[TOOL_CALLS]search[ARGS]{"query": "[ARGS"}[TOOL_CALLS]ping[CALL_ID]abc[ARGS]{}',
    told: [
      { reasoning: 'why' },
      { content: 'OK.' },
      { name: 'search', arguments: '{"query": "[ARGS"}' },
      { name: 'ping', arguments: '{}' },
    ],
  },
];

export const REPLIES: Reply[] = [
  ...JSON_AND_PYTHON,
  ...MARKED_REPLIES,
  ...VARIANT_REPLIES,
  ...NEWER_REPLIES,
  ...ELEMENT_REPLIES,
];
