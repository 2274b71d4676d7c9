// Prompts of gpt-oss against openai-harmony (scripts/reference/harmony.py), and what the published template refuses.

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { renderHarmony } from '../../../src/files/template/harmony.ts';
import { openChatTemplate } from '../../../src/files/template/template.ts';
import type { TemplateMessage } from '../../../src/files/template/template-messages.ts';

interface Case {
  messages: TemplateMessage[];
  tools: object[];
  effort: string;
  prompt: string;
}

const golden = JSON.parse(readFileSync(new URL('../../golden/harmony.json', import.meta.url), 'utf8')) as {
  date: string;
  conversations: Case[];
};
const [year, month, day] = golden.date.split('-').map(Number);
const DATE = new Date(year!, month! - 1, day);

it.each(golden.conversations.map((of, nth) => ({ nth, ...of })))(
  'conversation $nth is rendered as openai-harmony renders it',
  ({ messages, tools, effort, prompt }) => {
    expect(renderHarmony({ messages, tools, kwargs: { reasoning_effort: effort } }, DATE)).toBe(prompt);
  },
);

/** Renders what the published template renders of conversations without tools. */
const template = (identity: string): string => `
{{- "<|start|>system<|message|>${identity}\\nKnowledge cutoff: 2024-06\\nCurrent date: " }}
{{- strftime_now("%Y-%m-%d") + "\\n\\nReasoning: " + reasoning_effort + "\\n\\n" }}
{{- "# Valid channels: analysis, commentary, final. Channel must be included for every message.<|end|>" }}
{%- for message in messages %}
  {%- if message.role == "assistant" %}
    {%- if message.thinking and message.content and message.tool_calls %}{{ raise_exception("not both") }}{% endif %}
    {{- "<|start|>assistant<|channel|>final<|message|>" + message.content + "<|end|>" }}
  {%- else %}
    {{- "<|start|>" + message.role + "<|message|>" + message.content + "<|end|>" }}
  {%- endif %}
{%- endfor %}
{{- "<|start|>assistant" }}`;

const CALL = { id: 'a', type: 'function', function: { name: 'ping', arguments: '{}' } };
const CALLED: TemplateMessage[] = [
  { role: 'user', content: 'Ping' },
  { role: 'assistant', reasoning_content: 'A call.', content: 'I ping.', tool_calls: [CALL] },
  { role: 'tool', tool_call_id: 'a', content: 'pong "1"' },
];
const open = (identity: string) => openChatTemplate({ default: template(identity) }, {});

describe('a checkpoint whose template renders harmony', () => {
  const usual = open('You are ChatGPT, a large language model trained by OpenAI.');

  it('takes reasoning, text and calls of one message', () => {
    expect(usual.render({ messages: CALLED, kwargs: { reasoning_effort: 'high' } })).toContain(
      'Reasoning: high\n\n# Valid channels: analysis, commentary, final. Channel must be included for every message.<|end|>' +
        '<|start|>user<|message|>Ping<|end|>' +
        '<|start|>assistant<|channel|>analysis<|message|>A call.<|end|>' +
        '<|start|>assistant<|channel|>commentary<|message|>I ping.<|end|>' +
        '<|start|>assistant to=functions.ping<|channel|>commentary json<|message|>{}<|call|>' +
        '<|start|>functions.ping to=assistant<|channel|>commentary<|message|>pong "1"<|end|><|start|>assistant',
    );
  });

  it('takes parts, an identity, and system messages between turns', () => {
    const messages: TemplateMessage[] = [
      { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
      { role: 'system', content: 'Be brief.' },
    ];
    const text = usual.render({ messages, kwargs: { model_identity: 'You are Tim.' } });
    expect(text).toMatch(/^<\|start\|>system<\|message\|>You are Tim\.\nKnowledge cutoff: /);
    expect(text).toContain(
      '<|start|>user<|message|>Hi<|end|><|start|>developer<|message|># Instructions\n\nBe brief.<|end|>',
    );
  });

  it('refuses variables that are not text', () => {
    const rendering = { messages: [{ role: 'user', content: 'Hi' }], kwargs: { model_identity: ['Tim'] } };
    expect(() => usual.render(rendering)).toThrow(/chat_template_kwargs\.model_identity is \["Tim"\]/);
  });

  it('refuses a result without its call', () => {
    const messages = [{ role: 'user', content: 'Hi' }, CALLED[2]!];
    expect(() => usual.render({ messages })).toThrow(/messages\.1 is the result of a call.*tool_calls/);
  });
});

it('a harmony template with an identity of its own is used as it is', () => {
  const own = open('You are Tim.');
  expect(() => own.render({ messages: CALLED, kwargs: { reasoning_effort: 'low' } })).toThrow('not both');
});
