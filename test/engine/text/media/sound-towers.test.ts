// Features and towers of Qwen2-Audio and Voxtral against transformers.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TEXT_CLASSES } from '../../../../src/engine/opening/architectures.ts';
import { openCheckpoint, type Checkpoint } from '../../../../src/files/checkpoint/checkpoint.ts';
import { readSound } from '../../../../src/files/media/read-sound.ts';
import { openDiskFolder } from '../../../../src/files/disk/source-disk.ts';
import type { Device } from '../../../../src/gpu/device.ts';
import { mediaFamily } from '../../../../src/models/towers/media-families.ts';
import type { MediaModel } from '../../../../src/models/media.ts';
import { finished } from '../../../../src/models/preparation.ts';
import { disguise, openModelTestDevice } from '../../../gpu/test-device.ts';
import { readValues, type Values } from '../../../models/image-golden.ts';
import { soundGolden } from './sound-golden.ts';
import { expectRows, rowsOf } from './tower-rows.ts';

const [MELS, RATE] = [20, 16_000];

let device: Device;
beforeAll(async () => void (device = await openModelTestDevice()));
afterAll(() => device.destroy());

describe.each(['qwen2-audio', 'voxtral'])('%s', (name) => {
  const { path, sounds } = soundGolden(name);
  let checkpoint: Checkpoint;
  let model: MediaModel;
  let tensors: ReadonlyMap<string, Values>;
  beforeAll(async () => {
    tensors = await readValues(`${path}.safetensors`);
    checkpoint = await openCheckpoint(await openDiskFolder(path), TEXT_CLASSES);
    const { config, processors } = checkpoint.beside!;
    model = mediaFamily(checkpoint.wrapper!.architecture)!.read({ config, processors, hidden: 48 });
  });
  afterAll(() => checkpoint.close());

  const prepare = async (i: number) => {
    const sound = await readSound(sounds[i]!, 'sound', { bounds: { maxMediaSeconds: 9 }, rate: RATE });
    return finished(model.readers.audio!.prepare(sound, {}));
  };

  it.each([0, 1])('sound %i: features and rows', async (i) => {
    const prepared = await prepare(i);
    const wanted = tensors.get(`features.${i}`)!;
    const { data, shape } = prepared.inputs['features']! as { data: Float32Array; shape: number[] };
    const [windows, frames] = shape as [number, number];
    expect(wanted.shape).toEqual([windows, 100, MELS]);
    // Of a single window only the frames that are heard are prepared.
    expect(windows === 1 || frames === 100).toBe(true);
    const worst = data.reduce((most, value, at) => Math.max(most, Math.abs(value - wanted.values[at]!)), 0);
    expect(worst).toBeLessThan(2e-4);
    const limited = disguise(device, { bindingLimit: 256 << 10 });
    for (const [on, plain] of [
      [device, false],
      [limited, false],
      [device, true],
    ] as const) {
      if (i > 0 && (plain || on === limited)) continue;
      const found = await rowsOf(on, checkpoint, model, prepared, { plain });
      expectRows(found.blocks[0]!, found.columns, tensors.get(`rows.${i}`)! as never);
    }
  });

  it('refuses a processor that does not fit the encoder', () => {
    const { config, processors } = checkpoint.beside!;
    const read = (change: object) => () =>
      mediaFamily(checkpoint.wrapper!.architecture)!.read({
        config,
        hidden: 48,
        processors: {
          'preprocessor_config.json': { ...processors['preprocessor_config.json'], ...change },
        },
      });
    expect(read({ feature_size: 80 })).toThrow(/feature_size is 80, and the encoder takes 20/);
    expect(read({ chunk_length: 30 })).toThrow(/chunk_length is 30, 3000 frames, and the encoder takes 100/);
    expect(read({ hop_length: 128 })).toThrow(/hop_length/);
  });
});

it('Qwen2-Audio reads one window of a sound, and refuses one that is too short', async () => {
  const { path } = soundGolden('qwen2-audio');
  const checkpoint = await openCheckpoint(await openDiskFolder(path), TEXT_CLASSES);
  const { config, processors } = checkpoint.beside!;
  const { readers } = mediaFamily('Qwen2AudioForConditionalGeneration')!.read({
    config,
    processors,
    hidden: 48,
  });
  const prepare = (samples: number) =>
    finished(readers.audio!.prepare({ rate: RATE, samples: new Float32Array(samples) }, {}));
  expect(prepare(RATE).parts).toEqual([25]);
  expect(() => prepare(RATE + 1600)).toThrow(
    'it lasts 1.1 seconds, and this model hears at most 1 of one sound',
  );
  expect(() => prepare(300)).toThrow('too short');
  await checkpoint.close();
});
