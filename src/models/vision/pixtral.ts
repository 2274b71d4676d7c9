// The vision tower of Pixtral, Mistral 3 and LightOnOCR: patches of an image in its own resolution pass transformer layers that know rows and
// columns by rotation; cells of patches are merged, where the class does so, and a projector makes them rows for the language model.

import type { Tensor } from '../../gpu/tensor.ts';
import { attend, SEGMENT_WORK } from '../../kernels/attend.ts';
import { takeRows } from '../../kernels/copy-rows.ts';
import { linear, linearAdd, linearGeglu, linearSwiglu } from '../../kernels/matmul.ts';
import { patchify } from '../../kernels/patchify.ts';
import { rmsnorm, rmsnormRows } from '../../kernels/rmsnorm.ts';
import { rotate } from '../../kernels/rotate.ts';
import type { Tower } from '../media.ts';
import type { WeightTable } from '../weights.ts';
import type { PixtralVisionConfig } from './pixtral-config.ts';

const EPS = 1e-5;

/** Rows and columns of an image, in patches. */
export interface PixtralGrid {
  rows: number;
  columns: number;
}

/**
 * Inputs: `patches` [1, rows · columns, 3 · patch²], `rotations` [rows · columns, dims], and `whole` u32, the patches that fill whole cells,
 * where there are others; the layout is a PixtralGrid. → rows cell by cell, [1, cells, out]
 */
export function pixtralTower(config: PixtralVisionConfig, weights: WeightTable): Tower {
  const { hidden, patch, modules } = config;
  const stored = [3, patch, patch];
  const embed = weights.matrix(`${modules.tower}patch_conv.weight`, hidden, 3 * patch ** 2, { stored });
  const norm = weights.vector(`${modules.tower}ln_pre.weight`, hidden);
  const layers = Array.from({ length: config.layers }, (_, i) =>
    layer(config, weights, `${modules.tower}transformer.layers.${i}`),
  );
  const project = projector(config, weights);
  const unread = Array.from({ length: config.allLayers - config.layers }, (_, i) => config.layers + i);
  if (unread.length > 0) weights.ignore(new RegExp(`\\.transformer\\.layers\\.(${unread.join('|')})\\.`));

  return ({ patches, rotations, whole }, grid) => {
    let x = rmsnorm(linear(patches!, embed), norm, EPS); // [1, rows · columns, hidden]
    for (const run of layers) x = run(x, rotations!);
    return [project(x, grid as PixtralGrid, whole)];
  };
}

function layer(config: PixtralVisionConfig, weights: WeightTable, name: string) {
  const { hidden, ffn, heads, dims } = config;
  const [before, between] = ['attention_norm', 'ffn_norm'].map((norm) =>
    weights.vector(`${name}.${norm}.weight`, hidden),
  );
  const parts = ['q', 'k', 'v'].map((part) => ({
    name: `${name}.attention.${part}_proj.weight`,
    rows: hidden,
  }));
  const qkv = weights.stacked(parts, hidden, { split: 'columns' });
  const out = weights.matrix(`${name}.attention.o_proj.weight`, hidden, hidden, { split: 'rows' });
  const gated = gatedUnit(config, weights, `${name}.feed_forward`);
  const down = weights.matrix(`${name}.feed_forward.down_proj.weight`, hidden, ffn, { split: 'rows' });

  return (x: Tensor, rotations: Tensor): Tensor => {
    const y = linear(rmsnorm(x, before!, EPS), qkv); // [1, patches, 3 · hidden]
    for (const i of [0, 1]) rotate({ x: y, first: i * hidden }, rotations, { heads, dims, layout: 'halves' });
    const [q, k, v] = [0, 1, 2].map((i) => ({ x: y, first: i * hidden }));
    x = linearAdd(attend(q!, k!, v!, { heads, dims, mostWork: SEGMENT_WORK }), out, x);
    x = linearAdd(gated(rmsnorm(x, between!, EPS)), down, x);
    x.tape!.cut();
    return x;
  };
}

/** activation(x · gateᵀ) · (x · upᵀ) */
function gatedUnit(
  { hidden, ffn, gate: activation }: PixtralVisionConfig,
  weights: WeightTable,
  name: string,
) {
  const [gate, up] = ['gate_proj', 'up_proj'].map((part) => `${name}.${part}.weight`);
  if (activation === 'silu') {
    const pair = weights.gateUp(gate!, up!, ffn, hidden);
    return (x: Tensor): Tensor => linearSwiglu(x, pair);
  }
  const pair = weights.gateUp(up!, gate!, ffn, hidden);
  return (x: Tensor): Tensor => linearGeglu(x, pair);
}

function projector(config: PixtralVisionConfig, weights: WeightTable) {
  const { hidden, merger, activation, bias, out } = config;
  const { projector: name } = config.modules;
  const cells = merger && cellMerger(config, merger, weights);
  const first = weights.matrix(`${name}linear_1.weight`, out, hidden, { bias });
  const second = weights.matrix(`${name}linear_2.weight`, out, out, { bias });

  return (x: Tensor, grid: PixtralGrid, whole?: Tensor): Tensor => {
    const rows = cells ? cells(x, grid, whole) : x; // [1, cells, hidden]
    return linear(linear(rows, first, { activation }), second);
  };
}

/** Patches to the right and below that fill no cell are left out. */
function cellMerger(
  { hidden, modules }: Pick<PixtralVisionConfig, 'hidden' | 'modules'>,
  { merge, eps }: NonNullable<PixtralVisionConfig['merger']>,
  weights: WeightTable,
) {
  const norm = weights.vector(`${modules.projector}norm.weight`, hidden);
  const layer = weights.matrix(
    `${modules.projector}patch_merger.merging_layer.weight`,
    hidden,
    merge ** 2 * hidden,
  );

  return (x: Tensor, { rows, columns }: PixtralGrid, whole?: Tensor): Tensor => {
    const extents = [1, rows - (rows % merge), columns - (columns % merge)];
    const image = whole
      ? rmsnormRows(x, norm, eps, whole, extents)
      : takeRows(rmsnorm(x, norm, eps), 0, extents);
    return linear(patchify(image, { size: merge, order: 'cpq' }), layer);
  };
}
