// InternVL in both layouts, opened as users open it, against what transformers generates for several images, turns and limits of tiles.

import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type {
  ChatMessage,
  ContentPart,
  TextModel,
  TextRequest,
} from '../../../../src/engine/text/calls/text-model.ts';
import { expandText } from '../../../../src/engine/text/media/expand.ts';
import { mediaFamily } from '../../../../src/models/towers/media-families.ts';
import type { Clip } from '../../../../src/files/media/decoded.ts';
import { finished } from '../../../../src/models/preparation.ts';
import { clipOf, FOLDER, GOLDEN, mediaFiles } from '../../../models/vision/internvl-golden.ts';
import { openMediaModel } from './media-golden.ts';

vi.setConfig({ testTimeout: 120_000 });

interface Conversation {
  turns: [role: ChatMessage['role'], content: string[]][];
  limits: { min_patches?: number; max_patches?: number };
  ids: number[];
  greedy: number[];
}

const IMAGE_TOKEN = 261;

function goldenOf(name: string): Record<string, Conversation> {
  const text = readFileSync(`${FOLDER}/${name}.json`, 'utf8');
  return (JSON.parse(text) as { conversations: Record<string, Conversation> }).conversations;
}

let clip: Clip;
beforeAll(async () => void (clip = await clipOf('video.small')));

const partOf = (part: string): ContentPart => {
  if (part === 'video') return { type: 'video', video: clip };
  const golden = GOLDEN.images[part];
  return golden
    ? { type: 'image', image: new Uint8Array(Buffer.from(golden.file, 'base64')) }
    : { type: 'text', text: part };
};

function requestOf({ turns, limits, greedy }: Conversation): TextRequest {
  const { min_patches: minTiles, max_patches: maxTiles } = limits;
  return {
    prompt: { messages: turns.map(([role, content]) => ({ role, content: content.map(partOf) })) },
    temperature: 0,
    maxTokens: greedy.length,
    ignoreEos: true,
    promptIds: true,
    ...(minTiles !== undefined && { minTiles }),
    ...(maxTiles !== undefined && { maxTiles }),
  };
}

async function run(model: TextModel, request: TextRequest) {
  const events = [];
  for await (const event of model.generate(request)) events.push(event);
  const accepted = events.find((event) => event.type === 'accepted');
  const ids = events.flatMap((event) => (event.type === 'delta' ? event.ids : []));
  return { prompt: accepted?.promptIds, media: accepted?.mediaTokens, ids };
}

describe.each([
  ['qwen2', 'qwen2'],
  ['qwen2-original', 'qwen2'],
  ['qwen3', 'qwen3'],
  ['qwen3-original', 'qwen3'],
])('InternVL with %s', (checkpoint, name) => {
  const golden = goldenOf(name);
  let model: TextModel;
  beforeAll(async () => {
    model = await openMediaModel({ path: `${FOLDER}/${checkpoint}` }, { prefillChunk: 16 });
  });
  afterAll(() => model.close());

  it('makes the ids and the tokens of transformers, one request after the other and all at once', async () => {
    expect(model.info.media).toEqual(['image', 'video']);
    for (const [title, one] of Object.entries(golden)) {
      const { prompt, media, ids } = await run(model, requestOf(one));
      expect(prompt, title).toEqual(one.ids);
      const tokens = one.ids.filter((id) => id === IMAGE_TOKEN).length;
      const video = title === 'video' ? 3 * 4 : 0;
      const counts = { ...(video > 0 && { video }), ...(tokens > video && { image: tokens - video }) };
      expect(media).toEqual(tokens > 0 ? counts : undefined);
      expect(ids, title).toEqual(one.greedy);
    }
    await model.flushCache();
    const all = Object.values(golden);
    const together = await Promise.all(all.map((one) => run(model, requestOf(one))));
    expect(together.map(({ ids }) => ids)).toEqual(all.map(({ greedy }) => greedy));
  });

  it.runIf(checkpoint === 'qwen2-original')('shows images before the texts of their message', async () => {
    const rendered = async (...content: ContentPart[]) =>
      (await model.renderPrompt({ messages: [{ role: 'user', content }] })).ids;
    const [image, text] = [partOf('alpha'), partOf('What?')];
    expect(await rendered(text, image)).toEqual(await rendered(image, text));
  });

  it.runIf(checkpoint === 'qwen2-original')(
    "a part's limits apply to it, those of the request to the others",
    async () => {
      const content = [
        { ...partOf('exif-turned'), maxTiles: 2 },
        partOf('exif-turned'),
        { ...partOf('four-to-one'), minTiles: 6, maxTiles: 8 },
      ];
      const { ids } = await model.renderPrompt({ messages: [{ role: 'user', content }] }, { maxTiles: 5 });
      const runs = ids.flatMap((id, at) =>
        id !== IMAGE_TOKEN && ids[at + 1] === IMAGE_TOKEN ? [at + 1] : [],
      );
      const lengths = runs.map((first) => ids.slice(first).findIndex((id) => id !== IMAGE_TOKEN));
      // 17 × 44 pixels in at most 2 tiles: 1 × 2 and the whole; in at most 5: 1 × 3; 60 × 15 in 6 to 8: 6 × 1.
      expect(lengths).toEqual([4 * 3, 4 * 4, 4 * 7]);
    },
  );
});

it.each(['qwen2', 'qwen2-original'])('the template of %s may print either placeholder', (checkpoint) => {
  const files = mediaFiles(checkpoint);
  const { readers } = mediaFamily((files.config['architectures'] as string[])[0]!)!.read(files);
  const pixels = { width: 24, height: 24, data: new Uint8Array(3 * 24 * 24) };
  const medium = { kind: 'image' as const, key: 'a', prepared: finished(readers.image!.prepare(pixels, {})) };
  for (const placeholder of ['<image>', '<IMG_CONTEXT>'])
    expect(expandText(`A${placeholder}\nB`, [medium], readers, String).text).toBe(
      'A<img><IMG_CONTEXT></img>\nB',
    );
  expect(() => expandText('<image> <image>', [medium], readers, String)).toThrow('leave it out of texts');
  expect(() => expandText('A', [medium], readers, String)).toThrow(
    "the model's chat template shows 0 of 1 parts of type image",
  );
});
