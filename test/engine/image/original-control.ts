// The names of the original program for the tensors of a ControlNet, written from the side of diffusers.

import { originalUNet, renamed } from './original-names.ts';
import type { StoredTensor, StoredTensors } from './tiny-tensors.ts';

/** `image`: convolutions of the network for the image. */
export function originalControlNet(
  tensors: StoredTensors,
  image: number,
  prefix = 'control_model.',
): StoredTensor[] {
  const hint = 'controlnet_cond_embedding';
  const pairs: [string, string][] = [
    [`${hint}.conv_in.`, 'input_hint_block.0.'],
    [`${hint}.conv_out.`, `input_hint_block.${2 * (image - 1)}.`],
    ['controlnet_mid_block.', 'middle_block_out.0.'],
  ];
  for (let i = 0; i < image - 2; i++) pairs.push([`${hint}.blocks.${i}.`, `input_hint_block.${2 * i + 2}.`]);
  for (let i = 0; i < 32; i++) pairs.push([`controlnet_down_blocks.${i}.`, `zero_convs.${i}.0.`]);
  const isOwn = ([name]: [string, unknown]): boolean => pairs.some(([own]) => name.startsWith(own));
  const own = new Map([...tensors].filter(isOwn));
  const others = new Map([...tensors].filter((entry) => !isOwn(entry)));
  return [...renamed(own, pairs, prefix), ...originalUNet(others, prefix)];
}
