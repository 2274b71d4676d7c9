// LTX-Video's tensors by the names of its makers.

import { renamed } from './original-names.ts';
import type { StoredTensor, StoredTensors } from './tiny-tensors.ts';

/** LTX-Video's transformer as its makers store it. */
export const originalLTX = (tensors: StoredTensors, prefix = 'model.diffusion_model.'): StoredTensor[] =>
  [...tensors.values()].map((tensor) => ({
    ...tensor,
    name:
      prefix +
      tensor.name
        .replace(/^proj_in\./, 'patchify_proj.')
        .replace(/^time_embed\./, 'adaln_single.')
        .replace(/\.norm_([qk])\./, '.$1_norm.'),
  }));

/** LTX-Video's autoencoder as its makers store it, with the blocks of all resolutions numbered through. */
export function originalLTXAutoencoder(tensors: StoredTensors, prefix = 'vae.'): StoredTensor[] {
  const names = [...tensors.keys()];
  const found = (blocks: readonly string[]): string[] =>
    blocks.filter((block) => names.some((name) => name.startsWith(block)));
  const levels = [0, 1, 2, 3, 4];
  const down = levels.flatMap((i) =>
    ['resnets.', 'downsamplers.0.', 'conv_out.'].map((part) => `encoder.down_blocks.${i}.${part}`),
  );
  const up = levels.flatMap((i) =>
    ['conv_in.', 'upsamplers.0.', 'resnets.'].map((part) => `decoder.up_blocks.${i}.${part}`),
  );
  const pairs = (blocks: string[], side: string): [string, string][] =>
    found(blocks).map((block, i) => [
      block,
      `${side}.${i}.${block.endsWith('.resnets.') ? 'res_blocks.' : ''}`,
    ]);
  const sides = [
    ...pairs([...down, 'encoder.mid_block.resnets.'], 'encoder.down_blocks'),
    ...pairs(['decoder.mid_block.resnets.', ...up], 'decoder.up_blocks'),
    ['decoder.mid_block.', 'decoder.up_blocks.0.'],
    ...levels.map((i): [string, string] => {
      const at = found(['decoder.mid_block.resnets.', ...up]).indexOf(`decoder.up_blocks.${i}.resnets.`);
      return [`decoder.up_blocks.${i}.`, `decoder.up_blocks.${at}.`];
    }),
  ] as [string, string][];
  return renamed(tensors, sides, '').map((tensor) => ({
    ...tensor,
    name:
      prefix +
      tensor.name
        .replace(/^latents_mean$/, 'per_channel_statistics.mean-of-means')
        .replace(/^latents_std$/, 'per_channel_statistics.std-of-means')
        .replace(/^decoder\.(time_embedder\.|scale_shift_table$)/, 'decoder.last_$1')
        .replace('.conv_shortcut.conv.', '.conv_shortcut.')
        .replace(/\.norm3\./, '.norm3.norm.'),
  }));
}
