// The diffusers pipelines that are built in, by class, and what their components may be.

export type PipelineFamily = 'stable-diffusion' | 'stable-diffusion-xl' | 'z-image';

interface PipelineClass {
  family: PipelineFamily;
  /** Components it cannot do without. */
  components: readonly string[];
}

const SD = {
  family: 'stable-diffusion',
  components: ['text_encoder', 'tokenizer', 'unet', 'vae', 'scheduler'],
} as const;
/** The refiner has only the second encoder. */
const SDXL = {
  family: 'stable-diffusion-xl',
  components: ['text_encoder_2', 'tokenizer_2', 'unet', 'vae', 'scheduler'],
} as const;
const Z_IMAGE = {
  family: 'z-image',
  components: ['text_encoder', 'tokenizer', 'transformer', 'vae', 'scheduler'],
} as const;

export const PIPELINES: Readonly<Record<string, PipelineClass>> = {
  StableDiffusionPipeline: SD,
  StableDiffusionImg2ImgPipeline: SD,
  StableDiffusionInpaintPipeline: SD,
  LatentConsistencyModelPipeline: SD,
  LatentConsistencyModelImg2ImgPipeline: SD,
  StableDiffusionXLPipeline: SDXL,
  StableDiffusionXLImg2ImgPipeline: SDXL,
  StableDiffusionXLInpaintPipeline: SDXL,
  ZImagePipeline: Z_IMAGE,
  ZImageImg2ImgPipeline: Z_IMAGE,
  ZImageInpaintPipeline: Z_IMAGE,
};

export const PIPELINE_CLASSES = Object.keys(PIPELINES);

/** Classes of a component that are built in; a scheduler's class is the noise schedules' business. */
export const COMPONENT_CLASSES: Readonly<Record<string, readonly string[]>> = {
  text_encoder: ['CLIPTextModel', 'CLIPTextModelWithProjection', 'Qwen3Model', 'Qwen3ForCausalLM'],
  text_encoder_2: ['CLIPTextModelWithProjection'],
  tokenizer: ['CLIPTokenizer', 'CLIPTokenizerFast', 'Qwen2Tokenizer', 'Qwen2TokenizerFast'],
  tokenizer_2: ['CLIPTokenizer', 'CLIPTokenizerFast'],
  unet: ['UNet2DConditionModel'],
  transformer: ['ZImageTransformer2DModel'],
  vae: ['AutoencoderKL', 'AutoencoderTiny'],
};

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

const VIDEO =
  /video|^(Wan|LTX|CogVideoX|Mochi|Latte|Allegro|AnimateDiff|I2VGenXL|Cosmos|SkyReels|StepVideo|Magi|Helios|MOVA|ConsisID|EasyAnimate|Kandinsky5[TI]2V)/i;

/** Components that a picture can do without. */
const SPARE = ['safety_checker', 'feature_extractor', 'image_encoder'];

/** The pipeline class that such components make up; null where one of them is not built in, or they make up none. */
export function classOfComponents(pairs: readonly { name: string; className: string }[]): string | null {
  const isKnown = ({ name, className }: { name: string; className: string }): boolean =>
    name === 'scheduler' || SPARE.includes(name) || COMPONENT_CLASSES[name]?.includes(className) === true;
  if (!pairs.every(isKnown)) return null;
  const has = (name: string): boolean => pairs.some((pair) => pair.name === name);
  if (has('transformer')) return 'ZImagePipeline';
  if (!has('unet')) return null;
  return has('text_encoder_2') ? 'StableDiffusionXLPipeline' : 'StableDiffusionPipeline';
}

/** Pipelines that make videos. */
export function isVideoClass(name: string): boolean {
  return VIDEO.test(name);
}
