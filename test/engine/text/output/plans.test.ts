// The reply plan of a request with tools and reasoning, for each model.

import { describe, expect, it, test } from 'vitest';
import { outputFormat } from '../../../../src/engine/text/output/detect.ts';
import { planReply } from '../../../../src/engine/text/output/reply-plan.ts';
import { planThinking } from '../../../../src/engine/text/output/reply-plan.ts';
import { planTools } from '../../../../src/engine/text/output/reply-plan.ts';
import type { ReasoningOptions, TextRequest } from '../../../../src/engine/text/calls/text-model.ts';
import { openChatTemplate } from '../../../../src/files/template/template.ts';
import { openTokenizer } from '../../../../src/files/tokenizer/tokenizer.ts';
import { byteLevel } from '../../../files/tokenizer/small-tokenizers.ts';
import { TOOLS } from './feed.ts';

const formats = (tools: string | undefined, reasoning?: string) =>
  outputFormat({ tools, reasoning }, { tools: null, reasoning: null });

const messages = [{ role: 'user' as const, content: 'Hi' }];
const asks = (rest: Partial<TextRequest>): TextRequest => ({ prompt: { messages, tools: TOOLS }, ...rest });
const template = (variables: string) =>
  openChatTemplate(
    {
      default: `{% for m in messages %}{{ m.content }}{% endfor %}{% if ${variables || 'false'} %}{% endif %}`,
    },
    {},
  );

test('a variable of the template makes reasoning the answer', () => {
  const fills = (reasoning: string, templateKwargs: Record<string, unknown>): boolean =>
    planReply(
      { prompt: { messages, templateKwargs } },
      {
        output: formats('hermes', reasoning),
        template: template(''),
        tokenizer: openTokenizer(byteLevel()),
        name: 'm',
      },
    ).fills;
  expect(fills('nemotron_3', { force_nonempty_content: true })).toBe(true);
  expect(fills('nemotron_3', { force_nonempty_content: false })).toBe(false);
  expect(fills('nemotron_3', {})).toBe(false);
  expect(fills('qwen3', { force_nonempty_content: true })).toBe(false);
});

describe('tools of a request', () => {
  const hermes = formats('hermes');
  const plan = (rest: Partial<TextRequest>) => {
    const { tools, ...others } = planTools(asks(rest));
    return { names: tools.map((tool) => tool.function.name), ...others };
  };

  it('are those that may be called', () => {
    const names = ['get_weather', 'search', 'ping'];
    expect(plan({})).toEqual({ names, mode: 'auto', single: false });
    expect(plan({ toolChoice: 'none' })).toEqual({ names: [], mode: 'none', single: false });
    expect(plan({ toolChoice: 'required', parallelToolCalls: false })).toEqual({
      names,
      mode: 'required',
      single: true,
    });
    expect(plan({ toolChoice: { name: 'ping' } })).toEqual({
      names: ['ping'],
      mode: 'required',
      single: true,
    });
    expect(plan({ toolChoice: { mode: 'auto', names: ['ping', 'search'] } })).toEqual({
      names: ['ping', 'search'],
      mode: 'auto',
      single: false,
    });
    expect(planTools({ prompt: { messages } }).mode).toBe('none');
  });

  it('include the one that a choice names, or the request is refused', () => {
    expect(() => plan({ toolChoice: { name: 'x' } })).toThrow(/"x", and the tools are get_weather/);
    expect(() => planTools({ prompt: { messages }, toolChoice: 'required' })).toThrow(/no tools/);
    expect(() => planTools({ prompt: { text: 'a' }, toolChoice: { name: 'x' } })).toThrow(/no tools/);
  });

  it('are called in JSON if the model writes no known format', () => {
    const tokenizer = openTokenizer(byteLevel());
    const context = { output: formats(undefined), tokenizer, name: 'm', template: template('') };
    const plan = planReply(asks({}), context);
    expect([plan.tools.mode, plan.format.tools?.name]).toEqual(['auto', 'json']);
    expect(plan.prompt).toMatchObject({
      messages: [{ content: expect.stringMatching(/"ping".*nothing but JSON: \[\{"name": .*\n\nHi$/s) }],
    });
  });

  it('are listed in the first message if the template knows none', () => {
    const tokenizer = openTokenizer(byteLevel());
    const context = { output: hermes, tokenizer, name: 'm' };
    const shown = planReply(asks({}), { ...context, template: template('') }).prompt;
    expect(shown).toMatchObject({ messages: [{ content: expect.stringMatching(/"ping".*\n\nHi$/s) }] });
    expect(shown).not.toHaveProperty('tools');
    expect(planReply(asks({}), { ...context, template: template('tools') }).prompt).toEqual({
      messages,
      tools: TOOLS,
    });
  });
});

describe('reasoning in a request', () => {
  const plan = (options: ReasoningOptions, reasoning: string | undefined, variables = '') => {
    const format = reasoning === 'gpt-oss' ? formats('gpt-oss') : formats(undefined, reasoning);
    const { kwargs, budget } = planThinking(options, format, template(variables), 'm');
    return [kwargs, budget];
  };

  it.each([
    [{}, 'think', 'reasoning_effort', {}, null],
    [{}, 'gpt-oss', 'reasoning_effort', { reasoning_effort: 'medium' }, null],
    [{ effort: 'high' }, 'gpt-oss', 'reasoning_effort', { reasoning_effort: 'high' }, null],
    [{ effort: 'xhigh' }, 'gpt-oss', 'reasoning_effort', { reasoning_effort: 'high' }, null],
    [{ effort: 'minimal' }, 'gpt-oss', 'reasoning_effort', { reasoning_effort: 'low' }, null],
    [{ effort: 'medium' }, undefined, '', {}, null],
    [{ effort: 'medium' }, 'think', 'enable_thinking', {}, null],
    [{ effort: 'low' }, 'think', 'enable_thinking', { enable_thinking: true }, 1024],
    [{ effort: 'high' }, 'think', '', {}, 8192],
    [{ effort: 'low', budget: 7 }, 'think', '', {}, 7],
    [{ effort: 'none' }, 'think', 'thinking', { thinking: false }, null],
    [{ effort: 'none' }, 'deepseek_r1', '', {}, 0],
    [{ effort: 'none' }, undefined, '', {}, null],
    [{ budget: 5 }, 'mistral', '', {}, 5],
  ] as const)(
    'is %j of a model with %s whose template reads %j',
    (options, reasoning, reads, kwargs, budget) => {
      expect(plan(options, reasoning, reads)).toEqual([kwargs, budget]);
    },
  );

  it('is refused of a model that has none', () => {
    expect(() => plan({ effort: 'low' }, undefined)).toThrow(/effort low, and m has no reasoning/);
    expect(() => plan({ budget: 5 }, undefined)).toThrow(/5 tokens, and m has no reasoning/);
    expect(() => plan({ effort: 'none' }, 'gpt-oss')).toThrow(/m always thinks/);
  });
});
