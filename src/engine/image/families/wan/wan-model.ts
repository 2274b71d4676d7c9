// The model of Wan: UMT5 encodes the prompt, a transformer denoises the latents of all frames, or two transformers do, one at the high noise
// levels and one at the low ones. Images of frames enter as further channels, as states of a vision encoder, or as the first frame itself.

import { badCheckpoint } from '../../../../files/error.ts';
import type { Pipeline } from '../../../../files/pipeline/pipeline-index.ts';
import type { Tensor } from '../../../../gpu/tensor.ts';
import { PATCH, readWanConfig, type WanConfig } from '../../../../models/image/clips/wan-config.ts';
import { checkWanClip, wanRotations, type ClipGrid } from '../../../../models/image/clips/wan-rope.ts';
import { wan, type Wan } from '../../../../models/image/clips/wan.ts';
import { readAutoencoder } from '../../blocks/autoencoder.ts';
import type { FamilyModel, RunRequest } from '../../blocks/family.ts';
import { checkT5 } from '../../blocks/t5-texts.ts';
import {
  combineGuided,
  conditionOnce,
  guidedScalars,
  openTransformer,
  requireWidth,
  uploadRotations,
  type RecordedStep,
  type TransformerRequest,
} from '../../blocks/transformer-model.ts';
import type { CallArguments } from '../../calls/call-arguments.ts';
import type { ComponentAccess } from '../../components/components.ts';
import type { Scope } from '../../recording/scope.ts';
import { TEACACHE, type TeaCacheDefaults } from '../../step-cache/teacache.ts';
import type { Size } from '../../calls/image-model.ts';
import { frameImagesOf, prepareInput, WanImageEncoder } from './wan-images.ts';
import { readWanTexts, UMT5 } from './wan-texts.ts';

const TRAINED_STEPS = 1000;
const [FIRST, SECOND] = ['transformer', 'transformer_2'] as const;

export interface WanArguments extends CallArguments {
  /** Guidance of the second transformer; left out: that of the first, or the model's own. */
  guidance2?: number;
}

/** Guidance of the transformers of Wan 2.2 that draw from a text, where a request states none. */
export const FIRST_GUIDANCE = 4;
const SECOND_GUIDANCE = 3;

/** How the parts of a pipeline work together. */
interface WanFacts {
  config: WanConfig;
  /** The time step below which the second transformer computes; null: there is none. */
  boundary: number | null;
}

export function openWan(components: ComponentAccess, { settings }: Pick<Pipeline, 'settings'>): FamilyModel {
  const config = readWanConfig(components.get(FIRST).config, `${FIRST}/config.json`);
  const facts: WanFacts = { config, boundary: boundaryOf(components, settings) };
  const { factor, framesPerLatent = 1 } = readWanAutoencoder(components.get('vae'));
  const gridOf = ({ width, height, frames }: RunRequest['values']): ClipGrid => ({
    frames: 1 + (frames - 1) / framesPerLatent,
    rows: height / factor / PATCH,
    columns: width / factor / PATCH,
  });
  const { boundary } = facts;
  const frameImages = frameImagesOf(config, {
    framesPerLatent,
    replaces: settings['expand_timesteps'] === true,
  });
  const encoder = new WanImageEncoder(components);
  return openTransformer<Wan>(components, {
    page: (table) => wan(config, table),
    ...(boundary !== null && {
      experts: {
        names: [FIRST, SECOND],
        of: ({ timestep }) => (timestep >= boundary ? FIRST : SECOND),
      },
    }),
    latentChannels: config.channels,
    ...(frameImages && { frameImages }),
    ...(config.image && { before: (request) => encoder.read(request) }),
    guides: (guidance) => guidance > 1,
    ranks: { tokens: { heads: config.heads, isWhole: true } },
    teacache: (size) => (boundary === null ? teacacheOf(config, size) : null),
    checkRequest: ({ values }) => checkWanClip(config, gridOf(values)),
    async checkTexts() {
      requireWidth('text_dim', config.textDims, UMT5.encoder, await checkT5(components, UMT5));
      if (config.image) encoder.check(config.image);
    },
    encode: (request, guided) => readWanTexts(components, request, guided),
    step: (given, scope) => recordStep(given, facts, scope),
  });
}

/** Pixels from which a clip counts as one of 720p. */
const LARGE_CLIP = 800_000;

/** Published settings of TeaCache for Wan 2.1; null: the model is another. */
function teacacheOf(
  { hidden, inputs, channels }: WanConfig,
  { width, height }: Size,
): TeaCacheDefaults | null {
  if (channels !== OF_2_1) return null;
  if (inputs === channels) return hidden < LARGE ? TEACACHE.wanSmall : TEACACHE.wanLarge;
  return width * height < LARGE_CLIP ? TEACACHE.wanImageSmall : TEACACHE.wanImageLarge;
}

/** Channels of the latents of Wan 2.1, and the width from which a transformer is one of 14 billion parameters. */
const OF_2_1 = 16;
const LARGE = 4096;

/** The autoencoder for clips. */
export const readWanAutoencoder = (component: Parameters<typeof readAutoencoder>[0]) =>
  readAutoencoder(component, { isClip: true });

/** Throws bad_checkpoint for experts that are not both there. */
function boundaryOf(components: ComponentAccess, settings: Pipeline['settings']): number | null {
  const { boundary_ratio: ratio = null } = settings;
  if (ratio === null) return null;
  if (typeof ratio !== 'number' || !(ratio >= 0 && ratio <= 1))
    throw badCheckpoint(
      `model_index.json has "boundary_ratio": ${JSON.stringify(ratio)}; it is a number from 0 to 1, or null where one transformer computes all steps`,
      'model_index.json',
    );
  if (!components.has(SECOND))
    throw badCheckpoint(
      `model_index.json has "boundary_ratio": ${ratio} and no ${SECOND}, which computes the steps below it: give it with componentPaths, or take a whole pipeline`,
      'model_index.json',
    );
  return ratio * TRAINED_STEPS;
}

async function recordStep(
  given: TransformerRequest<Wan>,
  facts: WanFacts,
  scope: Scope,
): Promise<RecordedStep> {
  const { device, page, latents, images, request } = given;
  const { config, boundary } = facts;
  const [all, height, width] = latents.shape as [number, number, number];
  const frames = all / images;
  const grid = { frames, rows: height / PATCH, columns: width / PATCH };
  const places = { label: 'rotations of a clip', dims: config.dims };
  const rotations = uploadRotations(device, scope, places, wanRotations(config, grid));
  const texts: Tensor[] = [];
  for (const { states } of given.texts)
    texts.push(await conditionOnce(given, scope, (tape) => page.conditionText(states.on(tape))));
  const { before } = given;
  const image = before && (await conditionOnce(given, scope, (tape) => page.conditionImage(before.on(tape))));
  const input = await prepareInput(given, config, scope);
  const { firstFrame } = input;
  const { first, second } = guidancesOf(request, facts);
  return {
    ...(firstFrame && { firstFrame, items: frames }),
    record(tape, inputs) {
      const x = input.on(tape);
      const predictions = texts.map((text) =>
        page.forward({
          latents: x,
          time: inputs.time,
          text: text.on(tape),
          image: image && image.on(tape),
          rotations: rotations.on(tape),
        }),
      );
      return combineGuided(predictions, inputs);
    },
    values: ({ timestep }) => ({
      // A first frame that is given is not noised.
      time: firstFrame ? new Float32Array(frames).fill(timestep, 1) : timestep,
      scalars: guidedScalars(boundary === null || timestep >= boundary ? first : second),
    }),
  };
}

/** Guidance of both transformers. */
function guidancesOf(
  { values, sources, call }: RunRequest,
  { config, boundary }: WanFacts,
): { first: number; second: number } {
  const { guidance: first } = values;
  const isOwn = sources.guidance === 'model' && first === FIRST_GUIDANCE && boundary !== null;
  const own = isOwn && config.inputs === config.channels ? SECOND_GUIDANCE : first;
  const { guidance2: second = own }: WanArguments = call;
  return { first, second };
}
