// More replies: formats with markers around names, arguments and messages.

import type { Told } from './feed.ts';

export interface Reply {
  name: string;
  tools: string | null;
  reasoning?: string;
  begins?: 'reasoning' | 'answer';
  /** Special tokens of the vocabulary that occur in the text. */
  specials?: string[];
  text: string;
  told: Told[];
}

export const MARKED_REPLIES: Reply[] = [
  {
    name: 'deepseek_v3',
    tools: 'deepseek_v3',
    reasoning: 'deepseek_r1',
    begins: 'reasoning',
    text: '<think>\nso</think>\nText<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>search\n```json\n{"query": "```"}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>ping\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    told: [
      { reasoning: 'so' },
      { content: 'Text' },
      { name: 'search', arguments: '{"query": "```"}' },
      { name: 'ping', arguments: '{}' },
    ],
  },
  {
    name: 'deepseek_v31',
    tools: 'deepseek_v31',
    specials: ['<｜tool▁calls▁begin｜>', '<｜tool▁call▁begin｜>', '<｜tool▁sep｜>', '<｜tool▁call▁end｜>'],
    text: '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>search<｜tool▁sep｜>{"query": "雨"}<｜tool▁call▁end｜><｜tool▁call▁begin｜>ping<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    told: [
      { name: 'search', arguments: '{"query": "雨"}' },
      { name: 'ping', arguments: '{}' },
    ],
  },
  {
    name: 'deepseek_v32',
    tools: 'deepseek_v32',
    specials: ['｜DSML｜'],
    text: 'Sure.\n\n<｜DSML｜function_calls>\n<｜DSML｜invoke name="get_weather">\n<｜DSML｜parameter name="city" string="true">5 "x"</｜DSML｜parameter>\n<｜DSML｜parameter name="where" string="false">{"a": [1]}</｜DSML｜parameter>\n</｜DSML｜invoke>\n<｜DSML｜invoke name="ping">\n</｜DSML｜invoke>\n</｜DSML｜function_calls>',
    told: [
      { content: 'Sure.' },
      { name: 'get_weather', arguments: '{"city": "5 \\"x\\"", "where": {"a": [1]}}' },
      { name: 'ping', arguments: '{}' },
    ],
  },
  {
    name: 'hunyuan',
    tools: 'hunyuan',
    reasoning: 'think',
    text: '<think>\nso\n</think>\nText\n<tool_calls>\n<tool_call>get_weather<tool_sep>\n<arg_key>city</arg_key>\n<arg_value>北京 <b></arg_value>\n<arg_key>days</arg_key>\n<arg_value>2</arg_value>\n</tool_call>\n<tool_call>ping<tool_sep>\n</tool_call>\n</tool_calls>',
    told: [
      { reasoning: 'so' },
      { content: 'Text' },
      { name: 'get_weather', arguments: '{"city": "北京 <b>", "days": 2}' },
      { name: 'ping', arguments: '{}' },
    ],
  },
  {
    name: 'step3',
    tools: 'step3',
    specials: ['<｜tool_calls_begin｜>', '<｜tool_call_begin｜>', '<｜tool_sep｜>', '<｜tool_call_end｜>'],
    text: 'Text\n<｜tool_calls_begin｜>\n<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="get_weather">\n<steptml:parameter name="city">a "b" >c</steptml:parameter>\n<steptml:parameter name="where">{"lat": 1}</steptml:parameter>\n</steptml:invoke><｜tool_call_end｜>\n<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="ping"></steptml:invoke><｜tool_call_end｜>\n<｜tool_calls_end｜>',
    told: [
      { content: 'Text' },
      { name: 'get_weather', arguments: '{"city": "a \\"b\\" >c", "where": {"lat": 1}}' },
      { name: 'ping', arguments: '{}' },
    ],
  },
  {
    name: 'interns1',
    tools: 'interns1',
    specials: ['<|action_start|>', '<|plugin|>', '<|action_end|>'],
    text: 'I look.\n<|action_start|><|plugin|>\n{"name": "search", "parameters": {"query": "雨"}}<|action_end|>\n<|action_start|><|plugin|>\n{"name": "ping", "parameters": {}}<|action_end|>\n',
    told: [
      { content: 'I look.' },
      { name: 'search', arguments: '{"query": "雨"}' },
      { name: 'ping', arguments: '{}' },
    ],
  },
  {
    name: 'gigachat3',
    tools: 'gigachat3',
    specials: ['<|role_sep|>'],
    text: 'I look.\n\nfunction call<|role_sep|>\n{"name": "search", "arguments": {"query": "雨"}}',
    told: [{ content: 'I look.' }, { name: 'search', arguments: '{"query": "雨"}' }],
  },
  {
    name: 'gigachat31',
    tools: 'gigachat31',
    specials: ['<|function_call|>'],
    text: 'I look.<|function_call|>{"name": "search", "arguments": {"query": "雨"}}',
    told: [{ content: 'I look.' }, { name: 'search', arguments: '{"query": "雨"}' }],
  },
  {
    name: 'glm45: calls end the reasoning',
    tools: 'glm45',
    reasoning: 'glm45',
    text: '<think>no end\n<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>北京</arg_value>\n<arg_key>days</arg_key>\n<arg_value>2</arg_value>\n</tool_call>\n<tool_call>ping\n</tool_call>',
    told: [
      { reasoning: 'no end' },
      { name: 'get_weather', arguments: '{"city": "北京", "days": 2}' },
      { name: 'ping', arguments: '{}' },
    ],
  },
  {
    name: 'glm47: without line breaks; a tag that is none',
    tools: 'glm47',
    text: 'a <tool_call> b<tool_call>search<arg_key>query</arg_key><arg_value>1</arg_value><arg_key>limit</arg_key><arg_value>1e3</arg_value></tool_call>',
    told: [{ content: 'a <tool_call> b' }, { name: 'search', arguments: '{"query": "1", "limit": 1e3}' }],
  },
  {
    name: 'kimi_k2: ids of its own',
    tools: 'kimi_k2',
    specials: [
      '<|tool_calls_section_begin|>',
      '<|tool_call_begin|>',
      '<|tool_call_argument_begin|>',
      '<|tool_call_end|>',
      '<|tool_calls_section_end|>',
    ],
    text: 'Go. <|tool_calls_section_begin|><|tool_call_begin|>functions.search:4<|tool_call_argument_begin|>{"query": "a"}<|tool_call_end|><|tool_call_begin|>functions.ping:5<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>',
    told: [
      { content: 'Go.' },
      { name: 'search', arguments: '{"query": "a"}', id: 'functions.search:4' },
      { name: 'ping', arguments: '{}', id: 'functions.ping:5' },
    ],
  },
  {
    name: 'gpt-oss: channels',
    tools: 'gpt-oss',
    specials: ['<|start|>', '<|channel|>', '<|message|>', '<|end|>', '<|call|>', '<|constrain|>'],
    text: '<|channel|>analysis<|message|>User asks.<|end|><|start|>assistant<|channel|>commentary<|message|>I look.<|end|><|start|>assistant<|channel|>commentary to=functions.search <|constrain|>json<|message|>{"query":"to=x"}<|call|>',
    told: [
      { reasoning: 'User asks.' },
      { content: 'I look.' },
      { name: 'search', arguments: '{"query":"to=x"}' },
    ],
  },
  {
    name: 'gpt-oss: recipient before the channel, and an answer',
    tools: 'gpt-oss',
    specials: ['<|start|>', '<|channel|>', '<|message|>', '<|end|>', '<|call|>', '<|return|>'],
    text: ' to=functions.ping<|channel|>commentary json<|message|><|call|><|start|>assistant<|channel|>final<|message|>Pong 🏓<|return|>',
    told: [{ name: 'ping', arguments: '{}' }, { content: 'Pong 🏓' }],
  },
  {
    name: 'gpt-oss: no header at all',
    tools: 'gpt-oss',
    text: 'to be or not',
    told: [{ content: 'to be or not' }],
  },
  {
    name: 'minimax_m2',
    tools: 'minimax_m2',
    reasoning: 'think',
    begins: 'reasoning',
    text: 'r\n</think>\n\n<minimax:tool_call>\n<invoke name="get_weather">\n<parameter name="city">a > b</parameter>\n<parameter name="tags">["x"]</parameter>\n</invoke>\n<invoke name="ping">\n</invoke>\n</minimax:tool_call>',
    told: [
      { reasoning: 'r' },
      { name: 'get_weather', arguments: '{"city": "a > b", "tags": ["x"]}' },
      { name: 'ping', arguments: '{}' },
    ],
  },
  {
    name: 'json: a list, as models that know no format are told to write',
    tools: 'json',
    text: '[{"name": "get_weather", "parameters": {"city": "a"}}, {"name": "ping", "parameters": {}}]',
    told: [
      { name: 'get_weather', arguments: '{"city": "a"}' },
      { name: 'ping', arguments: '{}' },
    ],
  },
  {
    name: 'json: without the brackets',
    tools: 'json',
    text: '{"name": "ping", "arguments": {"a": [1]}}',
    told: [{ name: 'ping', arguments: '{"a": [1]}' }],
  },
  {
    name: 'json: an answer that is no call',
    tools: 'json',
    text: '{"city": "a", "name": "b", "parameters": [1, {"c": "]"}]}\nSo.',
    told: [{ content: '{"city": "a", "name": "b", "parameters": [1, {"c": "]"}]}\nSo.' }],
  },
  {
    name: 'minimax-append-think',
    tools: 'minimax_m2',
    reasoning: 'minimax-append-think',
    begins: 'reasoning',
    text: '\nr\n</think>\n\nSo\n<minimax:tool_call>\n<invoke name="ping">\n</invoke>\n</minimax:tool_call>',
    told: [{ content: '<think>\nr\n</think>\n\nSo' }, { name: 'ping', arguments: '{}' }],
  },
  {
    name: 'minicpm5',
    tools: 'minicpm5',
    reasoning: 'think',
    text: '<think>\nr\n</think>\n\nText\n<function name="get_weather"><param name="city"><![CDATA[a </param> <b>]]></param><param name="days">2</param><param name="tags">["<"]</param><param name="note"><q></param></function>\n<function name="ping">\n</function>',
    told: [
      { reasoning: 'r' },
      { content: 'Text' },
      {
        name: 'get_weather',
        arguments: '{"city": "a </param> <b>", "days": 2, "tags": ["<"], "note": "<q>"}',
      },
      { name: 'ping', arguments: '{}' },
    ],
  },
  {
    name: 'gemma4: quotes of its own',
    tools: 'gemma4',
    reasoning: 'gemma4',
    specials: ['<|channel>', '<channel|>', '<|tool_call>', '<tool_call|>', '<|"|>'],
    text: '<|channel>thought\nWell\n<channel|><|tool_call>call:get_weather{city:<|"|>a,b}"c"<|"|>,days:2,metric:true,where:{a:[1,{b:<|"|>x<|"|>}]},tags:[]}<tool_call|><|tool_call>call:ping{}<tool_call|>',
    told: [
      { reasoning: 'Well' },
      {
        name: 'get_weather',
        arguments:
          '{"city": "a,b}\\"c\\"", "days": 2, "metric": true, "where": {"a": [1, {"b": "x"}]}, "tags": []}',
      },
      { name: 'ping', arguments: '{}' },
    ],
  },
  {
    name: 'cohere: an action',
    tools: 'cohere',
    reasoning: 'cohere',
    specials: ['<|START_THINKING|>', '<|END_THINKING|>', '<|START_ACTION|>', '<|END_ACTION|>'],
    text: '<|START_THINKING|>I plan.<|END_THINKING|><|START_ACTION|>[\n    {"tool_call_id": "0", "tool_name": "search", "parameters": {"query": "q"}},\n    {"tool_call_id": "1", "tool_name": "ping", "parameters": {}}\n]<|END_ACTION|>',
    told: [
      { reasoning: 'I plan.' },
      { name: 'search', arguments: '{"query": "q"}' },
      { name: 'ping', arguments: '{}' },
    ],
  },
  {
    name: 'cohere: an answer',
    tools: 'cohere',
    reasoning: 'cohere',
    text: '<|START_RESPONSE|>Hello.<|END_RESPONSE|>',
    told: [{ content: 'Hello.' }],
  },
  {
    name: 'apertus: the name is a key',
    tools: 'apertus',
    reasoning: 'apertus',
    text: '<|inner_prefix|>a<|inner_suffix|>b<|tools_prefix|>[{"search": {"query": "q"}}, {"ping": {}}]<|tools_suffix|><|inner_prefix|>c<|inner_suffix|>d',
    told: [
      { reasoning: 'a' },
      { content: 'b' },
      { name: 'search', arguments: '{"query": "q"}' },
      { name: 'ping', arguments: '{}' },
      { reasoning: 'c' },
      { content: 'd' },
    ],
  },
  {
    name: 'no tools: calls are text, reasoning is not',
    tools: null,
    reasoning: 'think',
    text: '<think>a\n</think>\n\n  <tool_call>{"name": "ping"}</tool_call>\n<think>b</think>\n',
    told: [{ reasoning: 'a' }, { content: '  <tool_call>{"name": "ping"}</tool_call>\n<think>b</think>\n' }],
  },
];
