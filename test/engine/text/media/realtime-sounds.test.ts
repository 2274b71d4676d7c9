// Voxtral Realtime, whose sounds are added to the tokens of their texts, against transformers.

import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { transcribeSound } from '../../../../src/chat/transcribe.ts';
import type { TextModel } from '../../../../src/engine/text/calls/text-model.ts';
import { TEXT_CLASSES } from '../../../../src/engine/opening/architectures.ts';
import { openCheckpoint } from '../../../../src/files/checkpoint/checkpoint.ts';
import { openDiskFolder } from '../../../../src/files/disk/source-disk.ts';
import { readSound } from '../../../../src/files/media/read-sound.ts';
import type { Device } from '../../../../src/gpu/device.ts';
import { finished } from '../../../../src/models/preparation.ts';
import { mediaFamily } from '../../../../src/models/towers/media-families.ts';
import { openModelTestDevice } from '../../../gpu/test-device.ts';
import { readValues } from '../../../models/image-golden.ts';
import { openMediaModel } from './media-golden.ts';
import { realtimeGolden } from './sound-golden.ts';
import { expectRows, rowsOf } from './tower-rows.ts';

vi.setConfig({ testTimeout: 120_000 });

const { path, sounds, greedy, requestOf } = realtimeGolden();

let device: Device;
let model: TextModel;
beforeAll(async () => {
  device = await openModelTestDevice();
  model = await openMediaModel({ path }, { prefillChunk: 16 });
});
afterAll(async () => {
  await model.close();
  device.destroy();
});

const content = (i: number) => [{ type: 'audio' as const, audio: sounds[i]! }];
const idsOf = async (i: number, more: object = {}): Promise<number[]> => {
  const ids: number[] = [];
  for await (const event of model.generate({ ...requestOf(i), ...more }))
    if (event.type === 'delta') ids.push(...event.ids);
  return ids;
};

it('features and rows are those of transformers, part by part', async () => {
  const tensors = await readValues(`${path}.safetensors`);
  const checkpoint = await openCheckpoint(await openDiskFolder(path), TEXT_CLASSES);
  const { config, processors } = checkpoint.beside!;
  const family = mediaFamily(checkpoint.wrapper!.architecture)!.read({ config, processors, hidden: 48 });
  for (const i of [0, 1]) {
    const sound = await readSound(sounds[i]!, 'sound', { bounds: { maxMediaSeconds: 9 }, rate: 16_000 });
    const prepared = finished(family.readers.audio!.prepare(sound, {}));
    const wanted = tensors.get(`features.${i}`)!;
    const { data, shape } = prepared.inputs['features']! as { data: Float32Array; shape: number[] };
    expect(shape).toEqual([1, 2 + wanted.shape[1]!, 20]);
    const worst = data
      .subarray(2 * 20)
      .reduce((most, value, at) => Math.max(most, Math.abs(value - wanted.values[at]!)), 0);
    expect(worst).toBeLessThan(2e-4);
    const found = await rowsOf(device, checkpoint, family, prepared);
    const { shape: all, values } = tensors.get(`rows.${i}`)!;
    expectRows(found.blocks[0]!, found.columns, { shape: all.slice(1), values });
  }
  await checkpoint.close();
});

it('Voxtral Realtime makes the tokens of transformers up to the end of the sound, one after the other and together', async () => {
  expect(model.info.media).toEqual(['audio']);
  expect(await idsOf(0)).toEqual(greedy[0]);
  expect(await Promise.all([idsOf(1), idsOf(0), idsOf(1, { maxTokens: 5 })])).toEqual([
    greedy[1],
    greedy[0],
    greedy[1]!.slice(0, 5),
  ]);
  await model.flushCache();
  expect(await idsOf(1, { speculative: false })).toEqual(greedy[1]);
});

it('Voxtral Realtime writes the text of a sound, and refuses what it cannot be told', async () => {
  const made = await transcribeSound(model, sounds[0]!);
  expect(made.duration).toBeCloseTo(0.3111, 3);
  await expect(transcribeSound(model, sounds[0]!, { language: 'de' })).rejects.toMatchObject({
    ...{ code: 'bad_request', param: 'language' },
  });
  const refused = async (parts: object[], message: RegExp): Promise<void> => {
    const messages = [{ role: 'user' as const, content: parts as ReturnType<typeof content> }];
    const reading = (async () => {
      for await (const event of model.generate({ prompt: { messages } })) if (event.type === 'done') return;
    })();
    await expect(reading).rejects.toThrow(message);
  };
  await refused([...content(0), { type: 'text', text: 'What is said?' }], /send one part of type audio/);
  await refused([...content(0), ...content(1)], /send one part of type audio/);
});
