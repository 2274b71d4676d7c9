// Weights of SVDQuant: the goldens of scripts/reference/nunchaku_goldens.py, exactly, and modules that do not fit.

import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openWeights } from '../../../src/engine/weights/weights.ts';
import { isNunchaku, readNunchaku } from '../../../src/files/coded/nunchaku.ts';
import { halfValues } from '../../../src/files/tensors/half-values.ts';
import { readSafetensors, type TensorEntry } from '../../../src/files/tensors/safetensors.ts';
import type { Device } from '../../../src/gpu/device.ts';
import { changed, without } from '../../files/coded/coded-golden.ts';
import { memorySource } from '../../files/memory-source.ts';
import { openModelTestDevice } from '../../gpu/test-device.ts';
import { columnsOf } from '../../kernels/stored.ts';

type Tensors = Map<string, TensorEntry>;

let device: Device;
beforeAll(async () => void (device = await openModelTestDevice()));
afterAll(() => device.destroy());

const bytes = readFileSync(new URL('../../golden/nunchaku-weights.safetensors', import.meta.url));
const { tensors: golden } = await readSafetensors(memorySource('golden', bytes));

/** The tensors of a case as those of module `w`. */
function caseOf(name: string): Tensors {
  const own = [...golden.values()].filter((one) => one.name.startsWith(`${name}.`));
  const stored = own.filter((one) => !one.name.endsWith('values'));
  return new Map(
    stored.map((one) => {
      const as = `w${one.name.slice(name.length)}`;
      return [as, { ...one, name: as }];
    }),
  );
}

async function valuesOf({ source, offset, bytes: size, dtype }: TensorEntry): Promise<number[]> {
  const read = await source.read(offset, size);
  return [
    ...(dtype === 'F32' ? new Float32Array(read.buffer) : halfValues(new Uint16Array(read.buffer), dtype)),
  ];
}

const wanted = (name: string): Promise<number[]> => valuesOf(golden.get(name)!);

async function matrixOf(
  tensors: Tensors,
  rows: number,
  k: number,
): Promise<{ formats: string[]; values: number[] }> {
  const weights = openWeights(device, tensors, (table) => table.matrix('w.weight', rows, k, { bias: true }), {
    format: null,
  });
  await weights.load();
  const values = (await columnsOf(device, weights.page)).flatMap((column) => [...column]);
  const formats = weights.page.formats.map((format) => format.name);
  weights.free();
  return { formats, values };
}

describe('modules of SVDQuant', () => {
  it.each([
    ['int4', 'u4_64'],
    ['fp4', 'nvfp4_32'],
    ['fp4rows', 'nvfp4_32'],
  ])('%s', async (name, format) => {
    const stored = caseOf(name);
    expect(isNunchaku(stored)).toBe(true);
    const tensors = readNunchaku(stored);
    expect([...tensors.keys()].toSorted()).toEqual([
      'w.bias',
      'w.weight',
      'w.weight.down',
      'w.weight.smooth',
      'w.weight.up',
    ]);
    const found = await matrixOf(tensors, 128, 256);
    const values = await wanted(`${name}.values`);
    expect(found.formats).toEqual([format]);
    expect(found.values.filter((value, i) => value !== values[i])).toEqual([]);
    for (const part of ['down', 'up'])
      expect(await valuesOf(tensors.get(`w.weight.${part}`)!)).toEqual(
        await wanted(`${name}.${part}.values`),
      );
    expect(await valuesOf(tensors.get('w.bias')!)).toEqual(await wanted(`${name}.bias.values`));
    const rates = (await wanted(`${name}.smooth.values`)).map((value) => Math.fround(1 / value));
    expect(await valuesOf(tensors.get('w.weight.smooth')!)).toEqual([...rates, ...rates.map(() => 0)]);
  });

  it('modulation, whose chunks take turns', async () => {
    const tensors = readNunchaku(caseOf('turns'));
    const found = await matrixOf(tensors, 384, 128);
    const values = await wanted('turns.values');
    expect(found.formats).toEqual(['affine4_64_bf16']);
    expect(found.values.filter((value, i) => value !== values[i])).toEqual([]);
    expect(await valuesOf(tensors.get('w.bias')!)).toEqual(await wanted('turns.bias.values'));
  });

  it.each(['w.weight', 'w.weight.down', 'w.weight.up'])('%s is read from any row on', async (name) => {
    const entry = readNunchaku(caseOf('int4')).get(name)!;
    const { source, offset, bytes: size } = entry.coded?.codes ?? entry;
    const whole = await source.read(offset, size);
    for (const [first, length] of [
      [0, 6],
      [254, 1030],
      [size - 300, 300],
    ] as const)
      expect(await source.read(offset + first, length)).toEqual(whole.slice(first, first + length));
  });
});

describe('modules that are refused:', () => {
  const int4 = caseOf('int4');
  it.each<[string, Tensors, RegExp]>([
    ['no factor', without(int4, 'w.lora_down'), /tensor w\.proj_down is missing/],
    ['no smoothing', without(int4, 'w.smooth'), /tensor w\.smooth_factor is missing/],
    ['few scales', changed(int4, 'w.wscales', { shape: [2, 128] }), /wscales has the shape \[2, 128\], and/],
    ['another rank', changed(int4, 'w.lora_up', { shape: [128, 32] }), /lora_up has the shape \[128, 32\]/],
    [
      'a rank of no tiles',
      changed(int4, 'w.lora_down', { shape: [256, 8] }),
      /the rank 8, and multiples of 16/,
    ],
    [
      'rows of no tiles',
      changed(int4, 'w.qweight', { shape: [64, 128] }),
      /is of \[64, 256\], and multiples of 128/,
    ],
    ['other codes', changed(int4, 'w.qweight', { dtype: 'F16' }), /qweight is F16/],
  ])('%s', (_, tensors, message) => {
    expect(() => readNunchaku(tensors)).toThrow(message);
  });

  it('factors of parts that are multiplied together and have inputs of their own', () => {
    const tensors = new Map(
      ['q', 'k'].flatMap((part) =>
        [...readNunchaku(caseOf('int4'))].map(([name, entry]) => [part + name, entry] as const),
      ),
    );
    expect(() =>
      openWeights(
        device,
        tensors,
        (table) =>
          table.stacked(
            ['qw', 'kw'].map((name) => ({ name: `${name}.weight`, rows: 128 })),
            256,
          ),
        { format: null },
      ),
    ).toThrow(/low-rank parts read their input differently/);
  });
});
