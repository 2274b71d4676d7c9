// Conversations with the shipped model in its thread: turns, a tool, a typed value, a context that overflows, a completion.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { openTextModel, type OpenedTextModel, shippedModelPath, tool } from '../../src/index.ts';

let model: OpenedTextModel;
beforeAll(async () => void (model = await openTextModel({ model: shippedModelPath() })));
afterAll(() => model.close());

it('a conversation answers in turns, and goes on from what was saved', async () => {
  const chat = model.chat({ temperature: 0, maxTokens: 32 });
  expect((await chat.send('What is the capital of France?')).text).toContain('Paris');
  const restored = model.chat({ temperature: 0, maxTokens: 32, restore: chat.save() });
  const [own, other] = [await chat.send('Hello!'), await restored.send('Hello!')];
  expect(other.text).toBe(own.text);
  expect(other.usage.cachedTokens).toBeGreaterThan(0);
});

it('a conversation calls a tool and answers with its result', async () => {
  const weather = tool({
    description: 'The weather in a city',
    schema: z.object({ city: z.string() }),
    run: ({ city }) => ({ weather: city === 'Paris' ? 'light rain' : 'unknown' }),
  });
  const chat = model.chat({ tools: { get_weather: weather }, temperature: 0, maxTokens: 200 });
  const { text, toolCalls } = await chat.send('What is the weather in Paris?');
  expect(toolCalls).toMatchObject([
    { name: 'get_weather', arguments: { city: 'Paris' }, result: { weather: 'light rain' }, isError: false },
  ]);
  expect(text).toContain('Paris');
});

it('a reply is a value of a schema', async () => {
  const { value } = await model
    .chat({ temperature: 0, maxTokens: 100 })
    .send('What is the capital of France? Answer in JSON under the key "capital".', {
      schema: z.object({ capital: z.string().max(40) }),
    });
  expect(value).toEqual({ capital: 'Paris' });
});

it('a sliding conversation drops turns by the count of tokens', async () => {
  const room = 60;
  const { contextLength } = model.info;
  const chat = model.chat({ temperature: 0, maxTokens: 8, context: 'slide', reserve: contextLength - room });
  for (let turn = 0; turn < 4; turn++) await chat.send('Tell me a short story about a cat and a dog.');
  const { start } = chat.save();
  expect(start).toBeGreaterThan(0);
  expect(await chat.branch().countTokens()).toBeLessThan(room + 20);
});

it('a completion continues a text without a template', async () => {
  const { text, usage } = await model.complete('Once upon a', { temperature: 0, maxTokens: 8 });
  expect(text).not.toBe('');
  expect(usage.completionTokens).toBeLessThanOrEqual(8);
});
