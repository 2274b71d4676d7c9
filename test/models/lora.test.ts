// LoRA adapters against the same weights merged by torch: over stored and quantised bases, on the variants that adapters of the
// GPU kind may get; and rows of several adapters and of none in one step, bit by bit as if each were alone.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readSafetensors } from '../../src/files/tensors/safetensors.ts';
import { openDiskSource } from '../../src/files/disk/source-disk.ts';
import type { Device } from '../../src/gpu/device.ts';
import { openModelTestDevice } from '../gpu/test-device.ts';
import { differingRows } from '../kernels/compute.ts';
import { openForward, type ForwardOptions } from './forward.ts';

const TOLERANCE = { stored: 1e-4, int8: 1e-3, int4: 1e-3 };

interface LoraCase {
  name: string;
  adapter: string;
  checkpoint: string;
  weights: 'stored' | 'int8' | 'int4';
  input_ids: number[];
  positions: number[];
}

const GOLDEN = fileURLToPath(new URL('../golden/', import.meta.url));
const { cases } = JSON.parse(readFileSync(`${GOLDEN}lora.json`, 'utf8')) as { cases: LoraCase[] };
const folderOf = (adapter: string): string => `${GOLDEN}lora/${adapter}`;

async function wantedLogits({ name }: LoraCase): Promise<Float32Array[]> {
  const source = await openDiskSource(`${GOLDEN}lora.safetensors`);
  try {
    const entry = (await readSafetensors(source)).tensors.get(name)!;
    const values = new Float32Array((await source.read(entry.offset, entry.bytes)).buffer);
    const [rows, vocabulary] = entry.shape as [number, number];
    return Array.from({ length: rows }, (_, i) => values.slice(i * vocabulary, (i + 1) * vocabulary));
  } finally {
    await source.close();
  }
}

/** Returns the logits of all rows of a case with one adapter, `rows` per step; null: without an adapter. */
async function logitsOf(
  device: Device,
  of: LoraCase,
  adapter: number | null,
  options: ForwardOptions = {},
): Promise<Float32Array[]> {
  const format = of.weights === 'stored' ? null : of.weights;
  const forward = await openForward(device, GOLDEN + of.checkpoint, { ...options, format });
  const logits: Float32Array[] = [];
  const rows = options.rows ?? 64;
  while (logits.length < of.input_ids.length) {
    const ids = of.input_ids.slice(logits.length, logits.length + rows);
    logits.push(
      ...(await forward.step(
        ids,
        () => of.input_ids.length,
        () => adapter,
      )),
    );
  }
  forward.close();
  return logits;
}

async function expectGolden(of: LoraCase, logits: Float32Array[]): Promise<void> {
  const wanted = await wantedLogits(of);
  expect(wanted.length).toBe(of.positions.length);
  of.positions.forEach((position, i) => {
    const scale = wanted[i]!.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    wanted[i]!.forEach((value, token) =>
      expect(Math.abs(logits[position]![token]! - value) / scale).toBeLessThan(TOLERANCE[of.weights]),
    );
  });
}

const VARIANTS = [
  { name: 'the adapter as it is', as: {}, cases },
  { name: 'without subgroups', as: { portable: true }, cases: cases.slice(0, 1) },
  { name: 'bindings of 48 KiB', as: { bindingLimit: 48 << 10 }, cases: cases.slice(0, 1) },
];

for (const { name, as, cases: some } of VARIANTS) {
  describe(name, () => {
    let device: Device;
    beforeAll(async () => void (device = await openModelTestDevice(as)));
    afterAll(() => device.destroy());

    it.each(some)(
      'the LoRA $name has the logits of the merged weights, in steps as at once',
      { timeout: 240_000 },
      async (of) => {
        const loras = [folderOf(of.adapter)];
        const atOnce = await logitsOf(device, of, 0, { loras, ...(as.bindingLimit && { rows: 16 }) });
        await expectGolden(of, atOnce);
        for (const rows of [4, 1])
          expect(differingRows(await logitsOf(device, of, 0, { loras, rows }), atOnce)).toEqual([]);
      },
    );
  });
}

describe('several LoRAs at once', () => {
  let device: Device;
  beforeAll(async () => void (device = await openModelTestDevice()));
  afterAll(() => device.destroy());

  const [all] = cases;
  const loras = ['llama-some', 'llama-all'].map(folderOf);

  it('an adapter adds the same whichever others are loaded, and a row without one has the model alone', async () => {
    const [first, second] = [cases.find(({ name }) => name === 'llama-some.stored')!, all!];
    await expectGolden(first, await logitsOf(device, first, 0, { loras }));
    await expectGolden(second, await logitsOf(device, second, 1, { loras }));
    const plain = await logitsOf(device, all!, null);
    expect(differingRows(await logitsOf(device, all!, null, { loras }), plain)).toEqual([]);
  });

  it('rows of both and of none in one step are each as alone', async () => {
    const of = all!;
    const forward = () => openForward(device, GOLDEN + of.checkpoint, { loras });
    const ids = of.input_ids.slice(0, 20);
    // Rows attend to earlier rows, so a row equals its result alone only if all earlier rows have the same adapter.
    const turns = [0, 1, null] as const;
    const mixed = await forward();
    const together = await mixed.step(
      ids,
      () => 20,
      (row) => turns[row % 3]!,
    );
    const other = await forward();
    const one: Float32Array[] = [];
    for (const [row, id] of ids.entries())
      one.push(
        ...(await other.step(
          [id],
          () => 20,
          () => turns[row % 3]!,
        )),
      );
    expect(differingRows(one, together)).toEqual([]);
    mixed.close();
    other.close();
  });
});
