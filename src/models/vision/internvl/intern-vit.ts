// InternViT, the vision tower of InternVL: each tile of an image passes transformer layers with a token for the whole tile; neighbouring
// patches are merged, and a projector makes them rows for the language model.

import type { Tensor } from '../../../gpu/tensor.ts';
import { addTable } from '../../../kernels/add-table.ts';
import { attend } from '../../../kernels/attend.ts';
import { joinRows, joinTokens, takeRows } from '../../../kernels/copy-rows.ts';
import { gatedAdd } from '../../../kernels/gated-add.ts';
import { layernorm } from '../../../kernels/layernorm.ts';
import { linear, linearAdd } from '../../../kernels/matmul.ts';
import { mixRows } from '../../../kernels/mix-rows.ts';
import { patchify } from '../../../kernels/patchify.ts';
import { rmsnormColumns } from '../../../kernels/rmsnorm-columns.ts';
import { rmsnorm } from '../../../kernels/rmsnorm.ts';
import { affine } from '../../affine.ts';
import type { Tower } from '../../media.ts';
import type { WeightTable } from '../../weights.ts';
import type { InternVitConfig } from './intern-vit-config.ts';
import { inTurns, tilesAtOnce } from '../../tile-turns.ts';
import { INTERN_VIT_NAMES, type InternLayerNames } from './intern-vit-names.ts';

export interface InternTowerConfig {
  vit: InternVitConfig;
  /** Pixels along a side of a tile. */
  side: number;
  /** Patches along a side of a cell; each cell becomes one row of the result. */
  merge: number;
  /** Activation of the projector. */
  activation: InternVitConfig['activation'];
  /** Columns of the result. */
  out: number;
}

const PROJECTOR_EPS = 1e-5;

/**
 * Inputs: `patches` [tiles, patches, 3 · patch²]; `sources` u32 and `shares` f32 [patches, taps], the rows of the table of positions of which
 * each patch's is a mixture, left out: the table's own. → rows tile by tile, cell by cell, [1, tiles · cells, out]
 */
export function internTower(config: InternTowerConfig, weights: WeightTable): Tower {
  const { vit, side, merge, activation, out } = config;
  const names = INTERN_VIT_NAMES[vit.layout];
  const across = side / vit.patch;
  const count = across ** 2;
  const atOnce = tilesAtOnce((1 + count) * Math.max(vit.ffn, 3 * vit.hidden));
  const encode = internVit(vit, weights);
  const cell = merge ** 2 * vit.hidden;
  const norm = affine(weights, names.projector.norm, cell);
  const first = weights.matrix(names.projector.first, out, cell, { bias: true });
  const second = weights.matrix(names.projector.second, out, out, { bias: true });

  return ({ patches, sources, shares }) => {
    const rows = inTurns(patches!, atOnce, (some) => {
      const tiles = some.shape[0] as number;
      const x = encode(some, sources, shares);
      const grids = Array.from({ length: tiles }, (_, tile) =>
        takeRows(x, tile * (1 + count) + 1, [1, across, across]),
      );
      const cells = patchify(joinRows(grids, [tiles, across, across]), { size: merge, order: 'pqc' });
      return linear(linear(layernorm(cells, norm, PROJECTOR_EPS), first, { activation }), second);
    });
    return [joinRows(rows, [1, ((patches!.shape[0] as number) * count) / merge ** 2])];
  };
}

/** [tiles, patches, 3 · patch²] → [tiles, 1 + patches, hidden] */
function internVit(config: InternVitConfig, weights: WeightTable) {
  const { layout, hidden, patch, side, eps, lastNorm } = config;
  const names = INTERN_VIT_NAMES[layout];
  const stored = [3, patch, patch];
  const whole = weights.table(names.whole, 1, hidden);
  const embed = weights.matrix(names.patch, hidden, 3 * patch ** 2, { bias: true, stored });
  const trained = Math.floor(side / patch) ** 2;
  const places = config.places ? weights.table(names.places, 1 + trained, hidden) : null;
  const layers = Array.from({ length: config.layers }, (_, i) => layer(config, weights, names.layer(i)));
  const last = lastNorm ? affine(weights, names.lastNorm, hidden) : null;
  const unread = Array.from({ length: config.allLayers - config.layers }, (_, i) => config.layers + i);
  weights.ignore(/\.mask_token$/);
  if (unread.length > 0)
    weights.ignore(new RegExp(`\\.(encoder\\.layers?\\.(${unread.join('|')})|layernorm)\\.`));

  return (patches: Tensor, sources?: Tensor, shares?: Tensor): Tensor => {
    const tape = patches.tape!;
    const [tiles, count] = patches.shape as [number, number];
    const token = takeRows(whole.on(tape), 0, [1]);
    const table = places?.on(tape);
    const start = table ? addTable(token, takeRows(table, 0, [1])) : token; //                    [1, hidden]
    const others = table
      ? joinRows(copies(placesOf(table, count, sources, shares), tiles), [tiles, count])
      : null;
    const cells = others ? linearAdd(patches, embed, others) : linear(patches, embed); // [tiles, patches, hidden]
    let x = joinTokens(joinRows(copies(start, tiles), [tiles, 1]), cells); //         [tiles, 1 + patches, hidden]
    for (const run of layers) x = run(x);
    return last ? layernorm(x, last, eps) : x;
  };
}

/** Positions of a tile's patches, [patches, hidden] */
function placesOf(table: Tensor, count: number, sources?: Tensor, shares?: Tensor): Tensor {
  const own = takeRows(table, 1, [table.rows({}) - 1]);
  return sources && shares ? mixRows(own, sources, shares) : takeRows(table, 1, [count]);
}

const copies = (x: Tensor, count: number): Tensor[] => Array.from({ length: count }, () => x);

function layer(config: InternVitConfig, weights: WeightTable, names: InternLayerNames) {
  const { hidden, ffn, activation } = config;
  const norms = names.norms.map((name) => normOf(config, weights, name));
  const scales = names.scales.map((name) => weights.vector(name, hidden));
  const attention = selfAttention(config, weights, names);
  const out = weights.matrix(names.out, hidden, hidden, { bias: true, split: 'rows' });
  const up = weights.matrix(names.up, ffn, hidden, { bias: true, split: 'columns' });
  const down = weights.matrix(names.down, hidden, ffn, { bias: true, split: 'rows' });

  return (x: Tensor): Tensor => {
    const [first, second] = scales.map((scale) => scale.on(x.tape!));
    x = gatedAdd(linear(attention(norms[0]!(x)), out), first!, x);
    x = gatedAdd(linear(linear(norms[1]!(x), up, { activation }), down), second!, x);
    x.tape!.cut();
    return x;
  };
}

function normOf({ norm, eps, hidden }: InternVitConfig, weights: WeightTable, name: string) {
  if (norm === 'layer') {
    const parts = affine(weights, name, hidden);
    return (x: Tensor) => layernorm(x, parts, eps);
  }
  const weight = weights.vector(`${name}.weight`, hidden);
  return (x: Tensor) => rmsnorm(x, weight, eps);
}

function selfAttention(config: InternVitConfig, weights: WeightTable, names: InternLayerNames) {
  const { hidden, heads, dims, bias, queryNorm } = config;
  const stored = names.whole === null || weights.has(names.apart[0]!) ? names.apart : [names.whole];
  const parts = stored.map((name) => ({ name, rows: (3 * hidden) / stored.length }));
  const qkv = weights.stacked(parts, hidden, { bias, split: 'columns' });
  const normed = [names.queryNorm, names.keyNorm];
  const weightsOf = queryNorm === null ? [] : normed.map((name) => weights.vector(name, hidden));

  return (x: Tensor): Tensor => {
    const y = linear(x, qkv); //                                                  [tiles, 1 + patches, 3 · hidden]
    weightsOf.forEach((weight, i) => rmsnormColumns(y, i * hidden, weight, queryNorm!));
    const [q, k, v] = [0, 1, 2].map((i) => ({ x: y, first: i * hidden }));
    return attend(q!, k!, v!, { heads, dims });
  };
}
