// ControlNets of Stable Diffusion in one file: the layout of the original program, which other programs keep, and that of diffusers.
// source: diffusers' loaders/single_file_utils.py

import { unsupported } from '../../../../files/error.ts';
import type { FileHeaders, PartConfig, PartLayout } from '../../../../files/pipeline/file-layout.ts';
import { Shapes } from '../../layouts/shapes.ts';
import { layersOf, unetName } from '../../layouts/unet-names.ts';
import { downConfig } from './unet-layout.ts';

const HINT = /^input_hint_block\.(\d+)\.(.*)$/;
const ZERO = /^zero_convs\.(\d+)\.0\.(.*)$/;
const MIDDLE = 'middle_block_out.0.';

const IMAGE = 'controlnet_cond_embedding';

export const ORIGINAL_CONTROLNET: PartLayout = {
  prefixes: ['control_model.', 'controlnet.', ''],
  signs: ['input_hint_block.0.weight', 'zero_convs.0.0.weight', 'input_blocks.0.0.weight'],
  names(headers) {
    refuseOthers(headers);
    const layers = layersOf((name) => headers.has(name));
    const last = Math.max(...[...headers.keys()].map((name) => Number(HINT.exec(name)?.[1] ?? 0)));
    return (name) => controlNetName(name, layers, last);
  },
  configure: controlNetConfig,
};

export const DIFFUSERS_CONTROLNET: PartLayout = {
  prefixes: ['controlnet.', ''],
  signs: [`${IMAGE}.conv_in.weight`, 'controlnet_down_blocks.0.weight', 'conv_in.weight'],
  names(headers) {
    refuseOthers(headers);
    return (name) => name;
  },
  configure: controlNetConfig,
};

/** Files of other networks for control images, each with a tensor that shows it. */
const OTHER_FILES: readonly (readonly [sign: string, holds: string])[] = [
  [
    'lllite_unet_input_blocks_4_1_transformer_blocks_0_attn1_to_q.conditioning1.0.weight',
    'a ControlNet-LLLite',
  ],
  ['lllite_unet_input_blocks_4_1_transformer_blocks_0_attn1_to_q.down.0.weight', 'a ControlNet-LLLite'],
  ['control_to_base_for_conv_in.weight', 'a ControlNet-XS, which computes beside each block of a UNet'],
  [
    'controlnet_blocks.0.weight',
    'a ControlNet of a transformer, such as those for FLUX.1 and Stable Diffusion 3',
  ],
];

const refused = OTHER_FILES.map(([sign, holds]): PartLayout => ({
  prefixes: [''],
  signs: [sign],
  names: () => refuse(holds),
  configure: controlNetConfig,
}));

export const CONTROLNETS = [ORIGINAL_CONTROLNET, DIFFUSERS_CONTROLNET, ...refused];

/** `last`: number of the last convolution of the network for the image; activations stand between them. */
function controlNetName(name: string, layers: number, last: number): string {
  const [, hint, ofHint] = HINT.exec(name) ?? [];
  if (hint !== undefined) {
    const at = Number(hint);
    const module = at === 0 ? 'conv_in' : at === last ? 'conv_out' : `blocks.${at / 2 - 1}`;
    return `${IMAGE}.${module}.${ofHint}`;
  }
  const [, zero, ofZero] = ZERO.exec(name) ?? [];
  if (zero !== undefined) return `controlnet_down_blocks.${zero}.${ofZero}`;
  if (name.startsWith(MIDDLE)) return `controlnet_mid_block.${name.slice(MIDDLE.length)}`;
  return unetName(name, layers);
}

/** Signs of networks that have the tensors of a ControlNet and compute something else. */
const OTHERS: readonly (readonly [sign: string, holds: string])[] = [
  ['task_embedding', 'a ControlNet-Union, which takes several kinds of images'],
  ['control_add_embedding.linear_1.weight', 'a ControlNet-Union, which takes several kinds of images'],
  ['difference', 'the difference between a ControlNet and the model that it was trained with'],
  ['lora_controlnet', 'a Control-LoRA, which changes a copy of the model'],
];

function refuseOthers(headers: FileHeaders): void {
  const other = OTHERS.find(([sign]) => headers.has(sign));
  if (other !== undefined) refuse(other[1]);
}

function refuse(holds: string): never {
  throw unsupported(
    `the file holds ${holds}, which is not built in: give a ControlNet of Stable Diffusion 1, 2 or XL`,
    'controlnetPath',
  );
}

function controlNetConfig(headers: FileHeaders): PartConfig {
  const shapes = new Shapes(headers, 'ControlNet');
  const halvings = shapes.count((i) => `${IMAGE}.blocks.${2 * i + 1}.weight`);
  const widths = Array.from({ length: halvings }, (_, i) =>
    shapes.extent(`${IMAGE}.blocks.${2 * i + 1}.weight`, 0),
  );
  return {
    className: 'ControlNetModel',
    config: {
      ...downConfig(headers, shapes).config,
      conditioning_channels: shapes.extent(`${IMAGE}.conv_in.weight`, 1),
      conditioning_embedding_out_channels: [shapes.extent(`${IMAGE}.conv_in.weight`, 0), ...widths],
    },
  };
}
