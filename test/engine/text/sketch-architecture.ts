// Text architectures that exist only here: class name, configuration, page, a checkpoint with random weights, and the computation in
// f64. The first has a short convolution, a layer that attends eight tokens back, and one that attends to all tokens, with heads of
// other sizes and rope tables of their own. The second has attention alone: one layer of four sees all tokens, with larger heads.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { safetensorsHead, type TensorSpec } from '../../../src/files/tensors/safetensors.ts';
import { attention } from '../../../src/kernels/attention.ts';
import { kvOf, slotsOf, type HeadShape } from '../../../src/kernels/batch.ts';
import { embed } from '../../../src/kernels/embed.ts';
import { linear, linearAdd } from '../../../src/kernels/matmul.ts';
import { rmsnorm, rmsnormRows } from '../../../src/kernels/rmsnorm.ts';
import { ropeKv } from '../../../src/kernels/rope-kv.ts';
import { rotations } from '../../../src/kernels/rotations.ts';
import { shortConv, shortConvState } from '../../../src/kernels/short-conv.ts';
import { readConfig, type Json } from '../../../src/models/config-values.ts';
import type {
  LanguageModel,
  TextArchitecture,
  TextDeclaration,
} from '../../../src/models/text/blocks/architecture.ts';
import { readRope } from '../../../src/models/text/blocks/rope-config.ts';
import type { RopeConfig } from '../../../src/models/text/blocks/rope.ts';
import type { WeightTable } from '../../../src/models/weights.ts';
import { writeTokenizer } from '../checkpoint-folder.ts';
import { Random } from '../../kernels/compute.ts';

const VOCABULARY = 320;
const WIDTH = 48;
const TAPS = 4;
const EPS = 1e-6;

interface Attending {
  name: string;
  shape: HeadShape;
  window: number | null;
  theta: number;
}

interface SketchParts {
  className: string;
  /** Whether a short convolution precedes attention. */
  hasConv: boolean;
  attending: readonly Attending[];
}

const SKETCH_PARTS: SketchParts = {
  className: 'SketchForCausalLM',
  hasConv: true,
  attending: [
    { name: 'near', shape: { heads: 2, kvHeads: 1, dims: 16 }, window: 8, theta: 100 },
    { name: 'far', shape: { heads: 6, kvHeads: 2, dims: 8 }, window: null, theta: 10000 },
  ],
};

const NEAR = { shape: { heads: 2, kvHeads: 1, dims: 16 }, window: 40, theta: 100 };

export const NEAR_FAR_PARTS: SketchParts = {
  className: 'NearFarForCausalLM',
  hasConv: false,
  attending: [
    { name: 'near1', ...NEAR },
    { name: 'far', shape: { heads: 4, kvHeads: 2, dims: 16 }, window: null, theta: 10000 },
    { name: 'near2', ...NEAR },
    { name: 'near3', ...NEAR },
  ],
};

function ropesOf({ attending }: SketchParts): RopeConfig[] {
  return attending.map(({ shape, theta }) =>
    readRope(readConfig('config.json', { rope_theta: theta }), shape.dims),
  );
}

function architectureOf(parts: SketchParts): TextArchitecture {
  const { className: name, hasConv, attending } = parts;
  return {
    classes: [{ name, modelType: name, serves: ['generate'] }],
    read: (json: Json, className): TextDeclaration => {
      const config = readConfig('config.json', json);
      const width = config.count('hidden_size');
      return {
        architecture: className,
        vocabulary: config.count('vocab_size'),
        hidden: width,
        context: config.count('max_position_embeddings'),
        ropes: ropesOf(parts),
        inputs: { embeddings: false, positions: 1, attention: 'causal' },
        depth: Number(hasConv) + attending.length,
        layers: [
          ...(hasConv ? [{ kind: 'slot', values: shortConvState(TAPS, width) } as const] : []),
          ...attending.map(({ shape: { kvHeads, dims }, window }) => ({
            ...({ kind: 'kv', kvHeads, dims, window } as const),
          })),
        ],
        widest: Math.max(width, ...attending.map(({ shape }) => columnsOf(shape))),
        experts: null,
        tied: null,
        generate: (weights) => sketch(parts, width, weights),
        embed: null,
        states: null,
      };
    },
  };
}

export const SKETCH = architectureOf(SKETCH_PARTS);
export const NEAR_FAR = architectureOf(NEAR_FAR_PARTS);

function columnsOf({ heads, kvHeads, dims }: HeadShape): number {
  return (heads + 2 * kvHeads) * dims;
}

function sketch(parts: SketchParts, width: number, weights: WeightTable): LanguageModel {
  const ropes = ropesOf(parts);
  const embedding = weights.embedding('tokens.weight', VOCABULARY, width);
  const mix = parts.hasConv && {
    norm: weights.vector('mix.norm', width),
    taps: weights.table('mix.taps', width, TAPS),
    out: weights.matrix('mix.out', width, width),
  };
  const blocks = parts.attending.map(({ name, shape, window }) => ({
    ...{ shape, window },
    norm: weights.vector(`${name}.norm`, width),
    qkv: weights.matrix(`${name}.qkv`, columnsOf(shape), width),
    out: weights.matrix(`${name}.out`, width, shape.heads * shape.dims),
  }));
  const norm = weights.vector('norm', width);
  const head = weights.matrix('head.weight', VOCABULARY, width);
  return {
    states(tape, batch, stores) {
      let x = embed(tape, batch, embedding); //                  [rows, width]
      if (mix)
        x = linearAdd(shortConv(rmsnorm(x, mix.norm, EPS), mix.taps, batch, slotsOf(stores, 0)), mix.out, x);
      blocks.forEach((block, i) => {
        const kv = kvOf(stores, stores.length - blocks.length + i);
        const turns = rotations(tape, batch, ropes, i);
        const qkv = linear(rmsnorm(x, block.norm, EPS), block.qkv);
        const q = ropeKv(qkv, turns, block.shape, kv, null);
        x = linearAdd(attention(q, batch, block.shape, kv, { window: block.window }), block.out, x);
        tape.cut();
      });
      return x;
    },
    head: (x, { wanted, states }) => linear(rmsnormRows(x, norm, EPS, wanted, 'sampled', states), head),
  };
}

function shapesOf({ hasConv, attending }: SketchParts): Readonly<Record<string, readonly number[]>> {
  return {
    'tokens.weight': [VOCABULARY, WIDTH],
    ...(hasConv && { 'mix.norm': [WIDTH], 'mix.taps': [WIDTH, TAPS], 'mix.out': [WIDTH, WIDTH] }),
    ...Object.fromEntries(
      attending.flatMap(({ name, shape }) => [
        [`${name}.norm`, [WIDTH]],
        [`${name}.qkv`, [columnsOf(shape), WIDTH]],
        [`${name}.out`, [WIDTH, shape.heads * shape.dims]],
      ]),
    ),
    norm: [WIDTH],
    'head.weight': [VOCABULARY, WIDTH],
  };
}

export interface SketchCheckpoint {
  path: string;
  parts: SketchParts;
  weights: ReadonlyMap<string, Float32Array>;
  remove(): void;
}

/** A folder that opens as a model, and its weights. */
export function sketchCheckpoint(parts = SKETCH_PARTS): SketchCheckpoint {
  const shapes = shapesOf(parts);
  const path = mkdtempSync(join(tmpdir(), 'svc-sketch-'));
  const random = new Random(14);
  const weights = new Map(
    Object.entries(shapes).map(([name, shape]) => {
      const values = random.floats(shape.reduce((product, extent) => product * extent, 1));
      return [name, shape.length === 1 ? values.map((value) => 1 + value / 4) : values.map((v) => v / 2)];
    }),
  );
  const config = { architectures: [parts.className], model_type: parts.className };
  const sizes = { hidden_size: WIDTH, vocab_size: VOCABULARY, max_position_embeddings: 512 };
  writeFileSync(join(path, 'config.json'), JSON.stringify({ ...config, ...sizes }));
  writeTokenizer(path);
  const specs = Object.entries(shapes).map(([name, shape]): TensorSpec => ({
    name,
    dtype: 'F32',
    shape: [...shape],
  }));
  const data = [...weights.values()].map((values) => new Uint8Array(values.buffer));
  writeFileSync(join(path, 'model.safetensors'), Buffer.concat([safetensorsHead(specs, {}), ...data]));
  return { path, parts, weights, remove: () => rmSync(path, { recursive: true }) };
}

type Row = number[];

/** Logits after each token of a text, in f64. */
export function sketchLogits({ parts, weights }: SketchCheckpoint, ids: readonly number[]): Row[] {
  const at = (name: string): Float32Array => weights.get(name)!;
  const tokens = at('tokens.weight');
  let x = ids.map((id): Row => [...tokens.subarray(id * WIDTH, (id + 1) * WIDTH)]);
  if (parts.hasConv)
    x = added(x, product(convolved(normed(x, at('mix.norm')), at('mix.taps')), at('mix.out')));
  for (const block of parts.attending) {
    const qkv = product(normed(x, at(`${block.name}.norm`)), at(`${block.name}.qkv`));
    x = added(x, product(attended(qkv, block), at(`${block.name}.out`)));
  }
  return product(normed(x, at('norm')), at('head.weight'));
}

function convolved(x: Row[], taps: Float32Array): Row[] {
  return x.map((_, t) =>
    Array.from({ length: WIDTH }, (_, c) => {
      let sum = 0;
      for (let j = 0; j < TAPS; j++) sum += taps[c * TAPS + j]! * (x[t - TAPS + 1 + j]?.[c] ?? 0);
      return sum;
    }),
  );
}

function normed(x: Row[], weight: Float32Array): Row[] {
  return x.map((row) => {
    const mean = row.reduce((sum, value) => sum + value * value, 0) / row.length;
    return row.map((value, i) => (value / Math.sqrt(mean + EPS)) * weight[i]!);
  });
}

function product(x: Row[], weight: Float32Array): Row[] {
  return x.map((row) =>
    Array.from({ length: weight.length / row.length }, (_, n) =>
      row.reduce((sum, value, k) => sum + value * weight[n * row.length + k]!, 0),
    ),
  );
}

function added(x: Row[], y: Row[]): Row[] {
  return x.map((row, i) => row.map((value, j) => value + y[i]![j]!));
}

function attended(qkv: Row[], { shape, window, theta }: Attending): Row[] {
  const { heads, kvHeads, dims } = shape;
  const headOf = (token: number, head: number): Row => qkv[token]!.slice(head * dims, (head + 1) * dims);
  const turned = (token: number, head: number): Row => {
    const values = headOf(token, head);
    const half = dims / 2;
    return values.map((value, d) => {
      const angle = token * theta ** ((-2 * (d % half)) / dims);
      const other = d < half ? -values[d + half]! : values[d - half]!;
      return value * Math.cos(angle) + other * Math.sin(angle);
    });
  };
  return qkv.map((_, token) =>
    Array.from({ length: heads }, (_, head) => {
      const kvHead = Math.floor((head * kvHeads) / heads);
      const q = turned(token, head);
      const first = window === null ? 0 : Math.max(0, token - window + 1);
      const seen = Array.from({ length: token - first + 1 }, (_, i) => first + i);
      const weights = seen.map((other) => {
        const key = turned(other, heads + kvHead);
        return Math.exp(q.reduce((sum, value, d) => sum + value * key[d]!, 0) / Math.sqrt(dims));
      });
      const total = weights.reduce((sum, weight) => sum + weight, 0);
      const values = seen.map((other) => headOf(other, heads + kvHeads + kvHead));
      return Array.from({ length: dims }, (_, d) =>
        values.reduce((sum, value, i) => sum + (weights[i]! / total) * value[d]!, 0),
      );
    }).flat(),
  );
}
