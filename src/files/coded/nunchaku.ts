// Weights that SVDQuant made for nunchaku: y = W · ((x + shift) / s) + up · down · x + bias, with W in 4 bits and two factors of 16 bits, and beside
// them matrices in 4 bits with a scale and an offset for 64 inputs, which give modulation. nunchaku rounds x to 4 bits as well; here x stays as it is.
// Each becomes a weight in codes with tensors beside it: `.down`, `.up` and `.smooth`. source: nunchaku's models/linear.py, deepcompressor's converter

import { broken, checkShape, tensorOf, unsupported, type CodedTensors } from '../tensors/coded-tensor.ts';
import { bfloatBits, halfValues } from '../tensors/half-values.ts';
import type { TensorEntry } from '../tensors/safetensors.ts';
import {
  computedNumbers,
  computedTensor,
  onDiagonal,
  sideBySide,
  type ComputedRows,
} from './computed-rows.ts';
import { CODES, codedWeight, HALVES, MATRIX, modulationOf, valuesOf } from './nunchaku-modulation.ts';
import { TILE, tiledBytes, tiledCodes, tiledFactor, tiledHalves, tiledVector } from './nunchaku-tiles.ts';

type Tensors = ReadonlyMap<string, TensorEntry>;

/** k's that share a scale: of integers, and of E2M1. */
const GROUP = { int4: 64, fp4: 16 } as const;
/** Rows and columns of a tile of a factor. */
const FACTOR_TILE = 16;
/** What nunchaku's kernels add to what GELU gives, so that its codes need no sign. */
const SHIFT = 0.171875;
/** Modules of integers behind a GELU. */
const SHIFTED =
  /^(single_)?transformer_blocks\.\d+\.(mlp_fc2|mlp_context_fc2|(ff|ff_context|img_mlp|txt_mlp)\.net\.2)$/;
/** The modules that together are a single block's proj_out, which reads attention and feed-forward part side by side. */
const JOINED = /^(single_transformer_blocks\.\d+)\.(out_proj|attn\.to_out|mlp_fc2)$/;

/** Ends of names that versions of the format have for one tensor. */
const ENDS = {
  down: ['.proj_down', '.lora_down'],
  up: ['.proj_up', '.lora_up'],
  smooth: ['.smooth_factor', '.smooth'],
} as const;
const STORED_ENDS = [
  ...[CODES, '.wscales', '.wzeros', '.wcscales', '.wtscale', '.smooth_factor_orig', '.smooth_orig'],
  ...Object.values(ENDS).flat(),
];

/** Whether a file's tensors are such weights. */
export const isNunchaku = (tensors: Tensors): boolean =>
  [...tensors.keys()].some((name) => ENDS.down.some((end) => name.endsWith(end)));

/** A module with the rows of its tensors in their own order. */
interface Unpacked {
  base: TensorEntry;
  dtype: TensorEntry['dtype'];
  rows: number;
  k: number;
  isFloat: boolean;
  codes: ComputedRows;
  /** Scales of integers, or pairs of E4M3. */
  scales: ComputedRows;
  /** Factors of whole rows in BF16, for E2M1 alone. */
  factors: ComputedRows | null;
  rank: number;
  down: ComputedRows;
  up: ComputedRows;
  /** [2, k]: what x is multiplied by once the second row has been added. */
  smooth(): Promise<{ rates: Float32Array; shifts: Float32Array }>;
  hasBias: boolean;
  bias(): Promise<Float32Array>;
}

/** Replaces the tensors of each module. Throws bad_checkpoint and unsupported. */
export function readNunchaku(tensors: Tensors): Map<string, TensorEntry> {
  const read = new Map(tensors);
  const modules = [...tensors.keys()]
    .filter((name) => name.endsWith(CODES))
    .map((name) => name.slice(0, -CODES.length));
  const of = (module: string): Unpacked => unpacked(module, tensors);
  for (const module of modules) {
    const block = JOINED.exec(module);
    const made = tensors.has(`${module}.wzeros`)
      ? modulationOf(module, tensors)
      : block === null
        ? entriesOf(module, of(module))
        : block[2] === 'mlp_fc2'
          ? []
          : entriesOf(`${block[1]}.proj_out`, joined([of(module), of(`${block[1]}.mlp_fc2`)]));
    for (const entry of made) read.set(entry.name, entry);
  }
  for (const module of modules) for (const end of STORED_ENDS) read.delete(module + end);
  for (const module of modules) if (JOINED.test(module)) read.delete(`${module}.bias`);
  return read;
}

function endOf(tensors: Tensors, module: string, ends: readonly string[]): string {
  return module + (ends.find((end) => tensors.has(module + end)) ?? ends[0]!);
}

function unpacked(module: string, tensors: Tensors): Unpacked {
  const base = tensorOf(tensors, module + CODES, { dtypes: ['I8', 'U8'], dimensions: 2 });
  const [rows = 0, bytes = 0] = base.shape;
  const k = 2 * bytes;
  if (rows % TILE !== 0 || k % TILE !== 0)
    throw unsupported(
      base.name,
      `tensor ${base.name} is of [${rows}, ${k}], and multiples of ${TILE} are read`,
    );
  const scales = tensorOf(tensors, `${module}.wscales`, {
    dtypes: ['BF16', 'F16', 'F8_E4M3'],
    dimensions: 2,
  });
  const isFloat = scales.dtype === 'F8_E4M3';
  const groups = k / (isFloat ? GROUP.fp4 : GROUP.int4);
  checkShape(scales, [groups, rows], `${rows} rows of ${groups} groups`);
  const down = tensorOf(tensors, endOf(tensors, module, ENDS.down), MATRIX);
  const up = tensorOf(tensors, endOf(tensors, module, ENDS.up), MATRIX);
  const smooth = tensorOf(tensors, endOf(tensors, module, ENDS.smooth), HALVES);
  const rank = down.shape[1]!;
  if (rank % FACTOR_TILE !== 0)
    throw broken(
      down.name,
      `tensor ${down.name} has the rank ${rank}, and multiples of ${FACTOR_TILE} are read`,
    );
  checkShape(down, [k, rank], `${k} inputs and a rank of ${rank}`);
  checkShape(up, [rows, rank], `${rows} outputs and a rank of ${rank}`);
  checkShape(smooth, [k], `${k} inputs`);
  const shift = SHIFTED.test(module) && !isFloat ? SHIFT : 0;
  return {
    ...{ base, dtype: down.dtype, rows, k, isFloat, rank },
    codes: tiledCodes(base, rows, k, !isFloat),
    scales: isFloat ? tiledBytes(scales, rows, groups) : tiledHalves(scales, rows, groups),
    factors: isFloat ? rowFactors(module, tensors, rows, k) : null,
    down: tiledFactor(down, rank, k, true),
    up: tiledFactor(up, rows, rank, false),
    smooth: async () => ({
      rates: halfValues(await tiledVector(smooth, k), smooth.dtype).map((value) => 1 / value),
      shifts: new Float32Array(k).fill(shift),
    }),
    hasBias: tensors.has(`${module}.bias`),
    bias: () => biasOf(module, tensors, rows),
  };
}

async function biasOf(module: string, tensors: Tensors, rows: number): Promise<Float32Array> {
  if (!tensors.has(`${module}.bias`)) return new Float32Array(rows);
  const bias = tensorOf(tensors, `${module}.bias`, HALVES);
  checkShape(bias, [rows], `${rows} outputs`);
  return halfValues(await tiledVector(bias, rows), bias.dtype);
}

/** What the scales of E2M1 are multiplied by, row by row and for all: in BF16 for each 32 k's. */
function rowFactors(module: string, tensors: Tensors, rows: number, k: number): ComputedRows {
  const [ofRows, ofAll] = ['.wcscales', '.wtscale'].map((end) => tensors.get(module + end));
  const blocks = k / 32;
  let all: Promise<Uint16Array> | null = null;
  const factors = async (): Promise<Uint16Array> => {
    const one = ofAll ? (await valuesOf(ofAll))[0]! : 1;
    const own = ofRows
      ? halfValues(await tiledVector(ofRows, rows), ofRows.dtype)
      : new Float32Array(rows).fill(1);
    return Uint16Array.from(own, (value) => bfloatBits(value * one));
  };
  return {
    rows,
    rowBytes: 2 * blocks,
    async read(first, count) {
      const found = await (all ??= factors());
      return new Uint8Array(
        Uint16Array.from({ length: count * blocks }, (_, i) => found[first + Math.floor(i / blocks)]!).buffer,
      );
    },
  };
}

/** Modules that read parts of one input, and whose outputs are added. */
function joined(parts: readonly Unpacked[]): Unpacked {
  const [first, second] = parts as [Unpacked, Unpacked];
  const all = async (of: (part: Unpacked) => Promise<Float32Array>): Promise<Float32Array[]> =>
    Promise.all(parts.map(of));
  return {
    ...first,
    k: first.k + second.k,
    rank: first.rank + second.rank,
    hasBias: first.hasBias || second.hasBias,
    codes: sideBySide(parts.map(({ codes }) => codes)),
    scales: sideBySide(parts.map(({ scales }) => scales)),
    factors: first.factors && sideBySide(parts.map(({ factors }) => factors!)),
    down: onDiagonal(parts.map(({ down }) => down)),
    up: sideBySide(parts.map(({ up }) => up)),
    async smooth() {
      const [one, two] = [await first.smooth(), await second.smooth()];
      return {
        rates: Float32Array.of(...one.rates, ...two.rates),
        shifts: Float32Array.of(...one.shifts, ...two.shifts),
      };
    },
    async bias() {
      const [one, two] = await all((part) => part.bias());
      return one!.map((value, i) => value + two![i]!);
    },
  };
}

/** A module's tensors under the names that are asked for. */
function entriesOf(module: string, one: Unpacked): TensorEntry[] {
  const { base, dtype, rows, k, isFloat, rank, factors } = one;
  const name = `${module}.weight`;
  const part = (
    end: string,
    form: Pick<TensorEntry, 'dtype' | 'shape'>,
    computed: ComputedRows,
  ): TensorEntry => computedTensor(base, { name: name + end, ...form }, computed);
  const codes = part('.codes', { dtype: 'U8', shape: [rows, k / 2] }, one.codes);
  const shape = [rows, k / 32];
  const offsets = factors && part('.factors', { dtype: 'BF16', shape }, factors);
  const scales = isFloat
    ? part('.scales', { dtype: 'U16', shape }, one.scales)
    : part('.scales', { dtype, shape: [rows, k / GROUP.int4] }, one.scales);
  const coded: CodedTensors<TensorEntry> = {
    rule: isFloat ? 'e2m1' : 'integer',
    bits: 4,
    layout: 'rows',
    signed: false,
    groupKs: isFloat ? 32 : GROUP.int4,
    codes,
    scales,
    zeros: isFloat ? null : 8,
    ...(offsets && { offsets }),
    groupOf: null,
    order: null,
  };
  const { down, up } = one;
  return [
    codedWeight(name, coded, rows, k),
    part('.down', { dtype, shape: [rank, k] }, down),
    part('.up', { dtype, shape: [rows, rank] }, up),
    part(
      '.smooth',
      { dtype: 'F32', shape: [2, k] },
      computedNumbers(2, k, async () => {
        const { rates, shifts } = await one.smooth();
        return Float32Array.of(...rates, ...shifts);
      }),
    ),
    ...(one.hasBias
      ? [
          computedTensor(
            base,
            { name: `${module}.bias`, dtype: 'F32', shape: [rows] },
            computedNumbers(1, rows, () => one.bias()),
          ),
        ]
      : []),
  ];
}
