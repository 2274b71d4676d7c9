// Gemma 4, opened as users open it, against what transformers generates for several images, turns and a clip. An image has more tokens than the
// windows of its layers and than the smallest step has rows, and they see each other in the windowed layers alone.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it, vi } from 'vitest';
import { frameOf } from '../../../models/vision/drawn-clips.ts';
import { requestWithMedia, run, soundOf, type Conversation } from './conversations.ts';
import { openMediaModel } from './media-golden.ts';

vi.setConfig({ testTimeout: 120_000 });

const FOLDER = fileURLToPath(new URL('../../../golden/gemma4-media', import.meta.url));

interface Golden {
  clips?: Record<string, { clip: [frames: number, fps: number, width: number, height: number] }>;
  sounds?: { file: string; tokens: number | null }[];
  conversations: Record<string, Conversation>;
}

const readGolden = (name: string): Golden =>
  JSON.parse(readFileSync(`${FOLDER}/${name}.json`, 'utf8')) as Golden;

/** The request of a conversation, with its clips and sounds in place of their names. */
const asked = ({ clips, sounds = [] }: Golden, one: Conversation) =>
  requestWithMedia(one, (kind, title) => {
    const clip = kind === 'clip' ? clips?.[title]?.clip : undefined;
    if (!clip) return soundOf(sounds, kind, title);
    const [frames, fps, width, height] = clip;
    const source = { width, height, frames, fps, duration: frames / fps };
    const indices = Array.from({ length: frames }, (_, t) => t);
    return { type: 'video', video: { source, indices, frames: indices.map((t) => frameOf(t, source)) } };
  });

it.each([
  ['dense', ['image', 'video']],
  ['small', ['image', 'video', 'audio']],
  ['unified', ['image', 'video', 'audio']],
])(
  'Gemma 4, %s, makes the ids and the tokens of transformers, one by one and all at once',
  async (name, media) => {
    const golden = { ...readGolden(name), sounds: readGolden('small').sounds! };
    const model = await openMediaModel(
      { path: `${FOLDER}/${name}` },
      { prefillChunk: 16, maxRunningRequests: 6 },
    );
    try {
      expect(model.info.media).toEqual(media);
      for (const [title, one] of Object.entries(golden.conversations))
        expect(await run(model, asked(golden, one)), title).toEqual({ prompt: one.ids, ids: one.greedy });
      await model.flushCache();
      const all = Object.values(golden.conversations);
      const found = await Promise.all(all.map((one) => run(model, asked(golden, one))));
      expect(found.map(({ ids }) => ids)).toEqual(all.map(({ greedy }) => greedy));
    } finally {
      await model.close();
    }
  },
);
