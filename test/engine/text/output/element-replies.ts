// Replies of models whose tags are elements, special tokens around words, or blocks of messages.

import type { Reply } from './marked-replies.ts';

const element = (name: string, content: string): string =>
  `]<]minimax[>[<${name}>${content}]<]minimax[>[</${name}>`;
const invoke = (name: string, content: string): string =>
  `]<]minimax[>[<invoke name="${name}">${content}]<]minimax[>[</invoke>\n`;
const section = (calls: string): string => `]<]minimax[>[<tool_call>\n${calls}]<]minimax[>[</tool_call>`;
const open = (word: string): string => `<|open|>${word}<|sep|>`;
const close = (word: string): string => `<|close|>${word}<|sep|>`;
const argument = (key: string, type: string, value: string): string =>
  `${open(`argument key="${key}" type="${type}"`)}${value}${close('argument')}`;
const call = (name: string, number: number, content: string): string =>
  `${open(`call tool="${name}" index="${number}"`)}${content}${close('call')}`;
const plamo = (word: string): string => `<|plamo:${word}:plamo|>`;

const MINIMAX_REPLIES: Reply[] = [
  {
    name: 'minimax_m3: elements within elements, after thoughts',
    tools: 'minimax_m3',
    reasoning: 'minimax_m3',
    text: `<mm:think>Snow?</mm:think>Look: ${section(
      invoke(
        'get_weather',
        element('city', ' a <b> ') +
          element('days', '02') +
          element('tags', element('item', 'x') + element('item', 'y')) +
          element('where', element('lat', '1') + element('lat', '2') + ' here'),
      ) + invoke('ping', ''),
    )}`,
    told: [
      { reasoning: 'Snow?' },
      { content: 'Look:' },
      {
        name: 'get_weather',
        arguments:
          '{"city": " a <b> ", "days": 2, "tags": ["x", "y"], "where": {"lat": ["1", "2"], "$text": " here"}}',
      },
      { name: 'ping', arguments: '{}' },
    ],
  },
  {
    name: 'minimax_m3: empty elements, a repeated name, a malformed element',
    tools: 'minimax_m3',
    text: section(
      invoke('get_weather', element('tags', '') + element('where', ' ') + element('note', '')) +
        invoke(
          'search',
          element('query', 'a') + element('query', 'b') + element('limit', ']<]minimax[>[</x>'),
        ),
    ),
    told: [
      { name: 'get_weather', arguments: '{"tags": [], "where": {}, "note": ""}' },
      { name: 'search', arguments: '{"query": ["a", "b"], "limit": ' },
    ],
  },
  {
    name: 'minimax_m3: a missing closing tag, and the next call',
    tools: 'minimax_m3',
    text: section(invoke('search', `${element('limit', '2')}]<]minimax[>[<query>a`) + invoke('ping', '')),
    told: [
      { name: 'search', arguments: '{"limit": 2, "query": "a' },
      { name: 'ping', arguments: '{}' },
    ],
  },
  {
    name: 'minimax_m3: cut off within a text',
    tools: 'minimax_m3',
    text: `]<]minimax[>[<tool_call>]<]minimax[>[<invoke name="get_weather">${element('days', '2')}]<]minimax[>[<where>${element('x', '1')}]<]minimax[>[<y>"Sno`,
    told: [{ name: 'get_weather', arguments: '{"days": 2, "where": {"x": "1", "y": "\\"Sno' }],
  },
  {
    name: 'minimax_m3: cut off within an element',
    tools: 'minimax_m3',
    text: `]<]minimax[>[<tool_call>]<]minimax[>[<invoke name="search">${element('query', 'a')}]<]minimax[>[<limit>1`,
    told: [{ name: 'search', arguments: '{"query": "a", "limit": 1' }],
  },
];

const SPECIAL_REPLIES: Reply[] = [
  {
    name: 'kimi_k3: thoughts, a response and typed arguments',
    tools: 'kimi_k3',
    reasoning: 'kimi_k3',
    specials: ['<|open|>', '<|close|>', '<|sep|>'],
    text: `${open('think')}Hm.${close('think')}${open('response')}I look.${close('response')}${open('tools')}${call(
      'get_weather',
      1,
      argument('city', 'string', '"7"') +
        argument('days', 'number', '2') +
        argument('tags', 'array', '["a"]'),
    )}${call('ping', 12, '')}${close('tools')}${close('message')}`,
    told: [
      { reasoning: 'Hm.' },
      { content: 'I look.' },
      { name: 'get_weather', arguments: '{"city": "\\"7\\"", "days": 2, "tags": ["a"]}' },
      { name: 'ping', arguments: '{}' },
    ],
  },
  {
    name: 'kimi_k3: thoughts that a call ends',
    tools: 'kimi_k3',
    reasoning: 'kimi_k3',
    begins: 'reasoning',
    text: `Hm.${open('tools')}${call('search', 1, argument('query', 'string', 'a'))}`,
    told: [{ reasoning: 'Hm.' }, { name: 'search', arguments: '{"query": "a"}' }],
  },
  {
    name: 'plamo3: tags around the parts of a call',
    tools: 'plamo3',
    reasoning: 'plamo3',
    text: `${plamo('begin_think')}Hm.${plamo('end_think')}So.${plamo('begin_tool_requests')}${plamo('begin_tool_request')}${plamo('begin_tool_name')}search${plamo('end_tool_name')}${plamo('begin_tool_arguments')}<|plamo:constrain|>json<|plamo:msg|>{"query": "a"}${plamo('end_tool_arguments')}${plamo('end_tool_request')}${plamo('end_tool_requests')}<|plamo:tag|>`,
    told: [{ reasoning: 'Hm.' }, { content: 'So.' }, { name: 'search', arguments: '{"query": "a"}' }],
  },
  {
    name: 'inkling: blocks of several kinds, and the names in their headers',
    tools: 'inkling',
    reasoning: 'inkling',
    specials: ['<|message_model|>', '<|end_message|>', '<|content_thinking|>', '<|content_text|>'],
    text: '<|content_thinking|>Hm.<|end_message|><|message_model|><|content_text|>So.<|end_message|><|message_model|>search<|content_invoke_tool_json|>{"name": "search", "args": {"query": "a"}}<|end_message|>',
    told: [{ reasoning: 'Hm.' }, { content: 'So.' }, { name: 'search', arguments: '{"query": "a"}' }],
  },
  {
    name: 'inkling: a name before the first block, and text without a block',
    tools: 'inkling',
    reasoning: 'inkling',
    text: 'ping<|content_invoke_tool_json|>{"name": "ping", "args": {}}<|end_message|><|message_model|>Well.',
    told: [{ name: 'ping', arguments: '{}' }, { content: 'Well.' }],
  },
];

const TAGGED_REPLIES: Reply[] = [
  {
    name: 'deepseek_v41: tags with a space',
    tools: 'deepseek_v41',
    text: '<｜DSML｜ calls>\n<｜DSML｜ invoke name="search">\n<｜DSML｜ parameter name="query" string="true">a</｜DSML｜ parameter>\n<｜DSML｜ parameter name="limit" string="false">3</｜DSML｜ parameter>\n</｜DSML｜ invoke>\n</｜DSML｜ calls>',
    told: [{ name: 'search', arguments: '{"query": "a", "limit": 3}' }],
  },
  {
    name: 'deepseek_v4: another word around the calls, a value without its closing tag',
    tools: 'deepseek_v4',
    reasoning: 'deepseek_v4',
    begins: 'reasoning',
    text: 'Hm.\n<｜DSML｜toolcalls>\n<｜DSML｜invoke name="search"><｜DSML｜parameter name="query" string="true">a <｜b<｜DSML｜parameter name="limit" string="false">3</｜DSML｜parameter></｜DSML｜invoke>\n</｜DSML｜tool_calls>',
    told: [{ reasoning: 'Hm.' }, { name: 'search', arguments: '{"query": "a <｜b", "limit": 3}' }],
  },
  {
    name: 'deepseek_v32: all arguments within one, as an object and as its text',
    tools: 'deepseek_v32',
    text: '<｜DSML｜function_calls><｜DSML｜invoke name="search"><｜DSML｜parameter name="arguments" string="false">{"query": "a"}</｜DSML｜parameter></｜DSML｜invoke><｜DSML｜invoke name="search"><｜DSML｜parameter name="input" string="true">{"limit": 3}</｜DSML｜parameter></｜DSML｜invoke><｜DSML｜invoke name="search"><｜DSML｜parameter name="input" string="true">b</｜DSML｜parameter></｜DSML｜invoke></｜DSML｜function_calls>',
    told: [
      { name: 'search', arguments: '{"query": "a"}' },
      { name: 'search', arguments: '{"limit": 3}' },
      { name: 'search', arguments: '{"input": "b"}' },
    ],
  },
  {
    name: 'gigachat35: values that are strings or not',
    tools: 'gigachat35',
    text: 'Now <｜GCML｜tool_calls>\n<｜GCML｜invoke name="search">\n<｜GCML｜parameter name="query" string="true">7</｜GCML｜parameter>\n</｜GCML｜invoke>\n</｜GCML｜tool_calls>',
    told: [{ content: 'Now' }, { name: 'search', arguments: '{"query": "7"}' }],
  },
  {
    name: 'iquest_q1: keys and values',
    tools: 'iquest_q1',
    text: '<iquest_tool_call>search<arg_key>query</arg_key><arg_value>7</arg_value></iquest_tool_call>',
    told: [{ name: 'search', arguments: '{"query": "7"}' }],
  },
  {
    name: 'gemma4: a number and a word where the schema asks for strings',
    tools: 'gemma4',
    text: '<|tool_call>call:get_weather{city:8001,note:null,days:3}<tool_call|>',
    told: [{ name: 'get_weather', arguments: '{"city": "8001", "note": null, "days": 3}' }],
  },
  {
    name: 'lfm2: sets are lists',
    tools: 'lfm2',
    text: "<|tool_call_start|>[get_weather(tags={'a', 'b'}, where={'x': {1, 2}, 'y': {}})]<|tool_call_end|>",
    told: [{ name: 'get_weather', arguments: '{"tags": ["a", "b"], "where": {"x": [1, 2], "y": {}}}' }],
  },
];

export const ELEMENT_REPLIES: Reply[] = [...MINIMAX_REPLIES, ...SPECIAL_REPLIES, ...TAGGED_REPLIES];
