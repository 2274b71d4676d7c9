// Files of LTX-Video with the names of its makers or of diffusers: the transformer alone, or with the autoencoder and T5. source: diffusers'
// loaders/single_file_utils.py

import { unsupported } from '../../../../files/error.ts';
import type {
  FileHeaders,
  FileLayouts,
  OpenedFile,
  PartConfig,
} from '../../../../files/pipeline/file-layout.ts';
import {
  bothLayouts,
  fileLayouts,
  flowSchedule,
  renamedModules,
  type ModuleNames,
} from '../../layouts/part-layouts.ts';
import { Shapes } from '../../layouts/shapes.ts';
import { t5Layouts } from '../../layouts/t5.ts';
import { TAEHV_LAYOUTS } from '../../layouts/taehv.ts';
import { LTX_AUTOENCODER_LAYOUTS } from './autoencoder-ltx-layout.ts';

/** Parts of original names with those of diffusers in their place. */
const MODULES: ModuleNames = [
  [/^patchify_proj\./, 'proj_in.'],
  [/^adaln_single\./, 'time_embed.'],
  [/\.([qk])_norm\./, '.norm_$1.'],
];

/** Parts of original names that have underscores. */
export const ORIGINAL_WORDS = [
  ...['patchify_proj', 'adaln_single', 'q_norm', 'k_norm', 'to_q', 'to_k', 'to_v', 'to_out', 'proj_out'],
  ...['transformer_blocks', 'caption_projection', 'timestep_embedder', 'linear_1', 'linear_2'],
];

export const originalName = (name: string): string => renamedModules(MODULES, name);

/** Heads of all published models. */
const HEADS = 32;
const FIRST = 'transformer_blocks.0';

function transformerConfig(headers: FileHeaders): PartConfig {
  const sound = [...headers.keys()].find((name) => name.startsWith('audio_'));
  if (sound !== undefined)
    throw unsupported(
      `tensor ${sound} is of LTX-2, which makes videos and their sound, for which this version has no layers: choose a file of LTX-Video`,
      sound,
    );
  const shapes = new Shapes(headers, 'transformer');
  const { extent } = shapes;
  const hidden = extent('proj_in.weight', 0);
  return {
    className: 'LTXVideoTransformer3DModel',
    config: {
      in_channels: extent('proj_in.weight', 1),
      out_channels: extent('proj_out.weight', 0),
      num_attention_heads: HEADS,
      attention_head_dim: Math.max(1, Math.floor(hidden / HEADS)),
      cross_attention_dim: hidden,
      num_layers: shapes.count((i) => `transformer_blocks.${i}.attn1.to_q.weight`),
      caption_channels: extent('caption_projection.linear_1.weight', 1),
      attention_bias: headers.has(`${FIRST}.attn1.to_q.bias`),
      attention_out_bias: headers.has(`${FIRST}.attn1.to_out.0.bias`),
    },
  };
}

/** The schedule of versions up to 0.9.1 shifts by the size; that of later ones does not. */
const DYNAMIC = {
  use_dynamic_shifting: true,
  base_shift: 0.95,
  max_shift: 2.05,
  base_image_seq_len: 1024,
  max_image_seq_len: 4096,
  shift_terminal: 0.1,
};

/** Columns of what the last layer of the later versions' encoder reads. */
const LATER_COLUMNS = 2048;

/** Whether a file is of a version from 0.9.5 on; the transformers of both kinds have the same shapes, but for those of 13 billion parameters. */
function isLater({ name, headers }: OpenedFile): boolean {
  if (/0[._]9[._][5-9]/.test(name)) return true;
  return [...headers.values()].some(
    ({ name: tensor, shape }) =>
      /(^|\.)transformer_blocks\.47\.scale_shift_table$/.test(tensor) ||
      (/(^|\.)encoder\.conv_out\.conv\.weight$/.test(tensor) && shape[1] === LATER_COLUMNS),
  );
}

const describe =
  (className: string): FileLayouts['describe'] =>
  async (_, file) => ({
    className,
    settings: {},
    scheduler: flowSchedule({ shift: 1, ...(isLater(file) ? {} : DYNAMIC) }),
  });

export const LTX_FILES = fileLayouts({
  parts: {
    transformer: bothLayouts({
      original: ['patchify_proj.weight', 'adaln_single.linear.weight', `${FIRST}.attn1.q_norm.weight`],
      diffusers: ['proj_in.weight', 'time_embed.linear.weight', `${FIRST}.attn1.norm_q.weight`],
      rename: originalName,
      configure: transformerConfig,
    }),
    vae: [...LTX_AUTOENCODER_LAYOUTS, ...TAEHV_LAYOUTS],
    text_encoder: t5Layouts('text_encoder'),
  },
  describe: describe('LTXPipeline'),
  repository: 'Lightricks/LTX-Video',
});

/** Files of later versions. */
export const LTX_CONDITION_FILES: FileLayouts = {
  ...LTX_FILES,
  prefers: isLater,
  describe: describe('LTXConditionPipeline'),
};
