// GGUF files of gpt-oss, in which gate and up are tensors of their own.

import type { GgufClass, GgufModel } from '../../../files/gguf/model.ts';
import { decoderConfig } from '../blocks/gguf-config.ts';
import { decoderParts, type DecoderLayout } from '../blocks/gguf-tensors.ts';
import { GPT_OSS_EXPERTS } from './gpt-oss-config.ts';

type Json = Record<string, unknown>;

const LAYOUT: DecoderLayout = {
  names: { post_attention_norm: 'post_attention_layernorm' },
  experts: GPT_OSS_EXPERTS,
};
const SINKS = /^blk\.(\d+)\.attn_sinks\.weight$/;

export const GPT_OSS_GGUF: readonly GgufClass[] = [
  {
    name: 'gpt-oss',
    classNames: ['GptOssForCausalLM'],
    async read(model) {
      const config = await decoderConfig(model, { theta: 150000 });
      return { className: 'GptOssForCausalLM', config: { ...config, ...rotation(config), ...more(model) } };
    },
    parts(tensor) {
      const [, layer] = SINKS.exec(tensor.name) ?? [];
      if (layer === undefined) return decoderParts(tensor, LAYOUT);
      return [{ name: `model.layers.${layer}.self_attn.sinks`, shape: tensor.shape }];
    },
  },
];

/** The bounds of YaRN's blend are not rounded, which no key of the files says. A file without a rotation has that of the plain base. */
function rotation({ rope_scaling: scaling }: Json): Json {
  const stated = (scaling ?? { rope_type: 'default' }) as Json;
  return { rope_scaling: { ...stated, ...(stated['rope_type'] === 'yarn' && { truncate: false }) } };
}

function more({ keys, architecture, tensors }: GgufModel): Json {
  const width = `${architecture}.expert_feed_forward_length`;
  return {
    num_local_experts: keys.count(`${architecture}.expert_count`),
    num_experts_per_tok: keys.count(`${architecture}.expert_used_count`),
    attention_bias: tensors.has('blk.0.attn_q.bias'),
    ...(keys.get(width) !== undefined && { intermediate_size: keys.count(width) }),
  };
}
