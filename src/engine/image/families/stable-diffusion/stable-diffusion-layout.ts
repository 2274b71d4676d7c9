// Files of Stable Diffusion 1.x, 2.x and XL as A1111, ComfyUI and the original programs write them: their components, and the facts that
// shapes do not tell. sources: diffusers' loaders/single_file_utils.py, ComfyUI's supported_models.py (signs of v-prediction)

import { unsupported } from '../../../../files/error.ts';
import type {
  FileLayouts,
  FilePipeline,
  OpenedFile,
  PartConfig,
} from '../../../../files/pipeline/file-layout.ts';
import type { Json } from '../../../../models/config-values.ts';
import { AUTOENCODER_LAYOUTS } from '../../layouts/autoencoder.ts';
import { CLIP_TOKENIZER, OPEN_CLIP_TOKENIZER, openClip, transformersClip } from '../../layouts/clip.ts';
import { CONTROLNETS } from './controlnet-layout.ts';
import { IP_ADAPTER } from './ip-adapter-layout.ts';
import { UNET_LAYOUTS } from './unet-layout.ts';

/** Layouts of components that all models have. */
const SHARED_PARTS = {
  unet: UNET_LAYOUTS,
  vae: AUTOENCODER_LAYOUTS,
  controlnet: CONTROLNETS,
  ip_adapter: [IP_ADAPTER],
};

const isXL = ({ config }: PartConfig): boolean => config['addition_embed_type'] === 'text_time';
/** Columns of the text in unCLIP models, which embed an image where XL embeds sizes. */
const UNCLIP_COLUMNS = 1024;

export const STABLE_DIFFUSION_FILES: FileLayouts = {
  denoiser: 'unet',
  parts: {
    ...SHARED_PARTS,
    text_encoder: [
      ...transformersClip(['cond_stage_model.transformer.', 'text_encoders.clip_l.transformer.', ''], false),
      openClip(['cond_stage_model.model.', ''], false),
    ],
  },
  accepts: (unet) => !isXL(unet),
  configs: { vae: { scaling_factor: 0.18215 } },
  tokenizers: { tokenizer: CLIP_TOKENIZER },
  describe: describeSD,
  repository: 'stable-diffusion-v1-5/stable-diffusion-v1-5',
};

export const STABLE_DIFFUSION_XL_FILES: FileLayouts = {
  denoiser: 'unet',
  parts: {
    ...SHARED_PARTS,
    text_encoder: transformersClip(
      [
        'conditioner.embedders.0.transformer.',
        'text_encoders.clip_l.transformer.',
        'cond_stage_model.transformer.',
        '',
      ],
      false,
    ),
    text_encoder_2: [
      openClip(['conditioner.embedders.1.model.', 'conditioner.embedders.0.model.', ''], true),
      ...transformersClip(['text_encoders.clip_g.transformer.', 'cond_stage_model.1.transformer.', ''], true),
    ],
  },
  accepts: (unet) => isXL(unet) && unet.config['cross_attention_dim'] !== UNCLIP_COLUMNS,
  configs: { vae: { scaling_factor: 0.13025 } },
  tokenizers: {
    tokenizer: CLIP_TOKENIZER,
    tokenizer_2: OPEN_CLIP_TOKENIZER,
  },
  describe: describeXL,
  repository: 'stabilityai/stable-diffusion-xl-base-1.0',
};

/** The noise schedule that all of these models are trained with. */
const SCHEDULE = {
  num_train_timesteps: 1000,
  beta_start: 0.00085,
  beta_end: 0.012,
  beta_schedule: 'scaled_linear',
  steps_offset: 1,
  timestep_spacing: 'leading',
  clip_sample: false,
  set_alpha_to_one: false,
  skip_prk_steps: true,
} as const;

const EULER = 'EulerDiscreteScheduler';
/** Words in the names of models that are distilled to few steps, with their schedules. */
const FEW_STEPS: readonly (readonly [words: RegExp, schedule: PartConfig])[] = [
  [/turbo|lightning|hyper|dmd2/i, { className: EULER, config: { timestep_spacing: 'trailing' } }],
  [/(^|[^a-z])lcm([^a-z]|$)/i, { className: 'LCMScheduler', config: {} }],
];

const LATENTS = { sd: 64, sd768: 96, xl: 128 };

async function describeSD(
  { unet }: Readonly<Record<string, PartConfig>>,
  file: OpenedFile,
): Promise<FilePipeline> {
  const isInpainting = takesMasks(unet!);
  // Stable Diffusion 2 projects by matrices, into heads of one size.
  const isSecond = Array.isArray(unet!.config['attention_head_dim']);
  const prediction = await predictionOf(file, isSecond && !isInpainting);
  const size = isSecond && prediction['prediction_type'] === 'v_prediction' ? LATENTS.sd768 : LATENTS.sd;
  return {
    className: isInpainting ? 'StableDiffusionInpaintPipeline' : 'StableDiffusionPipeline',
    settings: {},
    scheduler: scheduleOf(file, isSecond ? 'DDIMScheduler' : 'PNDMScheduler', prediction),
    configs: { unet: { sample_size: size }, ...(isSecond && { tokenizer: OPEN_CLIP_TOKENIZER.config }) },
  };
}

/** Columns of an embedded size, sizes of the refiner, and columns of the pooled text of published models. */
const SIZE_COLUMNS = 256;
const REFINER_SIZES = 5;
const POOLED_COLUMNS = 1280;

/** The refiner embeds 5 sizes beside the pooled text, and other models 6. */
function refines(unet: PartConfig, second: PartConfig | undefined): boolean {
  const pooled = Number(second?.config['projection_dim'] ?? POOLED_COLUMNS);
  const columns = Number(unet.config['projection_class_embeddings_input_dim']);
  return columns - pooled === REFINER_SIZES * SIZE_COLUMNS;
}

async function describeXL(
  parts: Readonly<Record<string, PartConfig>>,
  file: OpenedFile,
): Promise<FilePipeline> {
  const unet = parts['unet']!;
  const isInpainting = takesMasks(unet);
  const isRefiner = refines(unet, parts['text_encoder_2']);
  const playground = await playgroundLatents(file);
  const own = isInpainting ? 'StableDiffusionXLInpaintPipeline' : 'StableDiffusionXLPipeline';
  return {
    className: isRefiner ? 'StableDiffusionXLImg2ImgPipeline' : own,
    settings: { force_zeros_for_empty_prompt: !isRefiner },
    scheduler:
      playground === null
        ? scheduleOf(file, EULER, await predictionOf(file, false))
        : { className: 'EDMDPMSolverMultistepScheduler', config: {} },
    configs: { unet: { sample_size: LATENTS.xl }, ...(playground && { vae: playground }) },
    ...(isRefiner && { absent: ['text_encoder', 'tokenizer'] }),
  };
}

/** Playground v2.5 brings the means and spreads of its latents. */
async function playgroundLatents(file: OpenedFile): Promise<Json | null> {
  const [means, spreads] = await Promise.all([file.values('edm_mean'), file.values('edm_std')]);
  if (means === null || spreads === null) return null;
  return { scaling_factor: 0.5, latents_mean: [...means], latents_std: [...spreads] };
}

function scheduleOf({ name }: OpenedFile, className: string, prediction: Json): PartConfig {
  const few = FEW_STEPS.find(([words]) => words.test(name))?.[1];
  return { className: few?.className ?? className, config: { ...SCHEDULE, ...prediction, ...few?.config } };
}

/** Bias whose values spread further where the model predicts velocities. */
const TELLING_BIAS =
  /(output_blocks\.11\.1|up_blocks\.3\.attentions\.2)\.transformer_blocks\.0\.norm1\.bias$/;
const TELLING_SPREAD = 0.09;

/** Settings of the schedule by what the model predicts. `may`: whether its weights are to be asked where the file does not say it. */
async function predictionOf({ metadata, headers, values }: OpenedFile, may: boolean): Promise<Json> {
  const stated = metadata['modelspec.prediction_type'];
  const rescaled = headers.has('ztsnr') ? { rescale_betas_zero_snr: true, timestep_spacing: 'trailing' } : {};
  if (headers.has('v_pred') || stated === 'v') return { prediction_type: 'v_prediction', ...rescaled };
  if (!may || stated === 'epsilon') return { prediction_type: 'epsilon' };
  const name = [...headers.keys()].find((one) => TELLING_BIAS.test(one));
  const bias = name === undefined ? null : await values(name);
  const isVelocity = bias !== null && spreadOf(bias) > TELLING_SPREAD;
  return { prediction_type: isVelocity ? 'v_prediction' : 'epsilon' };
}

function spreadOf(values: Float32Array): number {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length);
}

const OTHER_CHANNELS: Readonly<Record<number, string>> = {
  5: 'gives its UNet a depth map (5 input channels)',
  7: 'enlarges an image that its UNet is given (7 input channels)',
  8: 'edits an image that its UNet is given (InstructPix2Pix, 8 input channels)',
};

/** Whether a UNet takes a mask and masked latents. Throws unsupported for other inputs. */
function takesMasks({ config }: PartConfig): boolean {
  const { in_channels: channels, out_channels: latents } = config as {
    in_channels: number;
    out_channels: number;
  };
  if (channels === latents || channels === 2 * latents + 1) return channels !== latents;
  const purpose = OTHER_CHANNELS[channels] ?? `has a UNet with ${channels} input channels`;
  throw unsupported(
    `the model ${purpose}, which is not built in: choose one that draws from a text, with 4 channels, or 9 for inpainting`,
    'model',
  );
}
