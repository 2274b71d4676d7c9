// Whisper's decoder: tokens with learned positions attend to those before them, then to all rows that the encoder made of their window. Keys
// and values of both are in pages.

import type { Tape } from '../../gpu/tape.ts';
import type { Tensor } from '../../gpu/tensor.ts';
import { attention } from '../../kernels/attention.ts';
import { attentionWeights } from '../../kernels/attention-weights.ts';
import type { HeadShape, LayerStore } from '../../kernels/batch.ts';
import { concat } from '../../kernels/concat.ts';
import { embed } from '../../kernels/embed.ts';
import { layernorm, layernormRows } from '../../kernels/layernorm.ts';
import { linear, linearAdd } from '../../kernels/matmul.ts';
import { ropeKv, writeKv } from '../../kernels/rope-kv.ts';
import { affine } from '../affine.ts';
import type { WeightTable } from '../weights.ts';
import type { Attended, TranscriberPage } from './transcriber.ts';
import type { WhisperDecoderConfig } from './whisper-decoder-config.ts';
import { WHISPER_EPS, whisperEncoder } from './whisper.ts';

const EVERY = { window: null };

export function whisperTranscriber(config: WhisperDecoderConfig, weights: WeightTable): TranscriberPage {
  const { vocabulary, hidden, encoder, context, layers } = config;
  const encode = whisperEncoder(encoder, weights, 'model.encoder.');
  const heardNorm = affine(weights, 'model.encoder.layer_norm', hidden);
  const name = 'model.decoder.';
  const embedding = weights.embedding(`${name}embed_tokens.weight`, vocabulary, hidden);
  const positions = weights.table(`${name}embed_positions.weight`, context, hidden);
  const blocks = Array.from({ length: layers }, (_, i) => layer(config, weights, `${name}layers.${i}`));
  const final = affine(weights, `${name}layer_norm`, hidden);
  weights.ignore(/^proj_out\.weight$/);

  /** States behind the first `count` layers, [rows, hidden]; `see` gets the queries of each to the sound. */
  const states = (tape: Tape, own: Attended, heard: Attended, count: number, see?: Watch): Tensor => {
    let x = embed(tape, own.batch, embedding, { places: { positions: positions.on(tape) } });
    for (const [i, { write }] of blocks.slice(0, count).entries()) {
      const of = { ...heard, store: heard.stores[i]! };
      x = write(x, { ...own, store: own.stores[i]! }, of, (q) => see?.(i, q, of));
      tape.cut();
    }
    return x;
  };

  return {
    hear(features, stores) {
      const x = layernorm(encode(features, encoder.positions), heardNorm, WHISPER_EPS); // [1, rows, hidden]
      blocks.forEach(({ hear }, i) => hear(x, stores[i]!));
      return x;
    },
    write(tape, own, heard) {
      const x = states(tape, own, heard, layers);
      const { wanted } = own.batch;
      return linear(layernormRows(x, final, WHISPER_EPS, wanted, 'sampled'), embedding); // [sampled, vocabulary]
    },
    align(tape, own, heard, heads) {
      const found: Tensor[] = [];
      const last = Math.max(...heads.map(({ layer: i }) => i));
      states(tape, own, heard, last + 1, (i, q, of) => {
        const chosen = heads.filter(({ layer: at }) => at === i).map(({ head }) => head);
        const seen = { chosen, keys: encoder.positions };
        if (chosen.length > 0)
          found.push(attentionWeights(q, of.batch, config.heads, pagesOf(of.store), seen));
      });
      return found;
    },
  };
}

type Watch = (layer: number, q: Tensor, heard: OfLayer) => void;

type OfLayer = Pick<Attended, 'batch'> & { store: LayerStore };

function layer({ hidden, ffn, heads, activation }: WhisperDecoderConfig, weights: WeightTable, name: string) {
  const norm1 = affine(weights, `${name}.self_attn_layer_norm`, hidden);
  const own = selfAttention(heads, hidden, weights, `${name}.self_attn`);
  const norm2 = affine(weights, `${name}.encoder_attn_layer_norm`, hidden);
  const cross = crossAttention(heads, hidden, weights, `${name}.encoder_attn`);
  const norm3 = affine(weights, `${name}.final_layer_norm`, hidden);
  const up = weights.matrix(`${name}.fc1.weight`, ffn, hidden, { bias: true });
  const down = weights.matrix(`${name}.fc2.weight`, hidden, ffn, { bias: true });

  return {
    hear: cross.hear,
    /** x [rows, hidden] → [rows, hidden] */
    write(x: Tensor, tokens: OfLayer, heard: OfLayer, see: (q: Tensor) => void): Tensor {
      x = own(layernorm(x, norm1, WHISPER_EPS), x, tokens);
      x = cross.attend(layernorm(x, norm2, WHISPER_EPS), x, heard, see);
      return linearAdd(linear(layernorm(x, norm3, WHISPER_EPS), up, { activation }), down, x);
    },
  };
}

function selfAttention(heads: HeadShape, hidden: number, weights: WeightTable, name: string) {
  // Keys have no bias.
  const parts = ['q', 'v'].map((part) => ({ name: `${name}.${part}_proj.weight`, rows: hidden }));
  const others = weights.stacked(parts, hidden, { bias: true });
  const key = weights.matrix(`${name}.k_proj.weight`, hidden, hidden);
  const out = weights.matrix(`${name}.out_proj.weight`, hidden, hidden, { bias: true });
  const shape: HeadShape = { ...heads, order: 'values-first' };

  return (x: Tensor, residual: Tensor, { batch, store }: OfLayer): Tensor => {
    const kv = pagesOf(store);
    const qvk = concat(linear(x, others), linear(x, key)); // [rows, 3 · hidden]
    return linearAdd(attention(ropeKv(qvk, null, shape, kv, null), batch, heads, kv, EVERY), out, residual);
  };
}

function crossAttention(heads: HeadShape, hidden: number, weights: WeightTable, name: string) {
  const query = weights.matrix(`${name}.q_proj.weight`, hidden, hidden, { bias: true });
  const key = weights.matrix(`${name}.k_proj.weight`, hidden, hidden);
  const value = weights.matrix(`${name}.v_proj.weight`, hidden, hidden, { bias: true });
  const out = weights.matrix(`${name}.out_proj.weight`, hidden, hidden, { bias: true });
  const shape: HeadShape = { ...heads, kv: 'none' };

  return {
    /** x: the encoder's rows, [1, rows, hidden] */
    hear(x: Tensor, store: LayerStore): void {
      writeKv(concat(linear(x, key), linear(x, value)), heads, pagesOf(store));
      x.tape!.cut();
    },
    attend(x: Tensor, residual: Tensor, { batch, store }: OfLayer, see: (q: Tensor) => void): Tensor {
      const kv = pagesOf(store);
      const q = ropeKv(linear(x, query), null, shape, kv, null); // [rows, hidden]
      see(q);
      return linearAdd(attention(q, batch, heads, kv, EVERY), out, residual);
    },
  };
}

function pagesOf(store: LayerStore) {
  if (store.kind !== 'kv')
    throw new Error(`a decoder's layer keeps keys and values in pages, not ${store.kind}`);
  return store;
}
