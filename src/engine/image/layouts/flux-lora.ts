// Names that LoRA gives to modules of FLUX.1, FLUX.2 and Chroma: those of diffusers, of the programs of Black Forest Labs, which kohya's join by
// underscores, and of Xlabs. sources: diffusers' loaders/lora_conversion_utils.py, sd-scripts' networks/lora_flux.py

import type { LoraSign, OtherNames } from '../../../files/lora/scheme.ts';
import type { Rename } from '../../../files/pipeline/file-layout.ts';
import { equalRows } from '../../../files/pipeline/renamed-tensors.ts';
import { DOUBLE_ATTENTION, DOUBLE_BLOCKS } from './lora-names.ts';
import { queriesKeysValues } from './part-layouts.ts';

/** Parts of original names that have underscores. */
const WORDS = [
  ...['double_blocks', 'single_blocks', 'img_attn', 'txt_attn', 'img_mlp', 'txt_mlp', 'img_mod', 'txt_mod'],
  ...['img_in', 'txt_in', 'time_in', 'vector_in', 'guidance_in', 'in_layer', 'out_layer', 'final_layer'],
  ...['double_stream_modulation_img', 'double_stream_modulation_txt', 'single_stream_modulation'],
];

export const fluxWords = (rename: Rename): OtherNames => ({ rename, words: WORDS });

/** Names that Chroma shares. Its blocks have the sizes of FLUX.1, and no modules that modulate them. */
const EITHER = 'FLUX.1 or Chroma';
export const FLUX_WIDTH = 3072;
const ORIGINAL_ATTENTION = /double_blocks[._](\d+)[._](?:img|txt)_attn[._](?:qkv|proj)$/;
export const FLUX_SIGNS: readonly LoraSign[] = [
  { models: 'FLUX.1', module: /(?:double|single)_blocks[._]\d+[._](?:(?:img|txt)_mod|modulation)[._]lin$/ },
  {
    models: 'FLUX.1',
    module:
      /(?<!single_|joint_)(?:transformer_blocks[._]\d+[._]norm1(?:_context)?|single_transformer_blocks[._]\d+[._]norm)[._]linear$/,
    width: FLUX_WIDTH,
  },
  {
    models: EITHER,
    module: /single_transformer_blocks[._]\d+[._](?:attn[._]to_[qkv]|proj_mlp|proj_out)$/,
    width: FLUX_WIDTH,
  },
  {
    models: EITHER,
    module: /(?<!single_|joint_)transformer_blocks[._]\d+[._]ff(?:_context)?[._]net[._]/,
    width: FLUX_WIDTH,
  },
  { models: EITHER, module: /single_blocks[._]\d+[._]linear1$/, rows: 7 * FLUX_WIDTH },
  { models: EITHER, module: /single_blocks[._]\d+[._]linear2$/, columns: 5 * FLUX_WIDTH },
  { models: EITHER, module: /single_blocks[._]\d+[._](?:qkv|proj)$/, width: FLUX_WIDTH },
  { models: EITHER, module: /double_blocks[._]\d+[._](?:img|txt)_mlp[._]0$/, rows: 4 * FLUX_WIDTH },
  { models: EITHER, module: /double_blocks[._]\d+[._](?:img|txt)_mlp[._]2$/, columns: 4 * FLUX_WIDTH },
  // FLUX.2 klein has 5 blocks of two streams, and Qwen-Image 60.
  { models: EITHER, module: ORIGINAL_ATTENTION, width: FLUX_WIDTH, last: [5, DOUBLE_BLOCKS - 1] },
  { models: EITHER, module: DOUBLE_ATTENTION, width: FLUX_WIDTH, last: [5, DOUBLE_BLOCKS - 1] },
  { models: 'FLUX.1, Chroma or FLUX.2 klein', module: ORIGINAL_ATTENTION, width: FLUX_WIDTH, isVague: true },
  {
    models: 'FLUX.1, Chroma, FLUX.2 klein or Qwen-Image',
    module: DOUBLE_ATTENTION,
    width: FLUX_WIDTH,
    isVague: true,
  },
];

/** Xlabs adapts queries, keys and values of single blocks without the feed-forward part that stands behind them in one tensor. */
export const xlabsNames: Rename = (name, shape) => {
  const [, block, part] = /^single_blocks\.(\d+)\.(qkv|proj)\.weight$/.exec(name) ?? [];
  const renamed = `single_transformer_blocks.${block}`;
  if (part === 'proj') return `${renamed}.proj_out.weight`;
  return part === undefined ? name : queriesKeysValues((each) => `${renamed}.attn.to_${each}.weight`, shape);
};

/** Models in files of the original program have two tensors where diffusers has one. */
export const splitNorm: Rename = (name, shape) => {
  const [, kind] = /^norm_out\.linear\.(weight|bias)$/.exec(name) ?? [];
  return kind === undefined ? name : equalRows([`norm_out.scale.${kind}`, `norm_out.shift.${kind}`], shape);
};
