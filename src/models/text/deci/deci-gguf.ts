// GGUF files of Nemotron's pruned Llamas, which state heads and widths layer by layer; 0 for what a layer does not have.

import type { GgufClass, GgufModel } from '../../../files/gguf/model.ts';
import { decoderConfig, MOST_LAYERS } from '../blocks/gguf-config.ts';
import { decoderParts } from '../blocks/gguf-tensors.ts';

type Json = Record<string, unknown>;

const [HEADS, KV_HEADS, WIDTHS] = ['attention.head_count', 'attention.head_count_kv', 'feed_forward_length'];

export const DECI_GGUF: readonly GgufClass[] = [
  {
    name: 'deci',
    classNames: ['DeciLMForCausalLM'],
    keys: { block_configs: `deci.${HEADS}, ${KV_HEADS} and ${WIDTHS}` },
    async read(model) {
      const [heads, kvHeads, widths] = [HEADS, KV_HEADS, WIDTHS].map((key) => each(model, `deci.${key}`));
      const most = (of: readonly number[]): number => Math.max(1, ...of);
      const config = await decoderConfig(model, { kvHeads: most(kvHeads!), feedForward: most(widths!) });
      const blocks = heads!.map((count, i): Json => {
        const [own, width] = [kvHeads![i]!, widths![i]!];
        return {
          attention:
            own === 0 ? { no_op: true, replace_with_linear: count !== 0 } : { n_heads_in_group: count / own },
          ffn: width === 0 ? { no_op: true } : { intermediate_size: width },
        };
      });
      return {
        className: 'DeciLMForCausalLM',
        config: { ...config, attention_bias: model.tensors.has('blk.0.attn_q.bias'), block_configs: blocks },
      };
    },
    parts(tensor, config) {
      const layer = Number(/^blk\.(\d+)\./.exec(tensor.name)?.[1]);
      const blocks = config['block_configs'] as readonly { attention: { n_heads_in_group?: number } }[];
      const heads = config['num_attention_heads'] as number;
      const group = blocks[layer]?.attention.n_heads_in_group ?? 1;
      return decoderParts(tensor, { paired: { heads, kvHeads: heads / group } });
    },
  },
];

/** A count for each layer. */
function each({ keys }: GgufModel, key: string): number[] {
  const layers = keys.count('deci.block_count');
  if (typeof keys.get(key) !== 'object')
    return Array<number>(Math.min(layers, MOST_LAYERS)).fill(keys.count(key));
  return Array.from(keys.numbers(key)!);
}
