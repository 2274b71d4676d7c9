// Low-rank factors on the device: for each matrix that some adapter adds to, one buffer with those of all adapters, in the layout
// of shaders/lib/lora.wgsl. A change makes new buffers; what was submitted before runs on the old ones.

import { EngineError } from '../../files/error.ts';
import type { LoraFile, LoraModule } from '../../files/checkpoint/lora.ts';
import type { Device } from '../../gpu/device.ts';
import { paddedColumns, Tensor, type Region } from '../../gpu/tensor.ts';
import { SOURCES, sourceNames } from '../../kernels/formats.ts';
import type { Matrix } from '../../kernels/matrix.ts';
import { widen } from '../../kernels/widen.ts';
import { uploadAll, type Wanted } from './upload.ts';

/** Stands for an adapter; `number` says which it is on the device. */
export interface LoraKey {
  number: number;
}

/** One adapter's factors of a matrix, by part; null: it leaves the part alone. Places are quads within its block. */
interface Block {
  parts: ({ rank: number; scale: number; a: number; b: number } | null)[];
  quads: number;
  /** Before it, in the buffer that holds it. */
  first: number;
}

export interface LoraStore {
  /** In the order of their numbers. */
  readonly keys: readonly LoraKey[];
  /** Reads an adapter's factors; `commit` then puts them in force at once. Throws bad_checkpoint, unsupported, out_of_memory. */
  prepare(key: LoraKey, file: LoraFile): Promise<{ commit(): void }>;
  remove(key: LoraKey): void;
}

export function createLoraStore(device: Device, matrices: readonly Matrix[]): LoraStore {
  let keys: LoraKey[] = [];
  const blocks = new Map<Matrix, Map<LoraKey, Block>>(matrices.map((matrix) => [matrix, new Map()]));

  const renumber = (wanted: LoraKey[]): void => {
    keys = wanted;
    keys.forEach((key, number) => (key.number = number));
  };

  /** The same adapters and perhaps one more, whose factors are to be filled in; they are in force once `use` is called. */
  const rebuild = (matrix: Matrix, wanted: readonly LoraKey[], added: Map<LoraKey, Block>) => {
    const held = blocks.get(matrix)!;
    const next = new Map<LoraKey, Block>();
    let quads = headQuads(wanted.length, matrix.parts.length);
    for (const key of wanted) {
      const block = added.get(key) ?? held.get(key);
      if (!block) continue;
      next.set(key, { ...block, first: quads });
      quads += block.quads;
    }
    const region = next.size > 0 ? allocate(device, matrix, quads) : null;
    if (region) {
      device.gpu.queue.writeBuffer(region.buffer, 0, headOf(matrix, wanted, next));
      const kept = [...next].filter(([key]) => !added.has(key));
      if (matrix.lora)
        copyBlocks(
          device,
          matrix.lora.region,
          region,
          kept.map(([key, to]) => [held.get(key)!, to]),
        );
    }
    return {
      region,
      next,
      use(): void {
        if (matrix.lora) device.free(matrix.lora.region.buffer);
        matrix.lora = region && { region, rank: rankOf(next) };
        blocks.set(matrix, next);
      },
    };
  };

  const discard = (built: readonly { region: Region | null }[]): void => {
    for (const { region } of built) if (region) device.free(region.buffer);
  };

  return {
    get keys() {
      return keys;
    },
    async prepare(key, file) {
      const placed = placeModules(matrices, file);
      const wanted = [...keys, key];
      const bytes = [...placed].reduce((sum, [, block]) => sum + 16 * block.quads, 0);
      await device.reserve(device.memoryUsed + 2 * bytes);
      const built: ReturnType<typeof rebuild>[] = [];
      try {
        const uploads: Wanted[] = [];
        for (const matrix of matrices) {
          const block = placed.get(matrix);
          const made = rebuild(matrix, wanted, new Map(block ? [[key, block]] : []));
          built.push(made);
          if (block)
            uploads.push(...uploadsOf(device, matrix, made.region!, made.next.get(key)!, block.modules));
        }
        await uploadAll(device, uploads, () => {});
      } catch (error) {
        discard(built);
        throw error;
      }
      return {
        commit() {
          built.forEach(({ use }) => use());
          renumber(wanted);
        },
      };
    },
    remove(key) {
      const wanted = keys.filter((other) => other !== key);
      const built: ReturnType<typeof rebuild>[] = [];
      try {
        for (const matrix of matrices) built.push(rebuild(matrix, wanted, new Map()));
      } catch (error) {
        discard(built);
        throw error;
      }
      built.forEach(({ use }) => use());
      renumber(wanted);
    },
  };
}

function headQuads(adapters: number, parts: number): number {
  return 2 + adapters * parts + Math.ceil((adapters * parts) / 4);
}

function rankOf(blocks: ReadonlyMap<LoraKey, Block>): number {
  const ranks = [...blocks.values()].flatMap(({ parts }) => parts.map((part) => part?.rank ?? 0));
  return 4 * Math.ceil(Math.max(...ranks) / 4);
}

function allocate(device: Device, { parts }: Matrix, quads: number): Region {
  const limit = device.capabilities.bindingLimit;
  if (16 * quads > limit) {
    throw new EngineError(
      'out_of_memory',
      `the adapters of ${parts[0]!.name} need ${16 * quads} bytes, this adapter binds ${limit}: unload some, or choose lower ranks`,
      { param: 'lora' },
    );
  }
  const buffer = device.allocate('weights', `adapters of ${parts[0]!.name}`, 16 * quads);
  const encoder = device.gpu.createCommandEncoder();
  encoder.clearBuffer(buffer); // padding must be zero
  device.gpu.queue.submit([encoder.finish()]);
  return { buffer, offset: 0, size: buffer.size };
}

function headOf(matrix: Matrix, keys: readonly LoraKey[], blocks: ReadonlyMap<LoraKey, Block>): ArrayBuffer {
  const { parts, columns } = matrix;
  const head = new ArrayBuffer(16 * headQuads(keys.length, parts.length));
  const words = new Uint32Array(head);
  const floats = new Float32Array(head);
  const firsts = [1, 2].map((part) => parts[part]?.placement.firstColumn ?? 0xffffffff);
  words.set([keys.length, parts.length, rankOf(blocks) / 4, Number(takesTurns(matrix))], 0);
  words.set([...firsts, columns, 0], 4);
  keys.forEach((key, adapter) => {
    const block = blocks.get(key);
    block?.parts.forEach((part, p) => {
      if (!part) return;
      const i = adapter * parts.length + p;
      words.set([Math.ceil(part.rank / 4), part.rank, block.first + part.a, block.first + part.b], 8 + 4 * i);
      floats[8 + 4 * keys.length * parts.length + i] = part.scale;
    });
  });
  return head;
}

/** Gate and up in turns of two columns. */
function takesTurns({ parts }: Matrix): boolean {
  return parts.length === 2 && parts[0]!.placement.unit === 2;
}

function copyBlocks(
  device: Device,
  from: Region,
  to: Region,
  blocks: readonly (readonly [Block, Block])[],
): void {
  const encoder = device.gpu.createCommandEncoder();
  for (const [old, { first, quads }] of blocks)
    encoder.copyBufferToBuffer(from.buffer, 16 * old.first, to.buffer, 16 * first, 16 * quads);
  device.gpu.queue.submit([encoder.finish()]);
}

type Placed = Block & { modules: (LoraModule | null)[] };

/** Where an adapter's modules stand among the matrices. */
function placeModules(matrices: readonly Matrix[], { path, modules }: LoraFile): Map<Matrix, Placed> {
  const left = new Map(modules.map((module) => [module.name, module]));
  const placed = new Map<Matrix, Placed>();
  for (const matrix of matrices) {
    const found = matrix.parts.map(({ name, rows }) => {
      const own = name.replace(/\.weight$/, '');
      const module = left.get(own) ?? left.get(`model.${own}`) ?? null;
      if (module) {
        left.delete(module.name);
        checkShapes(path, module, rows, matrix.k);
      }
      return module;
    });
    if (found.some(Boolean)) placed.set(matrix, blockOf(matrix, found));
  }
  const [unknown] = left.keys();
  if (unknown === undefined) return placed;
  throw new EngineError(
    'unsupported',
    `${path} adapts ${unknown}, which is not among this model's ${[...new Set(matrices.flatMap(({ parts }) => parts.map(({ name }) => name.split('.').at(-2))))].join(', ')}: train one on those`,
    { param: unknown },
  );
}

function checkShapes(path: string, { name, a, b }: LoraModule, rows: number, k: number): void {
  if (a.shape[1] !== k || b.shape[0] !== rows) {
    throw new EngineError(
      'bad_checkpoint',
      `${path}: ${name} has factors for [${b.shape[0]}, ${a.shape[1]}], the model's is [${rows}, ${k}]: it was trained on another model`,
      { param: name },
    );
  }
  const bad = [a, b].find(({ dtype }) => !SOURCES[dtype]);
  if (bad)
    throw new EngineError(
      'unsupported',
      `${path}: ${bad.name} is stored as ${bad.dtype}, and only ${sourceNames()} are read: convert it`,
      { param: bad.name },
    );
}

function blockOf(matrix: Matrix, modules: (LoraModule | null)[]): Placed {
  let quads = 0;
  const take = (count: number): number => (quads += count) - count;
  const parts = modules.map((module, i) => {
    if (!module) return null;
    const { rank, scale } = module;
    const a = take((rank * paddedColumns(matrix.k)) / 4);
    const b = take(matrix.parts[i]!.rows * Math.ceil(rank / 4));
    return { rank, scale, a, b };
  });
  return { parts, quads, first: 0, modules };
}

/** Both factors of each part, widened to f32 row by row. */
function uploadsOf(
  device: Device,
  matrix: Matrix,
  region: Region,
  { parts, first }: Block,
  modules: readonly (LoraModule | null)[],
): Wanted[] {
  const y = new Tensor([1, region.size / 4], 'f32', { region });
  const rowsOf = (entry: LoraModule['a'], quad: number, columns: number, stride: number): Wanted => ({
    entry,
    place: ({ raw, source, firstRow, rows }) =>
      widen(
        device,
        y,
        { firstColumn: 4 * quad + firstRow * stride, unit: columns, unitStride: stride },
        { raw, source, size: rows * columns },
      ),
  });
  return modules.flatMap((module, i) => {
    if (!module) return [];
    const { rank, a, b } = parts[i]!;
    return [
      rowsOf(module.a, first + a, matrix.k, paddedColumns(matrix.k)),
      rowsOf(module.b, first + b, rank, 4 * Math.ceil(rank / 4)),
    ];
  });
}
