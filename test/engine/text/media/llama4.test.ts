// Llama 4, opened as users open it, against what transformers generates for several images and turns.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it, vi } from 'vitest';
import { requestOf, run, type Conversation } from './conversations.ts';
import { openMediaModel } from './media-golden.ts';

vi.setConfig({ testTimeout: 120_000 });

const FOLDER = fileURLToPath(new URL('../../../golden/llama4-media', import.meta.url));

it('Llama 4 makes the ids and the tokens of transformers, one by one and all at once', async () => {
  const text = readFileSync(`${FOLDER}/small.json`, 'utf8');
  const { conversations } = JSON.parse(text) as { conversations: Record<string, Conversation> };
  const model = await openMediaModel({ path: `${FOLDER}/small` }, { prefillChunk: 16 });
  try {
    expect(model.info.media).toEqual(['image']);
    for (const [title, one] of Object.entries(conversations))
      expect(await run(model, requestOf(one)), title).toEqual({ prompt: one.ids, ids: one.greedy });
    await model.flushCache();
    const all = Object.values(conversations);
    const found = await Promise.all(all.map((one) => run(model, requestOf(one))));
    expect(found.map(({ ids }) => ids)).toEqual(all.map(({ greedy }) => greedy));
  } finally {
    await model.close();
  }
});
