// The vision towers of Qwen2-VL, Qwen3-VL and Qwen3.5: the patches of a frame attend to each other, and the patches of a cell are merged into
// one row for the language model. States of some layers may be merged, too.

import type { Tensor } from '../../../gpu/tensor.ts';
import { attend, SEGMENT_WORK } from '../../../kernels/attend.ts';
import { joinRows } from '../../../kernels/copy-rows.ts';
import { layernorm } from '../../../kernels/layernorm.ts';
import { linear, linearAdd } from '../../../kernels/matmul.ts';
import { mixRows } from '../../../kernels/mix-rows.ts';
import { patchify } from '../../../kernels/patchify.ts';
import { rotate } from '../../../kernels/rotate.ts';
import { affine } from '../../affine.ts';
import type { Tower } from '../../media.ts';
import type { WeightTable } from '../../weights.ts';
import { visionQkv } from './qwen-vision.ts';
import type { QwenVitConfig } from './qwen-vit-config.ts';

const EPS = 1e-6;
const ROOT = 'visual.';

/**
 * Inputs: `patches` [frames, cells · merge, merge, channels · frames · patch²] cell by cell, `rotations` [patches of all frames, dims]; with
 * learned positions `sources` u32 and `shares` f32 [patches of a frame, taps]. → rows cell by cell, [frames, cells, out], and those of the
 * deep layers.
 */
export function qwenVit(config: QwenVitConfig, weights: WeightTable): Tower {
  const { hidden, channels, frames, patch, deep, places, names } = config;
  const stored = [channels, frames, patch, patch];
  const columns = stored.reduce((product, extent) => product * extent, 1);
  const embed = weights.matrix(`${ROOT}patch_embed.proj.weight`, hidden, columns, {
    stored,
    bias: names.patchBias,
  });
  const table = places === null ? null : weights.table(`${ROOT}pos_embed.weight`, places ** 2, hidden);
  const layers = Array.from({ length: config.layers }, (_, i) =>
    layer(config, weights, `${ROOT}blocks.${i}`),
  );
  const merge = merger(config, weights, `${ROOT}merger`, false);
  const deepMergers = deep.map((_, i) => merger(config, weights, `${ROOT}deepstack_merger_list.${i}`, true));

  return (inputs) => {
    const { patches, rotations, sources, shares } = inputs as Record<string, Tensor>;
    let x: Tensor;
    if (table) {
      const grid = patches!.shape.slice(0, -1) as number[];
      const frame = mixRows(table.on(patches!.tape!), sources!, shares!); // [patches of a frame, hidden]
      const all = joinRows(
        Array.from({ length: grid[0]! }, () => frame),
        grid,
      );
      x = linearAdd(patches!, embed, all); //                                 [frames, cells · merge, merge, hidden]
    } else x = linear(patches!, embed);
    const below = new Map<number, Tensor>();
    layers.forEach((run, i) => {
      x = run(x, rotations!);
      const at = deep.indexOf(i);
      if (at >= 0) below.set(at, deepMergers[at]!(x));
    });
    return [merge(x), ...deep.map((_, at) => below.get(at)!)];
  };
}

/** `after`: the norm follows the merging of a cell's patches. */
function merger(
  { hidden, merge, out, names }: QwenVitConfig,
  weights: WeightTable,
  name: string,
  after: boolean,
) {
  const cell = merge ** 2 * hidden;
  const norm = affine(weights, `${name}.${names.mergerNorm}`, after ? cell : hidden);
  const [first, second] = [
    weights.matrix(`${name}.${names.merger[0]}.weight`, cell, cell, { bias: true }),
    weights.matrix(`${name}.${names.merger[1]}.weight`, out, cell, { bias: true }),
  ];
  return (x: Tensor): Tensor => {
    const cells = patchify(after ? x : layernorm(x, norm, EPS), { size: merge, order: 'pqc' });
    const y = after ? layernorm(cells, norm, EPS) : cells; // [frames, cells, merge² · hidden]
    return linear(linear(y, first, { activation: 'gelu' }), second);
  };
}

function layer(config: QwenVitConfig, weights: WeightTable, name: string) {
  const { hidden, ffn, heads, dims, activation, names } = config;
  const norms = ['norm1', 'norm2'].map((norm) => affine(weights, `${name}.${norm}`, hidden));
  const qkv = visionQkv(weights, `${name}.attn`, hidden);
  const out = weights.matrix(`${name}.attn.proj.weight`, hidden, hidden, { bias: true, split: 'rows' });
  const up = weights.matrix(`${name}.${names.ffn[0]}.weight`, ffn, hidden, { bias: true, split: 'columns' });
  const down = weights.matrix(`${name}.${names.ffn[1]}.weight`, hidden, ffn, { bias: true, split: 'rows' });

  return (x: Tensor, rotations: Tensor): Tensor => {
    const y = linear(layernorm(x, norms[0]!, EPS), qkv); //  [frames, cells · merge, merge, 3 · hidden]
    for (const i of [0, 1]) rotate({ x: y, first: i * hidden }, rotations, { heads, dims, layout: 'halves' });
    const [q, k, v] = [0, 1, 2].map((i) => ({ x: y, first: i * hidden }));
    x = linearAdd(attend(q!, k!, v!, { heads, dims, mostWork: SEGMENT_WORK }), out, x);
    x = linearAdd(linear(layernorm(x, norms[1]!, EPS), up, { activation }), down, x);
    x.tape!.cut();
    return x;
  };
}
