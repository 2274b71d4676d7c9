// Models that read pages, opened as users open them, against what transformers generates for several images and turns.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it, vi } from 'vitest';
import { requestOf, run, type Conversation } from './conversations.ts';
import { openMediaModel } from './media-golden.ts';

vi.setConfig({ testTimeout: 120_000 });

const FOLDER = fileURLToPath(new URL('../../../golden/ocr', import.meta.url));

it.each([
  ['glm-4v-moe', ['image']],
  ['glm-ocr', ['image']],
  ['lfm2-vl', ['image']],
  ['lighton-ocr', ['image']],
  ['paddleocr-vl', ['image']],
])('%s makes the ids and the tokens of transformers, one by one and all at once', async (name, media) => {
  const text = readFileSync(`${FOLDER}/${name}.json`, 'utf8');
  const { conversations } = JSON.parse(text) as { conversations: Record<string, Conversation> };
  const model = await openMediaModel({ path: `${FOLDER}/${name}` }, { prefillChunk: 16 });
  try {
    expect(model.info.media).toEqual(media);
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
