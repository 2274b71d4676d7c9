// Gemma 3, opened as users open it, against what transformers generates for several images and turns. An image has more tokens than the
// windows of its layers and than the smallest step has rows, and they see each other.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { TextModel } from '../../../../src/engine/text/calls/text-model.ts';
import { requestOf, run, type Conversation } from './conversations.ts';
import { openMediaModel } from './media-golden.ts';

vi.setConfig({ testTimeout: 120_000 });

const FOLDER = fileURLToPath(new URL('../../../golden/gemma3-media', import.meta.url));

describe.each(['whole', 'scan'])('Gemma 3, %s images', (name) => {
  const text = readFileSync(`${FOLDER}/${name}.json`, 'utf8');
  const { conversations } = JSON.parse(text) as { conversations: Record<string, Conversation> };
  let model: TextModel;
  beforeAll(async () => {
    model = await openMediaModel({ path: `${FOLDER}/${name}` }, { prefillChunk: 16, maxRunningRequests: 6 });
  });
  afterAll(() => model.close());

  it('makes the ids and the tokens of transformers, one request after the other and all at once', async () => {
    expect(model.info.media).toEqual(['image']);
    for (const [title, one] of Object.entries(conversations))
      expect(await run(model, requestOf(one)), title).toEqual({ prompt: one.ids, ids: one.greedy });
    await model.flushCache();
    const all = Object.values(conversations);
    const found = await Promise.all(all.map((one) => run(model, requestOf(one))));
    expect(found.map(({ ids }) => ids)).toEqual(all.map(({ greedy }) => greedy));
  });

  it('a cached prefix may end inside an image', async () => {
    await model.flushCache();
    const one = conversations['one']!;
    await run(model, requestOf(one));
    const events = [];
    for await (const event of model.generate(requestOf(one))) events.push(event);
    const ids = events.flatMap((event) => (event.type === 'delta' ? event.ids : []));
    const cached = events.findLast((event) => event.type === 'prefill')!.cachedTokens;
    expect(cached).toBe(Math.floor((one.ids.length - 1) / 32) * 32);
    expect(ids).toEqual(one.greedy);
  });
});

it('an image is computed beside requests that decode in as many slots as there are', async () => {
  const golden = JSON.parse(readFileSync(`${FOLDER}/whole.json`, 'utf8')) as {
    conversations: Record<string, Conversation>;
  };
  const slots = 16;
  const model = await openMediaModel(
    { path: `${FOLDER}/whole` },
    { prefillChunk: 16, maxRunningRequests: slots, contextLength: 512 },
  );
  try {
    let ended = 0;
    const long = { temperature: 0, maxTokens: 300, ignoreEos: true };
    const decoding = Array.from({ length: slots - 1 }, async (_, i) => {
      const prompt = { messages: [{ role: 'user' as const, content: `Number ${i}` }] };
      for await (const event of model.generate({ ...long, prompt })) void event;
      ended++;
    });
    const one = golden.conversations['turns']!;
    const { ids } = await run(model, requestOf(one));
    expect(ids).toEqual(one.greedy);
    expect(ended).toBe(0);
    await Promise.all(decoding);
  } finally {
    await model.close();
  }
});
