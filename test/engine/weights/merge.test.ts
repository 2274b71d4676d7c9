// LoRAs of image models merged into weights while these are packed, against PEFT and LyCORIS: every form of factors on a matrix and on
// convolutions, several at once, in pieces of any size, and gone without a trace once the tensors are read again.

import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openWeights, type Weights } from '../../../src/engine/weights/weights.ts';
import type { WeightChange } from '../../../src/engine/weights/change.ts';
import { readSafetensors, type TensorEntry } from '../../../src/files/tensors/safetensors.ts';
import { openImageLora, type ImageLora } from '../../../src/files/lora/image-lora.ts';
import { matchLora } from '../../../src/files/lora/match.ts';
import { openDiskFolder, openDiskSource } from '../../../src/files/disk/source-disk.ts';
import type { Device } from '../../../src/gpu/device.ts';
import { FORMATS, type FormatName } from '../../../src/kernels/formats.ts';
import type { Matrix } from '../../../src/kernels/matrix.ts';
import type { WeightTable } from '../../../src/models/weights.ts';
import type { ProductFactor } from '../../../src/files/lora/module.ts';
import { memorySource } from '../../files/memory-source.ts';
import { disguise, openModelTestDevice } from '../../gpu/test-device.ts';

const FOLDER = fileURLToPath(new URL('../../golden/image/lora-layers', import.meta.url));
/** Sums of a few products of f32, of values below 3. */
const ROUNDING = 3e-6;

let device: Device;
let base: ReadonlyMap<string, TensorEntry>;
let expected: ReadonlyMap<string, TensorEntry>;
const open: { close(): Promise<void> }[] = [];

async function stored(name: string): Promise<ReadonlyMap<string, TensorEntry>> {
  const source = await openDiskSource(`${FOLDER}/${name}.safetensors`);
  open.push(source);
  return (await readSafetensors(source)).tensors;
}

beforeAll(async () => {
  device = await openModelTestDevice();
  base = await stored('base');
  expected = await stored('expected');
});
afterAll(async () => {
  await Promise.all(open.map((each) => each.close()));
  device.destroy();
});

async function adapter(name: string): Promise<ImageLora> {
  const file = await openImageLora(await openDiskFolder(`${FOLDER}/${name}.safetensors`));
  open.push(file);
  return file;
}

const page = (table: WeightTable): Record<string, Matrix> => ({
  fc: table.matrix('fc.weight', 36, 20, { bias: true }),
  conv: table.conv('conv.weight', 24, 12, 3),
  proj: table.conv('proj.weight', 16, 12, 1),
});

/** The changes of LoRAs with these strengths. */
async function changesOf(adapters: readonly [name: string, strength: number][]) {
  const changes = new Map<string, WeightChange[]>();
  for (const [name, scale] of adapters) {
    const part = { component: 'unet', dotted: ['unet.'], flat: ['lora_unet_'], tensors: base };
    const match = matchLora(await adapter(name), [part]);
    expect(match).toMatchObject({ unmatched: [], misfit: null });
    for (const [tensor, own] of match.changes.get('unet')!)
      changes.set(tensor, [...(changes.get(tensor) ?? []), ...own.map((change) => ({ ...change, scale }))]);
  }
  return changes;
}

type Layers = Weights<Record<string, Matrix>>;

/** All bytes of the packed weights. */
async function bytesOf({ page: layers }: Layers): Promise<Uint8Array[]> {
  const found: Uint8Array[] = [];
  for (const matrix of Object.values(layers)) {
    for (const { codes, scales } of matrix.windows)
      for (const region of scales ? [codes, scales] : [codes])
        found.push(new Uint8Array(await device.read(region)));
    if (matrix.bias) found.push(new Uint8Array(await device.read(matrix.bias.region!)));
  }
  return found;
}

function layersIn(format: FormatName, tensors = base): Layers {
  return openWeights(device, tensors, page, { format: FORMATS[format], plain: true });
}

/** A checkpoint with merged weights in place of the base's. */
async function merged(label: string): Promise<ReadonlyMap<string, TensorEntry>> {
  const own = [...expected].filter(([name]) => name.startsWith(`${label}/`));
  expect(own.length).toBeGreaterThan(0);
  return new Map([
    ...base,
    ...own.map(([name, entry]): [string, TensorEntry] => {
      const tensor = name.slice(label.length + 1);
      return [tensor, { ...entry, name: tensor }];
    }),
  ]);
}

const cases = await stored('expected').then((all) => [
  ...new Set([...all.keys()].map((name) => name.split('/')[0]!)),
]);

describe('LoRAs merged into weights', () => {
  it.each(cases)('of %s equal what its program merges', async (label) => {
    const [name, strength] = label.split('@') as [string, string];
    const adapters: [string, number][] =
      name === 'both'
        ? [
            ['peft', 0.8],
            ['peft-rslora', -0.5],
          ]
        : [[name, Number(strength)]];
    const layers = layersIn('f32');
    const wanted = layersIn('f32', await merged(label));
    await layers.load({ changes: await changesOf(adapters) });
    await wanted.load();
    const [ours, theirs] = [await bytesOf(layers), await bytesOf(wanted)];
    ours.forEach((bytes, i) => {
      const [a, b] = [bytes, theirs[i]!].map((each) => new Float32Array(each.buffer));
      const most = a!.reduce((far, value, at) => Math.max(far, Math.abs(value - b![at]!)), 0);
      expect(most).toBeLessThan(ROUNDING);
    });
    layers.free();
    wanted.free();
  });

  it.each(['bf16', 'f16', 'int8', 'int4'] as const)(
    'in %s are packed like weights of f32',
    async (format) => {
      const layers = layersIn(format);
      const wanted = layersIn(format, await merged('diff@1.0'));
      await layers.load({ changes: await changesOf([['diff', 1]]) });
      await wanted.load();
      expect(await bytesOf(layers)).toEqual(await bytesOf(wanted));
      layers.free();
      wanted.free();
    },
  );

  it("reach convolutions in Winograd's form, in which their taps are sums", async () => {
    const wide = (table: WeightTable): Record<string, Matrix> => ({
      conv: table.conv('conv.weight', 32, 32, 3),
    });
    const values = random(32 * 32 * 9);
    const change = random(32 * 32 * 9);
    const sum = values.map((value, i) => value + change[i]!);
    const bias = entry('conv.bias', [32]);
    const tensors = (from: Float32Array) =>
      new Map([bias, entry('conv.weight', [32, 32, 3, 3], from)].map((each) => [each.name, each]));
    const added = { whole: entry('diff', [32, 32, 3, 3], change) };
    const delta = { kind: 'sum', factors: [added], scale: 1 } as const;
    const changes = new Map([
      ['conv.weight', [{ module: 'conv', delta, magnitude: null, firstRow: 0, scale: 1 }]],
    ]);
    const as = disguise(device, { profile: 'cpu', memoryBudget: 2 ** 30 });
    const layers = openWeights(as, tensors(values), wide, { format: null });
    const wanted = openWeights(as, tensors(sum), wide, { format: null });
    await layers.load({ changes });
    await wanted.load();
    expect(layers.page['conv']!.winograd).toBe(true);
    expect(await bytesOf(layers)).toEqual(await bytesOf(wanted));
    layers.free();
    wanted.free();
  });

  it.each([
    ['rows', [200, 1], 0],
    ['inputs', [1, 64], 1e-6],
  ])('are the same in small pieces, with lengths of %s', async (_, shape, tolerance) => {
    const low = { b: entry('up', [200, 4]), a: entry('down', [4, 64]), mid: null, isTransposed: false };
    const delta = { kind: 'sum', factors: [low], scale: 0.5 } as const;
    const magnitude = entry('m.dora_scale', shape);
    const changes = new Map([['w', [{ module: 'w', delta, magnitude, firstRow: 0, scale: 1 }]]]);
    const tensors = new Map([['w', entry('w', [200, 64])]]);
    const found = [];
    for (const on of [device, disguise(device, { bindingLimit: 8192 })]) {
      const layers = openWeights(on, tensors, (table) => ({ w: table.matrix('w', 200, 64) }), {
        format: null,
      });
      await layers.load({ changes });
      found.push(new Float32Array(Buffer.concat(await bytesOf(layers)).buffer));
      layers.free();
    }
    const [whole, pieces] = found as [Float32Array, Float32Array];
    expect(pieces.length).toBe(whole.length);
    expect(Math.max(...whole.map((value, i) => Math.abs(value - pieces[i]!)))).toBeLessThanOrEqual(tolerance);
  });

  it('leave no trace after the tensors are read without them', async () => {
    const layers = layersIn('bf16');
    await layers.load();
    const before = await bytesOf(layers);
    const names = new Set(['fc.weight', 'conv.weight', 'conv.bias']);
    const changes = await changesOf([['diff', 1]]);
    await layers.reload(names, changes);
    expect(await bytesOf(layers)).not.toEqual(before);
    const memory = device.memoryUsed;
    await layers.reload(names, new Map());
    expect(await bytesOf(layers)).toEqual(before);
    expect(device.memoryUsed).toBe(memory);
    layers.free();
  });

  it('are refused by name with factors that are not finite', async () => {
    const changes = await changesOf([['lora', 1]]);
    const [change] = changes.get('fc.weight')!;
    const { a } = change!.delta.factors[0] as ProductFactor;
    const broken = new Uint8Array(a.bytes).fill(0xff);
    Object.assign(a, { source: memorySource('adapter', broken), offset: 0 });
    const layers = layersIn('f32');
    const memory = device.memoryUsed;
    await expect(layers.load({ changes })).rejects.toMatchObject({ code: 'bad_checkpoint', param: a.name });
    expect(device.memoryUsed).toBe(memory);
    layers.free();
  });
});

/** A tensor in memory; left out values are random. */
function entry(name: string, shape: number[], values?: Float32Array): TensorEntry {
  const own = values ?? random(shape.reduce((product, size) => product * size, 1));
  const source = memorySource(name, new Uint8Array(own.slice().buffer));
  return { name, dtype: 'F32', shape, source, offset: 0, bytes: own.byteLength };
}

function random(count: number): Float32Array<ArrayBuffer> {
  let state = count;
  return Float32Array.from({ length: count }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 31 - 1;
  });
}
