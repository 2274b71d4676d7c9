// Images and sounds of Gemma 4 12B, which has no towers: squares of pixels and pieces of sounds pass norms and products, and become rows for the
// language model.

import type { Pixels } from '../../files/image/pixels.ts';
import type { Tensor } from '../../gpu/tensor.ts';
import { addRows } from '../../kernels/add-rows.ts';
import { layernorm } from '../../kernels/layernorm.ts';
import { linear } from '../../kernels/matmul.ts';
import { mixRows } from '../../kernels/mix-rows.ts';
import { reshape } from '../../kernels/reshape.ts';
import { rmsnorm } from '../../kernels/rmsnorm.ts';
import { affine } from '../affine.ts';
import type { MediaInput, Tower } from '../media.ts';
import type { WeightTable } from '../weights.ts';
import type { Gemma4ImageConfig } from './gemma4-config.ts';
import type { Gemma4UnifiedConfig } from './gemma4-unified-config.ts';
import { pixelPatches } from './tiles.ts';

/** Of torch's LayerNorm. */
const EPS = 1e-5;

/** Inputs: `squares` [frames, rows, 3 · side²]; `places` u32 and `parts` [rows, 2], as gemma4Vision has them. → [frames, rows, out] */
export function gemma4Squares(config: Gemma4UnifiedConfig['vision'], weights: WeightTable): Tower {
  const { side, hidden, positions, eps, out } = config;
  const root = weights.has('vision_embedder.patch_dense.weight') ? 'vision_embedder.' : 'embed_vision.';
  const columns = 3 * side ** 2;
  const before = affine(weights, `${root}patch_ln1`, columns);
  const embed = weights.matrix(`${root}patch_dense.weight`, hidden, columns, { bias: true });
  const between = affine(weights, `${root}patch_ln2`, hidden);
  const table = weights.table(`${root}pos_embedding`, positions, 2 * hidden, [2, hidden]);
  const behind = affine(weights, `${root}pos_norm`, hidden);
  const project = weights.matrix(projectionOf(weights, 'embed_vision.'), out, hidden);

  return (inputs) => {
    const { squares, places, parts } = inputs as Record<'squares' | 'places' | 'parts', Tensor>;
    const tables = reshape(table.on(squares.tape!), [2 * positions, hidden]);
    const x = layernorm(linear(layernorm(squares, before, EPS), embed), between, EPS);
    const placed = addRows(x, mixRows(tables, places, parts)); // [frames, rows, hidden]
    return [linear(rmsnorm(layernorm(placed, behind, EPS), null, eps), project)];
  };
}

/** Inputs: `pieces` [1, rows, samples of a piece]. → [1, rows, out] */
export function gemma4Pieces(
  { samples, eps, out }: NonNullable<Gemma4UnifiedConfig['audio']>,
  weights: WeightTable,
): Tower {
  const project = weights.matrix('embed_audio.embedding_projection.weight', out, samples);
  return ({ pieces }) => [linear(rmsnorm(pieces!, null, eps), project)];
}

/** Published files and those that transformers saves name it otherwise. */
function projectionOf(weights: WeightTable, root: string): string {
  const saved = `${root}multimodal_embedder.embedding_projection.weight`;
  return weights.has(saved) ? saved : `${root}embedding_projection.weight`;
}

/** Inputs for frames of one size, a multiple of a square's; see gemma4Squares. */
export function* squareInputs(
  images: Gemma4ImageConfig,
  frames: readonly Pixels[],
): Generator<void, Record<string, MediaInput>, void> {
  const side = images.patch * images.pooled;
  const [first] = frames;
  const across = first!.width / side;
  const rows = across * (first!.height / side);
  const values = new Float32Array(frames.length * rows * 3 * side ** 2);
  for (const [i, frame] of frames.entries()) {
    yield;
    values.set(pixelPatches(frame, { ...images, patch: side }), (i * values.length) / frames.length);
  }
  // The table's rows take turns: a position of a column, and the same one of a row.
  const places = Uint32Array.from({ length: 2 * rows }, (_, i) => {
    const square = Math.floor(i / 2);
    return i % 2 === 0 ? 2 * (square % across) : 2 * Math.floor(square / across) + 1;
  });
  return {
    squares: { shape: [frames.length, rows, 3 * side ** 2], data: values },
    places: { shape: [rows, 2], data: places },
    parts: { shape: [rows, 2], data: new Float32Array(2 * rows).fill(1) },
  };
}
