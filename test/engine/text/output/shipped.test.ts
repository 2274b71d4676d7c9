// The model that ships, asked with tools and for its reasoning.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fileURLToPath } from 'node:url';
import { nodePlatform } from '../../../../src/engine/platform-node.ts';
import { openTextModelInline } from '../../../../src/engine/text/open.ts';
import type { TextEvent, TextModel, TextRequest, Tool } from '../../../../src/engine/text/text-model.ts';

const WEATHER: Tool = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'The weather of a city',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
};

let model: TextModel;
beforeAll(async () => {
  const path = fileURLToPath(new URL('../../../../models/svc-chat-mini', import.meta.url));
  model = await openTextModelInline(nodePlatform, { model: path, memoryBudget: 2 ** 29 });
}, 120_000);
afterAll(() => model?.close());

async function events(request: Partial<TextRequest> & Pick<TextRequest, 'prompt'>): Promise<TextEvent[]> {
  const all: TextEvent[] = [];
  for await (const event of model.generate({ temperature: 0, maxTokens: 120, ...request })) all.push(event);
  return all;
}

function said(all: TextEvent[], type: 'delta' | 'reasoning'): string {
  return all.map((event) => (event.type === type ? event.text : '')).join('');
}

const asks = (content: string) => [{ role: 'user' as const, content }];

describe('svc-chat-mini', () => {
  it('says which formats it writes', () => {
    expect(model.info.outputFormat).toEqual({ tools: 'hermes', reasoning: 'qwen3' });
  });

  it('calls a tool: name first, then arguments, and ends with tool_calls', async () => {
    const all = await events({
      prompt: { messages: asks('What is the weather in Paris?'), tools: [WEATHER] },
    });
    const calls = all.filter((event) => event.type === 'toolCall');
    expect(calls[0]).toMatchObject({ call: 0, name: 'get_weather' });
    expect(calls[0]?.id).toMatch(/^call_[\da-f]{24}$/);
    expect(JSON.parse(calls.map((call) => call.arguments).join(''))).toEqual({ city: 'Paris' });
    expect(said(all, 'delta')).toBe('');
    const done = all.at(-1);
    expect(done).toMatchObject({ type: 'done', finishReason: 'tool_calls' });
    const ids = all.flatMap((event) => ('ids' in event ? event.ids : []));
    expect(done).toMatchObject({ completionTokens: ids.length });
  });

  it('answers with what the tool said', async () => {
    const all = await events({
      prompt: {
        messages: [
          ...asks('What is the weather in Paris?'),
          {
            role: 'assistant',
            content: null,
            tool_calls: [{ id: 'call_1', function: { name: 'get_weather', arguments: '{"city": "Paris"}' } }],
          },
          { role: 'tool', tool_call_id: 'call_1', content: '{"weather": "sunny"}' },
        ],
        tools: [WEATHER],
      },
    });
    expect(said(all, 'delta')).toContain('sunny');
    expect(all.at(-1)).toMatchObject({ finishReason: 'stop' });
  });

  it('with none, sees no tools and calls none', async () => {
    const all = await events({
      prompt: { messages: asks('What is the weather in Paris?'), tools: [WEATHER] },
      toolChoice: 'none',
    });
    expect(all.some(({ type }) => type === 'toolCall')).toBe(false);
  });

  it('tells reasoning apart, and counts it', async () => {
    const prompt = { messages: asks('What is 27 + 45?'), templateKwargs: { enable_thinking: true } };
    const apart = await events({ prompt });
    const done = apart.at(-1);
    expect(said(apart, 'reasoning')).not.toBe('');
    expect(said(apart, 'delta')).toContain('72');
    const reasoning = apart.flatMap((event) => (event.type === 'reasoning' ? event.ids : []));
    const counted = done?.type === 'done' ? (done.reasoningTokens ?? 0) : 0;
    expect(counted).toBeGreaterThanOrEqual(reasoning.length);
    expect(counted).toBeLessThan(done?.type === 'done' ? done.completionTokens : 0);

    const together = await events({ prompt, reasoning: { separate: false } });
    expect(said(together, 'reasoning')).toBe('');
    expect(said(together, 'delta')).toContain(said(apart, 'reasoning'));
    expect(said(together, 'delta')).toMatch(/^<think>[^]*<\/think>/);

    const once = await events({ prompt, reasoning: { stream: false } });
    const whole = once.filter(({ type }) => type === 'reasoning');
    expect(whole).toHaveLength(1);
    expect(said(once, 'reasoning')).toBe(said(apart, 'reasoning'));
  });

  it('is told by the effort none not to think', async () => {
    const all = await events({
      prompt: { messages: asks('What is 27 + 45?') },
      reasoning: { effort: 'none' },
    });
    expect(said(all, 'reasoning')).toBe('');
    expect(all.at(-1)).toMatchObject({ reasoningTokens: 0 });
  });

  it('goes on with an unfinished answer', async () => {
    const messages = [...asks('What is the capital of France?')];
    const whole = said(await events({ prompt: { messages } }), 'delta');
    const half = whole.slice(0, whole.indexOf(' ', whole.length / 2));
    const rest = await events({
      prompt: { messages: [...messages, { role: 'assistant', content: half }], continueFinal: true },
    });
    expect(half + said(rest, 'delta')).toBe(whole);
  });
});
