// GGUF files of the models that llama.ts computes.

import type { GgufClass, GgufModel } from '../../../files/gguf/model.ts';
import { decoderConfig, ggufLabels, MOST_LAYERS } from '../blocks/gguf-config.ts';
import { ggufMultipliers, MULTIPLIER_KEYS } from '../blocks/gguf-multipliers.ts';
import { decoderParts, headsOf, type ExpertNames } from '../blocks/gguf-tensors.ts';
import { FAMILIES } from './llama-families.ts';

type Json = Record<string, unknown>;

interface LlamaFiles {
  /** general.architecture */
  name: string;
  className: string;
  /** Query and key rows are stored in pairs. */
  paired?: boolean;
  /** Modules of a layer that are named otherwise than in other files. */
  names?: Readonly<Record<string, string>>;
  /** Keys that change a computation and that the class reads. */
  reads?: readonly string[];
  /** Further keys of config.json. */
  more?(model: GgufModel, config: Json): Json;
}

/** The growth of Ministral 3's queries, by the original context. Mistral Small 3 has none. */
const TEMPERATURE = 'attention.temperature_scale';

const FILES: readonly LlamaFiles[] = [
  { name: 'llama', className: 'LlamaForCausalLM', paired: true, more: llama },
  { name: 'mistral3', className: 'MistralForCausalLM', paired: true, reads: [TEMPERATURE] },
  { name: 'qwen2', className: 'Qwen2ForCausalLM' },
  // The text models of Qwen2-VL and Qwen3-VL: for text alone the parts of their positions are equal.
  { name: 'qwen2vl', className: 'Qwen2ForCausalLM' },
  { name: 'qwen2moe', className: 'Qwen2MoeForCausalLM', more: (model) => qwenExperts(model, false) },
  { name: 'qwen3', className: 'Qwen3ForCausalLM', more: biases },
  { name: 'qwen3vl', className: 'Qwen3ForCausalLM', more: biases },
  { name: 'qwen3moe', className: 'Qwen3MoeForCausalLM', more: qwen3Experts },
  { name: 'qwen3vlmoe', className: 'Qwen3MoeForCausalLM', more: qwen3Experts },
  {
    name: 'olmoe',
    className: 'OlmoeForCausalLM',
    more: (model) => ({ ...biases(model), ...experts(model, false) }),
  },
  { name: 'phi3', className: 'Phi3ForCausalLM' },
  {
    name: 'seed_oss',
    className: 'SeedOssForCausalLM',
    names: { post_attention_norm: 'post_attention_layernorm' },
    more: (model) => ({ ...biases(model), attention_out_bias: model.tensors.has('blk.0.attn_output.bias') }),
  },
  // The text model of PaddleOCR-VL.
  { name: 'paddleocr', className: 'LlamaForCausalLM', more: biases },
  // The converter gives both classes the names and the order of Llama's tensors, the second with its pairs.
  { name: 'exaone', className: 'LlamaForCausalLM', more: biases },
  { name: 'internlm2', className: 'LlamaForCausalLM', paired: true, more: biases },
  {
    name: 'minicpm',
    className: 'GraniteForCausalLM',
    paired: true,
    reads: MULTIPLIER_KEYS,
    more: (model, config) => ({
      ...llama(model),
      ...ggufMultipliers(model, {
        // What llama.cpp takes for files that its first converter of the class made.
        embedding_multiplier: 12,
        residual_multiplier: 1.4 / Math.sqrt(config['num_hidden_layers'] as number),
        logits_scaling: (config['hidden_size'] as number) / 256,
      }),
      attention_multiplier: 1 / Math.sqrt(config['head_dim'] as number),
    }),
  },
  { name: 'smollm3', className: 'SmolLM3ForCausalLM', paired: true, more: llama },
  {
    name: 'granite',
    className: 'GraniteForCausalLM',
    paired: true,
    reads: MULTIPLIER_KEYS,
    more: (model) => ({ ...llama(model), ...ggufMultipliers(model) }),
  },
];

/** Classes that one architecture's files may hold, first that which computes files without windows and experts. */
const SHARED: Readonly<Record<string, readonly string[]>> = {
  qwen3: ['Qwen3ForCausalLM', 'Qwen3ForSequenceClassification'],
  llama: ['LlamaForCausalLM', 'MistralForCausalLM', 'MixtralForCausalLM', 'InternLM3ForCausalLM'],
  exaone: ['LlamaForCausalLM', 'ExaoneForCausalLM'],
  internlm2: ['LlamaForCausalLM', 'InternLM2ForCausalLM'],
  minicpm: ['GraniteForCausalLM', 'MiniCPMForCausalLM'],
  mistral3: ['MistralForCausalLM', 'Ministral3ForCausalLM'],
};

export const LLAMA_GGUF: readonly GgufClass[] = FILES.map(
  ({ name, className, paired = false, names, reads = [], more }) => ({
    name,
    classNames: SHARED[name] ?? [className],
    async read(model) {
      const config = await decoderConfig(model, { reads });
      const own = name === 'llama' ? classOf(model, config) : className;
      if (name === 'mistral3' && model.keys.real(`mistral3.${TEMPERATURE}`, 0) !== 0)
        return { className: 'Ministral3ForCausalLM', config: { ...config, ...growth(model, config) } };
      if (name === 'qwen3' && model.tensors.has(LABELS))
        return labelled(model, { ...config, ...more?.(model, config) });
      const mixture = own === 'MixtralForCausalLM' ? experts(model, true) : {};
      return { className: own, config: { ...config, ...more?.(model, config), ...mixture } };
    },
    parts(tensor, config) {
      if (tensor.name === LABELS) return [{ name: 'score.weight', shape: tensor.shape }];
      const { heads, kvHeads, rows } = headsOf(config);
      const family = FAMILIES.get(className)!;
      return decoderParts(tensor, {
        paired: paired ? { heads, kvHeads } : null,
        fused: family.fused ? null : rows,
        ...(family.fused ? { names: FUSED } : names && { names }),
        ...(config['num_local_experts'] !== undefined && { experts: MIXTRAL }),
      });
    },
  }),
);

const LABELS = 'cls.output.weight';
const FUSED = { attn_qkv: 'self_attn.qkv_proj', ffn_up: 'mlp.gate_up_proj' };
const MIXTRAL: ExpertNames = FAMILIES.get('MixtralForCausalLM')!.experts!;

/** Windows and experts take classes of their own; all else that Mistral computes is Llama's. */
function classOf({ keys, architecture }: GgufModel, config: Json): string {
  if (keys.count(`${architecture}.expert_count`, 0) > 0) return 'MixtralForCausalLM';
  return config['sliding_window'] === null ? 'LlamaForCausalLM' : 'MistralForCausalLM';
}

/** Ministral 3 states the growth of queries among the parameters of its rotation. */
/** A head of labels; one of the answers yes and no judges documents by the difference of their logits. */
function labelled(model: GgufModel, config: Json): { className: string; config: Json } {
  const id2label = ggufLabels(model);
  const isJudge = Object.values(id2label).join() === 'yes,no';
  const head = isJudge ? { judged_by_answers: true } : { id2label };
  return { className: 'Qwen3ForSequenceClassification', config: { ...config, ...head } };
}

function growth({ keys }: GgufModel, { rope_scaling: scaling }: Json): Json {
  const stretch = (scaling ?? {}) as Json;
  if (stretch['rope_type'] !== 'yarn')
    throw keys.unsupported(
      `mistral3.${TEMPERATURE}`,
      'it takes the original context of a rope scaling of yarn',
    );
  return { rope_scaling: { ...stretch, llama_4_scaling_beta: keys.real(`mistral3.${TEMPERATURE}`) } };
}

function llama(model: GgufModel): Json {
  return { ...biases(model), mlp_bias: model.tensors.has('blk.0.ffn_down.bias') };
}

/** Biases of attention, which no key states. */
function biases({ tensors }: GgufModel): Json {
  return { attention_bias: tensors.has('blk.0.attn_q.bias') || tensors.has('blk.0.attn_qkv.bias') };
}

function experts({ keys, architecture }: GgufModel, normed: boolean): Json {
  const count = keys.count(`${architecture}.expert_count`);
  return {
    [architecture === 'llama' ? 'num_local_experts' : 'num_experts']: count,
    num_experts_per_tok: keys.count(`${architecture}.expert_used_count`),
    norm_topk_prob: keys.flag(`${architecture}.expert_weights_norm`, normed),
  };
}

function qwen3Experts(model: GgufModel): Json {
  return { ...biases(model), ...qwenExperts(model, true) };
}

/** Layers without a router have one block for all tokens. */
function qwenExperts(model: GgufModel, normed: boolean): Json {
  const { keys, architecture, tensors } = model;
  const layers = Math.min(keys.count(`${architecture}.block_count`), MOST_LAYERS);
  const shared = tensors.get('blk.0.ffn_up_shexp.weight')?.shape[0];
  return {
    ...experts(model, normed),
    moe_intermediate_size: keys.count(`${architecture}.expert_feed_forward_length`),
    mlp_only_layers: Array.from({ length: layers }, (_, i) => i).filter(
      (i) => !tensors.has(`blk.${i}.ffn_gate_inp.weight`),
    ),
    ...(shared !== undefined && { shared_expert_intermediate_size: shared }),
  };
}
