// Moonshine's decoder: tokens with rotary positions attend to those before them, then to all rows of their window.

import type { Tensor } from '../../gpu/tensor.ts';
import { attention } from '../../kernels/attention.ts';
import { kvOf, type HeadShape, type KvPages, type TextBatch } from '../../kernels/batch.ts';
import { embed } from '../../kernels/embed.ts';
import { gated } from '../../kernels/gated.ts';
import { layernorm, layernormRows } from '../../kernels/layernorm.ts';
import { linear, linearAdd } from '../../kernels/matmul.ts';
import { ropeKv } from '../../kernels/rope-kv.ts';
import { rotations } from '../../kernels/rotations.ts';
import { crossAttention } from '../text/blocks/cross-attention.ts';
import type { WeightTable } from '../weights.ts';
import type { MoonshineConfig } from './moonshine-config.ts';
import { MOONSHINE_EPS, moonshineEncoder, scaleOf } from './moonshine-encoder.ts';
import type { TranscriberPage } from './transcriber.ts';

const NAMES = { q: 'q_proj', k: 'k_proj', v: 'v_proj', out: 'o_proj' };

export const moonshineHeads = ({ decoder: { heads, dims, rope } }: MoonshineConfig): HeadShape => ({
  ...{ heads, kvHeads: heads, dims, rotated: rope.dims, pairs: 'adjacent' },
});

export function moonshinePage(config: MoonshineConfig, weights: WeightTable): Omit<TranscriberPage, 'align'> {
  const { vocabulary, hidden, decoder } = config;
  const encode = moonshineEncoder(config, weights);
  const name = 'model.decoder';
  const embedding = weights.embedding(`${name}.embed_tokens.weight`, vocabulary, hidden);
  const blocks = Array.from({ length: decoder.layers }, (_, i) =>
    layer(config, weights, `${name}.layers.${i}`),
  );
  const last = scaleOf(weights, `${name}.norm`, hidden);
  weights.ignore(/^proj_out\.weight$/);

  return {
    hear(frames, stores) {
      const x = encode(frames); // [1, rows, hidden]
      blocks.forEach(({ hear }, i) => {
        hear(x, kvOf(stores, i));
        x.tape!.cut();
      });
      return x;
    },
    write(tape, own, heard) {
      const turns = rotations(tape, own.batch, [decoder.rope], 0);
      let x = embed(tape, own.batch, embedding);
      for (const [i, { write }] of blocks.entries()) {
        const pages = { own: kvOf(own.stores, i), heard: kvOf(heard.stores, i) };
        x = write(x, turns, { own: own.batch, heard: heard.batch }, pages);
        tape.cut();
      }
      const { wanted } = own.batch;
      return linear(layernormRows(x, last, MOONSHINE_EPS, wanted, 'sampled'), embedding); // [sampled, vocabulary]
    },
  };
}

type Both<T> = Readonly<Record<'own' | 'heard', T>>;

function layer(config: MoonshineConfig, weights: WeightTable, name: string) {
  const { hidden, ffn } = config;
  const heads = moonshineHeads(config);
  const norm1 = scaleOf(weights, `${name}.input_layernorm`, hidden);
  const parts = ['q', 'k', 'v'].map((part) => ({
    ...{ name: `${name}.self_attn.${part}_proj.weight`, rows: hidden },
  }));
  const qkv = weights.stacked(parts, hidden);
  const out = weights.matrix(`${name}.self_attn.o_proj.weight`, hidden, hidden);
  const norm2 = scaleOf(weights, `${name}.post_attention_layernorm`, hidden);
  const cross = crossAttention({ hidden, heads, bias: false, names: NAMES }, weights, `${name}.encoder_attn`);
  const norm3 = scaleOf(weights, `${name}.final_layernorm`, hidden);
  const upGate = weights.halves(`${name}.mlp.fc1.weight`, ffn, hidden, { bias: true });
  const down = weights.matrix(`${name}.mlp.fc2.weight`, hidden, ffn, { bias: true });

  return {
    hear: cross.read,
    /** x [rows, hidden] → [rows, hidden] */
    write(x: Tensor, turns: Tensor, batch: Both<TextBatch>, pages: Both<KvPages>): Tensor {
      const q = ropeKv(linear(layernorm(x, norm1, MOONSHINE_EPS), qkv), turns, heads, pages.own, null);
      x = linearAdd(attention(q, batch.own, heads, pages.own, { window: null }), out, x);
      const toSound = { ...batch.heard, sourceTiles: batch.heard.tiles };
      x = cross.attend(layernorm(x, norm2, MOONSHINE_EPS), x, toSound, pages.heard);
      // Gates are the second half.
      return linearAdd(gated(linear(layernorm(x, norm3, MOONSHINE_EPS), upGate), 'silu', false), down, x);
    },
  };
}
