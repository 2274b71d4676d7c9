// Sounds of Gemma 4 against transformers: numbers of tokens, features, and the encoder.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readMedia } from '../../../src/engine/text/towers/text-media.ts';
import { openWeights } from '../../../src/engine/weights/weights.ts';
import { TEXT_CLASSES } from '../../../src/engine/opening/architectures.ts';
import { openCheckpoint } from '../../../src/files/checkpoint/checkpoint.ts';
import { openDiskFolder } from '../../../src/files/disk/source-disk.ts';
import { readSound } from '../../../src/files/media/read-sound.ts';
import type { Device } from '../../../src/gpu/device.ts';
import type { Json } from '../../../src/models/config-values.ts';
import type { MediaModel, PreparedMedium } from '../../../src/models/media.ts';
import { finished } from '../../../src/models/preparation.ts';
import { GEMMA4 } from '../../../src/models/vision/gemma4-media.ts';
import { disguise, openModelTestDevice } from '../../gpu/test-device.ts';
import { compute, expectAgreement, readValues } from '../image-golden.ts';

const FOLDER = fileURLToPath(new URL('../../golden/gemma4-media', import.meta.url));
const [HIDDEN, RATE] = [48, 16_000];
const readJson = (path: string): unknown => JSON.parse(readFileSync(`${FOLDER}/${path}`, 'utf8'));

const { sounds } = readJson('small.json') as { sounds: { file: string; tokens: number | null }[] };

/** `audio` and `changes`: changes to the settings of the encoder and of the features. */
function openModel(audio: Json = {}, changes: Json = {}): MediaModel {
  const config = readJson('small/config.json') as Record<string, Json>;
  const settings = readJson('small/processor_config.json') as Record<string, Json>;
  const feature_extractor = { ...settings['feature_extractor'], ...changes };
  return GEMMA4.read({
    config: { ...config, audio_config: { ...config['audio_config'], ...audio } },
    processors: { 'processor_config.json': { ...settings, feature_extractor } },
    hidden: HIDDEN,
  });
}

async function prepared(index: number): Promise<PreparedMedium> {
  const { rate, prepare } = openModel().readers.audio!;
  const bytes = new Uint8Array(Buffer.from(sounds[index]!.file, 'base64'));
  return finished(prepare(await readSound(bytes, 'sound', { bounds: { maxMediaSeconds: 60 }, rate }), {}));
}

it('sounds take as many tokens as in transformers', async () => {
  for (const [i, { tokens }] of sounds.entries()) {
    const [, rows] = (await prepared(i)).parts;
    expect(rows).toBe(tokens! - 2);
  }
});

it('features of a sound are those of transformers', async () => {
  const { inputs } = await prepared(0);
  expectAgreement(
    inputs['features']!.data as Float32Array,
    (await readValues(`${FOLDER}/small.safetensors`)).get('features')!,
  );
});

it('sounds that are too short or too long are refused', () => {
  const { prepare } = openModel().readers.audio!;
  for (const [seconds, message] of [
    [0.005, /too short/],
    [30.1, /at most 30/],
  ] as const)
    expect(() => finished(prepare({ samples: new Float32Array(seconds * RATE) } as never, {}))).toThrow(
      message,
    );
});

it.each([
  ['another activation', { hidden_act: 'relu' }, {}, 'unsupported'],
  ['a wide window', { attention_context_left: 99 }, {}, 'unsupported'],
  ['another preemphasis', {}, { preemphasis: 0.97 }, 'unsupported'],
  ['features of another size', {}, { feature_size: 20 }, 'bad_checkpoint'],
])('a configuration of sounds is refused with %s', (_, audio, changes, code) => {
  expect(() => openModel(audio, changes)).toThrow(expect.objectContaining({ code }));
});

describe('encoder', () => {
  let device: Device;
  beforeAll(async () => void (device = await openModelTestDevice()));
  afterAll(() => device.destroy());

  it.each([
    ['tuned', {}],
    ['bindings of 256 KiB', { bindingLimit: 256 << 10 }],
  ])('%s', async (_, as) => {
    const on = disguise(device, as);
    const values = await readValues(`${FOLDER}/small.safetensors`);
    const checkpoint = await openCheckpoint(await openDiskFolder(`${FOLDER}/small`), TEXT_CLASSES);
    const { model, tensors } = readMedia(checkpoint, { hidden: HIDDEN }, () => {})!;
    const { tower, inputs } = await prepared(0);
    const weights = openWeights(on, tensors, model.towers[tower]!, { format: null });
    await weights.load();
    await checkpoint.close();
    const found = await compute(on, (_tape, input) => {
      const features = input({ ...values.get('features')!, shape: [...inputs['features']!.shape] });
      const { shape, data } = inputs['places']!;
      const places = input({ shape: [...shape], values: Float32Array.from(data) });
      return [...weights.page({ features, places }, null)];
    });
    expectAgreement(found.values[0]!, values.get('heard')!);
  });
});
