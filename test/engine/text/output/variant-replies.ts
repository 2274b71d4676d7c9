// More replies: variants of a format that models write, and slips that the parser has to survive.

import type { Reply } from './marked-replies.ts';

export const VARIANT_REPLIES: Reply[] = [
  {
    name: 'functiongemma: two calls, text before and after',
    tools: 'functiongemma',
    specials: ['<start_function_call>', '<end_function_call>', '<escape>'],
    text: 'I look.<start_function_call>call:get_weather{city:<escape>a,b}"c"<escape>,days:2,where:{a:[1,<escape>x<escape>]}}<end_function_call><start_function_call>call:ping{}<end_function_call>So.',
    told: [
      { content: 'I look.' },
      { name: 'get_weather', arguments: '{"city": "a,b}\\"c\\"", "days": 2, "where": {"a": [1, "x"]}}' },
      { name: 'ping', arguments: '{}' },
      { content: 'So.' },
    ],
  },
  {
    name: 'functiongemma: cut in a value, and a tag that begins no call',
    tools: 'functiongemma',
    specials: ['<escape>'],
    text: '<start_function_call> no <start_function_call>call:search{query:<escape>half a',
    told: [{ content: '<start_function_call> no' }, { name: 'search', arguments: '{"query": "half a' }],
  },
  {
    name: 'granite: thoughts, then calls behind its token',
    tools: 'granite',
    reasoning: 'granite',
    specials: ['<|tool_call|>'],
    text: '<think>why</think><|tool_call|>[{"name": "search", "arguments": {"query": "]"}}, {"name": "ping", "arguments": {}}]',
    told: [
      { reasoning: 'why' },
      { name: 'search', arguments: '{"query": "]"}' },
      { name: 'ping', arguments: '{}' },
    ],
  },
  {
    name: 'granite: the tag of others',
    tools: 'granite',
    text: '<tool_call>[{"arguments": {"query": "a"}, "name": "search"}]</tool_call>Done.',
    told: [{ name: 'search', arguments: '{"query": "a"}' }, { content: 'Done.' }],
  },
  {
    name: 'granite: a list alone',
    tools: 'granite',
    text: ' [{"name": "search", "arguments": {"query": "a"}}, {"name": "ping", "arguments": {}}]',
    told: [
      { name: 'search', arguments: '{"query": "a"}' },
      { name: 'ping', arguments: '{}' },
    ],
  },
  {
    name: 'granite: a list that is an answer',
    tools: 'granite',
    text: '[{"name": "Ann"}, 2] and <tool_call> no [',
    told: [{ content: '[{"name": "Ann"}, 2] and <tool_call> no [' }],
  },
  {
    name: 'granite3.2: sentences mark the reasoning',
    tools: 'granite',
    reasoning: 'granite3.2',
    text: 'Here is my thought process:\n\nHere, rain?\n\nHere is my response:\n\nHere is rain.',
    told: [{ reasoning: 'Here, rain?' }, { content: 'Here is rain.' }],
  },
  {
    name: "granite3.2: shorter sentences, by the format's other name",
    tools: 'granite',
    reasoning: 'granite',
    text: 'Here\'s my thought process:\nIs it?\nHere\'s my response:\n<|tool_call|>[{"name": "ping", "arguments": {}}]',
    told: [{ reasoning: 'Is it?' }, { name: 'ping', arguments: '{}' }],
  },
  {
    name: 'olmo3: thoughts, calls line by line',
    tools: 'olmo3',
    reasoning: 'olmo3',
    text: "<think>so</think>\n\n<function_calls>get_weather(city=\"Z\\n\", metric=true, note=null, tags=[\"a\", 'b'])\nsearch(query='it\\'s </function_calls', limit=2)\nping()</function_calls>",
    told: [
      { reasoning: 'so' },
      {
        name: 'get_weather',
        arguments: '{"city": "Z\\n", "metric": true, "note": null, "tags": ["a", "b"]}',
      },
      { name: 'search', arguments: '{"query": "it\'s </function_calls", "limit": 2}' },
      { name: 'ping', arguments: '{}' },
    ],
  },
  {
    name: 'olmo3: breaks inside the tags, and an answer behind them',
    tools: 'olmo3',
    text: 'Let me see.\n<function_calls>\nping()\n</function_calls>\nDone.',
    told: [{ content: 'Let me see.' }, { name: 'ping', arguments: '{}' }, { content: '\n\nDone.' }],
  },
  {
    name: 'olmo3: cut in the arguments, behind a section that is none',
    tools: 'olmo3',
    text: '<function_calls>see (note)</function_calls> <function_calls>search(query="ab',
    told: [
      { content: '<function_calls>see (note)</function_calls>' },
      { name: 'search', arguments: '{"query": "ab' },
    ],
  },
  {
    name: 'xlam: a list alone',
    tools: 'xlam',
    reasoning: 'think',
    text: '<think>a [</think>[{"name": "search", "arguments": {"query": "]"}}, {"name": "ping", "arguments": {}}]',
    told: [
      { reasoning: 'a [' },
      { name: 'search', arguments: '{"query": "]"}' },
      { name: 'ping', arguments: '{}' },
    ],
  },
  {
    name: 'xlam: in a block of code',
    tools: 'xlam',
    text: 'I look.\n```json\n[{"name": "search", "arguments": {"query": "```"}}]\n```\nDone.',
    told: [
      { content: 'I look.' },
      { name: 'search', arguments: '{"query": "```"}' },
      { content: '\n\nDone.' },
    ],
  },
  {
    name: 'xlam: in the tags of others',
    tools: 'xlam',
    text: '<tool_call>[{"name": "search", "arguments": {"query": "a"}}]</tool_call>[TOOL_CALLS][{"name": "ping", "arguments": {}}]',
    told: [
      { name: 'search', arguments: '{"query": "a"}' },
      { name: 'ping', arguments: '{}' },
    ],
  },
  {
    name: 'xlam: a block of code that is an answer',
    tools: 'xlam',
    text: 'So:\n```json\n{"a": [1]}\n```\n',
    told: [{ content: 'So:\n```json\n{"a": [1]}\n```\n' }],
  },
  {
    name: 'internlm: without the line break',
    tools: 'internlm',
    specials: ['<|action_start|>', '<|plugin|>', '<|action_end|>'],
    text: 'I look.<|action_start|><|plugin|>{"name": "search", "parameters": {"query": "雨"}}<|action_end|>\n',
    told: [{ content: 'I look.' }, { name: 'search', arguments: '{"query": "雨"}' }],
  },
  {
    name: 'internlm: a space between the tokens, arguments by their other name',
    tools: 'internlm',
    specials: ['<|action_start|>', '<|plugin|>', '<|action_end|>'],
    text: '<|action_start|> <|plugin|>\n{"name": "search", "arguments": {"query": "a"}}<|action_end|>',
    told: [{ name: 'search', arguments: '{"query": "a"}' }],
  },
  {
    name: 'mistral: without [ARGS]',
    tools: 'mistral',
    specials: ['[TOOL_CALLS]'],
    text: 'OK.[TOOL_CALLS]search{"query": "}"}[TOOL_CALLS]ping{}',
    told: [
      { content: 'OK.' },
      { name: 'search', arguments: '{"query": "}"}' },
      { name: 'ping', arguments: '{}' },
    ],
  },
  {
    name: 'mistral: a name without arguments is text, and arguments may be cut',
    tools: 'mistral',
    specials: ['[TOOL_CALLS]'],
    text: '[TOOL_CALLS]search (a)[TOOL_CALLS]search {"query": "a',
    told: [{ content: 'search (a)' }, { name: 'search', arguments: '{"query": "a' }],
  },
];
