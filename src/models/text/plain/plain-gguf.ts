// GGUF files of the classes in plain-families.ts.

import type { GgufClass, GgufModel } from '../../../files/gguf/model.ts';
import { decoderConfig } from '../blocks/gguf-config.ts';
import { decoderParts, headsOf, type ExpertNames } from '../blocks/gguf-tensors.ts';
import { FAMILIES } from './plain-families.ts';

type Json = Record<string, unknown>;

interface PlainFiles {
  /** general.architecture */
  name: string;
  className: string;
  /** The name of the class in its repositories, where that is another. */
  published?: string;
  /** Query and key rows are stored in pairs. */
  paired?: boolean;
  layerNorm?: boolean;
  normsAdded?: number;
  /** Modules of a layer, and tensors outside of them, that are named otherwise than in most decoders. */
  names?: Readonly<Record<string, string>>;
  outer?: Readonly<Record<string, string>>;
  /** Names of the experts, for layers that have some. */
  experts?: ExpertNames;
  /** Keys that change a computation and that the class reads. */
  reads?: readonly string[];
  /** Further keys of config.json. */
  more(model: GgufModel, config: Json): Json;
}

const FILES: readonly PlainFiles[] = [
  {
    name: 'phi2',
    className: 'PhiForCausalLM',
    layerNorm: true,
    names: { attn_output: 'self_attn.dense', ffn_up: 'mlp.fc1', ffn_down: 'mlp.fc2' },
    outer: {
      'output_norm.weight': 'model.final_layernorm.weight',
      'output_norm.bias': 'model.final_layernorm.bias',
      'output.bias': 'lm_head.bias',
    },
    more: (_, config) => ({ layer_norm_eps: config['rms_norm_eps'] }),
  },
  {
    name: 'stablelm',
    className: 'StableLmForCausalLM',
    layerNorm: true,
    reads: ['use_parallel_residual'],
    more: ({ tensors }, config) => ({
      layer_norm_eps: config['rms_norm_eps'],
      use_qkv_bias: hasBias(tensors),
      // The key is not what counts: converters state it for models with both norms.
      use_parallel_residual: !tensors.has('blk.0.ffn_norm.weight'),
      qk_layernorm: tensors.has('blk.0.attn_q_norm.weight'),
    }),
  },
  { name: 'arcee', className: 'ArceeForCausalLM', paired: true, more: biases },
  {
    name: 'apertus',
    className: 'ApertusForCausalLM',
    names: { attn_norm: 'attention_layernorm', ffn_norm: 'feedforward_layernorm' },
    more: (model, config) => ({
      attention_bias: hasBias(model.tensors),
      ...(config['rope_scaling'] === undefined && { rope_scaling: { rope_type: 'default' } }),
      xielu: xielu(model, config['num_hidden_layers'] as number),
    }),
  },
  {
    name: 'nemotron',
    className: 'NemotronForCausalLM',
    layerNorm: true,
    normsAdded: 1,
    more: (model, config) => ({ norm_eps: config['rms_norm_eps'], ...biases(model) }),
  },
  {
    name: 'phimoe',
    className: 'PhimoeForCausalLM',
    published: 'PhiMoEForCausalLM',
    experts: FAMILIES.get('PhimoeForCausalLM')!.experts!,
    outer: { 'output.bias': 'lm_head.bias' },
    more: ({ keys, tensors }) => ({
      attention_bias: hasBias(tensors),
      lm_head_bias: tensors.has('output.bias'),
      num_local_experts: keys.count('phimoe.expert_count'),
      num_experts_per_tok: keys.count('phimoe.expert_used_count'),
    }),
  },
  {
    name: 'olmo',
    className: 'OlmoForCausalLM',
    paired: true,
    layerNorm: true,
    more: ({ tensors }) => ({ attention_bias: hasBias(tensors) }),
  },
];

export const PLAIN_GGUF: readonly GgufClass[] = FILES.map(
  ({
    name,
    className,
    published,
    paired = false,
    layerNorm = false,
    normsAdded = 0,
    names,
    outer,
    experts,
    reads = [],
    more,
  }) => ({
    name,
    classNames: [className, ...(published === undefined ? [] : [published])],
    keys: { xielu: 'xielu.alpha_p, alpha_n, beta and eps' },
    async read(model) {
      const config = await decoderConfig(model, { reads, layerNorm });
      // Classes that rotate a part of a head by default rotate all of it where a file states nothing.
      return { className, config: { partial_rotary_factor: 1, ...config, ...more(model, config) } };
    },
    parts(tensor, config) {
      const { heads, kvHeads, rows } = headsOf(config);
      return decoderParts(tensor, {
        paired: paired ? { heads, kvHeads } : null,
        fused: rows,
        normsAdded,
        ...(names && { names }),
        ...(outer && { outer }),
        ...(experts && { experts }),
      });
    },
  }),
);

function hasBias(tensors: GgufModel['tensors']): boolean {
  return tensors.has('blk.0.attn_q.bias') || tensors.has('blk.0.attn_qkv.bias');
}

function biases({ tensors }: GgufModel): Json {
  return { attention_bias: hasBias(tensors), mlp_bias: tensors.has('blk.0.ffn_up.bias') };
}

/** Parameters of xIELU, one of each for all layers, or a list. */
function xielu({ keys }: GgufModel, layers: number): Json[] {
  const each = (name: string): number[] => {
    const key = `xielu.${name}`;
    if (typeof keys.get(key) !== 'object') return Array<number>(layers).fill(keys.real(key));
    const values = Array.from(keys.numbers(key)!);
    if (values.length !== layers) throw keys.wrong(key, `a list of ${layers} numbers`);
    return values;
  };
  const [positive, negative, beta, eps] = ['alpha_p', 'alpha_n', 'beta', 'eps'].map(each);
  return Array.from({ length: layers }, (_, i) => ({
    positive: positive![i],
    negative: negative![i],
    beta: beta![i],
    eps: eps![i],
  }));
}
