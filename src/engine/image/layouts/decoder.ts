// Language models that encode prompts, in one file: with the names of transformers, which their files keep.

import type { FileHeaders, PartConfig, PartLayout } from '../../../files/pipeline/file-layout.ts';
import { Shapes } from './shapes.ts';

const FIRST = 'model.layers.0';

/** Qwen3, whose heads of queries and keys have norms. */
export const qwenLayout = (prefixes: readonly string[]): PartLayout => ({
  prefixes,
  signs: ['model.embed_tokens.weight', `${FIRST}.self_attn.q_norm.weight`, 'model.norm.weight'],
  names: () => (name) => name,
  configure(headers) {
    const shapes = new Shapes(headers, 'text encoder');
    const dims = shapes.extent(`${FIRST}.self_attn.q_norm.weight`, 0);
    return decoderConfig(shapes, 'Qwen3ForCausalLM', {
      ...headsOf(shapes, dims),
      model_type: 'qwen3',
      head_dim: dims,
      rms_norm_eps: 1e-6,
      rope_theta: 1_000_000,
      max_position_embeddings: 40_960,
      tie_word_embeddings: !headers.has('lm_head.weight'),
    });
  },
});

/** The tokenizer's file, which ComfyUI keeps as a tensor. */
const VOCABULARY = 'tekken_model';
/** Columns of a head of Mistral Small 3. */
const MISTRAL_DIMS = 128;

/** Mistral Small 3, whole or cut behind the last layer that FLUX.2 reads. */
export const mistralLayout = (prefixes: readonly string[]): PartLayout => ({
  prefixes,
  signs: ['model.embed_tokens.weight', `${FIRST}.self_attn.q_proj.weight`, `${FIRST}.mlp.gate_proj.weight`],
  names: () => (name) => (name === VOCABULARY ? [] : name),
  configure(headers: FileHeaders) {
    const shapes = new Shapes(headers, 'text encoder');
    return decoderConfig(shapes, 'MistralForCausalLM', {
      ...headsOf(shapes, MISTRAL_DIMS),
      model_type: 'mistral',
      // A file without the last norm was cut: there were more layers.
      num_hidden_layers: layersOf(shapes) + Number(!headers.has('model.norm.weight')),
      head_dim: MISTRAL_DIMS,
      rms_norm_eps: 1e-5,
      rope_theta: 1_000_000_000,
      max_position_embeddings: 131_072,
      sliding_window: null,
      tie_word_embeddings: false,
    });
  },
});

const layersOf = (shapes: Shapes): number => shapes.count((i) => `model.layers.${i}.mlp.gate_proj.weight`);

/** Numbers of heads. `dims`: columns of a head. */
export function headsOf(shapes: Shapes, dims: number) {
  const heads = (part: 'q' | 'k'): number =>
    Math.max(1, Math.floor(shapes.extent(`${FIRST}.self_attn.${part}_proj.weight`, 0) / dims));
  return { num_attention_heads: heads('q'), num_key_value_heads: heads('k') };
}

/** Sizes that the tensors of any decoder show. */
export const decoderSizes = (shapes: Shapes) => ({
  vocab_size: shapes.extent('model.embed_tokens.weight', 0),
  hidden_size: shapes.extent('model.embed_tokens.weight', 1),
  intermediate_size: shapes.extent(`${FIRST}.mlp.gate_proj.weight`, 0),
  num_hidden_layers: layersOf(shapes),
});

const decoderConfig = (
  shapes: Shapes,
  className: string,
  config: Readonly<Record<string, unknown>>,
): PartConfig => ({
  className,
  config: { architectures: [className], ...decoderSizes(shapes), ...config },
});
