// GGUF files of Falcon-H1, whose weights have the model's multipliers in them.

import type { GgufClass } from '../../../files/gguf/model.ts';
import { decoderConfig } from '../blocks/gguf-config.ts';
import { decoderParts } from '../blocks/gguf-tensors.ts';
import { mambaKeys, mambaMetadata, mambaParts, mambaSizes } from '../blocks/mamba2-gguf.ts';

const NAME = 'falcon-h1';
const NAMES = {
  ffn_norm: 'pre_ff_layernorm',
  ffn_gate: 'feed_forward.gate_proj',
  ffn_up: 'feed_forward.up_proj',
  ffn_down: 'feed_forward.down_proj',
};

export const FALCON_H1_GGUF: readonly GgufClass[] = [
  {
    name: NAME,
    classNames: ['FalconH1ForCausalLM'],
    keys: { ...mambaMetadata(NAME), mamba_d_ssm: `${NAME}.ssm.inner_size` },
    async read(model) {
      const { inner, norm } = mambaSizes(model);
      const config = {
        ...(await decoderConfig(model)),
        ...mambaKeys(model),
        mamba_d_ssm: inner,
        mamba_rms_norm: norm,
        mamba_norm_before_gate: false,
      };
      return { className: 'FalconH1ForCausalLM', config };
    },
    parts: ({ name, shape }) =>
      mambaParts({ name, shape }, 'mamba') ??
      // This norm's name has no ending.
      decoderParts(
        { name: name.endsWith('.ffn_norm') ? `${name}.weight` : name, shape },
        {
          names: NAMES,
          outer: { 'output_norm.weight': 'model.final_layernorm.weight' },
        },
      ),
  },
];
