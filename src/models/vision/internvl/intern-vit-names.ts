// Names of the tensors of InternVL's tower and projector: those of transformers, and those of the original layout.

import type { InternLayout } from './intern-vit-config.ts';

export interface InternVitNames {
  whole: string;
  patch: string;
  places: string;
  /** A norm behind the last layer. */
  lastNorm: string;
  layer(i: number): InternLayerNames;
  projector: { norm: string; first: string; second: string };
}

export interface InternLayerNames {
  norms: readonly [string, string];
  /** Queries, keys and values in three tensors, and in one; null: they are in three. */
  apart: readonly string[];
  whole: string | null;
  queryNorm: string;
  keyNorm: string;
  out: string;
  up: string;
  down: string;
  scales: readonly [string, string];
}

const TRANSFORMERS: InternVitNames = {
  whole: 'vision_tower.embeddings.cls_token',
  patch: 'vision_tower.embeddings.patch_embeddings.projection.weight',
  places: 'vision_tower.embeddings.position_embeddings',
  lastNorm: 'vision_tower.layernorm',
  layer(i) {
    const name = `vision_tower.encoder.layer.${i}`;
    return {
      norms: [`${name}.layernorm_before`, `${name}.layernorm_after`],
      apart: ['q', 'k', 'v'].map((part) => `${name}.attention.${part}_proj.weight`),
      whole: null,
      queryNorm: `${name}.attention.q_norm.weight`,
      keyNorm: `${name}.attention.k_norm.weight`,
      out: `${name}.attention.projection_layer.weight`,
      up: `${name}.mlp.fc1.weight`,
      down: `${name}.mlp.fc2.weight`,
      scales: [`${name}.lambda_1`, `${name}.lambda_2`],
    };
  },
  projector: {
    norm: 'multi_modal_projector.layer_norm',
    first: 'multi_modal_projector.linear_1.weight',
    second: 'multi_modal_projector.linear_2.weight',
  },
};

const ORIGINAL: InternVitNames = {
  whole: 'vision_model.embeddings.class_embedding',
  patch: 'vision_model.embeddings.patch_embedding.weight',
  places: 'vision_model.embeddings.position_embedding',
  lastNorm: 'vision_model.layernorm',
  layer(i) {
    const name = `vision_model.encoder.layers.${i}`;
    return {
      norms: [`${name}.norm1`, `${name}.norm2`],
      // GGUF files have them apart.
      apart: ['q', 'k', 'v'].map((part) => `${name}.attn.${part}.weight`),
      whole: `${name}.attn.qkv.weight`,
      queryNorm: `${name}.attn.q_norm.weight`,
      keyNorm: `${name}.attn.k_norm.weight`,
      out: `${name}.attn.proj.weight`,
      up: `${name}.mlp.fc1.weight`,
      down: `${name}.mlp.fc2.weight`,
      scales: [`${name}.ls1`, `${name}.ls2`],
    };
  },
  projector: { norm: 'mlp1.0', first: 'mlp1.1.weight', second: 'mlp1.3.weight' },
};

export const INTERN_VIT_NAMES: Readonly<Record<InternLayout, InternVitNames>> = {
  transformers: TRANSFORMERS,
  original: ORIGINAL,
};
