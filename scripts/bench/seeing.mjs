// Synthetic models that read images: towers in the widths of Qwen2.5-VL and InternVL with a sixth or less of their layers, before a language
// model of 250 million weights; the operations of their towers; and the figures of a bench as lines.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SHAPE, tensorShapes } from './checkpoint.mjs';
import { attention, linear } from './flops.mjs';
import { byteTokenizer, madeOnce, writeTensors } from './synthetic.mjs';
import { line, mebibytes, percent, pick } from './table.mjs';

/** Pixels along each side of the picture. */
export const SIDE = 1024;
const TEXT = { ...SHAPE, heads: 8, kvHeads: 2, dims: 128 };
const CONTEXT = 8192;
const PIXEL_STATISTICS = { image_mean: [0.48, 0.46, 0.41], image_std: [0.27, 0.26, 0.28] };

const QWEN = {
  hidden: 1280,
  layers: 4,
  heads: 16,
  ffn: 3420,
  patch: 14,
  merge: 2,
  window: 112,
  full: [3],
};
const QWEN_TOKENS = ['<|vision_start|>', '<|vision_end|>', '<|image_pad|>', '<|video_pad|>'];
const INTERN = { hidden: 1024, layers: 4, heads: 16, ffn: 4096, patch: 14, side: 448 };
/** Tiles of a square picture of 1,024 pixels with those of at most twelve: three by three and the whole. */
const TILES = 10;
const INTERN_TOKENS = ['<img>', '</img>', '<IMG_CONTEXT>', '<video>'];

/** Each case of `npm run bench` with a picture. */
export function seeingCases() {
  const cases = { 'Qwen2.5-VL': [qwen, qwenFlops], InternVL: [intern, internFlops] };
  return Object.entries(cases).map(([title, [folder, flops]]) => ({
    name: `picture, a tower in the width of ${title} and llama-250m int8`,
    measure: (run) => ({ towerFlops: flops(), ...run('measure-seeing.mjs', folder()) }),
    lines: seeingLines,
    kernels: () => [],
  }));
}

function qwen() {
  return madeOnce('seeing-qwen', (folder) => {
    const { hidden, ffn, patch } = QWEN;
    const layer = (i) => [
      ...['norm1', 'norm2'].map((name) => [`visual.blocks.${i}.${name}.weight`, [hidden]]),
      ...biased(`visual.blocks.${i}.attn.qkv`, 3 * hidden, hidden),
      ...biased(`visual.blocks.${i}.attn.proj`, hidden, hidden),
      ...biased(`visual.blocks.${i}.mlp.gate_proj`, ffn, hidden),
      ...biased(`visual.blocks.${i}.mlp.up_proj`, ffn, hidden),
      ...biased(`visual.blocks.${i}.mlp.down_proj`, hidden, ffn),
    ];
    const wide = QWEN.merge ** 2 * hidden;
    writeTensors(join(folder, 'model.safetensors'), [
      ...textTensors(''),
      ['visual.patch_embed.proj.weight', [hidden, 3, 2, patch, patch]],
      ...Array.from({ length: QWEN.layers }, (_, i) => layer(i)).flat(),
      ['visual.merger.ln_q.weight', [hidden]],
      ...biased('visual.merger.mlp.0', wide, wide),
      ...biased('visual.merger.mlp.2', TEXT.hidden, wide),
    ]);
    const [start, end, image, video] = writeTokenizer(
      folder,
      QWEN_TOKENS,
      '<|vision_start|><|image_pad|><|vision_end|>',
    );
    write(folder, 'config.json', {
      architectures: ['Qwen2_5_VLForConditionalGeneration'],
      model_type: 'qwen2_5_vl',
      ...textConfig('qwen2_5_vl'),
      rope_scaling: { type: 'mrope', mrope_section: [16, 24, 24] },
      vision_start_token_id: start,
      vision_end_token_id: end,
      image_token_id: image,
      video_token_id: video,
      vision_config: {
        depth: QWEN.layers,
        hidden_size: hidden,
        intermediate_size: ffn,
        num_heads: QWEN.heads,
        out_hidden_size: TEXT.hidden,
        patch_size: patch,
        spatial_merge_size: QWEN.merge,
        temporal_patch_size: 2,
        window_size: QWEN.window,
        fullatt_block_indexes: QWEN.full,
        hidden_act: 'silu',
        in_channels: 3,
      },
    });
    write(folder, 'preprocessor_config.json', {
      image_processor_type: 'Qwen2VLImageProcessor',
      ...PIXEL_STATISTICS,
      patch_size: patch,
      merge_size: QWEN.merge,
      temporal_patch_size: 2,
      min_pixels: 3136,
      max_pixels: 12845056,
    });
  });
}

function intern() {
  return madeOnce('seeing-intern', (folder) => {
    const { hidden, ffn, patch, side } = INTERN;
    const tower = 'vision_tower.encoder.layer';
    const layer = (i) => [
      ...['layernorm_before', 'layernorm_after'].flatMap((name) => [
        [`${tower}.${i}.${name}.weight`, [hidden]],
        [`${tower}.${i}.${name}.bias`, [hidden]],
      ]),
      ...['q_proj', 'k_proj', 'v_proj', 'projection_layer'].flatMap((name) =>
        biased(`${tower}.${i}.attention.${name}`, hidden, hidden),
      ),
      ...biased(`${tower}.${i}.mlp.fc1`, ffn, hidden),
      ...biased(`${tower}.${i}.mlp.fc2`, hidden, ffn),
      ...['lambda_1', 'lambda_2'].map((name) => [`${tower}.${i}.${name}`, [hidden]]),
    ];
    const embeddings = 'vision_tower.embeddings';
    writeTensors(join(folder, 'model.safetensors'), [
      ...textTensors('language_model.'),
      [`${embeddings}.cls_token`, [1, 1, hidden]],
      [`${embeddings}.position_embeddings`, [1, (side / patch) ** 2 + 1, hidden]],
      [`${embeddings}.patch_embeddings.projection.weight`, [hidden, 3, patch, patch]],
      [`${embeddings}.patch_embeddings.projection.bias`, [hidden]],
      ...Array.from({ length: INTERN.layers }, (_, i) => layer(i)).flat(),
      ['multi_modal_projector.layer_norm.weight', [4 * hidden]],
      ['multi_modal_projector.layer_norm.bias', [4 * hidden]],
      ...biased('multi_modal_projector.linear_1', TEXT.hidden, 4 * hidden),
      ...biased('multi_modal_projector.linear_2', TEXT.hidden, TEXT.hidden),
    ]);
    const [, , image] = writeTokenizer(folder, INTERN_TOKENS, '<IMG_CONTEXT>\\n');
    write(folder, 'config.json', {
      architectures: ['InternVLForConditionalGeneration'],
      model_type: 'internvl',
      image_token_id: image,
      image_seq_length: 256,
      downsample_ratio: 0.5,
      projector_hidden_act: 'gelu',
      vision_feature_layer: -1,
      vision_feature_select_strategy: 'default',
      text_config: { architectures: ['Qwen2ForCausalLM'], ...textConfig('qwen2') },
      vision_config: {
        model_type: 'internvl_vision',
        image_size: [side, side],
        patch_size: [patch, patch],
        num_channels: 3,
        hidden_size: hidden,
        intermediate_size: ffn,
        num_hidden_layers: INTERN.layers,
        num_attention_heads: INTERN.heads,
        layer_norm_eps: 1e-6,
        norm_type: 'layer_norm',
        hidden_act: 'gelu',
        attention_bias: true,
        use_qk_norm: false,
        use_absolute_position_embeddings: true,
        use_mask_token: false,
        use_mean_pooling: true,
      },
    });
    write(folder, 'preprocessor_config.json', {
      image_processor_type: 'GotOcr2ImageProcessor',
      ...PIXEL_STATISTICS,
      size: { height: side, width: side },
      crop_to_patches: true,
      min_patches: 1,
      max_patches: 12,
    });
  });
}

/** The language model of both: a Qwen2 of the bench's width. */
function textTensors(prefix) {
  const { layers, heads, kvHeads, dims } = TEXT;
  const biases = (i) => [
    [`model.layers.${i}.self_attn.q_proj.bias`, [heads * dims]],
    [`model.layers.${i}.self_attn.k_proj.bias`, [kvHeads * dims]],
    [`model.layers.${i}.self_attn.v_proj.bias`, [kvHeads * dims]],
  ];
  const all = [...tensorShapes(TEXT), ...Array.from({ length: layers }, (_, i) => biases(i)).flat()];
  return all.map(([name, shape]) => [prefix + name, shape]);
}

function textConfig(type) {
  return {
    ...(type === 'qwen2' && { model_type: type }),
    hidden_size: TEXT.hidden,
    intermediate_size: TEXT.ffn,
    num_hidden_layers: TEXT.layers,
    num_attention_heads: TEXT.heads,
    num_key_value_heads: TEXT.kvHeads,
    vocab_size: TEXT.vocabulary,
    max_position_embeddings: CONTEXT,
    rope_theta: 1e6,
    rms_norm_eps: 1e-6,
    hidden_act: 'silu',
    tie_word_embeddings: false,
    torch_dtype: 'float16',
  };
}

function biased(name, rows, columns) {
  return [
    [`${name}.weight`, [rows, columns]],
    [`${name}.bias`, [rows]],
  ];
}

/** Bytes, words and the special tokens, and a template that writes `image` for a picture; → the ids of the special ones. */
function writeTokenizer(folder, specials, image) {
  const first = TEXT.vocabulary - specials.length;
  const tokenizer = byteTokenizer(first);
  tokenizer.added_tokens = specials.map((content, i) => ({ id: first + i, content, special: true }));
  write(folder, 'tokenizer.json', tokenizer);
  const part = `{% if part.type == 'image' %}{{ '${image}' }}{% else %}{{ part.text }}{% endif %}`;
  const content = `{% if message.content is string %}{{ message.content }}{% else %}{% for part in message.content %}${part}{% endfor %}{% endif %}`;
  const template = `{% for message in messages %}${content}{% endfor %}`;
  write(folder, 'tokenizer_config.json', { chat_template: template });
  return specials.map((_, i) => first + i);
}

function write(folder, name, content) {
  writeFileSync(join(folder, name), JSON.stringify(content, null, 2));
}

function qwenFlops() {
  const { hidden, layers, ffn, patch, merge, window, full } = QWEN;
  const grain = patch * merge;
  const patches = ((Math.round(SIDE / grain) * grain) / patch) ** 2;
  const perWindow = (window / patch) ** 2;
  const block = linear(patches, hidden, 4 * hidden) + 3 * linear(patches, hidden, ffn);
  const wide = merge ** 2 * hidden;
  const tokens = patches / merge ** 2;
  return (
    linear(patches, 6 * patch ** 2, hidden) +
    layers * block +
    full.length * attention(patches, patches, hidden) +
    (layers - full.length) * attention(patches, perWindow, hidden) +
    linear(tokens, wide, wide) +
    linear(tokens, wide, TEXT.hidden)
  );
}

function internFlops() {
  const { hidden, layers, ffn, patch, side } = INTERN;
  const patches = (side / patch) ** 2;
  const rows = TILES * (patches + 1);
  const block = linear(rows, hidden, 4 * hidden) + 2 * linear(rows, hidden, ffn);
  const tokens = (TILES * patches) / 4;
  return (
    linear(TILES * patches, 3 * patch ** 2, hidden) +
    layers * (block + attention(rows, patches + 1, hidden)) +
    linear(tokens, 4 * hidden, TEXT.hidden) +
    linear(tokens, TEXT.hidden, TEXT.hidden)
  );
}

function seeingLines(result) {
  const { towerFlops, tokens, picture, text, second, conversation, short, parameters, ceilings, memory } =
    result;
  const time = pick(result);
  const seconds = (times) => `${(time(times) / 1000).toFixed(2)} s`;
  const tower = time(picture) - time(text);
  const share = (flops, ms) =>
    `${(flops / ms / 1e6).toFixed(1)} GFLOP/s, ${percent(flops / ms / 1e6 / ceilings.gflops)} of the FMA peak`;
  return [
    line(`first token about a picture of ${SIDE}²`, seconds(picture), `${tokens} tokens of the prompt`),
    line(
      'of that the tower',
      `${(tower / 1000).toFixed(2)} s`,
      `${share(towerFlops, tower)}; with the preparation of the pixels`,
    ),
    line('prefill of as many tokens of text', seconds(text), share(2 * parameters * tokens, time(text))),
    line(
      'second question about it',
      seconds(second),
      `${(time(second) / time(conversation)).toFixed(2)} of a second question after as much text, ${(time(second) / time(short)).toFixed(2)} of the same question alone`,
    ),
    line(
      'GPU memory',
      mebibytes(memory.weights + memory.kv + memory.arena),
      `weights ${mebibytes(memory.weights)}`,
    ),
  ];
}

/** Weights of the language model that every token of a prompt is multiplied by. */
export function promptWeights() {
  const { hidden, heads, kvHeads, dims, ffn, layers } = TEXT;
  return layers * (2 * hidden * heads * dims + 2 * hidden * kvHeads * dims + 3 * hidden * ffn);
}
