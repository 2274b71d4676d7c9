// BART and what is built like it: an encoder, whose tokens see their whole text, and a decoder, which attends to the encoder's states. Rows of
// positions are added to embeddings; layers have LayerNorms before their blocks, or behind the sums.

import type { Tape } from '../../../gpu/tape.ts';
import type { Tensor } from '../../../gpu/tensor.ts';
import { attention } from '../../../kernels/attention.ts';
import { kvOf, type HeadShape, type KvPages, type TextBatch } from '../../../kernels/batch.ts';
import { constant } from '../../../kernels/constants.ts';
import { embed } from '../../../kernels/embed.ts';
import { linear, linearAdd } from '../../../kernels/matmul.ts';
import type { Matrix } from '../../../kernels/matrix.ts';
import { ropeKv } from '../../../kernels/rope-kv.ts';
import { placesUpTo, sineRows } from '../../sines.ts';
import type { WeightTable } from '../../weights.ts';
import type { LanguageModel } from '../blocks/architecture.ts';
import { crossAttention } from '../blocks/cross-attention.ts';
import { norm, type Norm } from '../blocks/norm.ts';
import type { BartConfig, BartHalf } from './bart-config.ts';

type Half = 'encoder' | 'decoder';

const EMBEDDINGS = [
  'model.shared.weight',
  'model.encoder.embed_tokens.weight',
  'model.decoder.embed_tokens.weight',
] as const;
export const BART_TIED = { head: 'lm_head.weight', embeddings: EMBEDDINGS };
const PROJECTIONS = { q: 'q_proj', k: 'k_proj', v: 'v_proj', out: 'out_proj' };
const LOGITS_BIAS = 'final_logits_bias';

export const bartHeads = ({ hidden }: Pick<BartConfig, 'hidden'>, { heads }: BartHalf): HeadShape => ({
  ...{ heads, kvHeads: heads, dims: hidden / heads },
});

export function bart(config: BartConfig, weights: WeightTable): LanguageModel {
  const { vocabulary, hidden, tied } = config;
  const stored = EMBEDDINGS.find((name) => weights.has(name)) ?? EMBEDDINGS[0];
  const bias = weights.has(LOGITS_BIAS) && LOGITS_BIAS;
  const embedding = weights.embedding(stored, vocabulary, hidden, { bias: tied && bias });
  const encoder = stack(config, weights, 'encoder', embedding);
  const decoder = stack(config, weights, 'decoder', embedding);
  const head = tied ? embedding : weights.head(BART_TIED.head, vocabulary, hidden, { bias });
  weights.ignore(/^(model\.(shared|(en|de)coder\.embed_(tokens|positions))|lm_head)\.weight$/);
  weights.ignore(/^model\.(en|de)coder\.embed_positions\.(weights|_float_tensor)$/);

  return {
    readSources(tape, batch, own, stores) {
      const source = encoder.end.all(encoder.run(tape, batch, () => kvOf(own, 0))); // [rows, hidden]
      decoder.cross.forEach(({ read }, i) => read(source, kvOf(stores, i)));
      return source;
    },
    states: (tape, batch, stores) => decoder.run(tape, batch, (i) => kvOf(stores, i)), // [rows, hidden]
    head(x, { wanted, states }) {
      return linear(decoder.end.rows(x, wanted, 'sampled', states), head); //      [sampled, vocabulary]
    },
  };
}

/** The layers of one half, up to its last norm, `end`. */
function stack(config: BartConfig, weights: WeightTable, half: Half, embedding: Matrix) {
  const { norms, embeddingNorm, embeddingScale } = config;
  const name = `model.${half}`;
  const placesOn = positions(config, weights, name);
  const first = embeddingNorm ? normOf(config, weights, `${name}.layernorm_embedding`) : null;
  const layers = Array.from({ length: config[half].layers }, (_, i) =>
    layer(config, weights, `${name}.layers.${i}`, half),
  );
  const end = norms === 'before' ? normOf(config, weights, `${name}.layer_norm`) : layers.at(-1)!.norm;
  const run = (tape: Tape, batch: TextBatch, storeOf: (i: number) => KvPages): Tensor => {
    let x = embed(tape, batch, embedding, { scale: embeddingScale, places: placesOn(tape) }); // [rows, hidden]
    if (first) x = first.all(x);
    layers.forEach(({ run: next, norm: behind }, i) => {
      x = next(x, batch, storeOf(i));
      if (norms === 'behind' && i < layers.length - 1) x = behind.all(x);
      tape.cut();
    });
    return x;
  };
  return { run, end, cross: layers.flatMap((one) => one.cross ?? []) };
}

function normOf({ hidden, eps }: BartConfig, weights: WeightTable, name: string): Norm {
  return norm(weights, name, hidden, { kind: 'layer', eps });
}

function positions(
  { positions: { kind, first }, context, hidden }: BartConfig,
  weights: WeightTable,
  name: string,
) {
  const rows = first + context;
  if (kind === 'learned') {
    const table = weights.table(`${name}.embed_positions.weight`, rows, hidden);
    return (tape: Tape) => ({ positions: table.on(tape), first });
  }
  const last = kind === 'sines-open' ? hidden / 2 : undefined;
  return (tape: Tape) => ({
    positions: constant(tape, kind, [rows, hidden], () => sineRows(placesUpTo(rows), hidden, last)),
    first,
  });
}

function layer(config: BartConfig, weights: WeightTable, name: string, half: Half) {
  const { hidden, activation, norms } = config;
  const own = config[half];
  const attend = selfAttention(config, own, weights, `${name}.self_attn`);
  const cross = half === 'decoder' ? crossBlock(config, own, weights, `${name}.encoder_attn`) : null;
  const up = weights.matrix(`${name}.fc1.weight`, own.ffn, hidden, { bias: true });
  const down = weights.matrix(`${name}.fc2.weight`, hidden, own.ffn, { bias: true });
  const norm1 = normOf(config, weights, `${name}.self_attn_layer_norm`);
  const norm2 = cross && normOf(config, weights, `${name}.encoder_attn_layer_norm`);
  const norm3 = normOf(config, weights, `${name}.final_layer_norm`);
  const before = (of: Norm, x: Tensor): Tensor => (norms === 'before' ? of.all(x) : x);
  const behind = (of: Norm, x: Tensor): Tensor => (norms === 'behind' ? of.all(x) : x);

  return {
    cross,
    /** Stands behind the layer where norms do. */
    norm: norm3,
    /** x [rows, hidden] → [rows, hidden] */
    run(x: Tensor, batch: TextBatch, kv: KvPages): Tensor {
      x = behind(norm1, attend(before(norm1, x), x, batch, kv));
      if (cross && norm2) x = behind(norm2, cross.attend(before(norm2, x), x, batch, kv));
      return linearAdd(linear(before(norm3, x), up, { activation }), down, x);
    },
  };
}

function selfAttention(config: BartConfig, half: BartHalf, weights: WeightTable, name: string) {
  const { hidden } = config;
  const shape = bartHeads(config, half);
  const parts = ['q', 'k', 'v'].map((part) => ({ name: `${name}.${part}_proj.weight`, rows: hidden }));
  const qkv = weights.stacked(parts, hidden, { bias: true });
  const out = weights.matrix(`${name}.out_proj.weight`, hidden, hidden, { bias: true });
  return (x: Tensor, residual: Tensor, batch: TextBatch, kv: KvPages): Tensor => {
    const q = ropeKv(linear(x, qkv), null, shape, kv, null); // [rows, hidden]
    return linearAdd(attention(q, batch, shape, kv, { window: null }), out, residual);
  };
}

function crossBlock(config: BartConfig, half: BartHalf, weights: WeightTable, name: string) {
  const shape = { hidden: config.hidden, heads: bartHeads(config, half), bias: true, names: PROJECTIONS };
  return crossAttention(shape, weights, name);
}
