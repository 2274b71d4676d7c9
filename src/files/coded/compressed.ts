// Names and shapes of the weights of compressed-tensors: integers packed in words or in signed bytes, and NVFP4. source: compressed-tensors' compressors.

import { isRecord } from '../source.ts';
import { orderOf, type Statements } from './input-order.ts';
import { isNvfp4Group, NVFP4_DIVIDED, readNvfp4 } from './nvfp4.ts';
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
  type Stored,
} from '../tensors/coded-tensor.ts';

type Settings = Readonly<Record<string, unknown>>;
type Tensors<Entry> = ReadonlyMap<string, Entry>;

const WORD = 32;
const PACKED = '.weight_packed';
const PLAIN = '.weight';
const GROUPS = '.weight_g_idx';
const SCALES = { dtypes: NUMBERS, dimensions: 2 };

/** Weights of a group of modules. */
interface Group {
  targets: readonly string[];
  format: unknown;
  type: unknown;
  bits: unknown;
  groupSize: unknown;
}

export function groupsOf({ config_groups: groups, format }: Settings): Group[] {
  if (!isRecord(groups)) return [];
  return Object.values(groups).flatMap((group) => {
    if (!isRecord(group) || !isRecord(group['weights'])) return [];
    const { targets } = group;
    const { type = 'int', num_bits: bits = 8, group_size: groupSize } = group['weights'];
    const named = Array.isArray(targets) ? targets.map(String) : [];
    return [{ targets: named, format: group['format'] ?? format, type, bits, groupSize }];
  });
}

/** Whether all groups store weights in a way that is read: integers of 4 and 8 bits, FP8, or NVFP4. */
export function readsGroups(settings: Settings): boolean {
  const groups = groupsOf(settings);
  return groups.length > 0 && groups.every((group) => READ.some((isRead) => isRead(group)));
}

const isPacked = ({ format, type, bits }: Group): boolean =>
  format === 'pack-quantized' && type === 'int' && (bits === 4 || bits === 8);
const isBytes = ({ format, type, bits }: Group): boolean =>
  (format === 'int-quantized' || format === 'naive-quantized') && type === 'int' && bits === 8;
const isFloat = ({ format, type, bits }: Group): boolean =>
  (format === 'float-quantized' || format === 'naive-quantized') && type === 'float' && bits === 8;
const READ = [isPacked, isBytes, isFloat, isNvfp4Group];

export function compressedReader(settings: Settings): CodedReader {
  const groups = groupsOf(settings);
  return {
    redundant: ['.weight_shape', '.input_global_scale'],
    isStatement: ({ name }) => name.endsWith(GROUPS),
    moduleOf({ name, dtype }) {
      if (name.endsWith(PACKED)) return name.slice(0, -PACKED.length);
      return dtype === 'I8' && name.endsWith(PLAIN) ? name.slice(0, -PLAIN.length) : null;
    },
    read<Entry extends Stored>(module: string, tensors: Tensors<Entry>, statements: Statements) {
      const packed = tensors.get(module + PACKED);
      if (packed === undefined) return readBytes(module, tensors);
      return packed.dtype === 'U8' && groups.some(isNvfp4Group)
        ? readNvfp4(module, tensors, NVFP4_DIVIDED)
        : readPacked(module, tensors, groups, statements);
    },
  };
}

/** The group that a module's name or pattern names, else the one of its class. */
function groupFor(module: string, groups: readonly Group[]): Group | undefined {
  const names = (target: string): boolean =>
    target.startsWith(PATTERN) ? patternOf(target).test(module) : target === module;
  const packed = groups.filter(isPacked);
  return (
    packed.find(({ targets }) => targets.some(names)) ??
    packed.find(({ targets }) => targets.includes('Linear'))
  );
}

const PATTERN = 're:';

/** A target as an expression, which names begin with. Throws unsupported for one that Python reads and JavaScript does not. */
function patternOf(target: string): RegExp {
  try {
    return new RegExp(`^(?:${target.slice(PATTERN.length)})`);
  } catch {
    throw unsupported(
      'config_groups',
      `config_groups has the target ${JSON.stringify(target)}, which is not read as a regular expression`,
    );
  }
}

function readPacked<Entry extends Header>(
  module: string,
  tensors: Tensors<Entry>,
  groups: readonly Group[],
  statements: Statements,
): CodedWeight<Entry> {
  const codes = tensorOf(tensors, module + PACKED, { dtypes: ['I32'], dimensions: 2 });
  const scales = tensorOf(tensors, `${module}.weight_scale`, SCALES);
  const [rows = 0, words = 0] = codes.shape;
  const group = groupFor(module, groups);
  if (!group)
    throw broken(
      codes.name,
      `tensor ${codes.name} is packed, and no group of config_groups is of its module`,
    );
  const bits = group.bits === 4 ? 4 : 8;
  const k = (words * WORD) / bits;
  const groupKs = groupKsOf(scales, k, group);
  const count = Math.ceil(k / groupKs);
  checkShape(scales, [rows, count], `${rows} outputs of ${k} inputs in groups of ${groupKs}`);
  const zeros = zerosOf(module, tensors, { bits, rows, groups: count });
  const groupOf = tensors.has(module + GROUPS)
    ? tensorOf(tensors, module + GROUPS, { dtypes: ['I32'], dimensions: 1 })
    : null;
  if (groupOf) checkShape(groupOf, [k], `words of codes for ${k} inputs`);
  const coded: CodedTensors<Entry> = {
    rule: 'integer',
    bits,
    layout: 'rows',
    signed: false,
    groupKs,
    codes,
    scales,
    zeros,
    groupOf,
    order: groupOf && orderOf(groupOf, statements, k, groupKs),
  };
  return { rows, k, coded };
}

/** Zero points: packed along rows, or in bytes as early versions stored them; half of the codes' range where none are stored. */
function zerosOf<Entry extends Header>(
  module: string,
  tensors: Tensors<Entry>,
  { bits, rows, groups }: { bits: 4 | 8; rows: number; groups: number },
): CodedTensors<Entry>['zeros'] {
  const name = `${module}.weight_zero_point`;
  if (!tensors.has(name)) return 2 ** (bits - 1);
  const entry = tensorOf(tensors, name, { dtypes: ['I32', 'I8'], dimensions: 2 });
  const packed = entry.dtype === 'I8' ? rows : Math.ceil((rows * bits) / WORD);
  checkShape(entry, [packed, groups], `${rows} outputs in ${groups} groups`);
  return { entry, plus: 0 };
}

/** Inputs of a group; all of them where a row has one scale. */
function groupKsOf({ name, shape }: Header, k: number, { groupSize }: Group): number {
  const [, groups = 1] = shape;
  if (groups === 1) return k;
  if (typeof groupSize === 'number' && groupSize > 0) return groupSize;
  throw broken(name, `tensor ${name} has ${groups} groups, and config_groups state no group_size`);
}

/** Signed bytes with one scale a row or one of the whole matrix; activations, which such checkpoints round too, are not rounded. */
function readBytes<Entry extends Header>(module: string, tensors: Tensors<Entry>): CodedWeight<Entry> {
  const codes = tensorOf(tensors, module + PLAIN, { dtypes: ['I8'], dimensions: 2 });
  const [rows = 0, k = 0] = codes.shape;
  const name = `${module}.weight_scale`;
  const scales = tensors.get(name);
  if (!scales || !NUMBERS.includes(scales.dtype))
    throw broken(name, `tensor ${codes.name} is I8 without its scales (${name})`);
  const count = scales.shape.reduce((product, extent) => product * extent, 1);
  if (count !== 1) checkShape(scales, [rows, 1], `${rows} outputs`);
  const coded: CodedTensors<Entry> = {
    rule: 'integer',
    bits: 8,
    layout: 'rows',
    signed: true,
    groupKs: k,
    codes,
    scales,
    zeros: zerosOf(module, tensors, { bits: 8, rows, groups: 1 }),
    groupOf: null,
    order: null,
  };
  return { rows, k, coded };
}
