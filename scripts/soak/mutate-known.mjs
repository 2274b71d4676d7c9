// The keys of configurations whose damage has ended, hung or misled something before, each with the values that did: drawn more often
// than chance would.

import { existsSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { withMember } from './mutate-json.mjs';
import { readJson } from './python-json.mjs';

const NUMBERS = ['0', '-1', '0.5', '1e9', '1e308', 'NaN', 'Infinity', '"8"', 'null', 'true', '[]'];
const SLOW = '{"(a+)+$": 8, "((.*)*)*_proj": 8}';

/** Keys by the name of the file; a key with dots lies deeper. */
const KEYS = {
  'config.json': {
    ...Object.fromEntries(
      [
        ...[
          'rope_theta',
          'rms_norm_eps',
          'layer_norm_eps',
          'norm_eps',
          'head_dim',
          'vocab_size',
          'hidden_size',
        ],
        ...['num_attention_heads', 'num_key_value_heads', 'num_hidden_layers', 'max_position_embeddings'],
        ...['num_experts', 'num_experts_per_tok', 'moe_intermediate_size', 'decoder_sparse_step'],
        ...['norm_num_groups', 'layers_per_block', 'scaling_factor', 'shift_factor', 'sample_size'],
        ...['cross_attention_dim', 'attention_head_dim', 't_scale', 'dim', 'n_heads', 'sliding_window'],
      ].map((key) => [key, NUMBERS]),
    ),
    rope_scaling: [
      ...['"linear"', '[]', '7', '{}', '{"rope_type": "__proto__"}', '{"rope_type": "linear", "factor": 0}'],
      ...[
        '{"rope_type": "linear", "factor": -2}',
        '{"type": "yarn", "factor": NaN}',
        '{"rope_type": "dynamic"}',
      ],
      '{"rope_type": "llama3", "factor": 8, "low_freq_factor": 4, "high_freq_factor": 1}',
      '{"rope_type": "longrope", "short_factor": [1], "long_factor": [0]}',
    ],
    block_out_channels: ['[]', '[0]', '[-16, 32, 32]', '[16, 32, 33]', '[1e9, 1e9, 1e9]', '"16"', '16'],
    down_block_types: ['[]', '["constructor"]', '["DownBlock2D", "DownBlock2D", "DownBlock2D"]', '7'],
    axes_dims: ['[]', '[8, 8]', '[7, 8, 9]', '[0, 0, 24]', '[-8, 16, 16]', '[1e9, 1e9, 1e9]'],
    hidden_act: ['"__proto__"', '"constructor"', '7', 'null', '["silu"]'],
    architectures: ['[]', '["__proto__"]', '["constructor"]', '[7]', '"LlamaForCausalLM"', '{}'],
    quantization_config: ['{}', '{"quant_method": "__proto__"}', '7', '{"quant_method": "gptq", "bits": 4}'],
    auto_map: ['{"AutoModelForCausalLM": "modeling.Other"}', '7'],
  },
  'scheduler_config.json': {
    num_train_timesteps: [...NUMBERS, '1e7', '4294967296'],
    beta_start: NUMBERS,
    beta_end: NUMBERS,
    shift: NUMBERS,
    steps_offset: ['-1', '1e9', '0.5', '"1"'],
    trained_betas: ['[]', '[NaN]', '[2, 3]', '"x"', '[-1, 0]'],
    beta_schedule: ['"__proto__"', '"constructor"', 'null', '7'],
    prediction_type: ['"__proto__"', 'null', '7', '"x"'],
    timestep_spacing: ['"__proto__"', '7', '"x"'],
    _class_name: ['"__proto__"', '"constructor"', '"NoScheduler"', 'null', '7'],
  },
  'model_index.json': {
    _class_name: ['"__proto__"', '"constructor"', '"StableDiffusionPAGPipeline"', 'null', '[]'],
    unet: [
      '["diffusers", "UNet3DConditionModel"]',
      '["__proto__", "constructor"]',
      '[null, null]',
      '7',
      '[]',
    ],
    vae: ['["diffusers", "VQModel"]', '["os", "system"]', '[null, null]', '"vae"'],
    text_encoder: ['["transformers", "T5EncoderModel"]', '["pipeline", "CLIPTextModel"]', '[null, null]'],
    scheduler: ['["diffusers", "NoScheduler"]', '["diffusers", "__proto__"]', '[null, null]'],
    tokenizer: ['["transformers", "T5Tokenizer"]', '[1, 2]', '[null, null]'],
  },
  'adapter_config.json': {
    r: NUMBERS,
    lora_alpha: NUMBERS,
    rank_pattern: [SLOW, '{"(": 8}', '7', '[]', '{"q_proj": "8"}', '{"q_proj": -1}', '"q_proj"'],
    alpha_pattern: [SLOW, '{"(": 8}', '7', '{"q_proj": NaN}', '{"q_proj": null}', '{"q_proj": 1e308}'],
    target_modules: ['7', '"(a+)+$"', '[null]', '{}', '["nobody"]'],
    use_rslora: ['"yes"', '1', 'null'],
    peft_type: ['"LOHA"', 'null', '7', '"__proto__"'],
    layers_to_transform: ['[0]', '7', '-1'],
  },
  'generation_config.json': {
    temperature: [...NUMBERS, '-0.5', '[0.7]'],
    top_p: [...NUMBERS, '2'],
    top_k: [...NUMBERS, '-5'],
    min_p: [...NUMBERS, '2'],
    repetition_penalty: [...NUMBERS, '-1'],
    eos_token_id: ['-1', '0.5', '1e9', '"2"', '[null]', '[[2]]', 'NaN', '{}', 'true'],
  },
  'tokenizer_config.json': {
    model_max_length: ['-1', '0', '1e30', 'NaN', '"77"', '1000000019884624838656'],
    add_bos_token: ['"yes"', '7', '[]'],
    eos_token: ['7', '[]', '{"content": 7}', '{"content": null}', '"never seen"'],
    chat_template: ['7', '[7]', '{}', '[{"name": "default"}]', '[{"name": 5, "template": "x"}]'],
    added_tokens_decoder: ['[]', '{"-1": {"content": "x"}}', '{"1e9": {"content": "x"}}', '{"x": 7}', '7'],
  },
  'modules.json': { 1: ['{"type": "__proto__"}', 'null', '7', '{"path": "../../etc", "type": 7}'] },
};

const hasKeys = (path) => Object.hasOwn(KEYS, basename(path));

/** Keys that the base has are drawn most; one that it has not is added now and then. */
export function lieInKnownKey({ folder, files, random }) {
  const known = files.filter((path) => hasKeys(path) && existsSync(join(folder, path)));
  if (known.length === 0) return null;
  const file = random.pick(known);
  const json = readJson(join(folder, file));
  const keys = KEYS[basename(file)];
  const own = Object.keys(keys).filter((key) => key in json || random.chance(0.1));
  if (own.length === 0) return null;
  const key = random.pick(own);
  const value = random.pick(keys[key]);
  writeFileSync(join(folder, file), withMember(json, [key], value));
  return { file, key, value, was: json[key], what: `${file}: ${key} is ${value}` };
}
