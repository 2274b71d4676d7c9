// Tiny pipelines of FLUX.2 and Chroma with the proportions that files in one piece imply; tokenizers are those of the tiny goldens.

import { cpSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  autoencoderKLFlux2Decoder,
  autoencoderKLFlux2Encoder,
} from '../../../src/models/image/autoencoders/autoencoder-kl-flux2.ts';
import { readAutoencoderKLFlux2Config } from '../../../src/models/image/autoencoders/autoencoder-kl-config.ts';
import { chroma } from '../../../src/models/image/chroma.ts';
import { readChromaConfig } from '../../../src/models/image/chroma-config.ts';
import { flux2 } from '../../../src/models/image/flux2.ts';
import { readFlux2Config } from '../../../src/models/image/flux2-config.ts';
import { readText } from '../../../src/models/text/registry.ts';
import { t5 } from '../../../src/models/text/t5/t5.ts';
import { readT5Config } from '../../../src/models/text/t5/t5-config.ts';
import { tinyPipeline } from './pipeline-golden.ts';
import { randomTensors, writeComponent, type StoredTensors } from './tiny-tensors.ts';
import { autoencoderTensors, newFolder, VAE, type Json, type TinyPipeline } from './tiny-pipelines.ts';

const TRANSFORMER = {
  _class_name: 'Flux2Transformer2DModel',
  in_channels: 16,
  num_layers: 1,
  num_single_layers: 1,
  attention_head_dim: 32,
  num_attention_heads: 2,
  mlp_ratio: 3,
  axes_dims_rope: [8, 8, 8, 8],
};
const SCHEDULER = {
  _class_name: 'FlowMatchEulerDiscreteScheduler',
  num_train_timesteps: 1000,
  shift: 3,
  use_dynamic_shifting: true,
};

function flux2Autoencoder(): { vae: Json; tensors: StoredTensors } {
  const vae = { ...VAE, _class_name: 'AutoencoderKLFlux2', latent_channels: 4 };
  const config = readAutoencoderKLFlux2Config(vae);
  const pages = [autoencoderKLFlux2Decoder, autoencoderKLFlux2Encoder] as const;
  const tensors = new Map(
    randomTensors(
      pages.map((page) => (table) => page(config, table)),
      42,
    ),
  );
  const name = 'bn.running_var';
  const { bytes, ...variance } = tensors.get(name)!;
  tensors.set(name, { ...variance, bytes: bytes.map((byte, i) => (i % 2 === 1 ? byte & 0x7f : byte)) });
  return { vae, tensors };
}

function replaced(of: string, name: string, parts: Record<string, [Json, StoredTensors]>): TinyPipeline {
  const folder = newFolder(name);
  cpSync(tinyPipeline(of), folder, { recursive: true });
  for (const [component, [config, tensors]] of Object.entries(parts)) {
    rmSync(join(folder, component), { recursive: true, force: true });
    writeComponent(join(folder, component), config, tensors);
  }
  const tensors = Object.fromEntries(Object.entries(parts).map(([part, [, own]]) => [part, own]));
  return { folder, tensors };
}

/** FLUX.2 klein with the text encoder of the tiny golden. `values`: changes those of the transformer. */
export function tinyKlein(values?: (tensors: StoredTensors) => StoredTensors): TinyPipeline {
  const config = { ...TRANSFORMER, joint_attention_dim: 96, guidance_embeds: false };
  const drawn = randomTensors([(table) => flux2(readFlux2Config(config), table)], 41);
  const { vae, tensors } = flux2Autoencoder();
  const pipeline = replaced('flux2-klein', 'klein', {
    transformer: [config, values?.(drawn) ?? drawn],
    vae: [vae, tensors],
  });
  writeFileSync(join(pipeline.folder, 'scheduler', 'scheduler_config.json'), JSON.stringify(SCHEDULER));
  return pipeline;
}

/** Changes the values of a pipeline's transformer. */
type Values = { transformer?: (tensors: StoredTensors) => StoredTensors };

/** FLUX.2 dev with heads of 128 columns in its language model. */
export function tinyFlux2(values: Values = {}): TinyPipeline {
  const config = { ...TRANSFORMER, joint_attention_dim: 192, guidance_embeds: true };
  const text = {
    architectures: ['MistralForCausalLM'],
    model_type: 'mistral',
    vocab_size: 267,
    hidden_size: 64,
    intermediate_size: 96,
    num_hidden_layers: 31,
    num_attention_heads: 1,
    num_key_value_heads: 1,
    head_dim: 128,
    rms_norm_eps: 1e-5,
    rope_theta: 1e9,
    max_position_embeddings: 1024,
    sliding_window: null,
    tie_word_embeddings: false,
  };
  const language = readText(text, 'MistralForCausalLM');
  const { vae, tensors } = flux2Autoencoder();
  const drawn = randomTensors([(table) => flux2(readFlux2Config(config), table)], 43);
  const pipeline = replaced('flux2', 'flux2', {
    transformer: [config, values.transformer?.(drawn) ?? drawn],
    vae: [vae, tensors],
    text_encoder: [text, randomTensors([(table) => language.states!(table, [31])], 44)],
  });
  writeFileSync(join(pipeline.folder, 'scheduler', 'scheduler_config.json'), JSON.stringify(SCHEDULER));
  return pipeline;
}

/** Chroma: heads of 32 columns. */
export function tinyChroma(values: Values = {}): TinyPipeline {
  const config = {
    _class_name: 'ChromaTransformer2DModel',
    in_channels: 64,
    num_layers: 1,
    num_single_layers: 1,
    attention_head_dim: 32,
    num_attention_heads: 2,
    joint_attention_dim: 48,
    axes_dims_rope: [4, 14, 14],
    approximator_num_channels: 32,
    approximator_hidden_dim: 36,
    approximator_layers: 2,
  };
  const vae = {
    ...VAE,
    latent_channels: 16,
    use_quant_conv: false,
    use_post_quant_conv: false,
    scaling_factor: 0.3611,
    shift_factor: 0.1159,
  };
  const text = {
    architectures: ['T5EncoderModel'],
    model_type: 't5',
    vocab_size: 240,
    d_model: 48,
    d_kv: 12,
    d_ff: 80,
    num_layers: 2,
    num_heads: 5,
    relative_attention_num_buckets: 12,
    relative_attention_max_distance: 128,
    feed_forward_proj: 'gated-gelu',
    layer_norm_epsilon: 1e-6,
  };
  const drawn = randomTensors([(table) => chroma(readChromaConfig(config), table)], 45);
  const pipeline = replaced('chroma', 'chroma', {
    transformer: [config, values.transformer?.(drawn) ?? drawn],
    vae: [vae, autoencoderTensors(vae, 46)],
    text_encoder: [text, randomTensors([(table) => t5(readT5Config(text), table)], 47)],
  });
  cpSync(join(tinyPipeline('flux'), 'tokenizer_2'), join(pipeline.folder, 'tokenizer'), { recursive: true });
  return pipeline;
}
