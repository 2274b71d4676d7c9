// Names that adapters give to modules of Stable Diffusion 3 and 3.5: those of diffusers and of Stability's program, which kohya's join by
// underscores. source: sd-scripts' networks/lora_sd3.py

import type { AdapterPart, AdapterScheme } from '../../../../files/lora/scheme.ts';
import { originalNames } from './sd3-layout.ts';
import { clipAdapters, t5Adapters, transformerAdapters } from '../../blocks/adapter-names.ts';

/** Parts of original names that have underscores. */
const WORDS = [
  ...['joint_blocks', 'x_block', 'context_block', 'adaLN_modulation', 'ln_q', 'ln_k', 'final_layer'],
  ...['x_embedder', 't_embedder', 'y_embedder', 'context_embedder'],
];

const BLOCKS =
  /(?:(?<!single_|joint_)transformer_blocks[._]\d+[._](?:attn2?|ff|ff_context|norm1|norm1_context)|joint_blocks[._]\d+)[._]/;
/** The second attention of some blocks. */
const SECOND =
  /(?<!single_)transformer_blocks[._]\d+[._]attn2[._]|joint_blocks[._]\d+[._]x_block[._]attn2[._]/;

const TRANSFORMER: AdapterPart = {
  ...transformerAdapters(),
  others(tensors) {
    let layers = 0;
    while (tensors.has(`transformer_blocks.${layers}.norm1.linear.weight`)) layers++;
    return [{ rename: originalNames(layers - 1), words: WORDS }];
  },
};

export const SD3_ADAPTERS: AdapterScheme = {
  parts: [
    TRANSFORMER,
    clipAdapters('text_encoder', { nth: 1, original: 'clip_l' }),
    clipAdapters('text_encoder_2', { nth: 2, original: 'clip_g' }),
    t5Adapters('text_encoder_3', 3),
  ],
  signs: [
    { models: 'Stable Diffusion 3.5 medium', module: SECOND, width: 1536 },
    { models: 'Stable Diffusion 3', module: BLOCKS, width: 1536 },
    { models: 'Stable Diffusion 3.5 large', module: BLOCKS, width: 2432 },
    { models: 'Stable Diffusion 3', module: /joint_blocks[._]\d+[._](?:x|context)_block/, isVague: true },
  ],
};
