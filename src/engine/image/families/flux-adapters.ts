// Names that adapters give to modules of FLUX.1 and FLUX.2: those of diffusers, of the programs of Black Forest Labs, which kohya's join by
// underscores, and of Xlabs. sources: diffusers' loaders/lora_conversion_utils.py, sd-scripts' networks/lora_flux.py

import type { AdapterScheme, OtherNames } from '../../../files/lora/scheme.ts';
import type { NamedRows, Rename } from '../../../files/pipeline/file-layout.ts';
import { equalRows } from '../../../files/pipeline/renamed-tensors.ts';
import { originalNames } from '../layouts/flux.ts';
import { clipAdapters, decoderAdapters, t5Adapters, transformerAdapters } from './adapter-names.ts';

/** Parts of original names that have underscores. */
const WORDS = [
  ...['double_blocks', 'single_blocks', 'img_attn', 'txt_attn', 'img_mlp', 'txt_mlp', 'img_mod', 'txt_mod'],
  ...['img_in', 'txt_in', 'time_in', 'vector_in', 'guidance_in', 'in_layer', 'out_layer', 'final_layer'],
  ...['double_stream_modulation_img', 'double_stream_modulation_txt', 'single_stream_modulation'],
];

const BLOCKS = /(?:single_transformer_blocks|(?:double|single)_blocks)[._]\d+[._]/;

/** Xlabs adapts queries, keys and values of single blocks without the feed-forward part that stands behind them in one tensor. */
const xlabsNames: Rename = (name, shape) => {
  const [, block, part] = /^single_blocks\.(\d+)\.(qkv|proj)\.weight$/.exec(name) ?? [];
  const renamed = `single_transformer_blocks.${block}`;
  if (part === 'proj') return `${renamed}.proj_out.weight`;
  if (part === undefined) return name;
  return equalRows(
    ['q', 'k', 'v'].map((each) => `${renamed}.attn.to_${each}.weight`),
    shape,
  );
};

/** Models in files of the original program have two tensors where diffusers has one. */
const splitNorm: Rename = (name, shape) => {
  const [, kind] = /^norm_out\.linear\.(weight|bias)$/.exec(name) ?? [];
  return kind === undefined ? name : equalRows([`norm_out.scale.${kind}`, `norm_out.shift.${kind}`], shape);
};

const named = (rename: Rename): OtherNames => ({ rename, words: WORDS });

export const FLUX_ADAPTERS: AdapterScheme = {
  parts: [
    {
      ...transformerAdapters(named(originalNames), named(xlabsNames), named(splitNorm)),
      input: 'x_embedder.weight',
    },
    clipAdapters('text_encoder', { nth: 1, original: 'clip_l' }),
    t5Adapters('text_encoder_2', 3),
  ],
  signs: [{ models: 'FLUX.1', module: BLOCKS, columns: 3072 }],
};

/** Chroma has the blocks of FLUX.1 without the modules that modulate them. */
export const CHROMA_ADAPTERS: AdapterScheme = {
  parts: [
    transformerAdapters(named(originalNames), named(xlabsNames)),
    { ...t5Adapters('text_encoder', 1), flat: ['lora_te_', 'lora_te1_', 'lora_te3_'] },
  ],
  signs: [{ models: 'Chroma', module: /distilled_guidance_layer/ }],
};

/** Modules of FLUX.2's blocks in diffusers by their original names. */
const FLUX2_MODULES: readonly (readonly [RegExp, string])[] = [
  [/^img_in\./, 'x_embedder.'],
  [/^txt_in\./, 'context_embedder.'],
  [/^time_in\.in_layer\./, 'time_guidance_embed.timestep_embedder.linear_1.'],
  [/^time_in\.out_layer\./, 'time_guidance_embed.timestep_embedder.linear_2.'],
  [/^guidance_in\.in_layer\./, 'time_guidance_embed.guidance_embedder.linear_1.'],
  [/^guidance_in\.out_layer\./, 'time_guidance_embed.guidance_embedder.linear_2.'],
  [/^((?:double|single)_stream_modulation(?:_img|_txt)?)\.lin\./, '$1.linear.'],
  [/^final_layer\.linear\./, 'proj_out.'],
  [/^double_blocks\.(\d+)\.img_attn\.proj\./, 'transformer_blocks.$1.attn.to_out.0.'],
  [/^double_blocks\.(\d+)\.txt_attn\.proj\./, 'transformer_blocks.$1.attn.to_add_out.'],
  [/^double_blocks\.(\d+)\.img_mlp\.0\./, 'transformer_blocks.$1.ff.linear_in.'],
  [/^double_blocks\.(\d+)\.img_mlp\.2\./, 'transformer_blocks.$1.ff.linear_out.'],
  [/^double_blocks\.(\d+)\.txt_mlp\.0\./, 'transformer_blocks.$1.ff_context.linear_in.'],
  [/^double_blocks\.(\d+)\.txt_mlp\.2\./, 'transformer_blocks.$1.ff_context.linear_out.'],
  [/^single_blocks\.(\d+)\.linear1\./, 'single_transformer_blocks.$1.attn.to_qkv_mlp_proj.'],
  [/^single_blocks\.(\d+)\.linear2\./, 'single_transformer_blocks.$1.attn.to_out.'],
];

const FLUX2_FUSED: Readonly<Record<string, readonly string[]>> = {
  img_attn: ['to_q', 'to_k', 'to_v'],
  txt_attn: ['add_q_proj', 'add_k_proj', 'add_v_proj'],
};

function flux2Names(name: string, shape: readonly number[]): string | readonly NamedRows[] {
  const [, block, stream, kind] =
    /^double_blocks\.(\d+)\.(img_attn|txt_attn)\.qkv\.(weight|bias)$/.exec(name) ?? [];
  if (kind === undefined)
    return FLUX2_MODULES.reduce((renamed, [pattern, other]) => renamed.replace(pattern, other), name);
  return equalRows(
    FLUX2_FUSED[stream!]!.map((part) => `transformer_blocks.${block}.attn.${part}.${kind}`),
    shape,
  );
}

/** Names that only FLUX.2 has are a sign of it; so are the widths of its larger models. */
export const FLUX2_ADAPTERS: AdapterScheme = {
  parts: [transformerAdapters(named(flux2Names), named(splitNorm)), decoderAdapters('text_encoder')],
  signs: [
    { models: 'FLUX.2', module: /(?:_stream_modulation|to_qkv_mlp_proj|[._]linear_in$)/ },
    { models: 'FLUX.2 dev', module: BLOCKS, columns: 6144 },
    { models: 'FLUX.2 klein 9B', module: BLOCKS, columns: 4096 },
  ],
};
