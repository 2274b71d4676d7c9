// Experts whose matrices stand in one tensor of a layer, [experts, …], as entries for each of them: `experts.gate_up_proj` becomes
// `experts.0.gate_up_proj.weight` and so on. No bytes are read. Codes of MXFP4 (`_blocks`, two E2M1 a byte, and `_scales`, exponents) become F4
// with a `_scale` of F8_E8M0 each. Source: transformers' gpt_oss and its integration of MXFP4.

import { badCheckpoint, type EngineError } from '../error.ts';
import type { Dtype, TensorEntry } from '../tensors/safetensors.ts';
import { splitStacked, stackedNames } from './stacked-experts.ts';

/**
 * How the tensors of numbers are stored: [experts, rows, k], or [experts, k, rows]; `shapes`: either, as a layer's shapes tell; `stacked`: as
 * stacked-experts.ts has it.
 */
export type ExpertOrder = StatedOrder | 'shapes' | 'stacked';
type StatedOrder = 'rows' | 'columns';

type Header = Pick<TensorEntry, 'name' | 'dtype' | 'shape'>;

const FUSED = /^(.*\.experts)\.([a-z0-9]+(?:_[a-z0-9]+)*_proj)(_blocks|_scales|_bias)?$/;
/** Granite's names of the two tensors. */
const GRANITE = /^(.*\.block_sparse_moe)\.(input|output)_linear\.weight$/;
const GRANITE_NAMES = { input: 'gate_up_proj', output: 'down_proj' } as const;
const KINDS = { '': 'weight', _blocks: 'weight', _scales: 'weight_scale', _bias: 'bias' } as const;
type Kind = keyof typeof KINDS;

/** Weights of a block, and its bytes. */
const BLOCK = 32;
const BLOCK_BYTES = 16;
/** Experts of a layer; a damaged header may claim any number. */
const MOST_EXPERTS = 4096;

/** The tensors, by the text model's names, with those of experts taken apart. Throws bad_checkpoint for codes of another shape than their scales. */
export function splitExperts(
  tensors: ReadonlyMap<string, TensorEntry>,
  order: ExpertOrder,
): Map<string, TensorEntry> {
  if (order === 'stacked') return splitStacked(tensors);
  return new Map(
    [...tensors].flatMap(([name, entry]) => {
      const parts = split(entry, tensors, order === 'shapes' ? orderOf(name, tensors) : order);
      if (parts === null) return [[name, entry] as const];
      return splitName(name, parts.length).map((own, i) => [own, parts[i]!] as const);
    }),
  );
}

/** Names for each of `count` experts, for the name of a fused tensor; other names stay. */
export function splitName(name: string, count: number): string[] {
  const stacked = count > 0 ? stackedNames(name, count) : null;
  if (stacked) return stacked;
  const [, experts, projection, kind = ''] = FUSED.exec(plainName(name)) ?? [];
  if (experts === undefined || count === 0) return [name];
  return Array.from({ length: count }, (_, i) => `${experts}.${i}.${projection}.${KINDS[kind as Kind]}`);
}

/** The name of a fused tensor as most classes have it; other names stay. */
function plainName(name: string): string {
  return name.replace(
    GRANITE,
    (_, block: string, side: 'input' | 'output') => `${block}.experts.${GRANITE_NAMES[side]}`,
  );
}

/** null: the tensor is not one of all experts. */
function split(
  entry: TensorEntry,
  tensors: ReadonlyMap<string, Header>,
  order: StatedOrder,
): TensorEntry[] | null {
  const [, , , suffix = ''] = FUSED.exec(plainName(entry.name)) ?? ['', '', '', 'none'];
  const kind = suffix as Kind;
  const isFused = kind in KINDS && entry.shape.length === RANKS[kind];
  const [count = 0, ...shape] = entry.shape;
  if (!isFused || count === 0 || count > MOST_EXPERTS) return null;
  if (kind === '_blocks' || kind === '_scales') checkBlocks(entry, kind, tensors);
  const bytes = entry.bytes / count;
  const as = asWeight(kind, shape, entry.dtype, order);
  return splitName(entry.name, count).map((name, i) => ({
    ...entry,
    ...as,
    name,
    offset: entry.offset + i * bytes,
    bytes,
  }));
}

const RANKS: Readonly<Record<Kind, number>> = { '': 3, _blocks: 4, _scales: 3, _bias: 2 };

/** Gate and up have twice the rows that the last projection has inputs. */
function orderOf(name: string, tensors: ReadonlyMap<string, Header>): StatedOrder {
  const [, experts] = FUSED.exec(name) ?? [];
  const [gateUp, down] = ['gate_up_proj', 'down_proj'].map((one) => tensors.get(`${experts}.${one}`)?.shape);
  const isByColumns = gateUp && down && gateUp[1] === down[2] && gateUp[2] === 2 * down[1]!;
  return isByColumns ? 'columns' : 'rows';
}

/** Type and shape of one expert's part. */
function asWeight(
  kind: Kind,
  shape: number[],
  dtype: TensorEntry['dtype'],
  order: StatedOrder,
): Pick<TensorEntry, 'dtype' | 'shape' | 'isTransposed'> {
  if (kind === '_blocks') return { dtype: 'F4' satisfies Dtype, shape: [shape[0]!, shape[1]! * BLOCK] };
  if (kind === '_scales') return { dtype: 'F8_E8M0' satisfies Dtype, shape };
  if (kind === '' && order === 'columns') return { dtype, shape: [shape[1]!, shape[0]!], isTransposed: true };
  return { dtype, shape };
}

/** Codes are U8 [experts, rows, blocks, 16], and their scales U8 [experts, rows, blocks]. */
function checkBlocks(entry: Header, kind: '_blocks' | '_scales', tensors: ReadonlyMap<string, Header>): void {
  const isCodes = kind === '_blocks';
  const name = entry.name.slice(0, -kind.length) + (isCodes ? '_scales' : '_blocks');
  const other = tensors.get(name);
  if (other === undefined) throw broken(entry, `stands without ${name}`);
  const [codes, scales] = isCodes ? [entry, other] : [other, entry];
  const isWhole = codes.shape.length === 4 && codes.shape[3] === BLOCK_BYTES;
  if (!isWhole || codes.shape.slice(0, 3).join() !== scales.shape.join())
    throw broken(
      entry,
      `has the shape [${entry.shape.join(', ')}], which does not fit [${other.shape.join(', ')}] of ${name}`,
    );
  if (entry.dtype !== 'U8') throw broken(entry, `is stored as ${entry.dtype}, and U8 is needed`);
}

function broken({ name }: Header, problem: string): EngineError {
  return badCheckpoint(`tensor ${name} ${problem}: take the checkpoint from where it was published`, name);
}
