// The model of Stable Diffusion 1.x, 2.x and XL: CLIP states condition a UNet.

import { badCheckpoint, badRequest } from '../../../../files/error.ts';
import { readUNetConfig, type UNetConfig } from '../../../../models/image/unet/unet-config.ts';
import { unet, type UNet } from '../../../../models/image/unet/unet.ts';
import type { Json } from '../../../../models/config-values.ts';
import type { WeightTable } from '../../../../models/weights.ts';
import { coarseMasks } from '../../blocks/coarse-masks.ts';
import { clipConfig } from '../../blocks/clip-states.ts';
import { checkEncoders, encodeClip, type ClipText } from '../../blocks/clip-text.ts';
import type { ComponentAccess } from '../../components/components.ts';
import type { ComputeOptions } from '../../recording/compute.ts';
import { Scope } from '../../recording/scope.ts';
import type { DenoiserPage, FamilyModel, Prepared, RunRequest, StepTensors } from '../../blocks/family.ts';
import type { UNetArguments } from './unet-arguments.ts';
import { ControlNets } from './unet-controls.ts';
import { ImagePrompts } from './unet-image-prompt.ts';
import { unetPredictor, type UNetRequest } from './unet-denoiser.ts';

/** Default aesthetic scores of SDXL's refiner, as in diffusers. */
const AESTHETIC_SCORES = { wanted: 6, unwanted: 2.5 };
const REFINER_IDS = 5;
const NO_CROP = [0, 0];

export interface UNetOptions {
  /** SDXL: the encoders' states before their last layer, and a UNet with size embeddings. */
  xl: boolean;
  /** A missing negative prompt becomes zeros instead of the encoded empty text. */
  zerosNegative: boolean;
  /** Returns the size of the latents in training; `json`: unet/config.json. */
  sampleSize(json: Json, size: UNetConfig['sampleSize']): UNetConfig['sampleSize'];
}

export function openUNetModel(
  components: ComponentAccess,
  { xl, zerosNegative, ...options }: UNetOptions,
): FamilyModel {
  const { config: json } = components.get('unet');
  const config = readUNetConfig(json, 'unet/config.json');
  const page = (table: WeightTable) => unet(config, table);
  const encoder = components.has('text_encoder') ? 'text_encoder' : 'text_encoder_2';
  const unreadClipLayers = xl ? 1 : 0;
  const { layers } = clipConfig(components, encoder);
  const controls = new ControlNets(components, config);
  const imagePrompts = new ImagePrompts(components, config);
  const guides = (guidance: number): boolean => guidance > 1 && config.guidanceDims === null;

  return {
    latentChannels: config.outChannels,
    fillsMasks: coarseMasks('unet/config.json', config.inChannels, config.outChannels),
    sampleSize: options.sampleSize(json, config.sampleSize),
    mostClipSkip: layers - 1 - unreadClipLayers,
    unreadClipLayers,
    controls: controls.names.length,
    takesImagePrompt: imagePrompts.isThere,
    guides,
    checkRequest: (request) => checkSecondNegative(request, zerosNegative),
    async checkFiles() {
      checkContext(config, await checkEncoders(components));
      components.check('unet', page);
      controls.check();
      imagePrompts.check();
    },
    batches: () => true,
    prepare: (request) =>
      prepare({ components, config, page, controls, imagePrompts, xl, zerosNegative }, request, guides),
  };
}

/** A model whose configurations are read. */
interface OpenedUNet extends Pick<UNetOptions, 'xl' | 'zerosNegative'> {
  components: ComponentAccess;
  config: UNetConfig;
  page(table: WeightTable): UNet;
  controls: ControlNets;
  imagePrompts: ImagePrompts;
}

async function prepare(
  opened: OpenedUNet,
  request: RunRequest,
  guides: (guidance: number) => boolean,
): Promise<Prepared> {
  const { components, config, imagePrompts, xl, zerosNegative } = opened;
  const { values, sources, prompt, options, calls } = request;
  const call: UNetArguments = request.call;
  const text = await encodeClip(components, xl, {
    prompt,
    negative: guides(values.guidance) ? values.negativePrompt : null,
    prompt2: call.prompt2,
    negative2: call.negativePrompt2,
    clipSkip: values.clipSkip,
    zeroNegative: zerosNegative && sources.negativePrompt === 'contract',
    options,
  });
  using prepared = new Scope(components.device);
  for (const tensor of [text.states, text.pooled]) if (tensor) prepared.hold(tensor);
  const { imagePrompt: image, ipAdapterScale: scale = 1 } = request;
  const batch = text.states.shape[0] as number;
  const seen = image && scale !== 0 && (await imagePrompts.encode(image, batch, prepared, options));
  const imagePrompt = seen ? { keyValues: seen, scale } : null;
  const { guidance, guidanceRescale } = values;
  const ids = sizeIds(config, text, request);
  const conditions = { imagePrompt, guidance, guidanceRescale, sizeIds: ids, calls };
  return prepared.give({
    tokens: text.tokens,
    texts: [{ states: text.states, ...(text.pooled && { pooled: text.pooled }) }],
    load: () => loadDenoiser(opened, request, conditions),
  });
}

type Conditions = Omit<UNetRequest, 'controls' | 'text' | keyof StepTensors>;

/** Loads the UNet and the ControlNets of a request. */
async function loadDenoiser(
  { components, config, page, controls }: OpenedUNet,
  request: RunRequest,
  conditions: Conditions,
): Promise<DenoiserPage> {
  const { device } = components;
  using loaded = new Scope(device);
  const weights = loaded.use(await components.load('unet', 'denoiser', page, request.options));
  const steering = await controls.load(request, loaded);
  return loaded.give({
    record({ texts, ...on }: StepTensors, way: ComputeOptions) {
      const given = { ...conditions, ...on, text: texts[0]!, controls: steering };
      return unetPredictor(device, config, weights.page, given, way);
    },
  });
}

/** Throws bad_request if a second negative prompt is given without a first one, where the missing first one is all zeros. */
export function checkSecondNegative(
  { call, sources }: Pick<RunRequest, 'call' | 'sources'>,
  zerosNegative: boolean,
): void {
  const { negativePrompt2 }: UNetArguments = call;
  if (!negativePrompt2 || !zerosNegative || sources.negativePrompt !== 'contract') return;
  const message =
    'negative_prompt_2 is given without a negative prompt, and the model then takes zeros for both: give both';
  throw badRequest(message, 'negative_prompt_2');
}

/**
 * Throws bad_checkpoint if the columns of the text's states do not match the UNet's attention: one of the two belongs to another
 * model.
 */
function checkContext({ down }: UNetConfig, columns: number): void {
  const wanted = down.flatMap(({ attention }) => (attention ? [attention.context] : []));
  const other = wanted.find((context) => context !== columns);
  if (other === undefined) return;
  throw badCheckpoint(
    `the text encoder gives ${columns} columns, and the unet takes ${other}: give the one that it was trained with`,
    'text_encoder/config.json',
  );
}

/** Returns sizes in pixels for SDXL's size embedding, one row per text; null: the UNet has none. */
function sizeIds(
  config: UNetConfig,
  { states, pooled }: ClipText,
  { values, call: given }: RunRequest,
): number[][] | null {
  const call: UNetArguments = given;
  if (!config.added || !pooled) return null;
  const size = [values.height, values.width];
  const { originalSize = size, cropsTopLeft = NO_CROP, targetSize = size } = call;
  const { negativeOriginalSize, negativeTargetSize } = call;
  const sides = states.shape[0] as number;
  const refiner = (config.added.columns - pooled.columns) / config.added.idDims === REFINER_IDS;
  // Negative sizes imply a negative crop, except in a run that starts from an image, which uses the prompt's crop, like in diffusers.
  const own = refiner || (values.strength === null && negativeOriginalSize && negativeTargetSize);
  const { negativeCropsTopLeft = own ? NO_CROP : cropsTopLeft } = call;
  const { wanted, unwanted } = AESTHETIC_SCORES;
  return [
    [
      ...(negativeOriginalSize ?? originalSize),
      ...negativeCropsTopLeft,
      ...(refiner ? [call.negativeAestheticScore ?? unwanted] : (negativeTargetSize ?? targetSize)),
    ],
    [...originalSize, ...cropsTopLeft, ...(refiner ? [call.aestheticScore ?? wanted] : targetSize)],
  ].slice(2 - sides);
}
