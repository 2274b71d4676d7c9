// SAM's image encoder, as towers that read pages begin with it: most layers attend within windows, all of them with terms for the rows and columns
// that lie between two patches; convolutions then merge 4 × 4 patches into one.

import type { Tensor } from '../../../gpu/tensor.ts';
import { addRows } from '../../../kernels/add-rows.ts';
import { attend, SEGMENT_WORK } from '../../../kernels/attend.ts';
import { conv2d } from '../../../kernels/conv2d.ts';
import { takeRows } from '../../../kernels/copy-rows.ts';
import { layernorm } from '../../../kernels/layernorm.ts';
import { linear, linearAdd } from '../../../kernels/matmul.ts';
import { placeTerms } from '../../../kernels/place-terms.ts';
import { affine } from '../../affine.ts';
import type { WeightTable } from '../../weights.ts';
import { resizedPlaces, type PlaceInputs } from '../resized-places.ts';
import { apart, together, type WindowInputs } from './grid-windows.ts';

export interface SamConfig {
  hidden: number;
  heads: number;
  layers: number;
  ffn: number;
  /** Layers that attend to all patches. */
  wholeLayers: readonly number[];
  /** Patches along a side of the windows of the others. */
  window: number;
  patch: number;
  /** Positions along a side of the learned table. */
  places: number;
  /** Channels behind the last layer, and behind the two convolutions that halve the sides. */
  neck: number;
  halved: readonly [number, number];
}

export const SAM_EPS = 1e-6;

/** What a tile of one size needs beside its pixels. */
export interface SamPlaces {
  positions: PlaceInputs;
  windows: WindowInputs;
}

/** `name`: prefix of the tensors, which ends with a dot. patches [tiles, across², 3 · patch²] → [tiles, cells², halved[1]] */
export function sam(config: SamConfig, weights: WeightTable, name: string) {
  const { hidden, patch, places, neck, halved } = config;
  const stored = [3, patch, patch];
  const embed = weights.matrix(`${name}patch_embed.proj.weight`, hidden, 3 * patch ** 2, {
    bias: true,
    stored,
  });
  const table = weights.table(`${name}pos_embed`, places ** 2, hidden, [hidden], [1, places, places]);
  const layers = Array.from({ length: config.layers }, (_, i) =>
    layer(config, weights, `${name}blocks.${i}`, config.wholeLayers.includes(i)),
  );
  const narrow = weights.matrix(`${name}neck.0.weight`, neck, hidden, { stored: [hidden, 1, 1] });
  const norms = [1, 3].map((i) => affine(weights, `${name}neck.${i}`, neck));
  const around = weights.conv(`${name}neck.2.weight`, neck, neck, 3, { bias: false });
  const halves = halved.map((channels, i) =>
    weights.conv(`${name}net_${i + 2}.weight`, channels, i === 0 ? neck : halved[0], 3, {
      bias: false,
      stride: 2,
    }),
  );

  return (patches: Tensor, { positions, windows }: SamPlaces): Tensor => {
    const [tiles, count] = patches.shape as [number, number];
    const across = Math.sqrt(count);
    let x = addRows(linear(patches, embed), resizedPlaces(table.on(patches.tape!), positions));
    for (const run of layers) x = run(x, windows); //                     [tiles, across², hidden]
    let image = takeRows(layernorm(linear(x, narrow), norms[0]!, SAM_EPS), 0, [tiles, across, across]);
    image = layernorm(conv2d(image, around), norms[1]!, SAM_EPS); //      [tiles, across, across, neck]
    for (const halve of halves) image = conv2d(image, halve, { stride: 2 });
    return takeRows(image, 0, [tiles, (image.shape[1] as number) ** 2]);
  };
}

function layer(config: SamConfig, weights: WeightTable, name: string, isWhole: boolean) {
  const { hidden, heads, ffn, window, places } = config;
  const dims = hidden / heads;
  const norms = ['norm1', 'norm2'].map((norm) => affine(weights, `${name}.${norm}`, hidden));
  const qkv = weights.matrix(`${name}.attn.qkv.weight`, 3 * hidden, hidden, { bias: true });
  const trained = 2 * (isWhole ? places : window) - 1;
  const tables = ['h', 'w'].map((axis) => weights.table(`${name}.attn.rel_pos_${axis}`, trained, dims));
  const out = weights.matrix(`${name}.attn.proj.weight`, hidden, hidden, { bias: true });
  const up = weights.matrix(`${name}.mlp.lin1.weight`, ffn, hidden, { bias: true });
  const down = weights.matrix(`${name}.mlp.lin2.weight`, hidden, ffn, { bias: true });

  /** x [items, side², hidden], whose items attend by themselves */
  const attended = (x: Tensor, side: number): Tensor => {
    const y = linear(x, qkv); // [items, side², 3 · hidden]
    const [q, k, v] = [0, 1, 2].map((i) => ({ x: y, first: i * hidden }));
    const grid = { rows: side, columns: side };
    const [h, w] = tables.map((one) => one.on(x.tape!));
    const terms = placeTerms(q!, { down: h!, across: w! }, { heads, dims, grid });
    return attend(q!, k!, v!, { heads, dims, placed: { terms, grid }, mostWork: SEGMENT_WORK });
  };

  return (x: Tensor, windows: WindowInputs): Tensor => {
    const [tiles, count] = x.shape as [number, number];
    const y = layernorm(x, norms[0]!, SAM_EPS);
    const seen = isWhole
      ? attended(y, Math.sqrt(count))
      : together(attended(apart(y, windows, window), window), windows, tiles);
    x = linearAdd(seen, out, x);
    x = linearAdd(linear(layernorm(x, norms[1]!, SAM_EPS), up, { activation: 'gelu' }), down, x);
    x.tape!.cut();
    return x;
  };
}
