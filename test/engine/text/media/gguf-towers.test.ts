// Towers in GGUF files, as llama.cpp's converter writes them (scripts/reference/gguf_towers.py): their rows are those of the safetensors files,
// which other tests compare with transformers, and a pair of files generates what transformers does.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { TEXT_CLASSES } from '../../../../src/engine/opening/architectures.ts';
import { readMedia } from '../../../../src/engine/text/towers/text-media.ts';
import { openCheckpoint } from '../../../../src/files/checkpoint/checkpoint.ts';
import { towerBeside } from '../../../../src/files/gguf/file-names.ts';
import { GgufKeys } from '../../../../src/files/gguf/keys.ts';
import { openGgufTower } from '../../../../src/files/gguf/tower.ts';
import { readSound } from '../../../../src/files/media/read-sound.ts';
import { openDiskFolder } from '../../../../src/files/disk/source-disk.ts';
import type { ContentPart } from '../../../../src/engine/text/calls/text-model.ts';
import type { Device } from '../../../../src/gpu/device.ts';
import { GGUF_TOWERS } from '../../../../src/models/towers/media-families.ts';
import type { MediaModel, PreparedMedium } from '../../../../src/models/media.ts';
import { finished } from '../../../../src/models/preparation.ts';
import { readGemma4Config } from '../../../../src/models/text/gemma4/gemma4-config.ts';
import { openModelTestDevice } from '../../../gpu/test-device.ts';
import { requestOf as conversationOf, run, type Conversation } from './conversations.ts';
import { openMediaGolden, openMediaModel, requestOf } from './media-golden.ts';
import { soundGolden } from './sound-golden.ts';
import { expectRows, rowsOf } from './tower-rows.ts';

vi.setConfig({ testTimeout: 120_000 });

const GOLDEN = fileURLToPath(new URL('../../../golden', import.meta.url));

let device: Device;
beforeAll(async () => void (device = await openModelTestDevice()));
afterAll(() => device.destroy());

interface Pair {
  name: string;
  /** Settings of images that files of llama.cpp have otherwise. */
  settings?: Record<string, unknown>;
  /** Settings of the encoder of sounds that files of llama.cpp have otherwise: sounds are what is compared. */
  heard?: Record<string, unknown>;
  /** Settings of both models together that files of llama.cpp have otherwise. */
  whole?: Record<string, unknown>;
  /** Folder of the safetensors files. */
  from: string;
  /** general.architecture of the language model. */
  metadata: string;
}

/** As published. */
const LFM2 = { tile_size: 512, min_image_tokens: 64, max_image_tokens: 256, max_tiles: 10 };

/** As published. */
const GEMMA4 = { attention_chunk_size: 12, attention_context_left: 13, attention_logit_cap: 50 };

/** As published. */
const GEMMA3N = {
  conf_attention_chunk_size: 12,
  conf_attention_context_left: 13,
  conf_attention_logit_cap: 50,
};

const PAIRS: readonly Pair[] = [
  { name: 'qwen2-vl', from: 'media/qwen2-vl', metadata: 'qwen2vl' },
  { name: 'qwen2-5-vl', from: 'media/qwen2-5-vl', metadata: 'qwen2vl' },
  { name: 'qwen3-vl', from: 'media/qwen3-vl', metadata: 'qwen3vl' },
  { name: 'gemma3', from: 'gemma3-media/whole', metadata: 'gemma3' },
  { name: 'gemma3n', from: 'gemma3n-media/small', metadata: 'gemma3n' },
  {
    name: 'gemma3n',
    from: 'gemma3n-media/small',
    metadata: 'gemma3n',
    heard: GEMMA3N,
    whole: { audio_soft_tokens_per_image: 188 },
  },
  { name: 'gemma4', from: 'gemma4-media/dense', metadata: 'gemma4', settings: { max_soft_tokens: 280 } },
  { name: 'gemma4-e', from: 'gemma4-media/small', metadata: 'gemma4', settings: { max_soft_tokens: 280 } },
  { name: 'gemma4-e', from: 'gemma4-media/small', metadata: 'gemma4', heard: GEMMA4 },
  {
    ...{ name: 'gemma4-unified', from: 'gemma4-media/unified', metadata: 'gemma4' },
    settings: { max_soft_tokens: 280 },
  },
  { name: 'gemma4-unified', from: 'gemma4-media/unified', metadata: 'gemma4', heard: {} },
  { name: 'internvl', from: 'internvl/qwen2-original', metadata: 'qwen2' },
  { name: 'smolvlm', from: 'idefics3/smolvlm', metadata: 'llama' },
  { name: 'pixtral', from: 'pixtral/pixtral', metadata: 'llama' },
  { name: 'mistral3', from: 'pixtral/mistral3', metadata: 'llama' },
  { name: 'deepseek-ocr', from: 'ocr/deepseek-ocr', metadata: 'deepseek2-ocr' },
  { name: 'glm-4v-moe', from: 'ocr/glm-4v-moe', metadata: 'glm4moe' },
  { name: 'glm-ocr', from: 'ocr/glm-ocr', metadata: 'glm4' },
  { name: 'lfm2-vl', from: 'ocr/lfm2-vl', metadata: 'lfm2', settings: LFM2 },
  { name: 'lighton-ocr', from: 'ocr/lighton-ocr', metadata: 'qwen3', settings: { patch_size: 8 } },
  { name: 'llama4', from: 'llama4-media/small', metadata: 'llama4', settings: { max_patches: 16 } },
  { name: 'paddleocr-vl', from: 'ocr/paddleocr-vl', metadata: 'paddleocr' },
  { name: 'qwen2-audio', from: 'audio/qwen2-audio', metadata: 'qwen2' },
  { name: 'voxtral', from: 'audio/voxtral', metadata: 'llama' },
];

type Limited = Conversation & { limits?: { max_patches?: number } };

const IMAGE = {
  width: 50,
  height: 34,
  data: Uint8Array.from({ length: 50 * 34 * 3 }, (_, i) => (i * 37 + (i % 11) * 29) % 256),
};

async function prepared({ readers: { image, audio } }: MediaModel, hears: boolean): Promise<PreparedMedium> {
  if (image && !hears) return finished(image.prepare(IMAGE, {}));
  const { sounds } = soundGolden('voxtral');
  const sound = await readSound(sounds[0]!, 'sound', { bounds: { maxMediaSeconds: 9 }, rate: audio!.rate });
  return finished(audio!.prepare({ ...sound, samples: sound.samples.subarray(0, 9000) }, {}));
}

/** Positions in time of the steps of a video of four seconds; null: the model takes none, or tells time otherwise. */
function stepTimes({ readers: { video } }: MediaModel): readonly number[] | null {
  if (!video) return null;
  const source = { width: IMAGE.width, height: IMAGE.height, frames: 8, fps: 2, duration: 4 };
  const indices = video.frames(source);
  const frames = indices.map(() => video.fit?.(IMAGE, source, {}) ?? IMAGE);
  return finished(video.prepare({ source, indices, frames, isFitted: true }, {})).grid?.times ?? null;
}

it.each(PAIRS.map((pair) => ({ ...pair, shown: `${pair.heard ? 'sounds' : 'media'} of ${pair.name}` })))(
  'a GGUF tower has the rows of safetensors files: $shown',
  async ({ name, from, metadata, settings, heard, whole }) => {
    const plain = await openCheckpoint(await openDiskFolder(`${GOLDEN}/${from}`), TEXT_CLASSES);
    if (settings)
      Object.assign(plain.beside!.processors['processor_config.json']!['image_processor']!, settings);
    if (heard) Object.assign(plain.beside!.config['audio_config']!, heard);
    Object.assign(plain.beside!.config, whole);
    const folder = await openDiskFolder(`${GOLDEN}/gguf-towers/${name}`);
    const hidden = plain.config['hidden_size'] as number;
    const keys = new GgufKeys({ name: 'text.gguf', metadata: new Map() });
    const language = { metadata, keys, config: plain.config, architecture: plain.architecture };
    const file = towerBeside(`${name}.gguf`, await folder.names())!;
    const tower = await openGgufTower(folder, file, language, { ...TEXT_CLASSES, towers: GGUF_TOWERS });
    try {
      const wrapper = { architecture: tower.className, left: [], leftTensors: 0 };
      const own = readMedia(plain, { hidden }, expect.fail)!;
      const other = readMedia({ wrapper, beside: tower }, { hidden }, expect.fail)!;
      const [wanted, medium] = await Promise.all(
        [own, other].map(({ model }) => prepared(model, heard !== undefined)),
      );
      const { inputs: _own, ...text } = wanted!;
      const { inputs: _inputs, ...made } = medium!;
      expect(made).toEqual(text);
      expect(stepTimes(other.model)).toEqual(stepTimes(own.model));
      const [plainRows, rows] = [
        await rowsOf(
          device,
          { beside: { ...plain.beside!, tensors: new Map(own.tensors) } },
          own.model,
          wanted!,
        ),
        await rowsOf(device, { beside: { ...tower, tensors: new Map(other.tensors) } }, other.model, medium!),
      ];
      expect(rows.columns).toBe(plainRows.columns);
      for (const [i, values] of plainRows.blocks.entries()) {
        const stride = [values.length, 1];
        expectRows(rows.blocks[i]!, 1, { shape: stride, values });
      }
    } finally {
      await Promise.all(tower.sources.map((source) => source.close()));
      await plain.close();
    }
  },
);

// Files of its language model are those of Gemma 4's other sizes, whose full layers have no tokens that see each other.
it("tokens of an image see each other in all layers beside the projections of Gemma 4 12B's media", async () => {
  const pair = await openCheckpoint(
    await openDiskFolder(`${GOLDEN}/gguf-towers/gemma4-unified`),
    TEXT_CLASSES,
  );
  const { config, architecture } = pair;
  await pair.close();
  expect(architecture).toBe('Gemma4UnifiedForCausalLM');
  expect(readGemma4Config(config, architecture)).toMatchObject({ spansEverywhere: true });
});

function soundParts(parts: string | (string | number)[], sounds: Uint8Array[]): string | ContentPart[] {
  if (typeof parts === 'string') return parts;
  return parts.map((part) =>
    typeof part === 'number' ? { type: 'audio', audio: sounds[part]! } : { type: 'text', text: part },
  );
}

describe('a pair of GGUF files generates the tokens of transformers', () => {
  it.each(['qwen2-5-vl', 'qwen3-vl'])('%s', async (name) => {
    const golden = await openMediaGolden(name);
    const model = await openMediaModel({ path: `${GOLDEN}/gguf-towers/${name}` });
    expect(model.info.media).toEqual(['image', 'video']);
    for (const one of golden.cases.filter(({ images }) => images.length > 0).slice(0, 2))
      expect(await run(model, requestOf(golden, one)), one.name).toEqual({
        prompt: one.ids,
        ids: one.greedy,
      });
    await model.close();
  });

  it('for the sounds of a conversation with Voxtral', async () => {
    const { sounds, conversations } = soundGolden('voxtral');
    const model = await openMediaModel({ path: `${GOLDEN}/gguf-towers/voxtral` }, { maxMediaSeconds: 3 });
    expect(model.info.media).toEqual(['audio']);
    const [one] = conversations.filter(({ turns }) => turns.flat(2).includes(0));
    const content = one!.turns.map(([role, parts]) => ({ role, content: soundParts(parts, sounds) }));
    const request = { temperature: 0, maxTokens: one!.greedy.length, ignoreEos: true, promptIds: true };
    const found = await run(model, { ...request, prompt: { messages: content } });
    expect(found).toEqual({ prompt: one!.ids, ids: one!.greedy });
    await model.close();
  });

  it.each([
    // A reply of Gemma's holds tokens without a name, of which its file has no rows.
    { name: 'gemma3', from: 'gemma3-media/whole', titles: ['one', 'turns'] },
    { name: 'gemma3n', from: 'gemma3n-media/small', titles: ['seen', 'text'] },
    { name: 'internvl', from: 'internvl/qwen2' },
    { name: 'smolvlm', from: 'idefics3/smolvlm' },
    { name: 'mistral3', from: 'pixtral/mistral3' },
    // One: its towers take four times as long as the others.
    { name: 'deepseek-ocr', from: 'ocr/deepseek-ocr', titles: ['one'] },
    { name: 'glm-ocr', from: 'ocr/glm-ocr' },
    { name: 'paddleocr-vl', from: 'ocr/paddleocr-vl' },
  ])('$name', async ({ name, from, titles = ['one', 'two'] }) => {
    const text = readFileSync(`${GOLDEN}/${from}.json`, 'utf8');
    const { conversations } = JSON.parse(text) as { conversations: Record<string, Limited> };
    const model = await openMediaModel({ path: `${GOLDEN}/gguf-towers/${name}` });
    expect(model.info.media).toContain('image');
    for (const title of titles) {
      const { limits, ...one } = conversations[title]!;
      const request = {
        ...conversationOf(one),
        ...(limits?.max_patches && { maxTiles: limits.max_patches }),
      };
      expect(await run(model, request), title).toEqual({ prompt: one.ids, ids: one.greedy });
    }
    await model.close();
  });
});
