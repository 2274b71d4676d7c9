// UNets of Stable Diffusion in one file: the layout of the original programs, and that of diffusers.

import type { FileHeaders, PartConfig, PartLayout } from '../../../files/pipeline/file-layout.ts';
import { Shapes } from './shapes.ts';
import { layersOf, unetName } from './unet-names.ts';

const PREFIXES = ['model.diffusion_model.', 'diffusion_model.', 'unet.', ''];

export const ORIGINAL_UNET: PartLayout = {
  prefixes: PREFIXES,
  signs: ['input_blocks.0.0.weight', 'time_embed.0.weight', 'out.2.weight'],
  names(headers) {
    const layers = layersOf((name) => headers.has(name));
    return (name) => unetName(name, layers);
  },
  configure: unetConfig,
};

export const DIFFUSERS_UNET: PartLayout = {
  prefixes: PREFIXES,
  signs: ['conv_in.weight', 'down_blocks.0.resnets.0.conv1.weight', 'time_embedding.linear_1.weight'],
  names: () => (name) => name,
  configure: unetConfig,
};

/** Head size of UNets whose attention projects by matrices; those that project by convolutions have 8 heads at each level. */
const HEAD_DIMS = 64;
const HEADS = 8;
/** Columns of an embedded size of SDXL. */
const SIZE_DIMS = 256;
/** End of the names of matrices that take the columns of the text. */
const CROSS = '.attn2.to_k.weight';

export function unetConfig(headers: FileHeaders): PartConfig {
  const shapes = new Shapes(headers, 'UNet');
  const extent = (name: string, axis: number): number => shapes.extent(name, axis);
  const count = (name: (i: number) => string): number => shapes.count(name);
  const levels = count((i) => `down_blocks.${i}.resnets.0.conv1.weight`);
  const channels = Array.from({ length: Math.max(1, levels) }, (_, i) =>
    extent(`down_blocks.${i}.resnets.0.conv1.weight`, 0),
  );
  const layers = channels.map((_, i) => count((k) => `down_blocks.${i}.resnets.${k}.conv1.weight`));
  const blocks = (attention: string): number =>
    count((k) => `${attention}.transformer_blocks.${k}.norm1.weight`);
  const depths = (side: string, level: number, length: number): number[] =>
    Array.from({ length }, (_, k) => blocks(`${side}_blocks.${level}.attentions.${k}`));
  const down = layers.map((length, i) => depths('down', i, length));
  const up = layers.toReversed().map((length, i) => depths('up', i, length + 1));
  const attends = (own: readonly number[]): boolean => own.some((depth) => depth > 0);
  const mid = blocks('mid_block.attentions.0');
  // A level without attention still has an entry; that of the last level is the middle block's.
  const depthOf = (own: readonly number[]): number | number[] => (attends(own) ? uniform(own) : 1);
  const midDepth = mid > 0 ? mid : 1;
  const perLevel = down.map((own, i) => (i === levels - 1 && !attends(own) ? midDepth : depthOf(own)));
  const cross = [...headers.keys()].find((name) => name.endsWith(CROSS)) ?? `mid_block${CROSS}`;
  const isConv =
    (headers.get(cross.replace(/transformer_blocks\..*$/, 'proj_in.weight'))?.shape.length ?? 2) > 2;
  const added = headers.get('add_embedding.linear_1.weight')?.shape[1];
  const guidance = headers.get('time_embedding.cond_proj.weight')?.shape[1];
  return {
    className: 'UNet2DConditionModel',
    config: {
      in_channels: extent('conv_in.weight', 1),
      out_channels: extent('conv_out.weight', 0),
      block_out_channels: channels,
      layers_per_block: layers,
      down_block_types: down.map((own) => (attends(own) ? 'CrossAttnDownBlock2D' : 'DownBlock2D')),
      up_block_types: up.map((own) => (attends(own) ? 'CrossAttnUpBlock2D' : 'UpBlock2D')),
      mid_block_type: midType(headers, mid),
      transformer_layers_per_block: perLevel,
      reverse_transformer_layers_per_block: up.map(depthOf),
      cross_attention_dim: extent(cross, 1),
      attention_head_dim: isConv
        ? HEADS
        : channels.map((width) => Math.max(1, Math.floor(width / HEAD_DIMS))),
      norm_num_groups: 32,
      ...(added !== undefined && {
        addition_embed_type: 'text_time',
        addition_time_embed_dim: SIZE_DIMS,
        projection_class_embeddings_input_dim: added,
      }),
      ...(guidance !== undefined && { time_cond_proj_dim: guidance }),
    },
  };
}

function uniform(depths: readonly number[]): number | number[] {
  return depths.every((depth) => depth === depths[0]) ? depths[0]! : [...depths];
}

function midType(headers: FileHeaders, depth: number): string | null {
  if (depth > 0) return 'UNetMidBlock2DCrossAttn';
  return headers.has('mid_block.resnets.0.conv1.weight') ? 'UNetMidBlock2D' : null;
}
