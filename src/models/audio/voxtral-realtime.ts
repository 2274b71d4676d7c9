// Sounds in Voxtral Realtime: two convolutions and transformer layers in which a row sees those before it only, within a window, so that a sound
// can be of any length; four neighbouring rows pass a projector together. Rows pass in parts, each of which finds keys and values of the rows before
// it, so that intermediates take a bounded room.

import type { Tensor } from '../../gpu/tensor.ts';
import { attend, SEGMENT_WORK } from '../../kernels/attend.ts';
import { constantBeside } from '../../kernels/constants.ts';
import { copy, joinRows, joinTokens, takeRows, takeTokens } from '../../kernels/copy-rows.ts';
import { linear, linearAdd, linearSwiglu } from '../../kernels/matmul.ts';
import { reshape } from '../../kernels/reshape.ts';
import { rmsnorm } from '../../kernels/rmsnorm.ts';
import { rotate } from '../../kernels/rotate.ts';
import { rowWindows } from '../../kernels/row-windows.ts';
import type { Tower } from '../media.ts';
import type { WeightTable } from '../weights.ts';
import { rowRotations } from './row-rotations.ts';
import type { VoxtralRealtimeConfig } from './voxtral-realtime-config.ts';

/** Frames that a convolution sees, and those before the first that are silent: of the features, and of what the first convolution makes. */
const TAPS = 3;
export const SILENT = { features: 2, convolved: 1 };
/** Frames of a row. */
const FRAMES = 2;
/** Windows that a part is long. */
const PART = 2;
/** Added to scores of rows outside of the window. */
const UNSEEN = -1e30;

/** Keys, not rotated, and values of the rows before a part that its rows see, [1, rows, heads · dims] each; null: there are none. */
type Kept = readonly [keys: Tensor, values: Tensor] | null;

/** Inputs: `features` [1, 2 + 2 · rows, mels], two silent frames first. → [1, rows / joined, out] */
export function voxtralRealtimeTower(config: VoxtralRealtimeConfig, weights: WeightTable): Tower {
  const { hidden, out, mels, joined, eps, window } = config;
  const name = 'audio_tower.';
  const conv = (stem: string, inputs: number) =>
    weights.matrix(`${name}embedder.${stem}.weight`, hidden, inputs * TAPS, {
      bias: true,
      stored: [inputs, TAPS],
    });
  const first = conv('conv1', mels);
  const second = conv('conv2', hidden);
  const layers = Array.from({ length: config.layers }, (_, i) =>
    layer(config, weights, `${name}layers.${i}`),
  );
  const norm = weights.vector(`${name}norm.weight`, hidden);
  const project = 'multi_modal_projector.linear_';
  const widened = weights.matrix(`${project}1.weight`, out, joined * hidden);
  const behind = weights.matrix(`${project}2.weight`, out, out);
  const within = { taps: TAPS, isPadded: false } as const;

  return ({ features }) => {
    const rows = ((features!.shape[1] as number) - SILENT.features) / FRAMES;
    const most = Math.ceil((PART * window) / joined) * joined;
    const seeing = seeingOf(features!, config, most);
    let last = constantBeside(features!, `silence of ${hidden}`, [1, hidden], () => new Float32Array(hidden));
    const kept: Kept[] = layers.map(() => null);
    const parts: Tensor[] = [];
    for (let row = 0; row < rows; row += most) {
      const count = Math.min(most, rows - row);
      const frames = takeTokens(features!, FRAMES * row, FRAMES * count + SILENT.features);
      const convolved = linear(rowWindows(frames, { step: 1, ...within }), first, { activation: 'gelu' });
      const all = joinTokens(reshape(last, [1, SILENT.convolved, hidden]), convolved);
      last = takeTokens(convolved, FRAMES * count - SILENT.convolved, SILENT.convolved);
      let x = linear(rowWindows(all, { step: FRAMES, ...within }), second, { activation: 'gelu' });
      const sees = seeing(count, Math.min(row, window - 1));
      const isLast = row + count === rows;
      layers.forEach((run, i) => ([x, kept[i]] = run(x, sees, kept[i]!, isLast)));
      const together = reshape(rmsnorm(x, norm, eps), [1, count / joined, joined * hidden]);
      parts.push(linear(linear(together, widened, { activation: 'gelu' }), behind));
    }
    return [joinRows(parts, [1, rows / joined])];
  };
}

function layer(config: VoxtralRealtimeConfig, weights: WeightTable, name: string) {
  const { hidden, ffn, heads, dims, eps, window } = config;
  const width = heads * dims;
  const of = (part: string) => `${name}.self_attn.${part}_proj.weight`;
  const before = weights.vector(`${name}.self_attn_layer_norm.weight`, hidden);
  const query = weights.matrix(of('q'), width, hidden, { bias: true });
  // Keys have no bias.
  const key = weights.matrix(of('k'), width, hidden);
  const value = weights.matrix(of('v'), width, hidden, { bias: true });
  const out = weights.matrix(of('o'), hidden, width, { bias: true });
  const between = weights.vector(`${name}.final_layer_norm.weight`, hidden);
  const gateUp = weights.gateUp(`${name}.mlp.gate_proj.weight`, `${name}.mlp.up_proj.weight`, ffn, hidden);
  const down = weights.matrix(`${name}.mlp.down_proj.weight`, hidden, ffn, { bias: true });

  /** x [1, rows, hidden] → the same, and keys and values for the next part, unless this is the last */
  return (x: Tensor, { turns, bias }: Seeing, kept: Kept, isLast: boolean): [x: Tensor, kept: Kept] => {
    const y = rmsnorm(x, before, eps);
    const q = linear(y, query);
    const own = [linear(y, key), linear(y, value)] as const;
    const all = own.map((part, i) => (kept ? joinTokens(kept[i]!, part) : part)) as [Tensor, Tensor];
    const turned = copy(all[0]);
    rotate({ x: q, first: 0 }, turns.queries, { heads, dims, layout: 'halves' });
    rotate({ x: turned, first: 0 }, turns.keys, { heads, dims, layout: 'halves' });
    const [keys, values] = [turned, all[1]].map((part) => ({ x: part, first: 0 }));
    const mixed = attend({ x: q, first: 0 }, keys!, values!, { heads, dims, bias, mostWork: SEGMENT_WORK });
    x = linearAdd(mixed, out, x);
    x = linearAdd(linearSwiglu(rmsnorm(x, between, eps), gateUp), down, x);
    x.tape!.cut();
    const seen = turned.shape[1] as number;
    const still = Math.min(seen, window - 1);
    if (isLast || still === 0) return [x, null];
    return [x, all.map((part) => takeTokens(part, seen - still, still)) as [Tensor, Tensor]];
  };
}

/** What the rows of a part see: themselves and rows before them, whose positions count from the first of these, as differences of positions alone matter. */
interface Seeing {
  /** Rotations of the part's rows, and of all that they see, [rows, dims]. */
  turns: { queries: Tensor; keys: Tensor };
  /** Added to scores by the distance of a key, as `attend` takes it, so that each row sees `window` rows that end with itself. */
  bias: Tensor;
}

/** Gives what `rows` rows see with so many before them; the tables of the longest part, `most` rows, have all others. */
function seeingOf(
  x: Tensor,
  config: VoxtralRealtimeConfig,
  most: number,
): (rows: number, before: number) => Seeing {
  const { window, heads } = config;
  const farthest = most + window - 2;
  const turns = rowRotations(x, farthest + 1, config);
  const biases = constantBeside(x, `window of ${window}`, [farthest + most, heads], () => {
    const values = new Float32Array((farthest + most) * heads);
    for (let at = 0; at < farthest + most; at++) {
      const distance = farthest - at; // rows from the key to the row
      if (distance < 0 || distance >= window) values.fill(UNSEEN, at * heads, (at + 1) * heads);
    }
    return values;
  });
  return (rows, before) => {
    const seen = before + rows;
    return {
      turns: { queries: takeRows(turns, before, [rows]), keys: takeRows(turns, 0, [seen]) },
      bias: takeRows(biases, farthest + 1 - seen, [1, rows + seen - 1]),
    };
  };
}
