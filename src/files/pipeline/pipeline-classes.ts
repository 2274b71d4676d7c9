// The diffusers pipelines that are built in, by class, and which classes their components may have.

export type PipelineFamily = 'stable-diffusion' | 'stable-diffusion-xl' | 'z-image';

export type Library = 'diffusers' | 'transformers';

/** A component of a family of pipelines. */
export interface ComponentClasses {
  library: Library;
  /** Classes that are built in; null: any whose name fits, for the noise schedules choose among schedulers. */
  classes: readonly string[] | null;
  /** The pipeline runs without it. */
  optional?: true;
}

export interface PipelineClass {
  family: PipelineFamily;
  components: ReadonlyMap<string, ComponentClasses>;
}

const CLIP = ['CLIPTextModel', 'CLIPTextModelWithProjection'];
const CLIP_TOKENIZERS = ['CLIPTokenizer', 'CLIPTokenizerFast'];
const AUTOENCODERS = ['AutoencoderKL', 'AutoencoderTiny'];

const fromTransformers = (...classes: string[]): ComponentClasses => ({ library: 'transformers', classes });
const fromDiffusers = (...classes: string[]): ComponentClasses => ({ library: 'diffusers', classes });

const SCHEDULER: ComponentClasses = { library: 'diffusers', classes: null };
const UNET_AND_VAE: [string, ComponentClasses][] = [
  ['unet', fromDiffusers('UNet2DConditionModel')],
  ['vae', fromDiffusers(...AUTOENCODERS)],
  ['scheduler', SCHEDULER],
];

const SD: PipelineClass = {
  family: 'stable-diffusion',
  components: new Map([
    ['text_encoder', fromTransformers(...CLIP)],
    ['tokenizer', fromTransformers(...CLIP_TOKENIZERS)],
    ...UNET_AND_VAE,
  ]),
};
/** The refiner has only the second encoder. */
const SDXL: PipelineClass = {
  family: 'stable-diffusion-xl',
  components: new Map([
    ['text_encoder', { ...fromTransformers(...CLIP), optional: true }],
    ['tokenizer', { ...fromTransformers(...CLIP_TOKENIZERS), optional: true }],
    ['text_encoder_2', fromTransformers('CLIPTextModelWithProjection')],
    ['tokenizer_2', fromTransformers(...CLIP_TOKENIZERS)],
    ...UNET_AND_VAE,
  ]),
};
const Z_IMAGE: PipelineClass = {
  family: 'z-image',
  components: new Map([
    ['text_encoder', fromTransformers('Qwen3Model', 'Qwen3ForCausalLM')],
    ['tokenizer', fromTransformers('Qwen2Tokenizer', 'Qwen2TokenizerFast')],
    ['transformer', fromDiffusers('ZImageTransformer2DModel')],
    ['vae', fromDiffusers(...AUTOENCODERS)],
    ['scheduler', SCHEDULER],
  ]),
};

export const PIPELINES: ReadonlyMap<string, PipelineClass> = new Map([
  ['StableDiffusionPipeline', SD],
  ['StableDiffusionImg2ImgPipeline', SD],
  ['StableDiffusionInpaintPipeline', SD],
  ['LatentConsistencyModelPipeline', SD],
  ['LatentConsistencyModelImg2ImgPipeline', SD],
  ['StableDiffusionXLPipeline', SDXL],
  ['StableDiffusionXLImg2ImgPipeline', SDXL],
  ['StableDiffusionXLInpaintPipeline', SDXL],
  ['ZImagePipeline', Z_IMAGE],
  ['ZImageImg2ImgPipeline', Z_IMAGE],
  ['ZImageInpaintPipeline', Z_IMAGE],
]);

export const PIPELINE_CLASSES: readonly string[] = [...PIPELINES.keys()];

/**
 * Components of these pipelines that no image is computed with, and what their classes are called: they are not read, and a
 * published pipeline may leave them out.
 */
export const UNREAD_COMPONENTS: ReadonlyMap<string, RegExp> = new Map([
  ['safety_checker', /SafetyChecker$/],
  ['feature_extractor', /(FeatureExtractor|Processor)(Fast|Pil)?$/],
  ['image_encoder', /(Vision|Dino|Siglip|Image)\w*(Model|Projection|Encoder)$/],
]);

/** Words in a model's id that tell its family, for `--model-id`. */
const FAMILY_WORDS: readonly [RegExp, string][] = [
  [/z-?image/i, 'ZImagePipeline'],
  [/sdxl|stable-diffusion-xl|[-_]xl\b/i, 'StableDiffusionXLPipeline'],
  [/stable-?diffusion|\bsd[-_]?v?[12]/i, 'StableDiffusionPipeline'],
];

/** The pipeline class of the family that an id names; null where it names none. */
export function classOfModelId(id: string): string | null {
  return FAMILY_WORDS.find(([words]) => words.test(id))?.[1] ?? null;
}
