// The vision tower of DeepSeek-OCR: tiles and the whole image pass SAM, whose merged patches pass CLIP in place of its own; a product of both makes
// them rows for the language model. Each row of cells ends with a learned row, and so does the image.

import type { Tensor } from '../../../gpu/tensor.ts';
import { addRows } from '../../../kernels/add-rows.ts';
import { concat } from '../../../kernels/concat.ts';
import { joinRows, joinTokens, takeRows, takeTokens } from '../../../kernels/copy-rows.ts';
import { layernorm } from '../../../kernels/layernorm.ts';
import { linear } from '../../../kernels/matmul.ts';
import { mixRows } from '../../../kernels/mix-rows.ts';
import { affine } from '../../affine.ts';
import type { MediaInput, Tower } from '../../media.ts';
import { clipLayer } from '../../text/clip/clip.ts';
import { inTurns, tilesAtOnce } from '../../tile-turns.ts';
import type { WeightTable } from '../../weights.ts';
import { placeInputs, placesOn, resizedPlaces, type PlaceInputs } from '../resized-places.ts';
import type { TileGrid } from '../tile-grid.ts';
import type { ClipPart, DeepseekOcrConfig } from './deepseek-ocr-config.ts';
import { windowInputs, windowsOn } from './grid-windows.ts';
import { sam } from './sam.ts';

/** Cells along a side of a square of `across` patches, which two convolutions halve. */
export const cellsAcross = (across: number): number => Math.ceil(Math.ceil(across / 2) / 2);

/**
 * Inputs: `whole` [1, patches, 3 · patch²], `tiles` [tiles, patches, 3 · patch²] if there are any, what `sizeInputs` makes for both, and those
 * of `orderInputs`. → rows in the order of the text, [1, rows, out]
 */
export function deepseekOcrVision(config: DeepseekOcrConfig, weights: WeightTable): Tower {
  const { sam: first, clip: second, out } = config;
  const encode = sam(first, weights, 'sam_model.');
  const look = clip(second, weights, 'vision_model.');
  const project = weights.matrix('projector.layers.weight', out, 2 * second.hidden, { bias: true });
  const ends = ['image_newline', 'view_seperator'].map((name) => weights.vector(name, out));

  return (inputs) => {
    const tape = inputs['whole']!.tape!;
    const rowsOf = (key: 'whole' | 'tiles'): Tensor[] => {
      const patches = inputs[key];
      if (!patches) return [];
      const at = (part: string): PlaceInputs => placesOn(inputs, `${key}${part}`);
      const places = { positions: at('Sam'), windows: windowsOn(inputs, key) };
      const atOnce = tilesAtOnce((patches.shape[1] as number) * first.ffn);
      return inTurns(patches, atOnce, (some) => {
        const seen = encode(some, places); //                   [tiles, cells, clip]
        return linear(concat(look(seen, at('Clip')), seen), project);
      });
    };
    const all = [...rowsOf('tiles'), ...rowsOf('whole'), ...ends.map((end) => end.on(tape))];
    const count = all.reduce((sum, rows) => sum + rows.rows({}), 0);
    const ordered = mixRows(joinRows(all, [count]), inputs['orderSources']!, inputs['orderShares']!);
    return [takeRows(ordered, 0, [1, ordered.rows({})])];
  };
}

/** CLIP without its own patches; x [tiles, cells, hidden] → [tiles, cells, hidden] */
function clip(config: ClipPart, weights: WeightTable, name: string) {
  const { hidden, places, eps } = config;
  const whole = weights.vector(`${name}embeddings.class_embedding`, hidden);
  const table = weights.table(`${name}embeddings.position_embedding.weight`, 1 + places ** 2, hidden);
  const norm = affine(weights, `${name}pre_layrnorm`, hidden);
  const layers = Array.from({ length: config.layers }, (_, i) =>
    clipLayer(config, weights, `${name}transformer.layers.${i}`, { causal: false }),
  );
  weights.ignore(/^vision_model\.embeddings\.(patch_embedding\.weight|position_ids)$/);

  return (x: Tensor, inputs: PlaceInputs): Tensor => {
    const [tape, [tiles, cells]] = [x.tape!, x.shape as [number, number]];
    const positions = table.on(tape);
    const own = resizedPlaces(takeRows(positions, 1, [places ** 2]), inputs);
    const token = takeRows(whole.on(tape), 0, [1]);
    const tokens = joinRows(
      Array.from({ length: tiles }, () => token),
      [tiles, 1],
    );
    const all = joinRows([takeRows(positions, 0, [1]), own], [1 + cells]);
    let y = layernorm(addRows(joinTokens(tokens, x), all), norm, eps);
    for (const run of layers) y = run(y);
    return takeTokens(y, 1, cells);
  };
}

/** What a square of `across` patches needs beside its pixels, by names with `key` before them. */
export function sizeInputs(
  key: 'whole' | 'tiles',
  { sam: first, clip: second }: DeepseekOcrConfig,
  across: number,
): Record<string, MediaInput> {
  const cells = cellsAcross(across);
  return {
    ...placeInputs(`${key}Sam`, first.places, { rows: across, columns: across }, 'bicubic'),
    ...placeInputs(`${key}Clip`, second.places, { rows: cells, columns: cells }, 'bicubic'),
    ...windowInputs(key, across, first.window),
  };
}

/**
 * Where the rows of an image come from: cells of its tiles, row by row of the whole grid, then those of the whole image; `cells`: along a side
 * of a tile and of the whole.
 */
export function orderInputs(
  grid: TileGrid | null,
  cells: { tile: number; whole: number },
): Record<'orderSources' | 'orderShares', MediaInput> {
  const { columns: tileColumns, rows: tileRows } = grid ?? { columns: 0, rows: 0 };
  const tiles = tileColumns * tileRows;
  const newline = tiles * cells.tile ** 2 + cells.whole ** 2;
  const sources: number[] = [];
  for (let row = 0; row < tileRows * cells.tile; row++) {
    for (let column = 0; column < tileColumns * cells.tile; column++) {
      const tile = Math.floor(row / cells.tile) * tileColumns + Math.floor(column / cells.tile);
      sources.push((tile * cells.tile + (row % cells.tile)) * cells.tile + (column % cells.tile));
    }
    sources.push(newline);
  }
  for (let cell = 0; cell < cells.whole ** 2; cell++) {
    sources.push(tiles * cells.tile ** 2 + cell);
    if ((cell + 1) % cells.whole === 0) sources.push(newline);
  }
  sources.push(newline + 1);
  const shape = [sources.length, 1];
  return {
    orderSources: { shape, data: Uint32Array.from(sources) },
    orderShares: { shape, data: new Float32Array(sources.length).fill(1) },
  };
}
