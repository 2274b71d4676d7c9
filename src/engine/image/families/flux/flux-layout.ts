// Files of FLUX.1: the transformer with the names of Black Forest Labs' program or of diffusers, CLIP and T5 with those of transformers, and the
// autoencoder. sources: diffusers' loaders/single_file_utils.py, ComfyUI's model_detection.py

import type { FileHeaders, FileLayouts, PartConfig } from '../../../../files/pipeline/file-layout.ts';
import { AUTOENCODER_LAYOUTS, FLUX_SCALES } from '../../layouts/autoencoder.ts';
import { CLIP_TOKENIZER, transformersClip } from '../../layouts/clip.ts';
import { fluxNames, sharedConfig } from '../../layouts/flux-names.ts';
import { nunchakuLayout } from '../../layouts/nunchaku-names.ts';
import {
  bothLayouts,
  DYNAMIC_SHIFT,
  encoderPrefixes,
  fileLayouts,
  flowSchedule,
} from '../../layouts/part-layouts.ts';
import { Shapes } from '../../layouts/shapes.ts';
import { t5Layouts } from '../../layouts/t5.ts';

function fluxConfig(headers: FileHeaders): PartConfig {
  const shapes = new Shapes(headers, 'transformer');
  return {
    className: 'FluxTransformer2DModel',
    config: {
      ...sharedConfig(shapes),
      num_layers: shapes.count((i) => `transformer_blocks.${i}.norm1.linear.weight`),
      num_single_layers: shapes.count((i) => `single_transformer_blocks.${i}.norm.linear.weight`),
      pooled_projection_dim: shapes.extent('time_text_embed.text_embedder.linear_1.weight', 1),
      guidance_embeds: headers.has('time_text_embed.guidance_embedder.linear_1.weight'),
    },
  };
}

/** Whether a transformer takes latents alone. */
function seesLatents(transformer: PartConfig | undefined): boolean {
  const { in_channels: inputs, out_channels: outputs } = transformer?.config ?? {};
  return inputs === outputs;
}

/** The class of a transformer with further inputs: a control image's are as many as those of the latents. */
function classWithExtraInput(transformer: PartConfig | undefined): string {
  const { in_channels: inputs, out_channels: outputs } = transformer?.config ?? {};
  return Number(inputs) === 2 * Number(outputs) ? 'FluxControlPipeline' : 'FluxFillPipeline';
}

/** `className`: that of models whose transformer takes latents alone. */
function describe(className: string): FileLayouts['describe'] {
  return async ({ transformer }) => ({
    className: seesLatents(transformer) ? className : classWithExtraInput(transformer),
    settings: {},
    scheduler: flowSchedule(
      transformer?.config['guidance_embeds'] === true
        ? DYNAMIC_SHIFT
        : { shift: 1, use_dynamic_shifting: false },
    ),
  });
}

const TRANSFORMERS = bothLayouts({
  original: [
    'img_in.weight',
    'time_in.in_layer.weight',
    'vector_in.in_layer.weight',
    'double_blocks.0.img_attn.qkv.weight',
    'single_blocks.0.linear1.weight',
  ],
  diffusers: [
    'x_embedder.weight',
    'context_embedder.weight',
    'time_text_embed.text_embedder.linear_1.weight',
    'transformer_blocks.0.norm1_context.linear.weight',
    'single_transformer_blocks.0.proj_mlp.weight',
  ],
  rename: fluxNames,
  configure: fluxConfig,
});

const NUNCHAKU = ['qkv_proj', 'attn.to_qkv'].map((qkv) =>
  nunchakuLayout(TRANSFORMERS[0]!, [
    'x_embedder.weight',
    'time_text_embed.text_embedder.linear_1.weight',
    `transformer_blocks.0.${qkv}.weight`,
    `single_transformer_blocks.0.${qkv}.weight`,
  ]),
);

export const FLUX_FILES = fileLayouts({
  parts: {
    transformer: [...TRANSFORMERS, ...NUNCHAKU],
    vae: AUTOENCODER_LAYOUTS,
    text_encoder: transformersClip(encoderPrefixes('text_encoder', 'clip_l'), false),
    text_encoder_2: t5Layouts('text_encoder_2'),
  },
  configs: { vae: FLUX_SCALES },
  tokenizers: { tokenizer: CLIP_TOKENIZER },
  describe: describe('FluxPipeline'),
  repository: 'black-forest-labs/FLUX.1-schnell',
});

/** Files of the model that edits images: their tensors are those of FLUX.1 dev, and a word in their names tells them apart. */
export const FLUX_KONTEXT_FILES: FileLayouts = {
  ...FLUX_FILES,
  accepts: seesLatents,
  prefers: ({ name }) => /kontext/i.test(name),
  describe: describe('FluxKontextPipeline'),
};
