// Slips in replies that a parser has to survive, each read whole and character by character.

import { expect, it } from 'vitest';
import { formatOf, piecesOf, told, type Told } from './feed.ts';

interface Slip {
  name: string;
  tools: string;
  reasoning?: string;
  text: string;
  told: Told[];
}

const K2 = {
  begin: '<|tool_calls_section_begin|><|tool_call_begin|>',
  arguments: '<|tool_call_argument_begin|>',
  end: '<|tool_call_end|><|tool_calls_section_end|>',
};

const SLIPS: Slip[] = [
  {
    name: 'LFM2: quotes and brackets of another language within a string',
    tools: 'lfm2',
    text: `<|tool_call_start|>[search(query='python3 -c "f([t='b'])"')]<|tool_call_end|>`,
    told: [{ name: 'search', arguments: `{"query": "python3 -c \\"f([t='b'])\\""}` }],
  },
  {
    name: 'MiniCPM 5: tags without their space, and with the sign for it',
    tools: 'minicpm5',
    text: 'A<functionname="search"><paramname="query">a</param></function><function\u0120name="search"><param\u0120name="query">b</param><param name="limit">2</param></function>',
    told: [
      { content: 'A' },
      { name: 'search', arguments: '{"query": "a"}' },
      { name: 'search', arguments: '{"query": "b", "limit": 2}' },
    ],
  },
  {
    name: 'GLM: JSON whose quotes are escaped',
    tools: 'glm45',
    text: '<tool_call>get_weather\n<arg_key>where</arg_key>\n<arg_value>{\\"a\\": [\\"b\\"]}</arg_value>\n<arg_key>tags</arg_key>\n<arg_value>[\\"a\\"]</arg_value>\n</tool_call>',
    told: [{ name: 'get_weather', arguments: '{"where": {"a": ["b"]}, "tags": ["a"]}' }],
  },
  {
    name: 'pythonic: a string last in a list, a dictionary and a call',
    tools: 'pythonic',
    text: `[get_weather(tags=['a', ('b')], where={'c': {'d': 'e'}}), search(query='f' )] Done.`,
    told: [
      { name: 'get_weather', arguments: '{"tags": ["a", ["b"]], "where": {"c": {"d": "e"}}}' },
      { name: 'search', arguments: '{"query": "f"}' },
      { content: 'Done.' },
    ],
  },
  {
    name: 'LFM2: what the section contains, once more after its end',
    tools: 'lfm2',
    text: "<|tool_call_start|>[search(query='a')]<|tool_call_end|>[search(query='a')]<|tool_call_end|>",
    told: [{ name: 'search', arguments: '{"query": "a"}' }],
  },
  {
    name: 'LFM2: other text after the section',
    tools: 'lfm2',
    text: '<|tool_call_start|>[ping()]<|tool_call_end|>[ping] is done.',
    told: [{ name: 'ping', arguments: '{}' }, { content: '[ping] is done.' }],
  },
  {
    name: 'pythonic: calls after text, and brackets that begin none',
    tools: 'pythonic',
    text: 'See [1] and [f(x)]: [ping(), search(limit=2)]',
    told: [
      { content: 'See [1] and [f(x)]:' },
      { name: 'ping', arguments: '{}' },
      { name: 'search', arguments: '{"limit": 2}' },
    ],
  },
  {
    name: 'xLAM: calls after thoughts that no reasoning format reads, and a list that is an answer',
    tools: 'xlam',
    text: '<think>so [{"id": 1}]</think>[{"name": "search", "arguments": {"limit": 2}}]',
    told: [{ content: '<think>so [{"id": 1}]</think>' }, { name: 'search', arguments: '{"limit": 2}' }],
  },
  {
    name: 'Gemma 4: a call without braces before another',
    tools: 'gemma4',
    text: '<|tool_call>call:ping<tool_call|><|tool_call>call:search{limit:2}<tool_call|>',
    told: [
      { name: 'ping', arguments: '{}' },
      { name: 'search', arguments: '{"limit": 2}' },
    ],
  },
  {
    name: 'Kimi K2: the number of the call as its id, the tool told by its arguments',
    tools: 'kimi_k2',
    text: `${K2.begin}0${K2.arguments}{"query": "a"}${K2.end}`,
    told: [{ name: 'search', arguments: '{"query": "a"}', id: 'functions.search:0' }],
  },
  {
    name: 'Kimi K2: a number with arguments that no tool declares',
    tools: 'kimi_k2',
    text: `${K2.begin}0${K2.arguments}{"z": "a"}${K2.end}`,
    told: [{ content: `${K2.begin}0${K2.arguments}{"z": "a"}${K2.end}` }],
  },
  {
    name: 'Kimi K3: entities in keys, not in values',
    tools: 'kimi_k3',
    text: '<|open|>tools<|sep|><|open|>call tool="search" index="1"<|sep|><|open|>argument key="a&amp;&quot;" type="string"<|sep|>&amp;<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>',
    told: [{ name: 'search', arguments: '{"a&\\"": "&amp;"}' }],
  },
  {
    name: 'GLM: keys without values before another key and at the end of a call',
    tools: 'glm47',
    text: '<tool_call>search\n<arg_key>query</arg_key><arg_key>limit</arg_key><arg_value>3</arg_value></tool_call><tool_call>search<arg_key>query</arg_key>\n</tool_call><tool_call>ping</tool_call>',
    told: [
      { name: 'search', arguments: '{"limit": 3}' },
      { name: 'search', arguments: '{}' },
      { name: 'ping', arguments: '{}' },
    ],
  },
  {
    name: 'DeepSeek V3.2: values whose tag names a type that the schema does not allow',
    tools: 'deepseek_v32',
    text: '<｜DSML｜function_calls><｜DSML｜invoke name="get_weather"><｜DSML｜parameter name="days" string="true">3</｜DSML｜parameter><｜DSML｜parameter name="city" string="false">7</｜DSML｜parameter><｜DSML｜parameter name="note" string="true">null</｜DSML｜parameter></｜DSML｜invoke></｜DSML｜function_calls>',
    told: [{ name: 'get_weather', arguments: '{"days": 3, "city": "7", "note": "null"}' }],
  },
  {
    name: 'Kimi K3: the last token of the end of thoughts is missing',
    tools: 'kimi_k3',
    reasoning: 'kimi_k3',
    text: '<|open|>think<|sep|>R<|close|>think<|open|>response<|sep|>A<|close|>response<|sep|>',
    told: [{ reasoning: 'R' }, { content: 'A' }],
  },
  {
    name: 'Qwen 3: an opening tag after a line break, written twice',
    tools: 'hermes',
    reasoning: 'qwen3',
    text: '\n<think><think>\nR\n</think>\n\nA',
    told: [{ reasoning: 'R' }, { content: 'A' }],
  },
  {
    name: 'Gemma 4: space around thoughts between texts',
    tools: 'gemma4',
    reasoning: 'gemma4',
    text: '\n<|channel>thought\nR<channel|>\nA\n<|channel>thought\nS<channel|>\nB\n',
    told: [{ reasoning: 'R' }, { content: 'A' }, { reasoning: 'S' }, { content: '\n\nB\n' }],
  },
  {
    name: 'MiniMax M3: a closing tag after a line break, without thoughts',
    tools: 'minimax_m3',
    reasoning: 'minimax_m3',
    text: '\n</mm:think>A',
    told: [{ content: 'A' }],
  },
  {
    name: 'PLaMo 3: a second block of thoughts, and an end tag twice',
    tools: 'plamo3',
    reasoning: 'plamo3',
    text: '<|plamo:begin_think:plamo|>R<|plamo:end_think:plamo|>A<|plamo:end_think:plamo|>B<|plamo:begin_think:plamo|>S<|plamo:end_think:plamo|>C',
    told: [{ reasoning: 'R' }, { content: 'AB' }, { reasoning: 'S' }, { content: 'C' }],
  },
];

it.each(SLIPS)('$name', ({ tools, reasoning = null, text, told: wanted }) => {
  const format = formatOf(tools, reasoning);
  expect(told(piecesOf([text]), format)).toEqual(wanted);
  expect(told(piecesOf(Array.from(text)), format)).toEqual(wanted);
});
