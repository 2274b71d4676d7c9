// UNets of Stable Diffusion in one file: the layout of the original programs, and that of diffusers.

import type { FileHeaders, PartConfig } from '../../../../files/pipeline/file-layout.ts';
import { bothLayouts } from '../../layouts/part-layouts.ts';
import { Shapes } from '../../layouts/shapes.ts';
import { layersOf, unetName } from '../../layouts/unet-names.ts';

export const UNET_LAYOUTS = bothLayouts({
  prefixes: ['model.diffusion_model.', 'diffusion_model.', 'unet.', ''],
  original: ['input_blocks.0.0.weight', 'time_embed.0.weight', 'out.2.weight'],
  diffusers: ['conv_in.weight', 'down_blocks.0.resnets.0.conv1.weight', 'time_embedding.linear_1.weight'],
  rename: {
    of(headers) {
      const layers = layersOf((name) => headers.has(name));
      return (name) => unetName(name, layers);
    },
  },
  configure: unetConfig,
});

/** Head size of UNets whose attention projects by matrices; those that project by convolutions have 8 heads at each level. */
const HEAD_DIMS = 64;
const HEADS = 8;
/** Columns of an embedded size of SDXL. */
const SIZE_DIMS = 256;
/** End of the names of matrices that take the columns of the text. */
const CROSS = '.attn2.to_k.weight';

function unetConfig(headers: FileHeaders): PartConfig {
  const shapes = new Shapes(headers, 'UNet');
  const { config, levels } = downConfig(headers, shapes);
  const up = levels.toReversed().map(({ layers }, i) => depthsOf(shapes, `up_blocks.${i}`, layers + 1));
  const guidance = shapes.find('time_embedding.cond_proj.weight', 1);
  return {
    className: 'UNet2DConditionModel',
    config: {
      ...config,
      out_channels: shapes.extent('conv_out.weight', 0),
      cross_attention_dim: shapes.extent(crossOf(headers), 1),
      up_block_types: up.map((own) => (attends(own) ? 'CrossAttnUpBlock2D' : 'UpBlock2D')),
      reverse_transformer_layers_per_block: up.map(depthOf),
      ...(guidance !== undefined && { time_cond_proj_dim: guidance }),
    },
  };
}

interface Level {
  channels: number;
  /** Number of residual blocks. */
  layers: number;
}

/** The part of a configuration that the way down and the middle show. */
export function downConfig(
  headers: FileHeaders,
  shapes: Shapes,
): { config: Record<string, unknown>; levels: Level[] } {
  const count = Math.max(
    1,
    shapes.count((i) => `down_blocks.${i}.resnets.0.conv1.weight`),
  );
  const levels = Array.from({ length: count }, (_, i) => ({
    channels: shapes.extent(`down_blocks.${i}.resnets.0.conv1.weight`, 0),
    layers: shapes.count((k) => `down_blocks.${i}.resnets.${k}.conv1.weight`),
  }));
  const down = levels.map(({ layers }, i) => depthsOf(shapes, `down_blocks.${i}`, layers));
  const mid = blocksOf(shapes, 'mid_block.attentions.0');
  // A level without attention still has an entry; that of the last level is the middle block's.
  const midDepth = mid > 0 ? mid : 1;
  const perLevel = down.map((own, i) => (i === count - 1 && !attends(own) ? midDepth : depthOf(own)));
  const cross = crossOf(headers);
  const isConv =
    (headers.get(cross.replace(/transformer_blocks\..*$/, 'proj_in.weight'))?.shape.length ?? 2) > 2;
  const added = shapes.find('add_embedding.linear_1.weight', 1);
  const config = {
    in_channels: shapes.extent('conv_in.weight', 1),
    block_out_channels: levels.map(({ channels }) => channels),
    layers_per_block: levels.map(({ layers }) => layers),
    down_block_types: down.map((own) => (attends(own) ? 'CrossAttnDownBlock2D' : 'DownBlock2D')),
    mid_block_type: midType(headers, mid),
    transformer_layers_per_block: perLevel,
    cross_attention_dim: shapes.find(cross, 1),
    attention_head_dim: isConv
      ? HEADS
      : levels.map(({ channels }) => Math.max(1, Math.floor(channels / HEAD_DIMS))),
    norm_num_groups: 32,
    ...(added !== undefined && {
      addition_embed_type: 'text_time',
      addition_time_embed_dim: SIZE_DIMS,
      projection_class_embeddings_input_dim: added,
    }),
  };
  return { config, levels };
}

/** Name of a matrix that takes the columns of the text. */
function crossOf(headers: FileHeaders): string {
  return [...headers.keys()].find((name) => name.endsWith(CROSS)) ?? `mid_block${CROSS}`;
}

/** Number of transformer blocks of an attention. */
function blocksOf(shapes: Shapes, attention: string): number {
  return shapes.count((k) => `${attention}.transformer_blocks.${k}.norm1.weight`);
}

/** Number of transformer blocks after each residual block of a level. */
function depthsOf(shapes: Shapes, level: string, layers: number): number[] {
  return Array.from({ length: layers }, (_, k) => blocksOf(shapes, `${level}.attentions.${k}`));
}

const attends = (depths: readonly number[]): boolean => depths.some((depth) => depth > 0);

const depthOf = (depths: readonly number[]): number | number[] => (attends(depths) ? uniform(depths) : 1);

function uniform(depths: readonly number[]): number | number[] {
  return depths.every((depth) => depth === depths[0]) ? depths[0]! : [...depths];
}

function midType(headers: FileHeaders, depth: number): string | null {
  if (depth > 0) return 'UNetMidBlock2DCrossAttn';
  return headers.has('mid_block.resnets.0.conv1.weight') ? 'UNetMidBlock2D' : null;
}
