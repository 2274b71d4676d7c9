// A weight matrix that several tensors of a file hold together: codes in words, scales, zero points or offsets, and the order of its inputs.

import { badCheckpoint, EngineError } from '../error.ts';
import type { ByteSource } from '../source.ts';

/** Types of such weights, by the rule, the bits of a code and the k's that share a scale on the device; rows of kernels/coded-formats.ts. */
export type CodedDtype =
  | `U${4 | 8}_${32 | 64 | 128}`
  | `${'NF4' | 'FP4'}_${32 | 64}`
  | `I8_${32 | 128}`
  | `NVFP4_${32 | 64 | 256}`
  | `AFFINE${4 | 8}_${32 | 64 | 128}_${'F16' | 'BF16'}`;

/**
 * How a weight follows from its code. integer: scale · (code - zero); affine: scale · code + offset; nf4, fp4: scale · table[code];
 * range: scale · code / 127; e2m1: offset · scale · float of E2M1, with two scales of E4M3 for the halves of 32 k's; nvfp4: so, with four of
 * them in a word for 64 k's, and one offset in f32 for the whole matrix or each row.
 */
export type CodeRule = 'integer' | 'affine' | 'nf4' | 'fp4' | 'range' | 'e2m1' | 'nvfp4';

export interface CodedTensors<Entry> {
  rule: CodeRule;
  bits: 4 | 8;
  /**
   * Order of codes in words of 32 bits: rows: [rows][k words]; pairs: so, with the first of two k's in the upper half of a byte; columns:
   * [k words][rows]; interleaved: [k][row words], eight rows in the order 0, 2, 4, 6, 1, 3, 5, 7.
   */
  layout: 'rows' | 'pairs' | 'columns' | 'interleaved';
  /** Codes are signed bytes: half of their range is added. */
  signed: boolean;
  /** k's that share a scale and a zero point. */
  groupKs: number;
  codes: Entry;
  /** [rows, groups] where codes are by rows, else [groups, rows]; one value of a whole matrix. */
  scales: Entry;
  /** Zero points packed along rows, [row words, groups] where codes are by rows, else [groups, row words]; or one of all groups; null: none. */
  zeros: { entry: Entry; plus: number } | number | null;
  /** Offsets of the rule `affine`, or factors of `e2m1`, [rows, groups]; factors of `nvfp4`, [rows, 1] or one value. */
  offsets?: Entry;
  /** The tensor that has the group of each k; null: none. */
  groupOf: Entry | null;
  /** The k's group by group, where they are not stored so; see input-order.ts. */
  order: Uint32Array | null;
}

export interface Header {
  name: string;
  dtype: string;
  shape: readonly number[];
}

/** A tensor with the place of its bytes. */
export interface Stored extends Header {
  source: ByteSource;
  offset: number;
  bytes: number;
}

/** A weight that was read from a file's headers. */
export interface CodedWeight<Entry> {
  rows: number;
  k: number;
  coded: CodedTensors<Entry>;
}

/** Reads the weights of one quantization method. */
export interface CodedReader {
  /** Ends of names of tensors that say what others say already. */
  redundant?: readonly string[];
  /** Tensors under other names and in other shapes, before anything else. */
  rearrange?<Entry extends Stored>(tensors: ReadonlyMap<string, Entry>): Map<string, Entry>;
  /** Whether a tensor describes others; its bytes are read before them. */
  isStatement?(tensor: Header): boolean;
  /** The module of a tensor of codes; null: the tensor is not codes. */
  moduleOf(tensor: Header): string | null;
  /** Throws bad_checkpoint for tensors that do not fit one another, unsupported for those that are not read. */
  read<Entry extends Stored>(
    module: string,
    tensors: ReadonlyMap<string, Entry>,
    statements: ReadonlyMap<string, Uint8Array>,
  ): CodedWeight<Entry>;
}

export function broken(param: string, problem: string): EngineError {
  return badCheckpoint(`${problem}: take the checkpoint from where it was published`, param);
}

export function unsupported(param: string, problem: string): EngineError {
  return new EngineError('unsupported', `${problem}: choose another quantized checkpoint, or the original`, {
    param,
  });
}

/** Finds a tensor by name and checks its type and the number of its dimensions. Throws bad_checkpoint. */
export function tensorOf<Entry extends Header>(
  tensors: ReadonlyMap<string, Entry>,
  name: string,
  { dtypes, dimensions }: { dtypes: readonly string[]; dimensions: number },
): Entry {
  const entry = tensors.get(name);
  if (entry === undefined) throw broken(name, `tensor ${name} is missing`);
  if (dtypes.includes(entry.dtype) && entry.shape.length === dimensions) return entry;
  throw broken(
    name,
    `tensor ${name} is ${entry.dtype} of [${entry.shape.join(', ')}], and ${dtypes.join(' or ')} of ${dimensions} dimensions is read`,
  );
}

/** Throws bad_checkpoint unless a tensor has a shape. */
export function checkShape({ name, shape }: Header, wanted: readonly number[], why: string): void {
  if (shape.join() === wanted.join()) return;
  throw broken(
    name,
    `tensor ${name} has the shape [${shape.join(', ')}], and ${why} make [${wanted.join(', ')}]`,
  );
}

/** Types of scales. */
export const NUMBERS = ['F16', 'BF16', 'F32'];

/** Names of types, and the k's of a scale that they are there for. */
const TYPES = {
  integer: { name: 'U', blocks: [128, 64, 32] },
  affine: { name: 'AFFINE', blocks: [128, 64, 32] },
  nf4: { name: 'NF', blocks: [64, 32] },
  fp4: { name: 'FP', blocks: [64, 32] },
  range: { name: 'I', blocks: [128, 32] },
  e2m1: { name: 'NVFP', blocks: [32] },
  nvfp4: { name: 'NVFP', blocks: [256, 64] },
} as const satisfies Record<CodeRule, { name: string; blocks: readonly number[] }>;

/** The type of a weight on the device. Throws unsupported for rows and groups that are not whole blocks of the rule's. */
export function codedDtype(
  name: string,
  { rule, bits, groupKs, scales }: Pick<CodedTensors<Header>, 'rule' | 'bits' | 'groupKs' | 'scales'>,
  k: number,
): CodedDtype {
  const { name: type, blocks } = TYPES[rule];
  const block = blocks.find((ks) => k % ks === 0 && groupKs % ks === 0);
  if (block === undefined)
    throw unsupported(
      name,
      `${name} has ${k} inputs in groups of ${groupKs}, and multiples of ${blocks.at(-1)} are read`,
    );
  const number = rule === 'affine' ? `_${scales.dtype}` : '';
  return `${type}${bits}_${block}${number}` as CodedDtype;
}
