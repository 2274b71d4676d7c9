// Tensors that hold the scales of other tensors' codes, by the names that FP8 checkpoints give them; exponents of E2M1 are named alike
// (files/checkpoint/fused-experts.ts).

import type { TensorEntry } from '../../files/tensors/safetensors.ts';
import { badCheckpoint, type EngineError } from '../../files/error.ts';
import { SOURCES, sourceOf, storedBlock, type NumberSource } from '../../kernels/formats.ts';
import { SCALED_KS, type ScaleTiles } from '../../kernels/spread-scales.ts';

/** source: transformers' fine-grained FP8 (DeepSeek's names); compressed-tensors and ModelOpt. All multiply the codes. */
export const SCALE_SUFFIXES = ['_scale_inv', '_scale'];

type Header = Pick<TensorEntry, 'name' | 'dtype' | 'shape'>;

/** Numbers for tiles of codes, or an exponent for each row and 32 k's. */
export type ScaleTensor =
  | { name: string; source: NumberSource; tiles: ScaleTiles }
  | { name: string; source: 'e8m0' };

/** Whether a tensor's codes need scales that another tensor holds. */
export function hasScaleTensor({ dtype }: Pick<Header, 'dtype'>): boolean {
  const source = SOURCES[dtype];
  return source !== undefined && storedBlock(source)?.scaleType === 'tensor';
}

/**
 * The scales of a matrix [rows, k] of codes: of E4M3 one, one for each row, or one for each 128 rows and 128 k's; of E2M1 an exponent for
 * each row and 32 k's. `name`: the tensor's among `tensors`, which a class that wraps a text model stores under others. Throws bad_checkpoint where there are none, or of another shape.
 */
export function scalesOf(tensors: ReadonlyMap<string, Header>, { name, dtype, shape }: Header): ScaleTensor {
  const names = SCALE_SUFFIXES.map((suffix) => name + suffix);
  const own = names.find((one) => tensors.has(one));
  if (own === undefined)
    throw broken(name, `tensor ${name} is ${dtype} without its scales (${names.join(' or ')})`);
  const found = tensors.get(own)!;
  const source = sourceOf(found.dtype);
  const block = storedBlock(SOURCES[dtype]!)!.values;
  if (block === EXPONENT_KS) {
    const blocks = [...shape.slice(0, -1), Math.ceil(shape.at(-1)! / block)];
    if (source === 'e8m0' && found.shape.join() === blocks.join()) return { name: own, source };
  } else {
    const tiles = tilesOf(found.shape, shape);
    if (tiles !== null && source !== undefined && isNumber(source)) return { name: own, source, tiles };
  }
  throw broken(
    found.name,
    `tensor ${found.name} is ${found.dtype} of [${found.shape.join(', ')}], which is not a scale for [${shape.join(', ')}]`,
  );
}

/** k's of an exponent. */
const EXPONENT_KS = 32;

function isNumber(source: string): source is NumberSource {
  return source === 'f32' || source === 'f16' || source === 'bf16';
}

function tilesOf(stated: readonly number[], shape: readonly number[]): ScaleTiles | null {
  const [rows = 1, k = 1] = shape;
  // ModelOpt states tiles as [row tiles, 1, k tiles, 1].
  const isWide = stated.length === 4 && stated[1] === 1 && stated[3] === 1;
  const scale = isWide ? [stated[0]!, stated[2]!] : stated;
  const extents = scale.filter((extent) => extent !== 1).join();
  const [tileRows, tileBlocks] = [Math.ceil(rows / SCALED_KS), Math.ceil(k / SCALED_KS)];
  if (scale.length === 2 && scale[0] === tileRows && scale[1] === tileBlocks)
    return { rows: SCALED_KS, blocks: tileBlocks };
  if (extents === '') return { rows, blocks: 1 };
  return extents === String(rows) && scale[0] === rows ? { rows: 1, blocks: 1 } : null;
}

function broken(param: string, problem: string): EngineError {
  return badCheckpoint(`${problem}: take the checkpoint from where it was published`, param);
}
