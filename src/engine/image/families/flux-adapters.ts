// Names that adapters give to modules of FLUX.1 and FLUX.2: those of diffusers, of the programs of Black Forest Labs, which kohya's join by
// underscores, and of Xlabs. sources: diffusers' loaders/lora_conversion_utils.py, sd-scripts' networks/lora_flux.py

import type { AdapterScheme, OtherNames } from '../../../files/lora/scheme.ts';
import type { Rename } from '../../../files/pipeline/file-layout.ts';
import { equalRows } from '../../../files/pipeline/renamed-tensors.ts';
import { originalNames } from '../layouts/flux.ts';
import { originalNames as flux2Names } from '../layouts/flux2.ts';
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

/** Names that only FLUX.2 has are a sign of it; so are the widths of its larger models. */
export const FLUX2_ADAPTERS: AdapterScheme = {
  parts: [transformerAdapters(named(flux2Names), named(splitNorm)), decoderAdapters('text_encoder')],
  signs: [
    { models: 'FLUX.2', module: /(?:_stream_modulation|to_qkv_mlp_proj|[._]linear_in$)/ },
    { models: 'FLUX.2 dev', module: BLOCKS, columns: 6144 },
    { models: 'FLUX.2 klein 9B', module: BLOCKS, columns: 4096 },
  ],
};
