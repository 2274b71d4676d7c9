// Gemma 3n, opened as users open it, against what transformers generates for several images, sounds and turns.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it, vi } from 'vitest';
import { requestWithMedia, run, soundOf, type Conversation } from './conversations.ts';
import { openMediaModel } from './media-golden.ts';

vi.setConfig({ testTimeout: 120_000 });

const FOLDER = fileURLToPath(new URL('../../../golden/gemma3n-media', import.meta.url));
const golden = JSON.parse(readFileSync(`${FOLDER}/small.json`, 'utf8')) as {
  sounds: { file: string }[];
  conversations: Record<string, Conversation>;
};

const asked = (one: Conversation) =>
  requestWithMedia(one, (kind, title) => soundOf(golden.sounds, kind, title));

it('Gemma 3n makes the ids and the tokens of transformers, one by one and all at once', async () => {
  const model = await openMediaModel(
    { path: `${FOLDER}/small` },
    { prefillChunk: 16, maxRunningRequests: 6 },
  );
  try {
    expect(model.info.media).toEqual(['image', 'audio']);
    for (const [title, one] of Object.entries(golden.conversations))
      expect(await run(model, asked(one)), title).toEqual({ prompt: one.ids, ids: one.greedy });
    await model.flushCache();
    const all = Object.values(golden.conversations);
    const found = await Promise.all(all.map((one) => run(model, asked(one))));
    expect(found.map(({ ids }) => ids)).toEqual(all.map(({ greedy }) => greedy));
  } finally {
    await model.close();
  }
});
