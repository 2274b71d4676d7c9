// Heads that predict several tokens ahead, as they are published among a model's weights: the norms of a token's embedding and of the target's
// normalized state before it, side by side, through a projection and one layer of the target's kind. Embedding and head are the target's, of which
// some checkpoints hold copies. Sources: vLLM's qwen3_next_mtp.py and qwen3_5_mtp.py; SGLang's deepseek_nextn.py, whose heads hand on the state
// behind their norm.

import type { Tensor } from '../../../gpu/tensor.ts';
import { concat } from '../../../kernels/concat.ts';
import { embed } from '../../../kernels/embed.ts';
import { linear } from '../../../kernels/matmul.ts';
import { rotations } from '../../../kernels/rotations.ts';
import type { ConfigReader } from '../../config-values.ts';
import type { WeightTable } from '../../weights.ts';
import type { DraftPage, DraftTarget, OwnDraft } from '../blocks/architecture.ts';
import type { DecoderModel } from '../blocks/decoder-architecture.ts';
import type { Block } from '../blocks/decoder.ts';
import { keptStates, statesOf } from '../blocks/kept-states.ts';
import { norm } from '../blocks/norm.ts';

/** Names of the heads' modules. */
interface MtpNames {
  /** Beginning of all others. */
  prefix: string;
  both: string;
  ofEmbedding: string;
  ofHidden: string;
  final: string;
  layer: string;
}

const QWEN: MtpNames = {
  prefix: 'mtp',
  both: 'mtp.fc',
  ofEmbedding: 'mtp.pre_fc_norm_embedding',
  ofHidden: 'mtp.pre_fc_norm_hidden',
  final: 'mtp.norm',
  layer: 'mtp.layers.0',
};

/** Of a layer behind the last one. */
function behindLast(layers: number): MtpNames {
  const layer = `model.layers.${layers}`;
  const [both, final] = [`${layer}.eh_proj`, `${layer}.shared_head.norm`];
  return { prefix: layer, layer, both, ofEmbedding: `${layer}.enorm`, ofHidden: `${layer}.hnorm`, final };
}

type LayerOf<Config> = (config: Config, weights: WeightTable, name: string, i: number) => Block;

/** `config`: that of the target with the one layer of the heads; `layer`: how it is built from the weights whose names begin with `name`. */
export function mtpDeclaration<Config extends DecoderModel>(
  config: Config,
  layer: LayerOf<Config>,
  names = QWEN,
): OwnDraft {
  const { hidden, vocabulary, ropes, heads, layers } = config;
  return {
    name: names.prefix,
    sign: `${names.both}.weight`,
    kind: 'mtp',
    hidden,
    taken: 'normed',
    vocabulary,
    ropes,
    positions: ropes.some(({ sections }) => sections !== null) ? 3 : 1,
    layers: layers.flatMap((one) => statesOf(one, heads)),
    tokenOffsets: null,
    page: (weights, target) =>
      mtpPage(config, names, weights, target, layer(config, weights, names.layer, 0)),
  };
}

/** Heads that lie behind the target's last layer and have experts if it has any; `own`: what their layer has of its own. */
export function mtpBehind<Config extends DecoderModel>(
  config: Config,
  layer: LayerOf<Config>,
  own: Partial<Config> = {},
): OwnDraft {
  const { layers, experts } = config;
  const { window, rope } = layers.at(-1)!;
  return mtpDeclaration(
    {
      ...config,
      layers: [{ window, rope }],
      experts: experts && { ...experts, layers: [true] },
      ...own,
    },
    layer,
    behindLast(layers.length),
  );
}

/** Tensors of the heads that a configuration states behind its last layer: nothing reads them but those who ask for drafts. */
export function behindLayers(config: ConfigReader, layers: number): { ignored?: RegExp } {
  const count = config.count('num_nextn_predict_layers', 0);
  const each = Array.from({ length: count }, (_, i) => layers + i);
  return count === 0 ? {} : { ignored: new RegExp(`^model\\.layers\\.(?:${each.join('|')})\\.`) };
}

function mtpPage(
  config: DecoderModel,
  names: MtpNames,
  weights: WeightTable,
  { embedding, embeddingScale: scale, logits }: DraftTarget,
  block: Block,
): DraftPage {
  const { hidden, eps, ropes, layers, normPlus: plus = 0 } = config;
  const normOf = (name: string) => norm(weights, name, hidden, { kind: 'rms', eps, plus });
  const ofEmbedding = normOf(names.ofEmbedding);
  const ofHidden = normOf(names.ofHidden);
  const both = weights.matrix(`${names.both}.weight`, hidden, 2 * hidden);
  const final = normOf(names.final);
  const { rope } = layers[0]!;

  return {
    states(tape, batch, stores, before) {
      const token = ofEmbedding.all(embed(tape, batch, embedding, { scale })); // [rows, hidden]
      const x: Tensor = linear(concat(token, ofHidden.all(before!)), both); //    [rows, hidden]
      const turns = rope === null ? null : rotations(tape, batch, ropes, rope);
      return block(x, turns, batch, keptStates(layers, stores)[0]!, null);
    },
    head(x, { wanted }) {
      const last = final.rows(x, wanted, 'sampled'); // [sampled, hidden]
      return { logits: logits(last), handed: last };
    },
  };
}
