// Processors and towers against transformers: values of patches, grids, rows for the language model. Rows are also computed with plain
// kernels' bindings of 256 KiB.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { mediaFamily } from '../../../../src/models/towers/media-families.ts';
import { openCheckpoint, type Checkpoint } from '../../../../src/files/checkpoint/checkpoint.ts';
import { openDiskFolder } from '../../../../src/files/disk/source-disk.ts';
import { TEXT_CLASSES } from '../../../../src/engine/opening/architectures.ts';
import type { Device } from '../../../../src/gpu/device.ts';
import type { MediaModel } from '../../../../src/models/media.ts';
import { finished } from '../../../../src/models/preparation.ts';
import { disguise, openModelTestDevice } from '../../../gpu/test-device.ts';
import { openMediaGolden, type MediaGolden } from '../media/media-golden.ts';
import { expectRows, rowsOf } from '../media/tower-rows.ts';

let device: Device;
beforeAll(async () => void (device = await openModelTestDevice()));
afterAll(() => device.destroy());

const NAMES = ['qwen2-5-vl', 'qwen2-vl', 'qwen3-vl', 'qwen3-vl-moe', 'qwen3-5', 'qwen3-5-moe'];

describe.each(NAMES)('%s', (name) => {
  let golden: MediaGolden;
  let checkpoint: Checkpoint;
  let model: MediaModel;
  beforeAll(async () => {
    golden = await openMediaGolden(name);
    checkpoint = await openCheckpoint(await openDiskFolder(golden.path), TEXT_CLASSES);
    const { config, processors } = checkpoint.beside!;
    model = mediaFamily(checkpoint.wrapper!.architecture)!.read({ config, processors, hidden: 48 });
  });
  afterAll(() => checkpoint.close());

  it.each([0, 1, 2])('image %i: patches and rows', async (i) => {
    const prepared = finished(model.readers.image!.prepare(golden.images[i]!, {}));
    const [time, rows, columns] = golden.tensors.get(`grid.${i}`)!.values;
    expect(time).toBe(1);
    expect(prepared.grid).toEqual({ times: [0], rows: rows! / 2, columns: columns! / 2 });
    expect(prepared.parts).toEqual([(rows! * columns!) / 4]);
    const { shape, values: wanted } = golden.tensors.get(`pixels.${i}`)!;
    const { data } = prepared.inputs['patches']!;
    expect(data).toHaveLength(wanted.length);
    // Windows have an order of their own, and tell it.
    const places = prepared.inputs['places']?.data;
    const distance = (value: number, at: number): number => {
      const patch = Math.floor(at / shape[1]!);
      return Math.abs(value - data[(places?.[patch] ?? patch) * shape[1]! + (at % shape[1]!)]!);
    };
    expect(wanted.reduce((most, value, at) => Math.max(most, distance(value, at)), 0)).toBeLessThan(1e-5);
    for (const on of i === 0 ? [device, disguise(device, { bindingLimit: 256 << 10 })] : [device]) {
      const found = await rowsOf(on, checkpoint, model, prepared);
      expectRows(found.blocks[0]!, found.columns, golden.tensors.get(`rows.${i}`)! as never);
      for (let at = 0; golden.tensors.has(`deep.${i}.${at}`); at++)
        expectRows(found.blocks[1 + at]!, found.columns, golden.tensors.get(`deep.${i}.${at}`)! as never);
    }
  });
});
