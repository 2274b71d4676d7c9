// The shipped model with tools and with reasoning.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fileURLToPath } from 'node:url';
import { nodePlatform } from '../../../../src/host/node/platform.ts';
import { openInline } from '../../../../src/host/open.ts';
import { TEXT } from '../../../../src/host/kinds/text.ts';
import type {
  TextEvent,
  TextModel,
  TextRequest,
  Tool,
} from '../../../../src/engine/text/calls/text-model.ts';

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
  model = await openInline(TEXT, nodePlatform, { model: path, memoryBudget: 2 ** 29 });
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

describe('svc-chat-mini with tools and reasoning', () => {
  it('states which formats it writes', () => {
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
    expect(done).toMatchObject({ type: 'done', finishReason: 'tool_calls', matchedStop: null });
    const ids = all.flatMap((event) => ('ids' in event ? event.ids : []));
    expect(done).toMatchObject({ completionTokens: ids.length });
  });

  it('calls with an object once it has begun one, whatever its sampling prefers', async () => {
    // A bias that makes it write commas in place of colons.
    const [comma] = await model.tokenize('",', { addSpecialTokens: false });
    const all = await events({
      prompt: { messages: asks('What is the weather in Paris?'), tools: [WEATHER] },
      logitBias: { [comma!]: 12 },
    });
    const calls = all.flatMap((event) => (event.type === 'toolCall' && event.call === 0 ? [event] : []));
    expect(JSON.parse(calls.map((call) => call.arguments).join(''))).toMatchObject({ city: 'Paris' });
  });

  it('answers with the result of the tool', async () => {
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

  it('sees no tools and calls none with the choice none', async () => {
    const all = await events({
      prompt: { messages: asks('What is the weather in Paris?'), tools: [WEATHER] },
      toolChoice: 'none',
    });
    expect(all.some(({ type }) => type === 'toolCall')).toBe(false);
  });

  it('separates reasoning, and counts it', async () => {
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

  it('does not think with the effort none', async () => {
    const all = await events({
      prompt: { messages: asks('What is 27 + 45?') },
      reasoning: { effort: 'none' },
    });
    expect(said(all, 'reasoning')).toBe('');
    expect(all.at(-1)).toMatchObject({ reasoningTokens: 0 });
  });

  it('continues an unfinished answer', async () => {
    const messages = [...asks('What is the capital of France?')];
    const whole = said(await events({ prompt: { messages } }), 'delta');
    const half = whole.slice(0, whole.indexOf(' ', whole.length / 2));
    const rest = await events({
      prompt: { messages: [...messages, { role: 'assistant', content: half }], continueFinal: true },
    });
    expect(half + said(rest, 'delta')).toBe(whole);
  });

  const SEARCH: Tool = {
    type: 'function',
    function: {
      name: 'search',
      description: 'Looks something up',
      strict: true,
      parameters: {
        type: 'object',
        properties: {
          query: { type: 'string', maxLength: 20 },
          limit: { type: 'integer', minimum: 1, maximum: 9 },
        },
        required: ['query', 'limit'],
        additionalProperties: false,
      },
    },
  };
  const argumentsOf = (all: TextEvent[], call = 0): unknown =>
    JSON.parse(
      all.map((event) => (event.type === 'toolCall' && event.call === call ? event.arguments : '')).join(''),
    );
  const namesOf = (all: TextEvent[]): string[] =>
    all.flatMap((event) => (event.type === 'toolCall' && event.name ? [event.name] : []));

  it('calls where a call is required, with arguments that fit', async () => {
    const prompt = { messages: asks('Tell me a joke.'), tools: [WEATHER, SEARCH] };
    for (const seed of [1, 2, 3]) {
      const all = await events({
        prompt,
        toolChoice: 'required',
        parallelToolCalls: false,
        temperature: 1.5,
        seed,
      });
      expect(namesOf(all)).toHaveLength(1);
      expect(argumentsOf(all)).toEqual(
        namesOf(all)[0] === 'search'
          ? { query: expect.any(String), limit: expect.any(Number) }
          : expect.objectContaining({ city: expect.any(String) }),
      );
      expect(all.at(-1)).toMatchObject({ finishReason: 'tool_calls' });
    }
  });

  it('calls the tool that is named, once', async () => {
    const all = await events({
      prompt: { messages: asks('What is the weather in Paris?'), tools: [WEATHER, SEARCH] },
      toolChoice: { name: 'search' },
    });
    expect(namesOf(all)).toEqual(['search']);
    const { query, limit } = argumentsOf(all) as { query: string; limit: number };
    expect(query.length).toBeLessThanOrEqual(20);
    expect(limit >= 1 && limit <= 9 && Number.isInteger(limit)).toBe(true);
  });

  it('calls a strict tool as its parameters say, or answers', async () => {
    const prompt = { messages: asks('Search for cats.'), tools: [SEARCH] };
    const all = await events({ prompt, temperature: 1, seed: 4 });
    if (namesOf(all).length > 0) expect(argumentsOf(all)).toMatchObject({ limit: expect.any(Number) });
    else expect(said(all, 'delta')).not.toBe('');
    await expect(
      events({
        prompt: {
          messages: asks('Hi'),
          tools: [
            { ...SEARCH, function: { ...SEARCH.function, parameters: { not: { $ref: 'other.json' } } } },
          ],
        },
      }),
    ).rejects.toMatchObject({
      code: 'bad_request',
      param: expect.stringMatching(/^tools\.0\.function\.parameters/),
    });
  });

  it('calls behind an answer that it continues, where a call is required', async () => {
    const messages = [
      ...asks('What is the weather in Paris?'),
      { role: 'assistant' as const, content: 'Let me look.' },
    ];
    for (const constraint of [undefined, { type: 'json_object' } as const]) {
      const all = await events({
        prompt: { messages, tools: [WEATHER], continueFinal: true },
        toolChoice: 'required',
        ...(constraint && { constraint }),
      });
      expect(namesOf(all)).toContain('get_weather');
      expect(said(all, 'delta').trim()).toBe('');
      expect(all.at(-1)).toMatchObject({ finishReason: 'tool_calls' });
    }
  });

  it('continues an answer in its format, and refuses one that cannot have it', async () => {
    const going = (content: string) => ({
      prompt: {
        messages: [...asks('Name a city.'), { role: 'assistant' as const, content }],
        continueFinal: true,
      },
    });
    const schema = {
      type: 'object',
      properties: { city: { type: 'string', maxLength: 12 }, big: { type: 'boolean' } },
      required: ['city', 'big'],
      additionalProperties: false,
    };
    for (const begun of ['{"city": "Par', '{\n  "city":']) {
      const all = await events({ ...going(begun), constraint: { type: 'json_schema', schema } });
      expect(JSON.parse(begun + said(all, 'delta'))).toMatchObject({ city: expect.any(String) });
    }
    const all = await events({ ...going('Pa'), constraint: { type: 'regex', pattern: 'Paris|Rome' } });
    expect(said(all, 'delta')).toBe('ris');
    await expect(events({ ...going('Sure: '), constraint: { type: 'json_object' } })).rejects.toMatchObject({
      code: 'bad_request',
      param: 'messages',
      message: expect.stringContaining('"S"'),
    });
  });

  it('calls or answers where both tools and a format are given', async () => {
    const schema = {
      type: 'object',
      properties: { city: { type: 'string', maxLength: 12 } },
      required: ['city'],
      additionalProperties: false,
    };
    const constraint = { type: 'json_schema', schema } as const;
    const tools = [WEATHER];
    const call = await events({
      prompt: { messages: asks('What is the weather in Paris?'), tools },
      constraint,
    });
    expect(namesOf(call)).toEqual(['get_weather']);
    const answer = await events({
      prompt: { messages: asks('What is the weather in Paris?'), tools },
      toolChoice: 'none',
      constraint,
    });
    expect(Object.keys(JSON.parse(said(answer, 'delta')) as object)).toEqual(['city']);
  });

  it('thinks before it answers in a format, and no longer than its budget', async () => {
    const prompt = { messages: asks('What is 27 + 45?'), templateKwargs: { enable_thinking: true } };
    const constraint = { type: 'regex', pattern: '(\\{"sum": \\d{1,3}\\})' } as const;
    const free = await events({ prompt, constraint });
    expect(said(free, 'reasoning')).not.toBe('');
    expect(said(free, 'delta')).toMatch(/^\{"sum": \d{1,3}\}$/);

    const brief = await events({ prompt, reasoning: { budget: 5 } });
    const done = brief.at(-1);
    expect(said(brief, 'reasoning').length).toBeLessThan(said(free, 'reasoning').length);
    expect(said(brief, 'delta')).not.toBe('');
    expect(done?.type === 'done' && done.reasoningTokens! <= 5 + 3).toBe(true);
  });
});
