// Sounds of Gemma 3n against transformers: features, and the encoder with the tokens that fill a sound up and end it.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { readMedia } from '../../../src/engine/text/towers/text-media.ts';
import { openWeights } from '../../../src/engine/weights/weights.ts';
import { TEXT_CLASSES } from '../../../src/engine/opening/architectures.ts';
import { openCheckpoint } from '../../../src/files/checkpoint/checkpoint.ts';
import { openDiskFolder } from '../../../src/files/disk/source-disk.ts';
import { readSound } from '../../../src/files/media/read-sound.ts';
import { GEMMA3N } from '../../../src/models/vision/gemma3n/gemma3n-media.ts';
import type { Json } from '../../../src/models/config-values.ts';
import type { MediaModel, PreparedMedium } from '../../../src/models/media.ts';
import { finished } from '../../../src/models/preparation.ts';
import { disguise, openModelTestDevice } from '../../gpu/test-device.ts';
import { compute, expectAgreement, readValues } from '../image-golden.ts';

const FOLDER = fileURLToPath(new URL('../../golden/gemma3n-media', import.meta.url));
const [HIDDEN, RATE, TOKENS] = [64, 16_000, 8];
const readJson = (path: string): unknown => JSON.parse(readFileSync(`${FOLDER}/${path}`, 'utf8'));

const { sounds } = readJson('small.json') as { sounds: { file: string }[] };

/** `audio` and `changes`: changes to the settings of the encoder and of the features. */
function openModel(audio: Json = {}, changes: Json = {}): MediaModel {
  const config = readJson('small/config.json') as Record<string, Json>;
  const settings = readJson('small/preprocessor_config.json') as Json;
  return GEMMA3N.read({
    config: { ...config, audio_config: { ...config['audio_config'], ...audio } },
    processors: { 'preprocessor_config.json': { ...settings, ...changes } },
    hidden: HIDDEN,
  });
}

async function prepared(index: number): Promise<PreparedMedium> {
  const { rate, prepare } = openModel().readers.audio!;
  const bytes = new Uint8Array(Buffer.from(sounds[index]!.file, 'base64'));
  return finished(prepare(await readSound(bytes, 'sound', { bounds: { maxMediaSeconds: 60 }, rate }), {}));
}

it('features of a sound are those of transformers, behind a frame of zeros', async () => {
  const { inputs, layout, parts } = await prepared(0);
  const { frames, rows } = layout as { frames: number; rows: number };
  const wanted = (await readValues(`${FOLDER}/small.safetensors`)).get('features')!;
  const { shape, data } = inputs['features']!;
  const mels = shape[2]!;
  expect([frames, wanted.values.length]).toEqual([wanted.shape[0], frames * mels]);
  expect(shape[1]).toBe(16 * rows + 4);
  const own = (data as Float32Array).slice(mels, (1 + frames) * mels);
  expectAgreement(own, { ...wanted, values: wanted.values.slice(0, own.length) });
  expect(parts).toEqual(['\n\n<start_of_audio>', TOKENS, { token: '<end_of_audio>', rows: 1 }, '\n\n']);
});

it('sounds that are too short or too long are refused', () => {
  const { prepare } = openModel().readers.audio!;
  for (const [seconds, message] of [
    [0.03, /too short/],
    [1.5, /8 of one sound/],
    [30.1, /at most 30/],
  ] as const)
    expect(() => finished(prepare({ samples: new Float32Array(seconds * RATE) } as never, {}))).toThrow(
      message,
    );
});

it.each([
  ['another share of rows', { conf_reduction_factor: 2 }, {}, 'unsupported'],
  ['rows that see later ones', { conf_attention_context_right: 1 }, {}, 'unsupported'],
  ['a wide window', { conf_attention_context_left: 99 }, {}, 'unsupported'],
  ['other frames', {}, { frame_length: 400 }, 'unsupported'],
  ['features of another size', {}, { feature_size: 20 }, 'unsupported'],
  ['a table without its tokens', { vocab_size: 2 }, {}, 'bad_checkpoint'],
])('a configuration of sounds is refused with %s', (_, audio, changes, code) => {
  expect(() => openModel(audio, changes)).toThrow(expect.objectContaining({ code }));
});

it.each([
  ['', {}],
  [' in bindings of 64 KiB', { bindingLimit: 64 << 10 }],
])('rows of a sound are those of transformers%s', async (_, as) => {
  const device = await openModelTestDevice();
  const on = disguise(device, as);
  const values = await readValues(`${FOLDER}/small.safetensors`);
  const checkpoint = await openCheckpoint(await openDiskFolder(`${FOLDER}/small`), TEXT_CLASSES);
  const { model, tensors } = readMedia(checkpoint, { hidden: HIDDEN }, () => {})!;
  const { tower, inputs, layout } = await prepared(0);
  const weights = openWeights(on, tensors, model.towers[tower]!, { format: null });
  await weights.load();
  await checkpoint.close();
  const found = await compute(on, (_tape, input) => {
    const [features, places] = ['features', 'places'].map((name) => {
      const { shape, data } = inputs[name]!;
      return input({ shape: [...shape], values: Float32Array.from(data) });
    });
    return [...weights.page({ features: features!, places: places! }, layout)];
  });
  expectAgreement(found.values[0]!, values.get('heard')!);
  device.destroy();
});
