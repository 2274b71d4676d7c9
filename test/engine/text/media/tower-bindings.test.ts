// Media whose tensors are larger than a binding: each tower makes the rows that it makes with bindings of any size, in more dispatches. Where
// the pictures of a tower have one size and its tensors are small, the bindings are smaller than any adapter's.

import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { TEXT_CLASSES } from '../../../../src/engine/opening/architectures.ts';
import { readMedia } from '../../../../src/engine/text/towers/text-media.ts';
import { openCheckpoint } from '../../../../src/files/checkpoint/checkpoint.ts';
import { openDiskFolder } from '../../../../src/files/disk/source-disk.ts';
import type { Device } from '../../../../src/gpu/device.ts';
import type { Json } from '../../../../src/models/config-values.ts';
import type { MediaReaders, PreparedMedium } from '../../../../src/models/media.ts';
import { finished } from '../../../../src/models/preparation.ts';
import { disguise, openModelTestDevice } from '../../../gpu/test-device.ts';
import { rowsOf } from './tower-rows.ts';

const GOLDEN = fileURLToPath(new URL('../../../golden/', import.meta.url));
/** Relative to the largest value of the rows. */
const TOLERANCE = 1e-5;
/** Bounds of the processors, which are narrow. */
const WIDE: Json = { size: { shortest_edge: 1, longest_edge: 2 ** 20 } };

let device: Device;
beforeAll(async () => void (device = await openModelTestDevice()));
afterAll(() => device.destroy());

function preparedBy({ image, audio }: MediaReaders, side: number): PreparedMedium {
  if (audio) {
    const samples = Float32Array.from({ length: audio.rate - 100 }, (_, i) => Math.sin(i ** 2 / 1e5));
    return finished(audio.prepare({ rate: audio.rate, samples }, {}));
  }
  const data = Uint8Array.from({ length: 3 * side * side }, (_, i) => (i * 7919) % 251);
  return finished(image!.prepare({ width: side, height: side, data }, {}));
}

it.each([
  // Bytes of a binding, pixels along a side of the image, changes to configurations
  ['media/qwen2-5-vl', 256 << 10, 252, {}, WIDE],
  ['media/qwen3-vl', 256 << 10, 252, {}, WIDE],
  ['pixtral/mistral3', 256 << 10, 200, {}, WIDE],
  ['internvl/qwen2-original', 256 << 10, 240, { force_image_size: 240 }, {}],
  ['internvl/qwen3', 16 << 10, 60, {}, {}],
  ['idefics3/idefics3', 32 << 10, 60, {}, {}],
  ['gemma3-media/whole', 32 << 10, 60, {}, {}],
  ['audio/qwen2-audio', 16 << 10, 0, {}, {}],
  ['audio/voxtral', 16 << 10, 0, {}, {}],
])('the tower %s in bindings of %i bytes', async (path, limit, side, changes, processor) => {
  const checkpoint = await openCheckpoint(await openDiskFolder(GOLDEN + path), TEXT_CLASSES);
  const { config, processors } = checkpoint.beside!;
  const file = 'preprocessor_config.json';
  const beside = {
    ...checkpoint.beside!,
    config: { ...config, ...changes },
    processors:
      file in processors ? { ...processors, [file]: { ...processors[file], ...processor } } : processors,
  };
  const hidden = ((config['text_config'] ?? config['llm_config']) as Json | undefined)?.['hidden_size'];
  const { model, tensors } = readMedia(
    { ...checkpoint, beside },
    { hidden: Number(hidden ?? 48) },
    () => {},
  )!;
  const prepared = preparedBy(model.readers, side);
  const read = { beside: { ...beside, tensors: new Map(tensors) } };
  const wanted = await rowsOf(device, read, model, prepared);
  const found = await rowsOf(disguise(device, { bindingLimit: limit }), read, model, prepared);
  await checkpoint.close();
  expect(found.dispatches).toBeGreaterThan(wanted.dispatches);
  wanted.blocks.forEach((block, i) => {
    const largest = block.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    const worst = block.reduce((most, value, at) => {
      const difference = Math.abs(value - found.blocks[i]![at]!);
      return Number.isNaN(difference) ? Infinity : Math.max(most, difference);
    }, 0);
    expect(largest).toBeGreaterThan(0);
    expect(worst / largest).toBeLessThan(TOLERANCE);
  });
});
