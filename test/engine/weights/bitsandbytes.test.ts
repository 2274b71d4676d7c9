// Weights of bitsandbytes: the goldens of scripts/reference/bitsandbytes_weights.py, and damaged ones.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openWeights } from '../../../src/engine/weights/weights.ts';
import type { TensorEntry } from '../../../src/files/checkpoint/safetensors.ts';
import { readCoded } from '../../../src/files/coded/fold.ts';
import type { Device } from '../../../src/gpu/device.ts';
import type { Matrix } from '../../../src/kernels/matrix.ts';
import { openTestDevice } from '../../gpu/test-device.ts';
import { columnsOf } from '../../kernels/stored.ts';
import { changed, openCodedGolden, without } from './coded-golden.ts';

let device: Device;
beforeAll(async () => void (device = await openTestDevice()));
afterAll(() => device.destroy());

const caseOf = await openCodedGolden('bitsandbytes-weights');
const SETTINGS = { method: 'bitsandbytes', settings: { quant_method: 'bitsandbytes' } };

async function load(stored: Map<string, TensorEntry>, rows: number, k: number): Promise<Matrix> {
  const tensors = await readCoded(stored, SETTINGS);
  expect([...tensors.keys()]).toEqual(['w.weight']);
  const before = device.memoryUsed;
  const page = openWeights(device, tensors, (weights) => weights.matrix('w.weight', rows, k), {
    format: null,
  });
  expect(device.memoryUsed - before).toBe(page.plan.bytes);
  await page.load();
  return page.page;
}

describe('values are those of bitsandbytes', () => {
  it.each([
    ['nf4', 'nf4_64'],
    ['nf4nested', 'nf4_64'],
    ['nf4wide', 'nf4_64'],
    ['nf4across', 'nf4_32'],
    ['nf4acrossnested', 'nf4_64'],
    ['fp4', 'fp4_64'],
    ['fp4across', 'fp4_32'],
    ['int8', 'i8_128'],
    ['int8narrow', 'i8_32'],
  ])('%s', async (name, format) => {
    const { tensors, values, rows, k } = caseOf(name);
    const matrix = await load(tensors, rows, k);
    expect(matrix.formats.map((each) => each.name)).toEqual([format]);
    const columns = await columnsOf(device, matrix);
    const found = columns.flatMap((column) => [...column]);
    expect(found.filter((value, i) => value !== values[i])).toEqual([]);
  });
});

it('codes may be stored as numbers of another type, whose bytes they are', async () => {
  const { tensors, values, rows, k } = caseOf('nf4');
  const matrix = await load(changed(tensors, 'w.weight', { dtype: 'BF16', shape: [2048, 1] }), rows, k);
  const found = (await columnsOf(device, matrix)).flatMap((column) => [...column]);
  expect(found.filter((value, i) => value !== values[i])).toEqual([]);
});

it.each(['nf4', 'nf4nested', 'nf4across', 'nf4acrossnested'])(
  'scales of %s are read from any row on',
  async (name) => {
    const { scales } = (await readCoded(caseOf(name).tensors, SETTINGS)).get('w.weight')!.coded!;
    const { source, offset, bytes } = scales;
    const whole = await source.read(offset, bytes);
    for (const [first, length] of [
      [0, 4],
      [20, 36],
      [bytes - 8, 8],
    ] as const)
      expect(await source.read(offset + first, length)).toEqual(whole.slice(first, first + length));
  },
);

const stated = (text: string): Uint8Array => new TextEncoder().encode(text);
const STATE = 'w.weight.quant_state.bitsandbytes__nf4';
const { tensors: nf4 } = caseOf('nf4');
const { tensors: nested } = caseOf('nf4nested');
const { tensors: int8 } = caseOf('int8');

describe('damaged weights are refused with what is wrong', () => {
  it.each([
    ['no scales', without(nf4, 'w.weight.absmax'), /w\.weight\.absmax is missing/],
    ['no table', without(nf4, 'w.weight.quant_map'), /w\.weight\.quant_map is missing/],
    ['no state', without(nf4, STATE), /w\.weight is U8 without its quant_state/],
    ['no codes', without(nf4, 'w.weight'), /w\.weight is missing, and its quant_state is there/],
    ['no scales of scales', without(nested, 'w.weight.nested_absmax'), /nested_absmax is missing/],
    [
      'few scales',
      changed(nf4, 'w.weight.absmax', { shape: [3] }),
      /absmax has the shape \[3\], and 32 × 256/,
    ],
    ['other scales', changed(nf4, 'w.weight.absmax', { dtype: 'U8' }), /absmax is U8 of \[128\], and F32/],
    ['few codes', changed(nf4, 'w.weight', { bytes: 64 }), /w\.weight holds 128 codes, and .* \[32, 256\]/],
    [
      'no JSON',
      changed(nf4, STATE, { data: stated('{"quant_type": ') }),
      /bitsandbytes__nf4 is not a JSON object/,
    ],
    ['no text', changed(nf4, STATE, { data: Uint8Array.of(255, 254) }), /is not a JSON object/],
    ['other type', changed(nf4, STATE, { data: stated('{"quant_type":"af4"}') }), /says quant_type "af4"/],
    [
      'no block size',
      changed(nf4, STATE, { data: stated('{"quant_type":"nf4","blocksize":0,"shape":[32,256]}') }),
      /says blocksize 0/,
    ],
    [
      'no shape',
      changed(nf4, STATE, { data: stated('{"quant_type":"nf4","blocksize":64,"shape":[32,-1]}') }),
      /says shape \[32,-1\]/,
    ],
    [
      'no offset',
      changed(nf4, STATE, {
        data: stated('{"quant_type":"nf4","blocksize":64,"shape":[32,256],"nested_blocksize":256}'),
      }),
      /says nested_offset undefined/,
    ],
    ['large state', changed(nf4, STATE, { data: new Uint8Array(2 ** 21) }), /has 2097152 bytes, above/],
    ['no ranges', without(int8, 'w.SCB'), /w\.SCB is missing/],
    ['few ranges', changed(int8, 'w.SCB', { shape: [31] }), /SCB has the shape \[31\], and 32 outputs/],
    [
      'an order of GPUs',
      changed(int8, 'w.weight_format', { data: Uint8Array.of(2) }),
      /weight_format says that the codes are in the order of a kind of GPU \(2\)/,
    ],
  ])('%s', async (_, tensors, message) => {
    await expect(readCoded(tensors, SETTINGS)).rejects.toThrow(message);
  });

  it('another type of blocks', async () => {
    const other = 'w.weight.quant_state.bitsandbytes__af4';
    const entry = { ...nf4.get(STATE)!, name: other };
    const tensors = new Map([...without(nf4, STATE), [other, entry]]);
    await expect(readCoded(tensors, SETTINGS)).rejects.toThrow(
      /bitsandbytes__af4 is of another type than nf4 and fp4/,
    );
  });

  it('rows that are not whole blocks of 32', async () => {
    const state = stated('{"quant_type":"nf4","blocksize":64,"shape":[256,16]}');
    const small = changed(changed(nf4, STATE, { data: state }), 'w.weight', { bytes: 2048 });
    await expect(readCoded(small, SETTINGS)).rejects.toThrow(/w\.weight has 16 inputs in blocks of 64/);
  });

  it('another table, when weights are read', async () => {
    const map = new Uint8Array(new Float32Array(16).fill(0.5).buffer);
    const tensors = changed(nf4, 'w.weight.quant_map', { data: map });
    await expect(load(tensors, 32, 256)).rejects.toThrow(
      /quant_map of changed says that code 0 is 0\.5, and in nf4 it is -1/,
    );
  });

  it('a scale that is not finite, when weights are read', async () => {
    const scales = new Float32Array(128).fill(1);
    scales[77] = Infinity;
    const tensors = changed(nf4, 'w.weight.absmax', { data: new Uint8Array(scales.buffer) });
    await expect(load(tensors, 32, 256)).rejects.toThrow(
      /w\.weight\.absmax of changed has 1 value that is NaN or infinite/,
    );
  });
});
