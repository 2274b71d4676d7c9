// A text architecture that exists only here: its class name, its configuration, its page, a checkpoint of it with random weights, and
// the same computation in f64. Layer 0 is a short convolution; layer 1 attends eight tokens back, layer 2 all of them, with heads of
// other sizes and rope tables of their own.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { safetensorsHead, type TensorSpec } from '../../../src/files/checkpoint/safetensors.ts';
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
} from '../../../src/models/text/architecture.ts';
import { readRope } from '../../../src/models/text/rope-config.ts';
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

const ATTENDING: readonly Attending[] = [
  { name: 'near', shape: { heads: 2, kvHeads: 1, dims: 16 }, window: 8, theta: 100 },
  { name: 'far', shape: { heads: 6, kvHeads: 2, dims: 8 }, window: null, theta: 10000 },
];
const ROPES = ATTENDING.map(({ shape, theta }) => readRope({ rope_theta: theta }, shape.dims));

export const SKETCH: TextArchitecture = {
  classes: [{ name: 'SketchForCausalLM', modelType: 'sketch', serves: ['generate'] }],
  read: (json: Json, className): TextDeclaration => {
    const { count } = readConfig('config.json', json);
    const width = count('hidden_size');
    return {
      architecture: className,
      vocabulary: count('vocab_size'),
      hidden: width,
      context: count('max_position_embeddings'),
      ropes: ROPES,
      inputs: { embeddings: false, positions: 1, attention: 'causal' },
      layers: [
        { kind: 'slot', values: shortConvState(TAPS, width) },
        ...ATTENDING.map(({ shape: { kvHeads, dims }, window }) => ({
          ...({ kind: 'kv', kvHeads, dims, window } as const),
        })),
      ],
      widest: Math.max(width, ...ATTENDING.map(({ shape }) => columnsOf(shape))),
      experts: null,
      tied: null,
      generate: (weights) => sketch(width, weights),
      embed: null,
      states: null,
    };
  },
};

function columnsOf({ heads, kvHeads, dims }: HeadShape): number {
  return (heads + 2 * kvHeads) * dims;
}

function sketch(width: number, weights: WeightTable): LanguageModel {
  const embedding = weights.embedding('tokens.weight', VOCABULARY, width);
  const mix = {
    norm: weights.vector('mix.norm', width),
    taps: weights.table('mix.taps', TAPS, width),
    out: weights.matrix('mix.out', width, width),
  };
  const blocks = ATTENDING.map(({ name, shape, window }) => ({
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
      x = linearAdd(shortConv(rmsnorm(x, mix.norm, EPS), mix.taps, batch, slotsOf(stores, 0)), mix.out, x);
      blocks.forEach((block, i) => {
        const kv = kvOf(stores, 1 + i);
        const turns = rotations(tape, batch, ROPES, i);
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

const SHAPES: Readonly<Record<string, readonly number[]>> = {
  'tokens.weight': [VOCABULARY, WIDTH],
  'mix.norm': [WIDTH],
  'mix.taps': [TAPS, WIDTH],
  'mix.out': [WIDTH, WIDTH],
  ...Object.fromEntries(
    ATTENDING.flatMap(({ name, shape }) => [
      [`${name}.norm`, [WIDTH]],
      [`${name}.qkv`, [columnsOf(shape), WIDTH]],
      [`${name}.out`, [WIDTH, shape.heads * shape.dims]],
    ]),
  ),
  norm: [WIDTH],
  'head.weight': [VOCABULARY, WIDTH],
};

export interface SketchCheckpoint {
  path: string;
  weights: ReadonlyMap<string, Float32Array>;
  remove(): void;
}

/** A folder that opens as a model, and its weights. */
export function sketchCheckpoint(): SketchCheckpoint {
  const path = mkdtempSync(join(tmpdir(), 'svc-sketch-'));
  const random = new Random(14);
  const weights = new Map(
    Object.entries(SHAPES).map(([name, shape]) => {
      const values = random.floats(shape.reduce((product, extent) => product * extent, 1));
      return [name, shape.length === 1 ? values.map((value) => 1 + value / 4) : values.map((v) => v / 2)];
    }),
  );
  const config = { architectures: ['SketchForCausalLM'], model_type: 'sketch' };
  const sizes = { hidden_size: WIDTH, vocab_size: VOCABULARY, max_position_embeddings: 512 };
  writeFileSync(join(path, 'config.json'), JSON.stringify({ ...config, ...sizes }));
  writeTokenizer(path);
  const specs = Object.entries(SHAPES).map(([name, shape]): TensorSpec => ({
    name,
    dtype: 'F32',
    shape: [...shape],
  }));
  const data = [...weights.values()].map((values) => new Uint8Array(values.buffer));
  writeFileSync(join(path, 'model.safetensors'), Buffer.concat([safetensorsHead(specs, {}), ...data]));
  return { path, weights, remove: () => rmSync(path, { recursive: true }) };
}

type Row = number[];

/** Logits after each token of a text, in f64. */
export function sketchLogits({ weights }: SketchCheckpoint, ids: readonly number[]): Row[] {
  const at = (name: string): Float32Array => weights.get(name)!;
  const tokens = at('tokens.weight');
  let x = ids.map((id): Row => [...tokens.subarray(id * WIDTH, (id + 1) * WIDTH)]);
  const mixed = normed(x, at('mix.norm'));
  const taps = at('mix.taps');
  const conv = x.map((_, t) =>
    Array.from({ length: WIDTH }, (_, c) => {
      let sum = 0;
      for (let j = 0; j < TAPS; j++) sum += taps[j * WIDTH + c]! * (mixed[t - TAPS + 1 + j]?.[c] ?? 0);
      return sum;
    }),
  );
  x = added(x, product(conv, at('mix.out')));
  for (const block of ATTENDING) {
    const qkv = product(normed(x, at(`${block.name}.norm`)), at(`${block.name}.qkv`));
    x = added(x, product(attended(qkv, block), at(`${block.name}.out`)));
  }
  return product(normed(x, at('norm')), at('head.weight'));
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
