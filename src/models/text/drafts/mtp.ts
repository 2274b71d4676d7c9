// Heads that predict several tokens ahead, as Qwen3-Next and Qwen3.5 publish them among their weights: the norms of a token's embedding and of the
// target's normalized state before it, side by side, through a projection and one layer of the target's kind. Embedding and head are the target's.
// Source: vLLM's qwen3_next_mtp.py and qwen3_5_mtp.py.

import type { Tensor } from '../../../gpu/tensor.ts';
import { concat } from '../../../kernels/concat.ts';
import { embed } from '../../../kernels/embed.ts';
import { linear } from '../../../kernels/matmul.ts';
import { rotations } from '../../../kernels/rotations.ts';
import { paddedHead } from '../../../kernels/resize-heads.ts';
import type { WeightTable } from '../../weights.ts';
import type { DraftDeclaration, DraftPage, DraftTarget } from '../blocks/architecture.ts';
import type { DecoderModel } from '../blocks/decoder-architecture.ts';
import type { Block } from '../blocks/decoder.ts';
import { norm } from '../blocks/norm.ts';

/** The prefix of the weights. */
const PREFIX = 'mtp';

/** A tensor that a checkpoint has if it has the heads. */
export const MTP_SIGN = `${PREFIX}.fc.weight`;

/** `config`: that of the target with the one layer of the heads; `layer`: how it is built from the weights whose names begin with `name`. */
export function mtpDeclaration<Config extends DecoderModel>(
  config: Config,
  layer: (config: Config, weights: WeightTable, name: string, i: number) => Block,
): DraftDeclaration {
  const { hidden, vocabulary, ropes, heads, layers } = config;
  const { kvHeads, dims } = heads;
  return {
    name: PREFIX,
    kind: 'mtp',
    hidden,
    taken: 'normed',
    vocabulary,
    ropes,
    positions: ropes.some(({ sections }) => sections !== null) ? 3 : 1,
    layers: layers.map(({ window }) => ({ kind: 'kv', kvHeads, dims: paddedHead(dims), window })),
    tokenOffsets: null,
    page: (weights, target) =>
      mtpPage(config, weights, target, layer(config, weights, `${PREFIX}.layers.0`, 0)),
  };
}

function mtpPage(
  config: DecoderModel,
  weights: WeightTable,
  { embedding, embeddingScale: scale, logits }: DraftTarget,
  block: Block,
): DraftPage {
  const { hidden, eps, ropes, normPlus: plus = 0 } = config;
  const normOf = (name: string) => norm(weights, `${PREFIX}.${name}`, hidden, { kind: 'rms', eps, plus });
  const ofEmbedding = normOf('pre_fc_norm_embedding');
  const ofHidden = normOf('pre_fc_norm_hidden');
  const both = weights.matrix(MTP_SIGN, hidden, 2 * hidden);
  const final = normOf('norm');
  const { rope } = config.layers[0]!;

  return {
    states(tape, batch, stores, before) {
      const token = ofEmbedding.all(embed(tape, batch, embedding, { scale })); // [rows, hidden]
      const x: Tensor = linear(concat(token, ofHidden.all(before!)), both); //    [rows, hidden]
      const turns = rope === null ? null : rotations(tape, batch, ropes, rope);
      return block(x, turns, batch, stores[0]!, null);
    },
    head(x, { wanted }) {
      const last = final.rows(x, wanted, 'sampled'); // [sampled, hidden]
      return { logits: logits(last), handed: last };
    },
  };
}
