// The vision towers of GLM-OCR and of GLM-4.1V to GLM-4.6V: the patches of an image attend to each other, a convolution merges those of a cell,
// and a gated block makes them rows for the language model.

import type { Tensor } from '../../../gpu/tensor.ts';
import { activation } from '../../../kernels/activation.ts';
import { addRows } from '../../../kernels/add-rows.ts';
import { attend, SEGMENT_WORK } from '../../../kernels/attend.ts';
import { takeRows } from '../../../kernels/copy-rows.ts';
import { layernorm } from '../../../kernels/layernorm.ts';
import { linear, linearAdd, linearSwiglu } from '../../../kernels/matmul.ts';
import { mixRows } from '../../../kernels/mix-rows.ts';
import { patchify } from '../../../kernels/patchify.ts';
import { rmsnorm } from '../../../kernels/rmsnorm.ts';
import { rotate } from '../../../kernels/rotate.ts';
import { affine } from '../../affine.ts';
import type { Tower } from '../../media.ts';
import type { WeightTable } from '../../weights.ts';
import type { GlmVisionConfig } from './glm-vision-config.ts';

const ROOT = 'visual.';
/** Of the norm behind the convolution. */
const EPS = 1e-5;

/**
 * Inputs: `patches` [steps, cells · merge, merge, channels · frames · patch²] cell by cell, `rotations` [steps · patches, dims]; with learned
 * positions `sources` u32 and `shares` f32 [patches, taps]. The patches of a step attend to each other. → rows cell by cell, [steps, cells, out]
 */
export function glmVision(config: GlmVisionConfig, weights: WeightTable): Tower {
  const { hidden, channels, frames, patch, merge, eps, places } = config;
  const stored = [channels, frames, patch, patch];
  const columns = stored.reduce((product, extent) => product * extent, 1);
  const embed = weights.matrix(`${ROOT}patch_embed.proj.weight`, hidden, columns, { stored, bias: true });
  const positions = places === null ? null : learnedPlaces(config, weights, places);
  const layers = Array.from({ length: config.layers }, (_, i) =>
    layer(config, weights, `${ROOT}blocks.${i}`),
  );
  const norm = weights.vector(`${ROOT}post_layernorm.weight`, hidden);
  const merged = merger(config, weights);

  return (inputs) => {
    const { patches, rotations, sources, shares } = inputs as Record<string, Tensor>;
    const grid = patches!.shape.slice(0, -1) as number[];
    const count = grid[1]! * grid[2]!;
    let x = takeRows(linear(patches!, embed), 0, [grid[0]!, count]); // [steps, patches, hidden]
    if (positions) x = positions(x, sources!, shares!);
    for (const run of layers) x = run(x, rotations!);
    const cells = takeRows(rmsnorm(x, norm, eps), 0, grid); //    [steps, cells · merge, merge, hidden]
    return [merged(patchify(cells, { size: merge, order: 'cpq' }))];
  };
}

/** A norm, and positions of a square that are mixed for each patch. */
function learnedPlaces({ hidden, eps }: GlmVisionConfig, weights: WeightTable, places: number) {
  const norm = weights.vector(`${ROOT}post_conv_layernorm.weight`, hidden);
  const table = weights.table(`${ROOT}embeddings.position_embedding.weight`, places ** 2, hidden);
  return (x: Tensor, sources: Tensor, shares: Tensor): Tensor =>
    addRows(rmsnorm(x, norm, eps), mixRows(table.on(x.tape!), sources, shares));
}

function layer(config: GlmVisionConfig, weights: WeightTable, name: string) {
  const { hidden, ffn, heads, dims, eps, bias, normed } = config;
  const norms = ['norm1', 'norm2'].map((norm) => weights.vector(`${name}.${norm}.weight`, hidden));
  const qkv = weights.matrix(`${name}.attn.qkv.weight`, 3 * hidden, hidden, {
    bias: bias.qkv,
    split: 'columns',
  });
  const headNorms = ['q_norm', 'k_norm'].map((norm) =>
    normed ? { weight: weights.vector(`${name}.attn.${norm}.weight`, dims), eps } : undefined,
  );
  const others = { bias: bias.others, split: 'rows' } as const;
  const out = weights.matrix(`${name}.attn.proj.weight`, hidden, hidden, others);
  const [gate, up] = ['gate_proj', 'up_proj'].map((part) => `${name}.mlp.${part}.weight`);
  const gateUp = weights.gateUp(gate!, up!, ffn, hidden, { bias: bias.others });
  const down = weights.matrix(`${name}.mlp.down_proj.weight`, hidden, ffn, others);

  return (x: Tensor, rotations: Tensor): Tensor => {
    const y = linear(rmsnorm(x, norms[0]!, eps), qkv); //       [steps, patches, 3 · hidden]
    headNorms.forEach((norm, i) =>
      rotate({ x: y, first: i * hidden }, rotations, { heads, dims, layout: 'halves', norm }),
    );
    const [q, k, v] = [0, 1, 2].map((i) => ({ x: y, first: i * hidden }));
    x = linearAdd(attend(q!, k!, v!, { heads, dims, mostWork: SEGMENT_WORK }), out, x);
    x = linearAdd(linearSwiglu(rmsnorm(x, norms[1]!, eps), gateUp), down, x);
    x.tape!.cut();
    return x;
  };
}

/** x [steps, cells, merge² · hidden] → [steps, cells, out] */
function merger({ hidden, merge, mergerFfn, out }: GlmVisionConfig, weights: WeightTable) {
  const convolve = weights.matrix(`${ROOT}downsample.weight`, out, merge ** 2 * hidden, {
    stored: [hidden, merge, merge],
    bias: true,
  });
  const name = `${ROOT}merger`;
  const project = weights.matrix(`${name}.proj.weight`, out, out);
  const norm = affine(weights, `${name}.post_projection_norm`, out);
  const gateUp = weights.gateUp(`${name}.gate_proj.weight`, `${name}.up_proj.weight`, mergerFfn, out);
  const down = weights.matrix(`${name}.down_proj.weight`, out, mergerFfn);
  return (x: Tensor): Tensor => {
    const states = activation(layernorm(linear(linear(x, convolve), project), norm, EPS), 'gelu');
    return linear(linearSwiglu(states, gateUp), down);
  };
}
