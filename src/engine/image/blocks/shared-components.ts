// Declarations that several families share: components such as autoencoders, text encoders and noise schedules, and what most families with a
// transformer say of themselves.

import type { ComponentClasses, PipelineComponents } from '../../../files/pipeline/pipeline-classes.ts';
import { TOKENIZER_BACKENDS } from '../components/component-files.ts';
import { plainSigmas } from '../schedules/flow-sigmas.ts';
import { readAutoencoder } from './autoencoder.ts';
import type { ImageFamily, PipelineTask } from './family.ts';

export const AUTOENCODER: ComponentClasses = {
  kind: 'model',
  library: 'diffusers',
  classes: ['AutoencoderKL', 'AutoencoderTiny'],
};

export const SCHEDULER: ComponentClasses = { kind: 'scheduler', library: 'diffusers', classes: null };

/** Declares a text encoder, which is a class of transformers. */
export const textEncoder = (...classes: string[]): ComponentClasses => ({
  kind: 'model',
  library: 'transformers',
  classes,
});

/** Declares a tokenizer. A backend that reads the files of any may stand in place of its classes. */
export const tokenizer = (...classes: string[]): ComponentClasses => ({
  kind: 'tokenizer',
  library: 'transformers',
  classes: [...classes, ...TOKENIZER_BACKENDS],
});

export const CLIP_TOKENIZERS = tokenizer('CLIPTokenizer', 'CLIPTokenizerFast');
export const T5_ENCODER = textEncoder('T5EncoderModel');
export const T5_TOKENIZER = tokenizer('T5TokenizerFast', 'T5Tokenizer');
export const QWEN_TOKENIZER = tokenizer('Qwen2Tokenizer', 'Qwen2TokenizerFast');

/** An IP-Adapter, and the encoder of its image. */
export const IMAGE_PROMPT: PipelineComponents = {
  ip_adapter: {
    kind: 'model',
    library: 'diffusers',
    classes: ['IPAdapter'],
    role: 'image encoder',
    optional: true,
    onlyGiven: true,
  },
  image_encoder: {
    kind: 'model',
    library: 'transformers',
    classes: ['CLIPVisionModelWithProjection'],
    role: 'image encoder',
    optional: true,
    onlyGiven: true,
  },
};

/** ControlNets, of which a pipeline may have several. They run before the denoiser in each step. */
export const CONTROLNET: ComponentClasses = {
  kind: 'model',
  library: 'diffusers',
  classes: ['ControlNetModel'],
  role: 'denoiser',
  several: true,
  refused: {
    ControlNetUnionModel: 'takes several kinds of images in one network: this version runs ControlNetModel',
    MultiControlNetModel: 'is several ControlNets in folders of their own: give each of these folders',
    ControlNetXSAdapter:
      'is a ControlNet-XS, which computes beside each block of a UNet: this version runs ControlNetModel',
    SparseControlNetModel: 'is for videos: this version runs ControlNetModel',
    T2IAdapter: 'is a T2I-Adapter: this version runs ControlNetModel',
    MultiAdapter: 'is several T2I-Adapters: this version runs ControlNetModel',
    FluxControlNetModel: 'is for FLUX.1: this version runs the ControlNets of Stable Diffusion 1, 2 and XL',
    SD3ControlNetModel:
      'is for Stable Diffusion 3: this version runs the ControlNets of Stable Diffusion 1, 2 and XL',
    QwenImageControlNetModel:
      'is for Qwen-Image: this version runs the ControlNets of Stable Diffusion 1, 2 and XL',
  },
};

/** Declares a denoiser, which is a class of diffusers. */
export const denoiser = (...classes: string[]): ComponentClasses => ({
  kind: 'model',
  library: 'diffusers',
  classes,
});

/** Names of diffusers' classes of a pipeline for each task. */
export const classesOf = (stem: string): Readonly<Record<PipelineTask, string>> => ({
  'text-to-image': `${stem}Pipeline`,
  'image-to-image': `${stem}Img2ImgPipeline`,
  inpainting: `${stem}InpaintPipeline`,
});

/** Fields of requests to models with ControlNets or an IP-Adapter. */
const CONTROL_FIELDS = [
  'controlImages',
  'controlScale',
  'controlStart',
  'controlEnd',
  'ipAdapterImage',
  'ipAdapterScale',
] as const;

/** A family whose UNet reads the states of CLIP's text encoders. */
export const UNET_FAMILY = {
  denoiser: 'unet',
  autoencoder: 'vae',
  readAutoencoder,
  latents: { patch: 1 },
  takes: ['guidanceRescale', ...CONTROL_FIELDS],
  readsWords: true,
  readsEmphasis: true,
  sigmas: null,
} as const satisfies Partial<ImageFamily>;

/** A family whose transformer denoises latents in patches of 2 × 2 by a flow, in diffusers' usual components. */
export const TRANSFORMER_FAMILY = {
  denoiser: 'transformer',
  autoencoder: 'vae',
  readAutoencoder,
  latents: { patch: 2 },
  namedDefaults: [],
  takes: ['maxSequenceLength', 'flowShift'],
  readsEmphasis: false,
  sigmas: plainSigmas,
} as const satisfies Partial<ImageFamily>;
