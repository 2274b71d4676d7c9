// Gemma 4's assistant checkpoints: a few layers that read the keys and values of the target's last layers and have none of their own. A token's
// embedding in the target and the target's normalized state before it enter side by side, and what is handed on is as wide as that state.
// Source: transformers' gemma4_assistant.

import { concat } from '../../../kernels/concat.ts';
import { embed } from '../../../kernels/embed.ts';
import { linear } from '../../../kernels/matmul.ts';
import { rotations } from '../../../kernels/rotations.ts';
import { paddedHead } from '../../../kernels/resize-heads.ts';
import { CONFIG_JSON, isJsonObject, readConfig, type Json } from '../../config-values.ts';
import type { WeightTable } from '../../weights.ts';
import type {
  DraftDeclaration,
  DraftPage,
  DraftTarget,
  KvState,
  TextDeclaration,
} from '../blocks/architecture.ts';
import { norm } from '../blocks/norm.ts';
import { readGemma4Config } from './gemma4-config.ts';
import { gemma4Layer, type Gemma4Config } from './gemma4.ts';

export const GEMMA4_ASSISTANTS: readonly string[] = [
  'Gemma4AssistantForCausalLM',
  'Gemma4UnifiedAssistantForCausalLM',
];

const OTHER = 'choose the assistant that was made for this model';

/** Errors: bad_checkpoint; unsupported for settings that are not computed, and for another target than the one it was made for. */
export function readGemma4Assistant(
  json: Json,
  architecture: string,
  target: TextDeclaration,
  file = CONFIG_JSON,
): DraftDeclaration {
  const outer = readConfig(file, json);
  const text = isJsonObject(json['text_config']) ? json['text_config'] : {};
  const own = readGemma4Config({ ...text, num_kv_shared_layers: 0 }, architecture, file);
  const backbone = outer.count('backbone_hidden_size', 1536);
  const inner = outer.within('text_config', text);
  for (const [reader, key, is, of] of [
    [outer, 'backbone_hidden_size', backbone, target.hidden],
    [inner, 'vocab_size', own.vocabulary, target.vocabulary],
    [inner, 'hidden_size_per_layer_input', own.entering?.columns ?? 0, 0],
  ] as const) {
    if (is !== of)
      throw reader.error('unsupported', key, `is ${is}, and ${target.architecture} asks for ${of}: ${OTHER}`);
  }
  const shared = own.layers.map(({ window, heads = own.heads }) => {
    const layer = target.layers.findLastIndex(
      (state) => state.kind === 'kv' && (state.window === null) === (window === null),
    );
    const { kvHeads, dims } = (target.layers[layer] ?? {}) as Partial<KvState>;
    if (heads.kvHeads !== kvHeads || paddedHead(heads.dims) !== dims)
      throw inner.error(
        'unsupported',
        'num_key_value_heads',
        `is ${heads.kvHeads} with ${heads.dims} dimensions, and ${target.architecture} has ${kvHeads ?? 'no such layer'} with ${dims ?? 'none'}: ${OTHER}`,
      );
    return layer;
  });
  const config: Gemma4Config = {
    ...own,
    sharedFfn: own.ffn,
    layers: own.layers.map((layer, i) => ({
      ...layer,
      // transformers counts the distance to the last token that has a state.
      window: layer.window === null ? null : layer.window + 1,
      heads: { ...(layer.heads ?? own.heads), kv: 'none' },
      shares: shared[i]!,
    })),
  };
  return {
    name: architecture,
    kind: 'mtp',
    hidden: backbone,
    taken: 'normed',
    vocabulary: own.vocabulary,
    ropes: own.ropes,
    positions: 1,
    layers: shared.map((layer) => ({ kind: 'shared', layer })),
    tokenOffsets: null,
    page: (weights, of) => assistantPage(config, backbone, weights, of),
  };
}

function assistantPage(
  config: Gemma4Config,
  backbone: number,
  weights: WeightTable,
  { embedding, embeddingScale: scale }: DraftTarget,
): DraftPage {
  const { hidden, eps, ropes, vocabulary, layers } = config;
  const before = weights.matrix('pre_projection.weight', hidden, 2 * backbone);
  const blocks = layers.map((_, i) => gemma4Layer(config, weights, `model.layers.${i}`, i));
  const final = norm(weights, 'model.norm', hidden, { kind: 'rms', eps });
  const own = weights.embedding('model.embed_tokens.weight', vocabulary, hidden);
  const behind = weights.matrix('post_projection.weight', backbone, hidden);
  weights.ignore(/^lm_head\.weight$/); // tied
  // The published programs compare a state with the tokens of its nearest clusters only; here it is compared with all of them.
  weights.ignore(/^masked_embedding\./);

  return {
    states(tape, batch, stores, handed) {
      const token = embed(tape, batch, embedding, { scale }); // [rows, backbone]
      const turns = ropes.map((_, i) => rotations(tape, batch, ropes, i));
      return blocks.reduce(
        (x, block, i) => block(x, turns[layers[i]!.rope!]!, batch, stores[i]!, null),
        linear(concat(token, handed!), before), //               [rows, hidden]
      );
    },
    head(x, { wanted }) {
      const last = final.rows(x, wanted, 'sampled'); // [sampled, hidden]
      return { logits: linear(last, own), handed: linear(last, behind) };
    },
  };
}
