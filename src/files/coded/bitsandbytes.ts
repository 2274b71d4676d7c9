// Names and shapes of bitsandbytes' tensors: NF4 and FP4, whose scales may be codes again, and LLM.int8. source: bitsandbytes' Params4bit,
// QuantState.as_dict and Linear8bitLt.

import { parseJson } from '../json.ts';
import { isRecord } from '../source.ts';
import { BlockScales, type NestedScales } from './block-scales.ts';
import {
  broken,
  checkShape,
  tensorOf,
  unsupported,
  type CodedReader,
  type CodedTensors,
  type CodedWeight,
  type Header,
  type Stored,
} from '../tensors/coded-tensor.ts';

type Tensors<Entry> = ReadonlyMap<string, Entry>;
type Statements = ReadonlyMap<string, Uint8Array>;

const WEIGHT = '.weight';
const STATE = /\.weight\.quant_state\.bitsandbytes__(.*)$/;
const FORMAT = '.weight_format';
const VECTOR = { dtypes: ['F32'], dimensions: 1 };
const TYPES = ['nf4', 'fp4'] as const;
const STATE_NAMES = TYPES.map((type) => `${WEIGHT}.quant_state.bitsandbytes__${type}`);

export function bitsAndBytesReader(): CodedReader {
  return {
    redundant: [
      ...STATE_NAMES,
      ...['absmax', 'quant_map', 'nested_absmax', 'nested_quant_map'].map((name) => `${WEIGHT}.${name}`),
      FORMAT,
    ],
    isStatement: ({ name }) => STATE.test(name) || name.endsWith(FORMAT),
    moduleOf({ name, dtype }) {
      if (STATE.test(name)) return name.replace(STATE, '');
      return (dtype === 'U8' || dtype === 'I8') && name.endsWith(WEIGHT)
        ? name.slice(0, -WEIGHT.length)
        : null;
    },
    read: (module, tensors, statements) =>
      tensors.get(module + WEIGHT)?.dtype === 'I8'
        ? readBytes(module, tensors, statements)
        : readBlocks(module, tensors, statements),
  };
}

/** What a weight's quant_state says. */
interface State {
  type: 'nf4' | 'fp4';
  blockSize: number;
  shape: readonly number[];
  /** Of scales that are codes; null: they are numbers. */
  nested: { blockSize: number; offset: number } | null;
}

function readBlocks<Entry extends Stored>(
  module: string,
  tensors: Tensors<Entry>,
  statements: Statements,
): CodedWeight<Entry> {
  const name = module + WEIGHT;
  const codes = tensors.get(name);
  if (!codes) throw broken(name, `tensor ${name} is missing, and its quant_state is there`);
  const { type, blockSize, shape, nested } = stateOf(name, tensors, statements);
  const [rows = 0, k = 0] = shape;
  if (shape.length !== 2 || codes.bytes * 2 !== rows * k)
    throw broken(
      name,
      `tensor ${name} holds ${codes.bytes * 2} codes, and its quant_state says [${shape.join(', ')}]`,
    );
  if (k % MULTIPLE !== 0 || blockSize % MULTIPLE !== 0)
    throw unsupported(
      name,
      `${name} has ${k} inputs in blocks of ${blockSize}, and multiples of 32 are read`,
    );
  const blocks = Math.ceil((rows * k) / blockSize);
  const absmax = tensorOf(tensors, `${name}.absmax`, { dtypes: [nested ? 'U8' : 'F32'], dimensions: 1 });
  checkShape(absmax, [blocks], `${rows} × ${k} values in blocks of ${blockSize}`);
  const map = tensorOf(tensors, `${name}.quant_map`, VECTOR);
  checkShape(map, [16], 'codes of 4 bits');
  // Blocks that run across the ends of rows are repeated, so that each row has scales of its own.
  const groupKs =
    k % blockSize === 0 ? blockSize : [64, 32].find((ks) => k % ks === 0 && blockSize % ks === 0)!;
  const scales = new BlockScales({
    ...{ absmax, map, type, blockSize, groupKs },
    nested: nested && nestedOf(name, tensors, nested, blocks),
    count: (rows * k) / groupKs,
  });
  const coded: CodedTensors<Entry> = {
    rule: type,
    bits: 4,
    layout: 'pairs',
    signed: false,
    groupKs,
    codes: { ...codes, dtype: 'U8', shape: [rows, k / 2] },
    scales: { ...absmax, dtype: 'F32', shape: [rows, k / groupKs], source: scales, bytes: scales.size },
    zeros: null,
    groupOf: null,
    order: null,
  };
  return { rows, k, coded };
}

/** Rows and blocks are multiples of so many values. */
const MULTIPLE = 32;

function nestedOf<Entry extends Stored>(
  name: string,
  tensors: Tensors<Entry>,
  { blockSize, offset }: { blockSize: number; offset: number },
  count: number,
): NestedScales {
  const absmax = tensorOf(tensors, `${name}.nested_absmax`, VECTOR);
  checkShape(absmax, [Math.ceil(count / blockSize)], `${count} scales in blocks of ${blockSize}`);
  const map = tensorOf(tensors, `${name}.nested_quant_map`, VECTOR);
  checkShape(map, [256], 'codes of 8 bits');
  return { absmax, map, blockSize, offset };
}

/** Reads the quant_state of a weight. Throws bad_checkpoint for one that is missing or damaged, unsupported for another type. */
function stateOf(name: string, tensors: Tensors<Header>, statements: Statements): State {
  const module = name.slice(0, -WEIGHT.length);
  const stateName = STATE_NAMES.map((end) => module + end).find((each) => tensors.has(each));
  if (stateName === undefined) {
    const other = [...tensors.keys()].find((each) => each.startsWith(`${name}.quant_state.`));
    if (other !== undefined)
      throw unsupported(
        other,
        `tensor ${other} is of another type than ${TYPES.join(' and ')}, which are read`,
      );
    throw broken(
      name,
      `tensor ${name} is U8 without its quant_state (${name}.quant_state.bitsandbytes__nf4)`,
    );
  }
  const wrong = (problem: string) => broken(stateName, `tensor ${stateName} ${problem}`);
  const stated = parsed(statements.get(stateName));
  if (!isRecord(stated)) throw wrong('is not a JSON object');
  const { quant_type: type, blocksize, shape, nested_blocksize: nestedSize, nested_offset: offset } = stated;
  const known = TYPES.find((each) => each === type);
  if (!known || !stateName.endsWith(known)) throw wrong(`says quant_type ${JSON.stringify(type)}`);
  if (!isCount(blocksize)) throw wrong(`says blocksize ${JSON.stringify(blocksize)}`);
  if (!Array.isArray(shape) || !shape.every(isCount)) throw wrong(`says shape ${JSON.stringify(shape)}`);
  if (nestedSize === undefined && offset === undefined)
    return { type: known, blockSize: blocksize, shape, nested: null };
  if (!isCount(nestedSize)) throw wrong(`says nested_blocksize ${JSON.stringify(nestedSize)}`);
  if (typeof offset !== 'number') throw wrong(`says nested_offset ${JSON.stringify(offset)}`);
  return { type: known, blockSize: blocksize, shape, nested: { blockSize: nestedSize, offset } };
}

function parsed(bytes: Uint8Array | undefined): unknown {
  try {
    return parseJson(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return null;
  }
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0;
}

/** Signed bytes with the largest magnitude of each row; activations, which LLM.int8 rounds too, are not rounded. */
function readBytes<Entry extends Stored>(
  module: string,
  tensors: Tensors<Entry>,
  statements: Statements,
): CodedWeight<Entry> {
  const codes = tensorOf(tensors, module + WEIGHT, { dtypes: ['I8'], dimensions: 2 });
  const [rows = 0, k = 0] = codes.shape;
  const name = `${module}.SCB`;
  const ranges = tensorOf(tensors, name, VECTOR);
  checkShape(ranges, [rows], `${rows} outputs`);
  const format = statements.get(module + FORMAT);
  if (format?.some((byte) => byte !== 0))
    throw unsupported(
      module + FORMAT,
      `tensor ${module + FORMAT} says that the codes are in the order of a kind of GPU (${format[0]}), and only rows are read`,
    );
  const coded: CodedTensors<Entry> = {
    rule: 'range',
    bits: 8,
    layout: 'rows',
    // Codes stay signed.
    signed: false,
    groupKs: k,
    codes,
    scales: { ...ranges, shape: [rows, 1] },
    zeros: null,
    groupOf: null,
    order: null,
  };
  return { rows, k, coded };
}
