// Gemma 3n, opened as users open it, against what transformers generates for several images, sounds and turns.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it, vi } from 'vitest';
import type { ContentPart } from '../../../../src/engine/text/calls/text-model.ts';
import { requestOf, run, type Conversation } from './conversations.ts';
import { openMediaModel } from './media-golden.ts';

vi.setConfig({ testTimeout: 120_000 });

const FOLDER = fileURLToPath(new URL('../../../golden/gemma3n-media', import.meta.url));
const golden = JSON.parse(readFileSync(`${FOLDER}/small.json`, 'utf8')) as {
  sounds: { file: string }[];
  conversations: Record<string, Conversation>;
};

/** The request of a conversation, with its sounds in place of their names. */
function asked(one: Conversation) {
  const request = requestOf(one);
  if (!('messages' in request.prompt)) return request;
  for (const { content } of request.prompt.messages) {
    const parts = content as ContentPart[];
    parts.forEach((part, i) => {
      const [kind, title] = part.type === 'text' ? part.text.split(' ') : [];
      const sound = kind === 'sound' ? golden.sounds[Number(title)] : undefined;
      if (sound) parts[i] = { type: 'audio', audio: new Uint8Array(Buffer.from(sound.file, 'base64')) };
    });
  }
  return request;
}

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
