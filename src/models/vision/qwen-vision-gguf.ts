// GGUF files of Qwen2.5-VL with its vision tower beside it. source: llama.cpp's conversion of Qwen2.5-VL, gguf-py's tensor_mapping.py

import type { GgufTower } from '../../files/gguf/tower.ts';

const BLOCK = /^v\.blk\.(\d+)\.(\w+)\.(weight|bias)$/;
const MODULES: Readonly<Record<string, string>> = {
  ln1: 'norm1',
  ln2: 'norm2',
  attn_q: 'attn.q',
  attn_k: 'attn.k',
  attn_v: 'attn.v',
  attn_qkv: 'attn.qkv',
  attn_out: 'attn.proj',
  ffn_gate: 'mlp.gate_proj',
  ffn_up: 'mlp.up_proj',
  ffn_down: 'mlp.down_proj',
};
const OUTER: readonly (readonly [RegExp, string])[] = [
  [/^v\.patch_embd\./, 'visual.patch_embed.proj.'],
  [/^v\.post_ln\./, 'visual.merger.ln_q.'],
  [/^mm\.([02])\./, 'visual.merger.mlp.$1.'],
];

function named(name: string): string | null {
  const [, block, module = '', kind] = BLOCK.exec(name) ?? [];
  if (block !== undefined)
    return MODULES[module] === undefined ? null : `visual.blocks.${block}.${MODULES[module]}.${kind}`;
  const outer = OUTER.find(([pattern]) => pattern.test(name));
  return outer === undefined ? null : name.replace(...outer);
}

/** Columns that time, row and column rotate in published models. */
const SECTIONS = [16, 24, 24];
/** The token in whose place an image's rows stand. */
const IMAGE = '<|image_pad|>';

export const QWEN_VISION_GGUF: GgufTower = {
  projector: 'qwen2.5vl_merger',
  text: 'qwen2vl',
  className: 'Qwen2_5_VLForConditionalGeneration',
  named,
  config(language, { text, tower }) {
    const layers = tower.count('clip.vision.block_count');
    const every = tower.count('clip.vision.n_wa_pattern', 8);
    const sections = text.numbers('qwen2vl.rope.dimension_sections');
    const token = text.texts('tokenizer.ggml.tokens')?.indexOf(IMAGE) ?? -1;
    return {
      model_type: 'qwen2_5_vl',
      architectures: ['Qwen2_5_VLForConditionalGeneration'],
      tie_word_embeddings: language['tie_word_embeddings'] ?? false,
      text_config: {
        ...language,
        model_type: 'qwen2_5_vl_text',
        rope_scaling: {
          type: 'default',
          rope_type: 'default',
          mrope_section: sections === null ? SECTIONS : Array.from(sections).slice(0, SECTIONS.length),
        },
      },
      vision_config: {
        model_type: 'qwen2_5_vl_vision',
        depth: layers,
        hidden_size: tower.count('clip.vision.embedding_length'),
        intermediate_size: tower.count('clip.vision.feed_forward_length'),
        out_hidden_size: language['hidden_size'],
        num_heads: tower.count('clip.vision.attention.head_count'),
        patch_size: tower.count('clip.vision.patch_size', 14),
        window_size: tower.count('clip.vision.window_size', 112),
        fullatt_block_indexes: Array.from({ length: layers }, (_, i) => i).filter(
          (i) => (i + 1) % every === 0,
        ),
        spatial_merge_size: tower.count('clip.vision.spatial_merge_size', 2),
        temporal_patch_size: 2,
        hidden_act: 'silu',
        in_channels: 3,
      },
      ...(token >= 0 && { image_token_id: token }),
    };
  },
};
