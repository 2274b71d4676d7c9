// Idefics3 and SmolVLM, opened as users open them, against what transformers generates for several images and turns.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { TextModel } from '../../../../src/engine/text/calls/text-model.ts';
import { requestOf, run, type Conversation } from './conversations.ts';
import { openMediaModel } from './media-golden.ts';

vi.setConfig({ testTimeout: 120_000 });

const FOLDER = fileURLToPath(new URL('../../../golden/idefics3', import.meta.url));

describe.each(['idefics3', 'smolvlm'])('the media model %s', (name) => {
  const text = readFileSync(`${FOLDER}/${name}.json`, 'utf8');
  const { conversations } = JSON.parse(text) as { conversations: Record<string, Conversation> };
  let model: TextModel;
  beforeAll(async () => {
    model = await openMediaModel({ path: `${FOLDER}/${name}` }, { prefillChunk: 16 });
  });
  afterAll(() => model.close());

  it('makes the ids and the tokens of transformers, one request after the other and all at once', async () => {
    expect(model.info.media).toEqual(name === 'smolvlm' ? ['image', 'video'] : ['image']);
    for (const [title, one] of Object.entries(conversations))
      expect(await run(model, requestOf(one)), title).toEqual({ prompt: one.ids, ids: one.greedy });
    await model.flushCache();
    const all = Object.values(conversations);
    const found = await Promise.all(all.map((one) => run(model, requestOf(one))));
    expect(found.map(({ ids }) => ids)).toEqual(all.map(({ greedy }) => greedy));
  });

  it('takes no limits on tiles, which its processor does not have', async () => {
    const request = { ...requestOf(conversations['one']!), maxTiles: 2 };
    await expect(run(model, request)).rejects.toMatchObject({ code: 'bad_request', param: 'maxTiles' });
  });
});
