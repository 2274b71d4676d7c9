// The tower and the projector of InternVL against transformers, in both layouts.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openWeights } from '../../../../src/engine/weights/weights.ts';
import { readSafetensors } from '../../../../src/files/tensors/safetensors.ts';
import { openDiskSource } from '../../../../src/files/disk/source-disk.ts';
import type { Device } from '../../../../src/gpu/device.ts';
import type { Tower } from '../../../../src/models/media.ts';
import { internTower } from '../../../../src/models/vision/internvl/intern-vit.ts';
import { readInternVl, type InternVlConfig } from '../../../../src/models/vision/internvl/internvl-config.ts';
import { placeMixtures } from '../../../../src/models/vision/interpolated-places.ts';
import { disguise, openModelTestDevice } from '../../../gpu/test-device.ts';
import { compute, expectAgreement, type Values } from '../../image-golden.ts';
import { FOLDER, mediaFiles, readTensors } from '../internvl-golden.ts';

/** Checkpoints whose rows are those of a case of the reference. */
const CASES = [
  { checkpoint: 'qwen2', rows: 'qwen2', changes: {} },
  { checkpoint: 'qwen2-original', rows: 'qwen2', changes: {} },
  { checkpoint: 'qwen3', rows: 'qwen3', changes: {} },
  { checkpoint: 'qwen3-original', rows: 'qwen3', changes: {} },
  { checkpoint: 'qwen2-original', rows: 'interpolated', changes: { force_image_size: 36 } },
  { checkpoint: 'qwen3-original', rows: 'before-last', changes: { select_layer: -2 } },
  { checkpoint: 'qwen3', rows: 'before-last', changes: { vision_feature_layer: -2 } },
];

/** [tiles, 3, side, side] → [tiles, patches, 3 · patch²] */
function patchesOf({ shape, values }: Values, patch: number): Values {
  const [tiles, , side] = shape as [number, number, number];
  const across = side / patch;
  const rows: number[] = [];
  for (let tile = 0; tile < tiles; tile++)
    for (let cell = 0; cell < across ** 2; cell++)
      for (let channel = 0; channel < 3; channel++)
        for (let i = 0; i < patch ** 2; i++) {
          const y = Math.floor(cell / across) * patch + Math.floor(i / patch);
          const x = (cell % across) * patch + (i % patch);
          rows.push(values[((tile * 3 + channel) * side + y) * side + x]!);
        }
  return { shape: [tiles, across ** 2, 3 * patch ** 2], values: Float32Array.from(rows) };
}

async function loadTower(device: Device, checkpoint: string, { tower }: InternVlConfig): Promise<Tower> {
  const source = await openDiskSource(`${FOLDER}/${checkpoint}/model.safetensors`);
  const { tensors } = await readSafetensors(source);
  const own = [...tensors].filter(([name]) => !/language_model|lm_head/.test(name));
  const named = new Map(own.map(([name, entry]) => [name.replace(/^model\./, ''), entry]));
  const weights = openWeights(device, named, (table) => internTower(tower, table), { format: null });
  await weights.load();
  await source.close();
  return weights.page;
}

const WAYS = [
  { title: 'tuned', as: {}, plain: false, cases: CASES },
  { title: 'plain', as: {}, plain: true, cases: CASES.slice(1, 3) },
  { title: 'bindings of 256 KiB', as: { bindingLimit: 256 << 10 }, plain: false, cases: CASES.slice(1, 3) },
];

let device: Device;
let values: Map<string, Values>;
beforeAll(async () => {
  device = await openModelTestDevice();
  const read = [...(await readTensors('towers.safetensors'))];
  values = new Map(
    read.map(([name, { shape, bytes }]) => [name, { shape, values: new Float32Array(bytes.buffer) }]),
  );
});
afterAll(() => device.destroy());

describe.each(WAYS.map((way) => [way.title, way] as const))('%s', (_, { as, plain, cases }) => {
  for (const { checkpoint, rows, changes } of cases)
    it(`intern-vit ${rows} of ${checkpoint}`, { timeout: 240_000 }, async () => {
      const seen = disguise(device, as);
      const config = readInternVl(mediaFiles(checkpoint, changes));
      const { vit, side } = config.tower;
      const tower = await loadTower(seen, checkpoint, config);
      const patches = patchesOf(values.get(`${rows}.pixels`)!, vit.patch);
      const found = await compute(
        seen,
        (_, input) => {
          const given = { patches: input(patches) };
          if (side === vit.side) return [...tower(given, null)];
          const { sources, shares } = placeMixtures(vit.side / vit.patch, side / vit.patch);
          const shape = [(side / vit.patch) ** 2, 16];
          const mixed = {
            sources: input({ shape, values: Float32Array.from(sources) }, true),
            shares: input({ shape, values: shares }),
          };
          return [...tower({ ...given, ...mixed }, null)];
        },
        { plain },
      );
      expectAgreement(found.values[0]!, values.get(`${rows}.rows`)!);
      expect(found.values[0]!.length).toBe(patches.shape[0]! * config.rows * 32);
    });
});
