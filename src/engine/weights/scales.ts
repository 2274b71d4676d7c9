// Tensors that hold the scales of other tensors' codes, by the names that FP8 checkpoints give them.

import type { TensorEntry } from '../../files/checkpoint/safetensors.ts';
import { EngineError } from '../../files/error.ts';
import { FORMATS, SOURCES, type NumberSource } from '../../kernels/formats.ts';
import { SCALED_KS, type ScaleTiles } from '../../kernels/spread-scales.ts';

/** source: transformers' fine-grained FP8 (DeepSeek's names); compressed-tensors and ModelOpt. All multiply the codes. */
export const SCALE_SUFFIXES = ['_scale_inv', '_scale'];

type Header = Pick<TensorEntry, 'name' | 'dtype' | 'shape'>;

export interface ScaleTensor {
  name: string;
  source: NumberSource;
  tiles: ScaleTiles;
}

/** Whether a tensor's codes need scales that another tensor holds. */
export function hasScaleTensor({ dtype }: Pick<Header, 'dtype'>): boolean {
  return SOURCES[dtype] === FORMATS.e4m3.name;
}

/**
 * The scales of a matrix [rows, k] of codes: one, one for each row, or one for each 128 rows and 128 k's. Throws bad_checkpoint where there
 * are none, or of another shape.
 */
export function scalesOf(tensors: ReadonlyMap<string, Header>, { name, dtype, shape }: Header): ScaleTensor {
  const found = SCALE_SUFFIXES.map((suffix) => tensors.get(name + suffix)).find(
    (entry) => entry !== undefined,
  );
  if (!found) {
    const names = SCALE_SUFFIXES.map((suffix) => name + suffix).join(' or ');
    throw broken(name, `tensor ${name} is ${dtype} without its scales (${names})`);
  }
  const source = SOURCES[found.dtype];
  const tiles = tilesOf(found.shape, shape);
  if (tiles === null || source === undefined || !isNumber(source))
    throw broken(
      found.name,
      `tensor ${found.name} is ${found.dtype} of [${found.shape.join(', ')}], which is no scale for [${shape.join(', ')}]`,
    );
  return { name: found.name, source, tiles };
}

function isNumber(source: string): source is NumberSource {
  return source === 'f32' || source === 'f16' || source === 'bf16';
}

function tilesOf(scale: readonly number[], shape: readonly number[]): ScaleTiles | null {
  const [rows = 1, k = 1] = shape;
  const extents = scale.filter((extent) => extent !== 1).join();
  const [tileRows, tileBlocks] = [Math.ceil(rows / SCALED_KS), Math.ceil(k / SCALED_KS)];
  if (scale.length === 2 && scale[0] === tileRows && scale[1] === tileBlocks)
    return { rows: SCALED_KS, blocks: tileBlocks };
  if (extents === '') return { rows, blocks: 1 };
  return extents === String(rows) && scale[0] === rows ? { rows: 1, blocks: 1 } : null;
}

function broken(param: string, problem: string): EngineError {
  return new EngineError('bad_checkpoint', `${problem}: take the checkpoint from where it was published`, {
    param,
  });
}
