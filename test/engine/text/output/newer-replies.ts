// More replies: formats of LongCat, MiniMax M1, dots, Granite 20B, ERNIE and Hunyuan, and calls within text.

import type { Reply } from './marked-replies.ts';

export const NEWER_REPLIES: Reply[] = [
  {
    name: 'longcat: JSON in its tags, after its own thoughts',
    tools: 'longcat',
    reasoning: 'longcat',
    text: '<longcat_think>\na <b\n</longcat_think>\nI look. <longcat_tool_call>{"name": "search", "arguments": {"query": "雨"}}</longcat_tool_call>\n<longcat_tool_call>\n{"name": "ping", "arguments": {}}\n</longcat_tool_call>',
    told: [
      { reasoning: 'a <b' },
      { content: 'I look.' },
      { name: 'search', arguments: '{"query": "雨"}' },
      { name: 'ping', arguments: '{}' },
    ],
  },
  {
    name: 'longcat: keys and values, and JSON again',
    tools: 'longcat_tags',
    text: '<longcat_tool_call>get_weather\n<longcat_arg_key>city</longcat_arg_key>\n<longcat_arg_value>a <b></longcat_arg_value>\n<longcat_arg_key>days</longcat_arg_key>\n<longcat_arg_value>2</longcat_arg_value>\n</longcat_tool_call>\n<longcat_tool_call>{"name": "ping", "arguments": {}}</longcat_tool_call>',
    told: [
      { name: 'get_weather', arguments: '{"city": "a <b>", "days": 2}' },
      { name: 'ping', arguments: '{}' },
    ],
  },
  {
    name: 'k2_horizon: typed and plain values, JSON, after fast thoughts',
    tools: 'k2_horizon',
    reasoning: 'k2_horizon',
    text: '<ifm|think_fast>\nHm.</ifm|think_fast>\n<ifm|tool_calls><ifm|tool_call>get_weather<ifm|arg_key>note</ifm|arg_key><ifm|arg_type>string</ifm|arg_type><ifm|arg_value>null</ifm|arg_value><ifm|arg_key>days</ifm|arg_key><ifm|arg_value>2</ifm|arg_value></ifm|tool_call>\n<ifm|tool_call>{"name": "ping", "arguments": {}}</ifm|tool_call></ifm|tool_calls>',
    told: [
      { reasoning: 'Hm.' },
      { name: 'get_weather', arguments: '{"note": "null", "days": 2}' },
      { name: 'ping', arguments: '{}' },
    ],
  },
  {
    name: 'minimax_m1: a line a call',
    tools: 'minimax',
    text: 'So:\n<tool_calls>\n{"name": "search", "arguments": {"query": "</tool_calls"}}\n{"name": "ping", "arguments": {}}\n</tool_calls>',
    told: [
      { content: 'So:' },
      { name: 'search', arguments: '{"query": "</tool_calls"}' },
      { name: 'ping', arguments: '{}' },
    ],
  },
  {
    name: 'dots: tags with attributes, and text that is no call',
    tools: 'dots',
    text: '<dots_function_call>\n<invoke name="get_weather">\n<parameter name="city">a > b</parameter>\n<parameter name="days">3</parameter>\n</invoke>\n<invoke name="ping">\n</invoke>\n</dots_function_call> <dots_function_call>no',
    told: [
      { name: 'get_weather', arguments: '{"city": "a > b", "days": 3}' },
      { name: 'ping', arguments: '{}' },
      { content: ' <dots_function_call>no' },
    ],
  },
  {
    name: 'granite_20b_fc: its tag before each call',
    tools: 'granite-20b-fc',
    text: '<function_call> {"name": "search", "arguments": {"query": "a"}} <function_call>{"name": "ping", "arguments": {}}',
    told: [
      { name: 'search', arguments: '{"query": "a"}' },
      { name: 'ping', arguments: '{}' },
    ],
  },
  {
    name: 'hunyuan_a13b: thoughts, then an answer in tags',
    tools: 'hunyuan_a13b',
    reasoning: 'hunyuan_a13b',
    text: '<think>\nHm.\n</think>\n<answer>\nFine.\n</answer>',
    told: [{ reasoning: 'Hm.' }, { content: 'Fine.' }],
  },
  {
    name: 'hunyuan_a13b: a list of calls',
    tools: 'hunyuan_a13b',
    reasoning: 'hunyuan_a13b',
    text: '<think>\nHm.\n</think>\n<answer>\n<tool_calls>[{"name": "search", "arguments": {"query": "a"}}]</tool_calls>\n</answer>',
    told: [{ reasoning: 'Hm.' }, { name: 'search', arguments: '{"query": "a"}' }],
  },
  {
    name: 'ernie45: an answer in tags',
    tools: 'ernie45',
    reasoning: 'ernie45',
    begins: 'reasoning',
    text: 'Hm.\n</think>\n\n\n<response>\nFine.\n</response>',
    told: [{ reasoning: 'Hm.' }, { content: 'Fine.' }],
  },
  {
    name: 'gemma4: a channel without a name, a call without its word',
    tools: 'gemma4',
    reasoning: 'gemma4',
    text: '<|channel>thousand reasons<channel|>So <|tool_call>:search{query:<|"|>a<|"|>}<tool_call|> then',
    told: [
      { reasoning: 'thousand reasons' },
      { content: 'So' },
      { name: 'search', arguments: '{"query": "a"}' },
      { content: '  then' },
    ],
  },
  {
    name: 'deepseek_v4: the end of a section that has not begun',
    tools: 'deepseek_v4',
    text: '<｜DSML｜invoke name="ping">\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>\nSo.',
    told: [{ name: 'ping', arguments: '{}' }, { content: 'So.' }],
  },
  {
    name: 'gigachat3: the token of later models',
    tools: 'gigachat3',
    specials: ['<|function_call|>'],
    text: '<|function_call|>{"name": "ping", "arguments": {}}',
    told: [{ name: 'ping', arguments: '{}' }],
  },
  {
    name: 'step3: a call without its kind',
    tools: 'step3',
    text: '<｜tool_calls_begin｜><｜tool_call_begin｜><steptml:invoke name="search"><steptml:parameter name="query">a</steptml:parameter></steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>',
    told: [{ name: 'search', arguments: '{"query": "a"}' }],
  },
  {
    name: 'granite4: text between calls keeps its space',
    tools: 'granite4',
    text: 'First: \n<tool_call> {"name": "ping", "arguments": {}} </tool_call> Then: \n <tool_call>{"name": "ping", "arguments": {}}</tool_call>\n So.\n',
    told: [
      { content: 'First:' },
      { name: 'ping', arguments: '{}' },
      { content: ' \n Then:' },
      { name: 'ping', arguments: '{}' },
      { content: ' \n \n So.\n' },
    ],
  },
  {
    name: 'llama3: calls between sentences',
    tools: 'llama3',
    text: 'Here: {"name": "search", "parameters": {"query": "a"}}; {"type": "function", "name": "ping", "parameters": {}} and {"a": 1} in { x }, {"name": "Ann"} too',
    told: [
      { content: 'Here:' },
      { name: 'search', arguments: '{"query": "a"}' },
      { name: 'ping', arguments: '{}' },
      { content: ' and {"a": 1} in { x }, {"name": "Ann"} too' },
    ],
  },
];
