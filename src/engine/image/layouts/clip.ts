// CLIP's text encoders in one file: with the names of transformers, and with those of OpenCLIP. source: diffusers'
// loaders/single_file_utils.py

import type {
  FileHeaders,
  KnownTokenizer,
  NamedRows,
  PartConfig,
  PartLayout,
} from '../../../files/pipeline/file-layout.ts';
import { queriesKeysValues } from './part-layouts.ts';
import { Shapes } from './shapes.ts';

/** CLIP's tokenizer, which ships, padding with the end token. */
export const CLIP_TOKENIZER: KnownTokenizer = {
  className: 'CLIPTokenizer',
  shipped: 'clip-tokenizer',
  config: { bos_token: '<|startoftext|>', eos_token: '<|endoftext|>', pad_token: '<|endoftext|>' },
};

const EMBEDDING = 'text_model.embeddings.token_embedding.weight';
const PROJECTION = 'text_projection.weight';

/** OpenCLIP pads by the token with the id 0. */
export const OPEN_CLIP_TOKENIZER: KnownTokenizer = {
  ...CLIP_TOKENIZER,
  config: { ...CLIP_TOKENIZER.config, pad_token: '!' },
};

/** A text encoder with the names of transformers, some of which leave out `text_model.`. `projected`: its class has a projection. */
export function transformersClip(prefixes: readonly string[], projected: boolean): PartLayout[] {
  const layout = (outer: string): PartLayout => ({
    prefixes,
    signs: [EMBEDDING.replace('text_model.', outer), `${outer}final_layer_norm.weight`],
    names: () => (name) => {
      if (name === PROJECTION || name === INNER_PROJECTION) return projected ? PROJECTION : [];
      if (name.startsWith('text_model.')) return name;
      return outer === '' && /^(embeddings|encoder|final_layer_norm)\./.test(name)
        ? `text_model.${name}`
        : [];
    },
    configure: (headers) => clipConfig(headers, projected),
  });
  const fused: PartLayout = {
    prefixes,
    signs: [EMBEDDING, FUSED],
    names: () => (name, shape) => fusedNames(name, shape, projected),
    configure: (headers) => clipConfig(headers, projected, 'gelu'),
  };
  return [fused, layout('text_model.'), layout('')];
}

/** stable-diffusion.cpp's name of the projection. */
const INNER_PROJECTION = 'text_model.text_projection';
/** A tensor that stable-diffusion.cpp has of encoders that it read with the names of OpenCLIP. */
const FUSED = 'text_model.encoder.layers.0.self_attn.in_proj.weight';

/** Names of an OpenCLIP encoder that stable-diffusion.cpp gave most names of transformers. */
function fusedNames(
  name: string,
  shape: readonly number[],
  projected: boolean,
): string | readonly NamedRows[] {
  if (name === INNER_PROJECTION) return projected ? [{ name: PROJECTION, isTransposed: true }] : [];
  if (!name.startsWith('text_model.')) return [];
  const [, layer] = /^text_model\.encoder\.layers\.(\d+)\./.exec(name) ?? [];
  if (!projected && Number(layer) >= PENULTIMATE) return [];
  const [, attention, kind] = /^(.*\.self_attn)\.in_proj\.(weight|bias)$/.exec(name) ?? [];
  if (attention === undefined) return name;
  return queriesKeysValues((part) => `${attention}.${part}_proj.${kind}`, shape);
}

/** Numbered layers that OpenCLIP's ViT-H has and Stable Diffusion 2 runs: the last is left out. */
const PENULTIMATE = 23;

const OUTER: Readonly<Record<string, string>> = {
  'token_embedding.weight': EMBEDDING,
  positional_embedding: 'text_model.embeddings.position_embedding.weight',
  'ln_final.weight': 'text_model.final_layer_norm.weight',
  'ln_final.bias': 'text_model.final_layer_norm.bias',
};
const INNER: Readonly<Record<string, string>> = {
  ln_1: 'layer_norm1',
  ln_2: 'layer_norm2',
  'mlp.c_fc': 'mlp.fc1',
  'mlp.c_proj': 'mlp.fc2',
  'attn.out_proj': 'self_attn.out_proj',
};
const LAYER = /^transformer\.resblocks\.(\d+)\.(.+?)[._](weight|bias)$/;

/** A text encoder with the names of OpenCLIP. `projected`: its class has a projection, and all of its layers are run. */
export function openClip(prefixes: readonly string[], projected: boolean): PartLayout {
  return {
    prefixes,
    signs: ['token_embedding.weight', 'positional_embedding', 'ln_final.weight'],
    names: () => (name, shape) => openClipNames(name, shape, projected),
    configure: (headers) => clipConfig(headers, projected, 'gelu'),
  };
}

function openClipNames(
  name: string,
  shape: readonly number[],
  projected: boolean,
): string | readonly NamedRows[] {
  if (Object.hasOwn(OUTER, name)) return OUTER[name]!;
  // OpenCLIP multiplies by [hidden, projection].
  if (name === 'text_projection') return projected ? [{ name: PROJECTION, isTransposed: true }] : [];
  if (name === PROJECTION) return projected ? name : [];
  const [, layer, module, kind] = LAYER.exec(name) ?? [];
  if (module === undefined) return [];
  if (!projected && Number(layer) >= PENULTIMATE) return [];
  const own = `text_model.encoder.layers.${layer}`;
  if (module === 'attn.in_proj')
    return queriesKeysValues((part) => `${own}.self_attn.${part}_proj.${kind}`, shape);
  return Object.hasOwn(INNER, module) ? `${own}.${INNER[module]}.${kind}` : name;
}

/** Columns of a head in all of OpenAI's and OpenCLIP's text encoders. */
const HEAD_DIMS = 64;
/** Columns from which encoders are OpenCLIP's, with the exact GELU; OpenAI's largest has 768. */
const OPEN_CLIP_COLUMNS = 1024;

function clipConfig(headers: FileHeaders, projected: boolean, activation?: string): PartConfig {
  const shapes = new Shapes(headers, 'text encoder');
  const { extent } = shapes;
  const hidden = extent(EMBEDDING, 1);
  return {
    className: projected ? 'CLIPTextModelWithProjection' : 'CLIPTextModel',
    config: {
      vocab_size: extent(EMBEDDING, 0),
      hidden_size: hidden,
      max_position_embeddings: extent('text_model.embeddings.position_embedding.weight', 0),
      intermediate_size: extent('text_model.encoder.layers.0.mlp.fc1.weight', 0),
      num_hidden_layers: shapes.count((i) => `text_model.encoder.layers.${i}.mlp.fc1.weight`),
      num_attention_heads: Math.max(1, Math.floor(hidden / HEAD_DIMS)),
      hidden_act: activation ?? (hidden >= OPEN_CLIP_COLUMNS ? 'gelu' : 'quick_gelu'),
      eos_token_id: 49407,
      ...(projected && { projection_dim: extent(PROJECTION, 0) }),
    },
  };
}
