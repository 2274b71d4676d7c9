// Names that adapters give to modules of FLUX.1 and FLUX.2: those of diffusers, of the programs of Black Forest Labs, which kohya's join by
// underscores, and of Xlabs. sources: diffusers' loaders/lora_conversion_utils.py, sd-scripts' networks/lora_flux.py

import type { AdapterScheme, AdapterSign, OtherNames } from '../../../../files/lora/scheme.ts';
import type { Rename } from '../../../../files/pipeline/file-layout.ts';
import { equalRows } from '../../../../files/pipeline/renamed-tensors.ts';
import { originalNames } from './flux-layout.ts';
import { originalNames as flux2Names } from '../flux2/flux2-layout.ts';
import {
  clipAdapters,
  decoderAdapters,
  DOUBLE_ATTENTION,
  DOUBLE_BLOCKS,
  t5Adapters,
  transformerAdapters,
} from '../../blocks/adapter-names.ts';

/** Parts of original names that have underscores. */
const WORDS = [
  ...['double_blocks', 'single_blocks', 'img_attn', 'txt_attn', 'img_mlp', 'txt_mlp', 'img_mod', 'txt_mod'],
  ...['img_in', 'txt_in', 'time_in', 'vector_in', 'guidance_in', 'in_layer', 'out_layer', 'final_layer'],
  ...['double_stream_modulation_img', 'double_stream_modulation_txt', 'single_stream_modulation'],
];

const BLOCKS = /(?:single_transformer_blocks|(?:double|single)_blocks)[._]\d+[._]/;

/** Names that Chroma shares. Its blocks have the sizes of FLUX.1, and no modules that modulate them. */
const EITHER = 'FLUX.1 or Chroma';
const WIDTH = 3072;
const ORIGINAL_ATTENTION = /double_blocks[._](\d+)[._](?:img|txt)_attn[._](?:qkv|proj)$/;
const FLUX_SIGNS: readonly AdapterSign[] = [
  { models: 'FLUX.1', module: /(?:double|single)_blocks[._]\d+[._](?:(?:img|txt)_mod|modulation)[._]lin$/ },
  {
    models: 'FLUX.1',
    module:
      /(?<!single_|joint_)(?:transformer_blocks[._]\d+[._]norm1(?:_context)?|single_transformer_blocks[._]\d+[._]norm)[._]linear$/,
    width: WIDTH,
  },
  {
    models: EITHER,
    module: /single_transformer_blocks[._]\d+[._](?:attn[._]to_[qkv]|proj_mlp|proj_out)$/,
    width: WIDTH,
  },
  {
    models: EITHER,
    module: /(?<!single_|joint_)transformer_blocks[._]\d+[._]ff(?:_context)?[._]net[._]/,
    width: WIDTH,
  },
  { models: EITHER, module: /single_blocks[._]\d+[._]linear1$/, rows: 7 * WIDTH },
  { models: EITHER, module: /single_blocks[._]\d+[._]linear2$/, columns: 5 * WIDTH },
  { models: EITHER, module: /single_blocks[._]\d+[._](?:qkv|proj)$/, width: WIDTH },
  { models: EITHER, module: /double_blocks[._]\d+[._](?:img|txt)_mlp[._]0$/, rows: 4 * WIDTH },
  { models: EITHER, module: /double_blocks[._]\d+[._](?:img|txt)_mlp[._]2$/, columns: 4 * WIDTH },
  // FLUX.2 klein has 5 blocks of two streams, and Qwen-Image 60.
  { models: EITHER, module: ORIGINAL_ATTENTION, width: WIDTH, last: [5, DOUBLE_BLOCKS - 1] },
  { models: EITHER, module: DOUBLE_ATTENTION, width: WIDTH, last: [5, DOUBLE_BLOCKS - 1] },
  { models: 'FLUX.1, Chroma or FLUX.2 klein', module: ORIGINAL_ATTENTION, width: WIDTH, isVague: true },
  {
    models: 'FLUX.1, Chroma, FLUX.2 klein or Qwen-Image',
    module: DOUBLE_ATTENTION,
    width: WIDTH,
    isVague: true,
  },
];

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
  signs: FLUX_SIGNS,
};

/** Chroma has the blocks of FLUX.1 without the modules that modulate them. */
export const CHROMA_ADAPTERS: AdapterScheme = {
  parts: [
    transformerAdapters(named(originalNames), named(xlabsNames)),
    { ...t5Adapters('text_encoder', 1), flat: ['lora_te_', 'lora_te1_', 'lora_te3_'] },
  ],
  // Adapters for FLUX.1 are given to Chroma too.
  signs: [{ models: 'Chroma', module: /distilled_guidance_layer/ }, ...FLUX_SIGNS],
};

/** Names that only FLUX.2 has are a sign of it; so are the widths of its larger models. */
export const FLUX2_ADAPTERS: AdapterScheme = {
  parts: [transformerAdapters(named(flux2Names), named(splitNorm)), decoderAdapters('text_encoder')],
  signs: [
    { models: 'FLUX.2', module: /(?:_stream_modulation|to_qkv_mlp_proj|[._]linear_in$)/ },
    { models: 'FLUX.2 dev', module: BLOCKS, width: 6144 },
    { models: 'FLUX.2 klein 9B', module: BLOCKS, width: 4096 },
    { models: 'FLUX.2 dev', module: DOUBLE_ATTENTION, width: 6144 },
    { models: 'FLUX.2 klein 9B', module: DOUBLE_ATTENTION, width: 4096 },
    // The feed-forward parts are three times as wide, and doubled by their gates.
    { models: 'FLUX.2 klein 4B', module: /single_blocks[._]\d+[._]linear1$/, rows: 9 * WIDTH },
    { models: 'FLUX.2 klein 4B', module: /single_blocks[._]\d+[._]linear2$/, columns: 4 * WIDTH },
    { models: 'FLUX.2 klein 4B', module: /double_blocks[._]\d+[._](?:img|txt)_mlp[._]0$/, rows: 6 * WIDTH },
    {
      models: 'FLUX.2 klein 4B',
      module: /double_blocks[._]\d+[._](?:img|txt)_mlp[._]2$/,
      columns: 3 * WIDTH,
    },
  ],
};
