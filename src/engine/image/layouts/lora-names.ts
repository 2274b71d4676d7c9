// Names that LoRAs give to modules of the components that several families share: UNets, CLIP's text encoders, transformers. Prefixes are
// those of diffusers, PEFT, ComfyUI and kohya's programs.

import type { LoraTarget, LoraSign, OtherNames } from '../../../files/lora/scheme.ts';
import type { Rename } from '../../../files/pipeline/file-layout.ts';
import { countNames } from './shapes.ts';
import { unetName } from './unet-names.ts';

const UNET_WORDS = [
  ...['input_blocks', 'middle_block', 'output_blocks', 'in_layers', 'out_layers', 'emb_layers'],
  ...['skip_connection', 'time_embed', 'label_emb', 'transformer_blocks', 'proj_in', 'proj_out'],
  ...['to_q', 'to_k', 'to_v', 'to_out'],
];

export const UNET_LORA: LoraTarget = {
  component: 'unet',
  dotted: ['unet.', 'model.diffusion_model.', 'diffusion_model.', ''],
  flat: ['lora_unet_', 'lycoris_'],
  others(tensors) {
    const layers = countNames(tensors, (i) => `down_blocks.0.resnets.${i}.conv1.weight`);
    return [{ rename: (name) => unetName(name, layers), words: UNET_WORDS }];
  },
};

/** A transformer in a UNet, and the number of its block. */
const IN_UNET = String.raw`(?:attentions|input_blocks|output_blocks|middle_block)[._]\d+(?:[._]\d+)?[._]transformer_blocks[._]`;

/** Modules that take the columns of the text, by which families of UNets differ. */
export const TO_KEYS = new RegExp(String.raw`${IN_UNET}\d+[._]attn2[._](?:processor[._])?to_[kv]$`);

/** Only Stable Diffusion XL has several blocks in a transformer. */
export const DEEP_UNET = new RegExp(String.raw`${IN_UNET}[1-9]\d*[._]`);

/** LoRAs that change no module by which the families of UNets differ; the first level has transformers in 1 and 2 alone. */
export const FIRST_UNETS: LoraSign = {
  models: 'Stable Diffusion 1 or 2',
  module:
    /(?:down_blocks[._]0[._]attentions|up_blocks[._]3[._]attentions|input_blocks[._][12][._]1|output_blocks[._](?:9|10|11)[._]1)[._]/,
  isVague: true,
};

export const ANY_UNET: LoraSign = {
  models: 'Stable Diffusion 1, 2 or XL',
  module:
    /(?:^|[._])(?:(?:down|up)_blocks[._]\d+[._](?:attentions|resnets|(?:down|up)samplers)|mid_block[._](?:attentions|resnets)|(?:input|output)_blocks[._]\d+|middle_block)[._]/,
  isVague: true,
};

/** Modules of CLIP where a model has one text encoder, by kohya's names. */
export const ONLY_CLIP = /^lora_te_text_model_/;

const CLIP_WORDS = [
  ...['text_model', 'final_layer_norm', 'text_projection', 'self_attn', 'q_proj', 'k_proj', 'v_proj'],
  ...['out_proj', 'layer_norm1', 'layer_norm2', 'token_embedding', 'position_embedding'],
];

/** Transformers before 5 names all modules after `text_model`, and checkpoints of either kind exist. */
const CLIP_NAMES: readonly OtherNames[] = [
  { rename: (name) => `text_model.${name}`, words: CLIP_WORDS },
  { rename: (name) => name.replace(/^text_model\./, ''), words: CLIP_WORDS },
];

/** `nth`: the number that kohya's programs give to a text encoder of several; `original`: ComfyUI's name of it. */
export function clipLora(
  component: string,
  { nth, original }: { nth: number; original: string },
): LoraTarget {
  return {
    component,
    dotted: [`${component}.`, `text_encoders.${original}.transformer.`, `text_encoders.${original}.`],
    flat: [`lora_te${nth}_`, ...(nth === 1 ? ['lora_te_'] : [])],
    others: () => CLIP_NAMES,
  };
}

/** Attention of blocks with two streams, and the number of the block, by diffusers' names. */
export const DOUBLE_ATTENTION = /(?<!single_|joint_)transformer_blocks[._](\d+)[._]attn[._]/;

/** Number of such blocks in FLUX.1. */
export const DOUBLE_BLOCKS = 19;

/** A transformer; `originals`: the names of original programs. */
export function transformerLora(...originals: readonly OtherNames[]): LoraTarget {
  return {
    component: 'transformer',
    dotted: ['transformer.', 'model.diffusion_model.', 'diffusion_model.', ''],
    flat: ['lora_unet_', 'lora_transformer_', 'lycoris_'],
    others: () => originals,
  };
}

/** Blocks of Sana 0.6B and of PixArt have the same names and widths, except in their feed-forward parts. */
export const PIXART_OR_SANA: LoraSign = {
  models: 'PixArt or Sana 0.6B',
  module: /transformer_blocks[._]\d+[._]attn[12][._]to_(?:q|k|v|out[._]0)$/,
  width: 1152,
  isVague: true,
};

/** T5's encoder; `nth`: the number that kohya's programs give to it. */
export function t5Lora(component: string, nth: number): LoraTarget {
  return {
    component,
    dotted: [`${component}.`, 'text_encoders.t5xxl.transformer.', 'text_encoders.t5xxl.'],
    flat: [`lora_te${nth}_`],
  };
}

/** The module by which the names of a language model's layers begin in its files. */
const FIRST_LAYER = /^(.*)layers\.0\.self_attn\.q_proj\.weight$/;
const DECODER_WORDS = [
  'self_attn',
  'q_proj',
  'k_proj',
  'v_proj',
  'o_proj',
  'gate_proj',
  'up_proj',
  'down_proj',
];

/** A language model as text encoder, whose files may have it within other modules. */
export function decoderLora(component: string): LoraTarget {
  return {
    component,
    dotted: [`${component}.`],
    flat: ['lora_te_', 'lora_te1_'],
    others(tensors) {
      const outer = [...tensors.keys()].flatMap((name) => FIRST_LAYER.exec(name)?.[1] ?? [])[0] ?? '';
      const rename: Rename = (name) => name.replace(/^(?:model\.)?(?:language_model\.)?(?=layers\.)/, outer);
      return [{ rename, words: DECODER_WORDS }];
    },
  };
}
