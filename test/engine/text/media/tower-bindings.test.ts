// Images whose tensors are larger than a binding of 256 KiB: each tower makes the rows that it makes with bindings of any size.

import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { TEXT_CLASSES } from '../../../../src/engine/architectures.ts';
import { openCheckpoint } from '../../../../src/files/checkpoint/checkpoint.ts';
import { openDiskFolder } from '../../../../src/files/source-disk.ts';
import type { Device } from '../../../../src/gpu/device.ts';
import type { Json } from '../../../../src/models/config-values.ts';
import { mediaFamily } from '../../../../src/models/media-families.ts';
import { disguise, openModelTestDevice } from '../../../gpu/test-device.ts';
import { rowsOf } from './tower-rows.ts';

const GOLDEN = fileURLToPath(new URL('../../../golden/', import.meta.url));
const LIMIT = 256 << 10;
/** Relative to the largest value of the rows. */
const TOLERANCE = 1e-5;
/** Bounds of the processors, which are narrow. */
const BOUNDS: Json = { shortest_edge: 1, longest_edge: 2 ** 20 };

let device: Device;
beforeAll(async () => void (device = await openModelTestDevice()));
afterAll(() => device.destroy());

it.each([
  // Pixels along a side of the image
  ['media/qwen2-5-vl', 252],
  ['media/qwen3-vl', 252],
  ['pixtral/mistral3', 200],
])('%s', async (path, side) => {
  const checkpoint = await openCheckpoint(await openDiskFolder(GOLDEN + path), TEXT_CLASSES);
  const { config, processors } = checkpoint.beside!;
  const wide = { ...processors['preprocessor_config.json'], size: BOUNDS };
  const files = { config, processors: { ...processors, 'preprocessor_config.json': wide } };
  const hidden = (config['text_config'] as Json)['hidden_size'] as number;
  const model = mediaFamily(checkpoint.wrapper!.architecture)!.read({ ...files, hidden });
  const data = Uint8Array.from({ length: 3 * side * side }, (_, i) => (i * 7919) % 251);
  const prepared = model.readers.image!.prepare({ width: side, height: side, data }, {});
  const { shape } = prepared.inputs['patches']!;
  expect(shape.reduce((product, extent) => product * extent) * 4).toBeGreaterThan(LIMIT);
  const narrow = disguise(device, { bindingLimit: LIMIT });
  const wanted = await rowsOf(device, checkpoint, model, prepared);
  const found = await rowsOf(narrow, checkpoint, model, prepared);
  await checkpoint.close();
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
