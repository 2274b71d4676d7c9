// GGUF files of Bamba and of Granite 4's hybrids, which have one general.architecture: those of Bamba rotate heads.

import type { GgufClass, GgufModel } from '../../../files/gguf/model.ts';
import { decoderConfig, rowsOf } from '../blocks/gguf-config.ts';
import { ggufMultipliers, MULTIPLIER_KEYS } from '../blocks/gguf-multipliers.ts';
import { decoderParts, headsOf } from '../blocks/gguf-tensors.ts';
import { layerKinds, mambaKeys, mambaMetadata, mambaParts } from '../blocks/mamba2-gguf.ts';

type Json = Record<string, unknown>;

const NAME = 'granitehybrid';
const GRANITE_NAMES = {
  ffn_gate: 'shared_mlp.gate_proj',
  ffn_up: 'shared_mlp.up_proj',
  ffn_down: 'shared_mlp.output_linear',
  ffn_gate_shexp: 'shared_mlp.gate_proj',
  ffn_up_shexp: 'shared_mlp.up_proj',
  ffn_down_shexp: 'shared_mlp.output_linear',
};
const BAMBA_NAMES = {
  ffn_norm: 'pre_ff_layernorm',
  ffn_gate: 'feed_forward.gate_proj',
  ffn_up: 'feed_forward.up_proj',
  ffn_down: 'feed_forward.down_proj',
};
const EXPERTS = {
  block: 'block_sparse_moe',
  router: 'router.layer',
  projections: { gate: 'gate_proj', up: 'up_proj', down: 'down_proj' },
};

export const BAMBA_GGUF: readonly GgufClass[] = [
  {
    name: NAME,
    classNames: ['BambaForCausalLM', 'GraniteMoeHybridForCausalLM'],
    keys: {
      ...mambaMetadata(NAME),
      layer_types: 'blk.N.ssm_in.weight, which layers of Mamba-2 have',
      attn_layer_indices: 'blk.N.ssm_in.weight, which layers of attention lack',
      shared_intermediate_size: 'the number of rows of blk.0.ffn_up_shexp.weight',
    },
    async read(model) {
      const { keys } = model;
      const config = await decoderConfig(model, { reads: MULTIPLIER_KEYS });
      const kinds = layerKinds(model, config['num_hidden_layers'] as number, (has) =>
        has('ssm_in.weight') ? 'linear_attention' : 'full_attention',
      );
      const all = { ...config, ...mambaKeys(model) };
      if (!keys.flag(`${NAME}.rope.scaling.finetuned`, true))
        return {
          className: 'GraniteMoeHybridForCausalLM',
          config: { ...all, ...granite(model), layer_types: kinds },
        };
      const attention = kinds.flatMap((kind, i) => (kind === 'full_attention' ? [i] : []));
      return { className: 'BambaForCausalLM', config: { ...all, attn_layer_indices: attention } };
    },
    parts(tensor, config) {
      const { heads, kvHeads } = headsOf(config);
      const isBamba = config['attn_layer_indices'] !== undefined;
      return (
        mambaParts(tensor, 'mamba') ??
        decoderParts(tensor, {
          paired: { heads, kvHeads },
          names: isBamba ? BAMBA_NAMES : GRANITE_NAMES,
          experts: EXPERTS,
          ...(isBamba && { outer: { 'output_norm.weight': 'model.final_layernorm.weight' } }),
        })
      );
    },
  },
];

function granite(model: GgufModel): Json {
  const { keys, tensors } = model;
  const experts = keys.count(`${NAME}.expert_count`, 0);
  const shared = tensors.has('blk.0.ffn_up_shexp.weight') ? 'ffn_up_shexp' : 'ffn_up';
  return {
    position_embedding_type: 'nope',
    shared_intermediate_size: rowsOf(model, `blk.0.${shared}.weight`),
    num_local_experts: experts,
    ...(experts > 0 && { num_experts_per_tok: keys.count(`${NAME}.expert_used_count`) }),
    ...ggufMultipliers(model),
  };
}
