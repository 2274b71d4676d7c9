// Videos in SmolVLM, opened as users open it, against what transformers generates: frames behind their times, in turns and several at once.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it, vi } from 'vitest';
import type { ContentPart } from '../../../../src/engine/text/calls/text-model.ts';
import { frameOf } from '../../../models/vision/drawn-clips.ts';
import { mediaFamily } from '../../../../src/models/towers/media-families.ts';
import type { Clip, MediaFiles } from '../../../../src/models/media.ts';
import { requestOf, run, type Conversation } from './conversations.ts';
import { openMediaModel } from './media-golden.ts';

vi.setConfig({ testTimeout: 120_000 });

const FOLDER = fileURLToPath(new URL('../../../golden/idefics3', import.meta.url));
const readJson = (name: string): unknown => JSON.parse(readFileSync(`${FOLDER}/${name}`, 'utf8'));

const golden = readJson('clips.json') as {
  clips: Record<string, [frames: number, fps: number, width: number, height: number]>;
  conversations: Record<string, Conversation>;
};

function clips(): Map<string, Clip> {
  const config = readJson('smolvlm/config.json') as MediaFiles['config'];
  const processors = {
    'processor_config.json': readJson('smolvlm/processor_config.json') as MediaFiles['config'],
  };
  const { video } = mediaFamily('SmolVLMForConditionalGeneration')!.read({
    config,
    processors,
    hidden: 32,
  }).readers;
  const entries = Object.entries(golden.clips).map(([name, [frames, fps, width, height]]) => {
    const source = { width, height, frames, fps, duration: frames / fps };
    const indices = video!.frames(source);
    return [name, { source, indices, frames: indices.map((t) => frameOf(t, source)) }] as const;
  });
  return new Map(entries);
}

it('SmolVLM makes the ids and the tokens of transformers for clips, one by one and all at once', async () => {
  const shown = clips();
  const partOf = (part: string): ContentPart => {
    const video = shown.get(part);
    return video ? { type: 'video', video } : { type: 'text', text: part };
  };
  const asked = ({ turns, ...one }: Conversation) => ({
    ...requestOf({ ...one, turns: [] }),
    prompt: { messages: turns.map(([role, content]) => ({ role, content: content.map(partOf) })) },
  });
  const model = await openMediaModel({ path: `${FOLDER}/smolvlm` }, { prefillChunk: 16 });
  try {
    expect(model.info.media).toEqual(['image', 'video']);
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

it('Idefics3 reads no videos', async () => {
  const model = await openMediaModel({ path: `${FOLDER}/idefics3` });
  try {
    const video = clips().get('short')!;
    const prompt = { messages: [{ role: 'user' as const, content: [{ type: 'video' as const, video }] }] };
    await expect(run(model, { prompt, maxTokens: 1 })).rejects.toMatchObject({
      code: 'unsupported',
      message:
        'messages.0.content.0 is a part of type video, and this model takes text and images only: leave it out',
    });
  } finally {
    await model.close();
  }
});
