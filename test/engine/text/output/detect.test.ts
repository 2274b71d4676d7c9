// Formats detected from templates. The excerpts are from real templates (test/golden/chat-templates.json).

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { describeFormat, detectFormats, outputFormat } from '../../../../src/engine/text/output/detect.ts';
import { TOOL_FORMATS } from '../../../../src/engine/text/output/tool-formats.ts';

interface Excerpt {
  model: string;
  tools: string | null;
  reasoning: string | null;
  /** Lines of its chat template about calls and reasoning. */
  excerpt: string;
}

const excerpts = JSON.parse(
  readFileSync(new URL('../../../golden/chat-templates.json', import.meta.url), 'utf8'),
) as Excerpt[];

describe('a chat template', () => {
  it.each(excerpts)('of $model tells $tools and $reasoning', ({ excerpt, tools, reasoning }) => {
    expect(detectFormats(excerpt, () => false)).toEqual({ tools, reasoning });
  });

  it('of every format is among them, but for those that only a name chooses', () => {
    const seen = new Set(excerpts.map(({ tools }) => tools));
    const unseen = [...TOOL_FORMATS.keys()].filter((name) => !seen.has(name));
    expect(unseen.toSorted()).toEqual([
      'deepseek_v41',
      'dots',
      'functiongemma',
      'gigachat35',
      'granite_20b_fc',
      'hunyuan',
      'inkling',
      'interns1',
      'iquest_q1',
      'json',
      'k2_horizon',
      'kimi_k3',
      'longcat',
      'longcat_tags',
      'mimo',
      'minicpm5',
      'minimax_m1',
      'minimax_m2',
      'minimax_m3',
      'olmo3',
      'plamo3',
      'pythonic',
      'step3',
      'xlam',
    ]);
  });

  it.each([
    ['<tool_call>f<tool_sep><arg_key>', 'hunyuan'],
    ['<｜tool_sep｜><steptml:invoke name=', 'step3'],
    ['<function name="f"><param name="a">', 'minicpm5'],
    ['<|action_start|><|plugin|>', 'interns1'],
    ['<start_function_call>call:{{ name }}', 'functiongemma'],
    ['{{ "<function_calls>" + calls }}', 'olmo3'],
    ['<longcat_tool_call>{"name": f, "arguments": {}}', 'longcat'],
    ['<longcat_tool_call>f\n<longcat_arg_key>', 'longcat_tags'],
    ['<ifm|tool_calls><ifm|tool_call>', 'k2_horizon'],
    ['<dots_function_call>\n<invoke name=', 'dots'],
    [']<]minimax[>[<tool_call>]<]minimax[>[<invoke name=', 'minimax_m3'],
    ["{{ '<|open|>tools<|sep|>' }}", 'kimi_k3'],
    ['<｜DSML｜ calls><｜DSML｜ invoke name=', 'deepseek_v41'],
    ['<｜GCML｜tool_calls><｜GCML｜invoke name=', 'gigachat35'],
    ['<iquest_tool_call>f<arg_key>', 'iquest_q1'],
    ['<|plamo:begin_tool_requests:plamo|>', 'plamo3'],
    ['<|message_model|><|content_invoke_tool_json|>', 'inkling'],
    ['<tool_calls>[{"name": f}]</tool_calls>', 'apriel'],
    ['<tool_calls>\n{"name": f}\n</tool_calls>', 'minimax_m1'],
    ["{{ '<function_call> ' + call }}", 'granite_20b_fc'],
  ])('with %s tells %s', (template, tools) => {
    expect(detectFormats(template, () => false).tools).toBe(tools);
  });

  it('of Granite 3.2 tells its sentences', () => {
    const template = "Write your thoughts after 'Here is my thought process:' … <|tool_call|>";
    expect(detectFormats(template, () => false)).toEqual({ tools: 'granite', reasoning: 'granite3.2' });
  });

  it.each([
    ['<think>{{ r }}</think><response>{{ a }}</response><tool_call>', 'ernie45'],
    ['<think>{{ r }}</think><answer>{{ a }}</answer>', 'hunyuan_a13b'],
    ['{{ "<longcat_think>" }}', 'longcat'],
    ['{{ "<ifm|think>" }}', 'k2_horizon'],
    ["{{ '<|open|>think<|sep|>' }}", 'kimi_k3'],
    ['<mm:think>{{ r }}</mm:think>', 'minimax_m3'],
    ['<|plamo:begin_think:plamo|>', 'plamo3'],
    ['<|message_model|><|content_thinking|>', 'inkling'],
    ['</think><｜DSML｜tool_calls>', 'qwen3'],
  ])('with %s tells the reasoning of %s', (template, reasoning) => {
    expect(detectFormats(template, () => false).reasoning).toBe(reasoning);
  });

  it('that is silent leaves it to the vocabulary', () => {
    const tokens = ['<think>', '</think>', '<|tool_call_start|>', '<|tool_call_end|>'];
    expect(detectFormats('', (text) => tokens.includes(text))).toEqual({ tools: 'lfm2', reasoning: 'think' });
    expect(detectFormats('', () => false)).toEqual({ tools: null, reasoning: null });
  });
});

describe('a format chosen by name', () => {
  const detected = { tools: 'hermes', reasoning: 'qwen3' };
  const named = (tools?: string, reasoning?: string) =>
    describeFormat(outputFormat({ tools, reasoning }, detected));

  it('precedes the detected one', () => {
    expect(named()).toEqual(detected);
    expect(named('llama3', 'none')).toEqual({ tools: 'llama3', reasoning: null });
    expect(named('qwen25', 'deepseek-r1')).toEqual({ tools: 'hermes', reasoning: 'deepseek_r1' });
    expect(named('mimo', 'mimo')).toEqual({ tools: 'mimo', reasoning: 'think' });
    expect(named('poolside_v1', 'poolside_v1')).toEqual({ tools: 'glm45', reasoning: 'think' });
    expect(named('interns1', 'interns1')).toEqual({ tools: 'interns1', reasoning: 'qwen3' });
    expect(named('minimax-m2', 'minimax')).toEqual({ tools: 'minimax_m2', reasoning: 'qwen3_thinking' });
    expect(named('olmo3', 'olmo3')).toEqual({ tools: 'olmo3', reasoning: 'think' });
    expect(named('internlm', 'granite')).toEqual({ tools: 'interns1', reasoning: 'granite' });
    expect(named('granite4', 'granite3.2')).toEqual({ tools: 'hermes', reasoning: 'granite3.2' });
    expect(named('ernie45', 'ernie45')).toEqual({ tools: 'hermes', reasoning: 'ernie45' });
    expect(named('hunyuan_a13b', 'hunyuan_a13b')).toEqual({ tools: 'apriel', reasoning: 'hunyuan_a13b' });
    expect(named('hy_v3', 'nemotron_v3')).toEqual({ tools: 'hunyuan', reasoning: 'nemotron_3' });
    expect(named('minimax', 'minimax_m2')).toEqual({ tools: 'minimax_m1', reasoning: 'qwen3_thinking' });
    expect(named('hy_v4', 'ling3')).toEqual({ tools: 'hunyuan', reasoning: 'glm45' });
    expect(named('ling3', 'deepseek_v41')).toEqual({ tools: 'glm47', reasoning: 'qwen3' });
    expect(named('minimax-m3', 'minimax-m3')).toEqual({ tools: 'minimax_m3', reasoning: 'minimax_m3' });
    expect(named('openai', 'openai_gptoss')).toEqual({ tools: 'gpt-oss', reasoning: 'gpt-oss' });
    expect(named('gpt-oss')).toEqual({ tools: 'gpt-oss', reasoning: 'gpt-oss' });
  });

  it('is refused with the known names if it is unknown', () => {
    expect(() => named('hermess')).toThrow(/`toolCallParser` hermess .*hermes, .*kimi_k2.*none/);
    expect(() => named(undefined, 'thinking')).toThrow(/`reasoningParser` thinking .*deepseek_r1/);
  });
});
