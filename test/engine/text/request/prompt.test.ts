// Where a reply begins, with each way of opening reasoning, and how an unfinished message is continued.

import { describe, expect, it } from 'vitest';
import { HARMONY, REASONING_FORMATS } from '../../../../src/engine/text/output/reasoning-formats.ts';
import { beginsAfter, renderConversation } from '../../../../src/engine/text/request/prompt.ts';
import { thinkingTags } from '../../../../src/engine/text/output/reply-plan.ts';
import type { ChatMessage } from '../../../../src/engine/text/calls/text-model.ts';
import { EngineError } from '../../../../src/files/error.ts';
import { openChatTemplate, type ChatRendering } from '../../../../src/files/template/template.ts';

const think = REASONING_FORMATS.get('qwen3')!;
const always = REASONING_FORMATS.get('deepseek_r1')!;
const harmony = thinkingTags({ tools: null, reasoning: null, channels: HARMONY })!;

describe('the end of a prompt', () => {
  it.each([
    ['<|im_start|>assistant\n', 'undecided', 'reasoning'],
    ['<|im_start|>assistant\n<think>\n', 'reasoning', 'reasoning'],
    ['<|im_start|>assistant\n<think>\n\n</think>\n\n', 'closed', 'closed'],
    ['<｜Assistant｜></think>', 'closed', 'closed'],
    ['<think> is a tag<|im_start|>assistant\n', 'undecided', 'reasoning'],
  ] as const)('%j: %s, or %s where a model always thinks', (prompt, plain, forced) => {
    expect(beginsAfter(prompt, think)).toBe(plain);
    expect(beginsAfter(prompt, always)).toBe(forced);
    expect(beginsAfter(prompt, null)).toBe('undecided');
  });
});

async function continued(opening: string, message: Partial<ChatMessage>, tags: typeof think | null) {
  const source = `{% for m in messages %}{{ m.role }}: {{ m.content }};{% endfor %}{% if add_generation_prompt %}${opening}{% endif %}`;
  const messages: ChatMessage[] = [
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content: null, ...message },
  ];
  const template = openChatTemplate({ default: source }, {});
  const render = (rendering: ChatRendering) => template.render(rendering);
  const { text, begins, said } = await renderConversation({ messages, continueFinal: true }, render, tags);
  expect(said).toBe(begins === 'answer' ? message.content : '');
  return [text.replace('user: Hi;', ''), begins];
}

describe('an unfinished message', () => {
  const both = { content: 'So', reasoning_content: 'Hm' };

  it('is continued in its answer', async () => {
    expect(await continued('A:', { content: 'So' }, null)).toEqual(['A:So', 'answer']);
    expect(await continued('A:', { content: 'So' }, think)).toEqual(['A:So', 'answer']);
    expect(await continued('A:<think>\n', { content: 'So' }, think)).toEqual([
      'A:<think>\n\n</think>\n\nSo',
      'answer',
    ]);
    expect(await continued('A:<think>\n', both, think)).toEqual(['A:<think>\nHm\n</think>\n\nSo', 'answer']);
    expect(await continued('A:', both, think)).toEqual(['A:<think>\nHm\n</think>\n\nSo', 'answer']);
    expect(await continued('A:<think>\n\n</think>\n\n', both, think)).toEqual([
      'A:<think>\nHm\n</think>\n\nSo',
      'answer',
    ]);
    expect(await continued('A:<think>\n\n</think>\n\n', { content: 'So' }, think)).toEqual([
      'A:<think>\n\n</think>\n\nSo',
      'answer',
    ]);
  });

  it('is continued in its reasoning', async () => {
    expect(await continued('A:', { reasoning_content: 'Hm', content: '' }, think)).toEqual([
      'A:<think>\nHm',
      'reasoning',
    ]);
  });

  it('has its channels', async () => {
    const opening = '<|start|>assistant';
    expect(await continued(opening, { content: 'So' }, harmony)).toEqual([
      '<|start|>assistant<|channel|>final<|message|>So',
      'answer',
    ]);
    expect(await continued(opening, both, harmony)).toEqual([
      '<|start|>assistant<|channel|>analysis<|message|>Hm<|end|><|start|>assistant<|channel|>final<|message|>So',
      'answer',
    ]);
  });

  it('needs a message before it where the template does', async () => {
    const render = (source: string) => {
      const template = openChatTemplate({ default: source }, {});
      const messages: ChatMessage[] = [{ role: 'assistant', content: 'So' }];
      const rendered = (rendering: ChatRendering) => template.render(rendering);
      return renderConversation({ messages, continueFinal: true }, rendered, null);
    };
    await expect(render('{{ messages[0].role }}A:')).rejects.toMatchObject({
      code: 'bad_request',
      param: 'messages',
      message: expect.stringMatching(/only the assistant's message.*send the user's/) as string,
    });
    expect((await render('A:')).text).toBe('A:So');
  });

  it.each([
    [{ role: 'user', content: 'x' }, 'messages.1.role'],
    [{ content: [{ type: 'text', text: 'x' }] }, 'messages.1.content'],
    [{ tool_calls: [{ function: { name: 'f', arguments: '{}' } }] }, 'messages.1.tool_calls'],
  ] as [Partial<ChatMessage>, string][])('%j is refused', async (message, param) => {
    await expect(continued('A:', message, think)).rejects.toThrow(EngineError);
    await expect(continued('A:', message, think)).rejects.toMatchObject({ param });
  });
});
