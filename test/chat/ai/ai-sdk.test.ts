// The provider under the AI SDK's own functions: texts, streams, tools, values, reasoning, images in and out, vectors, aborts, warnings.

import {
  embed,
  embedMany,
  generateImage,
  generateObject,
  generateText,
  Output,
  stepCountIs,
  streamText,
  tool,
} from 'ai';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { createSvcEngine, embeddingModel, imageModel, languageModel } from '../../../src/chat/ai/provider.ts';
import { createFakeEmbeddingModel } from '../../server/fake-embedding-model.ts';
import { openFakeImageModel } from '../../server/fake-image-model.ts';
import { scriptedModel } from '../scripted-model.ts';

globalThis.AI_SDK_LOG_WARNINGS = false;

it('generateText sends settings and messages, and gets text, reasoning and usage', async () => {
  const model = scriptedModel([{ reasoning: 'Hm.', text: 'Hello you' }]);
  const result = await generateText({
    model: languageModel(model),
    system: 'Be kind.',
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'See' },
          { type: 'image', image: new Uint8Array([137, 80, 78, 71]) },
        ],
      },
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'Why?' },
          { type: 'text', text: 'Yes.' },
        ],
      },
      { role: 'user', content: 'Go on' },
    ],
    temperature: 0.3,
    topP: 0.9,
    topK: 5,
    maxOutputTokens: 50,
    stopSequences: ['.'],
    seed: 3,
    presencePenalty: 0.1,
    frequencyPenalty: 0.2,
    providerOptions: { 'svc-engine': { minP: 0.1, templateKwargs: { enable_thinking: true } } },
  });
  expect(result).toMatchObject({ text: 'Hello you', reasoningText: 'Hm.', finishReason: 'stop' });
  expect(result.usage).toMatchObject({ inputTokens: 10, outputTokens: 5, totalTokens: 15 });
  expect(result.usage.inputTokenDetails).toMatchObject({ cacheReadTokens: 4, noCacheTokens: 6 });
  expect(result.usage.outputTokenDetails).toMatchObject({ reasoningTokens: 2 });
  expect(model.requests).toEqual([
    {
      prompt: {
        messages: [
          { role: 'system', content: 'Be kind.' },
          {
            role: 'user',
            content: [
              { type: 'text', text: 'See' },
              { type: 'image', image: new Uint8Array([137, 80, 78, 71]) },
            ],
          },
          { role: 'assistant', content: 'Yes.', reasoning_content: 'Why?' },
          { role: 'user', content: 'Go on' },
        ],
        templateKwargs: { enable_thinking: true },
      },
      temperature: 0.3,
      topP: 0.9,
      topK: 5,
      maxTokens: 50,
      stop: ['.'],
      seed: 3,
      presencePenalty: 0.1,
      frequencyPenalty: 0.2,
      minP: 0.1,
    },
  ]);
});

it('streamText streams, and runs tools until the model answers', async () => {
  const model = scriptedModel([
    { text: 'Wait', calls: [{ name: 'weather', arguments: '{"city":"Paris"}' }] },
    { text: 'Rain it is' },
  ]);
  const result = streamText({
    model: languageModel(model),
    prompt: 'Weather?',
    tools: {
      weather: tool({
        description: 'The weather',
        inputSchema: z.object({ city: z.string() }),
        execute: ({ city }) => ({ city, weather: 'rain' }),
      }),
    },
    stopWhen: stepCountIs(3),
  });
  const types: string[] = [];
  for await (const part of result.fullStream) types.push(part.type);
  expect(types.filter((type) => !type.endsWith('-delta'))).toEqual([
    'start',
    'start-step',
    'text-start',
    'text-end',
    'tool-input-start',
    'tool-input-end',
    'tool-call',
    'tool-result',
    'finish-step',
    'start-step',
    'text-start',
    'text-end',
    'finish-step',
    'finish',
  ]);
  expect(await result.text).toBe('Rain it is');
  expect(model.requests[1]!.prompt).toMatchObject({
    messages: [
      { role: 'user' },
      {
        role: 'assistant',
        tool_calls: [{ id: 'call_0', function: { name: 'weather', arguments: '{"city":"Paris"}' } }],
      },
      { role: 'tool', tool_call_id: 'call_0', content: '{"city":"Paris","weather":"rain"}' },
    ],
    tools: [{ function: { name: 'weather', parameters: { required: ['city'] } } }],
  });
});

it('generateObject and Output.object have values of a schema', async () => {
  const model = scriptedModel([{ text: '{"n":1}' }, { text: '{"n":2}' }]);
  const schema = z.object({ n: z.number() });
  const { object } = await generateObject({ model: languageModel(model), schema, prompt: 'x' });
  expect(object).toEqual({ n: 1 });
  const { output } = await generateText({
    model: languageModel(model),
    output: Output.object({ schema }),
    prompt: 'x',
  });
  expect(output).toEqual({ n: 2 });
  for (const { constraint } of model.requests)
    expect(constraint).toMatchObject({ type: 'json_schema', schema: { required: ['n'] } });
});

it('an abort ends a call as the SDK expects it', async () => {
  const hanging = { text: 'Well', hangs: true };
  const model = scriptedModel([hanging, hanging]);
  const controller = new AbortController();
  const result = streamText({
    model: languageModel(model),
    prompt: 'x',
    abortSignal: controller.signal,
    onChunk: () => controller.abort(),
  });
  const types: string[] = [];
  for await (const part of result.fullStream) types.push(part.type);
  expect(types.at(-1)).toBe('abort');
  const ended = AbortSignal.timeout(1);
  await expect(
    generateText({ model: languageModel(model), prompt: 'x', abortSignal: ended, maxRetries: 0 }),
  ).rejects.toMatchObject({ name: 'TimeoutError' });
});

it('an error of the engine is an error of the call, and one of a stream after its beginning is a part of it', async () => {
  await expect(
    generateText({ model: languageModel(scriptedModel([])), prompt: 'x', maxRetries: 0 }),
  ).rejects.toThrow('the script has no more rounds');
  await expect(
    generateText({
      model: languageModel(scriptedModel([])),
      messages: [{ role: 'user', content: [{ type: 'file', mediaType: 'application/pdf', data: 'AAAA' }] }],
    }),
  ).rejects.toMatchObject({ code: 'unsupported' });
});

it('headers, and tools that a provider would run, are warned of', async () => {
  const { warnings } = await generateText({
    model: languageModel(scriptedModel([{ text: 'x' }])),
    prompt: 'x',
    headers: { 'x-mine': '1' },
    tools: { search: { type: 'provider', id: 'other.search', args: {}, inputSchema: z.object({}) } },
  });
  expect(warnings).toMatchObject([
    { type: 'unsupported', feature: 'headers' },
    { type: 'unsupported', feature: 'tool other.search' },
  ]);
});

it('embed and embedMany have vectors and usage', async () => {
  const model = embeddingModel(createFakeEmbeddingModel());
  const { embedding } = await embed({ model, value: 'one' });
  const { embeddings, usage } = await embedMany({ model, values: ['one', 'three'] });
  expect(embeddings).toHaveLength(2);
  expect(embeddings[0]).toEqual(embedding);
  expect(usage.tokens).toBeGreaterThan(0);
});

it('generateImage has PNG files with their seeds', async () => {
  const model = await openFakeImageModel();
  const { images, warnings, providerMetadata } = await generateImage({
    model: imageModel(model),
    prompt: 'a cat',
    n: 2,
    size: '16x8',
    seed: 5,
    aspectRatio: '2:1',
    providerOptions: { 'svc-engine': { steps: 2 } },
  });
  expect(images.map(({ mediaType }) => mediaType)).toEqual(['image/png', 'image/png']);
  expect(warnings).toMatchObject([{ feature: 'aspectRatio' }]);
  expect(providerMetadata['svc-engine']!.images).toEqual([{ seed: 5 }, { seed: 6 }]);
  expect(model.requests[0]).toMatchObject({ prompt: 'a cat', width: 16, height: 8, samples: 2, steps: 2 });
});

it('a provider opens its models by name, when they are first used', async () => {
  let opened = 0;
  const provider = createSvcEngine({
    text: {
      small: async () => {
        opened += 1;
        if (opened === 1) throw new Error('no room');
        return scriptedModel([{ text: 'a' }, { text: 'b' }]);
      },
    },
  });
  const ask = async (): Promise<string> =>
    (await generateText({ model: provider.languageModel('small'), prompt: 'x', maxRetries: 0 })).text;
  await expect(ask()).rejects.toThrow('no room');
  expect([await ask(), await ask(), opened]).toEqual(['a', 'b', 2]);
  expect(() => provider.languageModel('large')).toThrow(expect.objectContaining({ code: 'model_not_found' }));
});
