// Names and shapes of GPTQ's and AWQ's tensors. source: GPTQModel's and AutoAWQ's packing.

import { orderOf, type Statements } from './input-order.ts';
import {
  broken,
  checkShape,
  NUMBERS,
  tensorOf,
  unsupported,
  type CodedReader,
  type CodedTensors,
  type CodedWeight,
  type Header,
} from '../tensors/coded-tensor.ts';

type Settings = Readonly<Record<string, unknown>>;

const CODES = '.qweight';
const GROUPS = '.g_idx';
const WORD = 32;
const WORDS = { dtypes: ['I32'], dimensions: 2 };
const SCALES = { dtypes: NUMBERS, dimensions: 2 };

const moduleOf = ({ name }: Header): string | null =>
  name.endsWith(CODES) ? name.slice(0, -CODES.length) : null;

/** Zero points of the first format are stored less 1; whole words are, so that a borrow crosses fields as the sum of both undoes it. */
const PLUS_ONE = { 4: 0x11111111, 8: 0x01010101 } as const;

/** `settings`: bits, group_size, desc_act, checkpoint_format, and dynamic, by which modules differ. */
export function gptqReader(settings: Settings): CodedReader {
  return {
    isStatement: ({ name }) => name.endsWith(GROUPS),
    moduleOf,
    read<Entry extends Header>(
      module: string,
      tensors: ReadonlyMap<string, Entry>,
      statements: Statements,
    ): CodedWeight<Entry> {
      const codes = tensorOf(tensors, module + CODES, WORDS);
      const zeros = tensorOf(tensors, `${module}.qzeros`, WORDS);
      const scales = tensorOf(tensors, `${module}.scales`, SCALES);
      const [kWords = 0, rows = 0] = codes.shape;
      const bits = bitsOf(zeros, rows, settings);
      const k = (kWords * WORD) / bits;
      const groupKs = groupKsOf(scales, k, settings);
      const groups = Math.ceil(k / groupKs);
      checkShape(scales, [groups, rows], `${k} inputs in groups of ${groupKs} and ${rows} outputs`);
      checkShape(
        zeros,
        [groups, (rows * bits) / WORD],
        `${groups} groups of ${rows} zero points of ${bits} bits`,
      );
      const groupOf = tensors.has(module + GROUPS)
        ? tensorOf(tensors, module + GROUPS, { dtypes: ['I32'], dimensions: 1 })
        : null;
      if (groupOf) checkShape(groupOf, [k], `words of codes for ${k} inputs`);
      const order = groupOf && orderOf(groupOf, statements, k, groupKs);
      const plus = formatOf(settings) === 'gptq_v2' ? 0 : PLUS_ONE[bits];
      const coded: CodedTensors<Entry> = {
        rule: 'integer',
        bits,
        layout: 'columns',
        signed: false,
        groupKs,
        codes,
        scales,
        zeros: { entry: zeros, plus },
        groupOf,
        order,
      };
      return { rows, k, coded };
    },
  };
}

/** The first format is called gptq, and older files do not state it. */
export function formatOf({ checkpoint_format: checkpoint, format }: Settings): unknown {
  return checkpoint ?? format ?? 'gptq';
}

/** Bits of a code, by the words of a row of zero points. */
function bitsOf({ name, shape }: Header, rows: number, { bits, dynamic }: Settings): 4 | 8 {
  const found = ((shape[1] ?? 0) * WORD) / rows;
  if (found !== 4 && found !== 8) {
    if (found === 2 || found === 3)
      throw unsupported(name, `${name} is of ${found} bits, and 4 and 8 are read`);
    throw broken(
      name,
      `tensor ${name} has the shape [${shape.join(', ')}], which is not a packing of ${rows} zero points`,
    );
  }
  if (typeof bits === 'number' && bits !== found && !dynamic)
    throw broken(
      name,
      `tensor ${name} is packed as ${found} bits, and the quantization's settings say ${bits}`,
    );
  return found;
}

/** k's of a group: as the settings state, or by the number of groups where modules differ. */
function groupKsOf({ name, shape }: Header, k: number, { group_size: stated, dynamic }: Settings): number {
  const [groups = 1] = shape;
  if (groups === 1) return k;
  if (typeof stated === 'number' && stated > 0 && !dynamic) return stated;
  if (k % groups === 0) return k / groups;
  throw broken(name, `tensor ${name} has ${groups} groups, into which ${k} inputs cannot be divided`);
}

/** AWQ's layout for matrix-matrix products (GEMM). */
export function awqReader(settings: Settings): CodedReader {
  return {
    moduleOf,
    read<Entry extends Header>(module: string, tensors: ReadonlyMap<string, Entry>): CodedWeight<Entry> {
      const codes = tensorOf(tensors, module + CODES, WORDS);
      const zeros = tensorOf(tensors, `${module}.qzeros`, WORDS);
      const scales = tensorOf(tensors, `${module}.scales`, SCALES);
      const [k = 0, rowWords = 0] = codes.shape;
      const rows = (rowWords * WORD) / 4;
      const stated = settings['group_size'] ?? settings['q_group_size'];
      const groupKs = groupKsOf(scales, k, { group_size: stated });
      const groups = Math.ceil(k / groupKs);
      checkShape(scales, [groups, rows], `${k} inputs in groups of ${groupKs} and ${rows} outputs`);
      checkShape(zeros, [groups, rowWords], `${groups} groups of ${rows} zero points of 4 bits`);
      const coded: CodedTensors<Entry> = {
        rule: 'integer',
        bits: 4,
        layout: 'interleaved',
        signed: false,
        groupKs,
        codes,
        scales,
        zeros: { entry: zeros, plus: 0 },
        groupOf: null,
        order: null,
      };
      return { rows, k, coded };
    },
  };
}
