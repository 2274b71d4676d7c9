// The vision tower of Qwen2.5-VL: patches of an image pass transformer layers, most of which attend within windows, and the patches of
// a cell are merged into one row for the language model.

import type { Tensor } from '../../../gpu/tensor.ts';
import { attend, SEGMENT_WORK } from '../../../kernels/attend.ts';
import { joinRows, takeRows } from '../../../kernels/copy-rows.ts';
import type { Matrix } from '../../../kernels/matrix.ts';
import { linear, linearAdd, linearSwiglu } from '../../../kernels/matmul.ts';
import { patchify } from '../../../kernels/patchify.ts';
import { rmsnorm, rmsnormRows } from '../../../kernels/rmsnorm.ts';
import { rotate } from '../../../kernels/rotate.ts';
import type { Tower } from '../../media.ts';
import type { WeightTable } from '../../weights.ts';
import type { QwenVisionConfig } from './qwen-vision-config.ts';
import type { VisionLayout } from './qwen-vision-layout.ts';

const EPS = 1e-6;
const ROOT = 'visual.';

/**
 * Inputs: `patches` [steps, cells · merge, merge, channels · frames · patch²], the values of the patches of an image, or of each step of a
 * video, in the layout's order; `rotations` [patches, dims], `places` u32 [patches]. The layout is the groups of a VisionLayout. → rows for
 * the language model, cell by cell, [steps, cells, out]
 */
export function qwenVision(config: QwenVisionConfig, weights: WeightTable): Tower {
  const { hidden, channels, frames, patch, merge, out } = config;
  const stored = [channels, frames, patch, patch];
  const columns = stored.reduce((product, extent) => product * extent, 1);
  const embed = weights.matrix(`${ROOT}patch_embed.proj.weight`, hidden, columns, { stored });
  const layers = Array.from({ length: config.layers }, (_, i) =>
    layer(config, weights, `${ROOT}blocks.${i}`, i),
  );
  const norm = weights.vector(`${ROOT}merger.ln_q.weight`, hidden);
  const cell = merge ** 2 * hidden;
  const first = weights.matrix(`${ROOT}merger.mlp.0.weight`, cell, cell, { bias: true });
  const second = weights.matrix(`${ROOT}merger.mlp.2.weight`, out, cell, { bias: true });
  weights.ignore(/^(model|lm_head)\./);

  return (inputs, layout) => {
    const { patches, rotations, places } = inputs as Record<'patches' | 'rotations' | 'places', Tensor>;
    const groups = layout as VisionLayout['groups'];
    let x = linear(patches, embed); //                           [1, cells · merge, merge, hidden]
    for (const run of layers) x = run(x, rotations, groups);
    const y = rmsnormRows(x, norm, EPS, places, x.shape.slice(0, -1));
    const cells = patchify(y, { size: merge, order: 'pqc' }); // [1, cells, merge² · hidden]
    return [linear(linear(cells, first, { activation: 'gelu' }), second)];
  };
}

function layer(config: QwenVisionConfig, weights: WeightTable, name: string, index: number) {
  const { hidden, ffn, whole } = config;
  const norms = ['norm1', 'norm2'].map((norm) => weights.vector(`${name}.${norm}.weight`, hidden));
  const attention = selfAttention(config, weights, `${name}.attn`, whole.has(index));
  const out = weights.matrix(`${name}.attn.proj.weight`, hidden, hidden, { bias: true, split: 'rows' });
  const [gate, up] = ['gate_proj', 'up_proj'].map((part) => `${name}.mlp.${part}.weight`);
  const gateUp = weights.gateUp(gate!, up!, ffn, hidden, { bias: true });
  const down = weights.matrix(`${name}.mlp.down_proj.weight`, hidden, ffn, { bias: true, split: 'rows' });

  return (x: Tensor, rotations: Tensor, groups: VisionLayout['groups']): Tensor => {
    x = linearAdd(attention(rmsnorm(x, norms[0]!, EPS), rotations, groups), out, x);
    x = linearAdd(linearSwiglu(rmsnorm(x, norms[1]!, EPS), gateUp), down, x);
    x.tape!.cut();
    return x;
  };
}

/** Attention among all patches, or among those of a window. */
function selfAttention(
  { hidden, heads, dims }: QwenVisionConfig,
  weights: WeightTable,
  name: string,
  isWhole: boolean,
) {
  const qkv = visionQkv(weights, name, hidden);
  const attended = (y: Tensor): Tensor => {
    const [q, k, v] = [0, 1, 2].map((i) => ({ x: y, first: i * hidden }));
    return attend(q!, k!, v!, { heads, dims, mostWork: SEGMENT_WORK });
  };
  return (x: Tensor, rotations: Tensor, groups: VisionLayout['groups']): Tensor => {
    const y = linear(x, qkv); //                                 [1, cells · merge, merge, 3 · hidden]
    for (const i of [0, 1]) rotate({ x: y, first: i * hidden }, rotations, { heads, dims, layout: 'halves' });
    if (isWhole) return attended(y);
    let first = 0;
    const steps = Array.from({ length: y.shape[0] as number }, () => groups);
    const parts = steps.flat().map(({ windows, patches }) => {
      const part = takeRows(y, first, [windows, patches]);
      first += windows * patches;
      return attended(part); //                                  [windows, patches, hidden]
    });
    return joinRows(parts, x.shape.slice(0, -1) as number[]);
  };
}

/** Queries, keys and values of a layer in one matrix. GGUF files have them apart. */
export function visionQkv(weights: WeightTable, name: string, hidden: number): Matrix {
  const apart = ['q', 'k', 'v'].map((part) => ({ name: `${name}.${part}.weight`, rows: hidden }));
  const options = { bias: true, split: 'columns' } as const;
  return weights.has(apart[0]!.name)
    ? weights.stacked(apart, hidden, options)
    : weights.matrix(`${name}.qkv.weight`, 3 * hidden, hidden, options);
}
