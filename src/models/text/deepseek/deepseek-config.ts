// Converts config.json of DeepSeek V2 and V3 and of those built like them to the configuration of deepseek.ts. Keys that decoders share are read in
// decoder-config.ts.

import { CONFIG_JSON, readConfig, shown, type ConfigReader, type Json } from '../../config-values.ts';
import type { DecoderModel } from '../blocks/decoder-architecture.ts';
import { scaledContext, withSharedKeys } from '../blocks/decoder-config.ts';
import { readExperts, type ExpertsFamily } from '../blocks/experts-config.ts';
import type { MlpConfig } from '../blocks/gated-mlp.ts';
import { latentHeads, type LatentAttentionConfig } from '../blocks/latent-attention.ts';
import { miniCpmMultipliers } from '../blocks/residual-multipliers.ts';
import { readGrowth, readRope, ropeScaling } from '../blocks/rope-config.ts';
import { behindLayers } from '../drafts/mtp.ts';
import { DEEPSEEKS, type DeepseekFamily } from './deepseek-families.ts';
import { readIndexer, type DeepseekIndexer } from './deepseek-indexer.ts';

export type DeepseekConfig = DecoderModel &
  MlpConfig &
  LatentAttentionConfig & {
    /** What chooses the tokens that a row sees; null: it sees all. */
    indexer: DeepseekIndexer | null;
  };

/** Errors: bad_checkpoint; unsupported for settings that deepseek.ts does not compute. */
export function readDeepseekConfig(given: Json, architecture: string, givenIn = CONFIG_JSON): DeepseekConfig {
  const family = DEEPSEEKS[architecture]!;
  const [json, file] = withSharedKeys(given, givenIn, family.keys ?? {});
  const stated = Object.fromEntries(Object.entries(json).filter(([, value]) => value !== undefined));
  const config = withRotation(readConfig(file, { ...family.defaults, ...stated }), family);
  config.only({ hidden_act: ['silu'], mlp_bias: [false], use_mla: [true], ...family.only });
  const context = config.count('max_position_embeddings');
  const latents = readLatents(config, family);
  const rope = readRope(config, latents.rotated, { context });
  if (family.growth) Object.assign(latents, readGrowth(config, rope));
  const layers = config.count('num_hidden_layers');
  const eps = config.real('rms_norm_eps');
  const { rotated } = latents;
  const indexer = family.indexed ? readIndexer(config, { layers, rotated, pairs: family.indexed }) : null;
  const experts = family.experts && readExperts(config, expertsOf(config, family.experts), layers);
  return {
    architecture,
    vocabulary: config.count('vocab_size'),
    hidden: config.count('hidden_size'),
    ffn: config.count('intermediate_size'),
    heads: latentHeads(latents),
    latents,
    layers: Array.from({ length: layers }, (_, i) => ({
      ...{ window: null, rope: 0 },
      ...(indexer && { index: indexer.own[i] ? indexer.dims : ('shared' as const) }),
    })),
    indexer,
    // Rows see chosen tokens among the latents.
    ...(indexer === null && { expandable: latents }),
    ...behindLayers(config, layers),
    ropes: [rope],
    ...(family.multipliers ? miniCpmMultipliers(config, layers, eps) : { eps }),
    context: scaledContext(rope, context),
    tied: config.flag('tie_word_embeddings', false),
    experts,
  };
}

/** How DeepSeek V2 chooses experts: the best of all, or of some groups. */
function expertsOf(config: ConfigReader, experts: ExpertsFamily): ExpertsFamily {
  if (experts.groupsBy !== undefined) return experts;
  const isLimited = config.choice('topk_method', { greedy: false, group_limited_greedy: true }, 'greedy');
  return isLimited ? { ...experts, groupsBy: 1 } : experts;
}

/** The rotation with the parameters of the class where none are stated. The share of a head that rotates follows from its dimensions. */
function withRotation(config: ConfigReader, { rope, growth }: DeepseekFamily): ConfigReader {
  if (!growth) return config;
  const json = config.values;
  const isStated = json['rope_parameters'] != null || json['rope_scaling'] != null;
  const { partial_rotary_factor: share, ...own } = ropeScaling(
    isStated ? config : config.with({ rope_parameters: rope }),
  ).values;
  const [rotated, plain] = [config.count('qk_rope_head_dim'), config.count('qk_nope_head_dim')];
  if (share != null && share !== rotated / (rotated + plain))
    throw config.error(
      'bad_checkpoint',
      'partial_rotary_factor',
      `is ${shown(share)}, and ${rotated} of ${rotated + plain} dimensions are rotated: take the values that the model was published with`,
    );
  return config.with({ ...json, rope_scaling: null, rope_parameters: own });
}

function readLatents(config: ConfigReader, { pairs }: DeepseekFamily): DeepseekConfig['latents'] {
  const heads = config.count('num_attention_heads');
  const dims = {
    rank: config.count('kv_lora_rank'),
    rotated: config.count('qk_rope_head_dim'),
    plain: config.count('qk_nope_head_dim'),
    values: config.count('v_head_dim', config.count('hidden_size') / heads),
  };
  const keys = ['kv_lora_rank', 'qk_rope_head_dim', 'qk_nope_head_dim', 'v_head_dim'] as const;
  Object.values(dims).forEach((count, i) => {
    const most = i === 0 ? MOST_RANK : MOST_DIMS;
    if (count % 4 !== 0 || count > most)
      throw config.error(
        'unsupported',
        keys[i]!,
        `${count} is not built; choose a model with a multiple of 4, at most ${most}`,
      );
  });
  return {
    heads,
    ...dims,
    queryRank: config.values['q_lora_rank'] === null ? null : config.count('q_lora_rank'),
    // Norms of latents keep the default of transformers' class, whatever rms_norm_eps says.
    eps: 1e-6,
    bias: config.flag('attention_bias', false),
    scale: attentionGrowth(config) / Math.sqrt(dims.plain + dims.rotated),
    pairs: pairs ?? (config.flag('rope_interleave', true) ? 'adjacent' : 'half'),
  };
}

/** Limits of attention over latents. */
const MOST_RANK = 512;
const MOST_DIMS = 512;

/** Factor of the scores of a stretched context, which mscale_all_dim states. Source: transformers' modeling_deepseek_v3. */
function attentionGrowth(config: ConfigReader): number {
  const own = ropeScaling(config);
  const type = own.values['rope_type'] ?? own.values['type'] ?? 'default';
  const all = type === 'default' ? 0 : own.real('mscale_all_dim', 0);
  const factor = all === 0 ? 1 : own.real('factor');
  return factor <= 1 ? 1 : (0.1 * all * Math.log(factor) + 1) ** 2;
}
