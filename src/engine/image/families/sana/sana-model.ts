// The model of Sana: a transformer over the latents of an image, which reads states of a text. Guidance computes the prompt and the negative
// prompt as two items of one pass.

import type { Tensor } from '../../../../gpu/tensor.ts';
import { guidance } from '../../../../kernels/guidance.ts';
import { repeat } from '../../../../kernels/repeat.ts';
import { readSanaConfig, type SanaConfig } from '../../../../models/image/sana-config.ts';
import { sana, type Sana } from '../../../../models/image/sana.ts';
import { sincosPlaces } from '../../../../models/image/sincos-places.ts';
import type { WeightTable } from '../../../../models/weights.ts';
import { EngineError } from '../../../../files/error.ts';
import type { CallArguments } from '../../calls/call-arguments.ts';
import type { Pixels } from '../../calls/image-model.ts';
import type { ComponentAccess } from '../../components/components.ts';
import type { Predictor } from '../../recording/denoiser.ts';
import { Scope } from '../../recording/scope.ts';
import type { FamilyModel, Prepared, RunRequest } from '../../blocks/family.ts';
import { checkLength } from '../../blocks/prompt-length.ts';
import { joinTexts } from '../../blocks/joined-texts.ts';
import { nearestBin } from '../../blocks/resolution-bins.ts';
import { checkSanaTexts, encodeSanaTexts, INSTRUCTION, type SanaText } from './sana-texts.ts';
import {
  prepareTransformer,
  recordPredictor,
  requireWidth,
  TRANSFORMER,
  type TransformerRequest,
} from '../../blocks/transformer-model.ts';

/** Pixels along a side of a latent of the published models, by which sizes in training are told. */
const PIXELS = 32;
/** Indices of a step's scalars. */
const GUIDANCE = 0;
const ONE = 1;

export interface SanaArguments extends CallArguments {
  /** Lines before the prompt; left out: those of the published models. */
  instruction?: readonly string[];
}

const guides = (scale: number): boolean => scale > 1;

export function openSana(components: ComponentAccess): FamilyModel {
  const config = readSanaConfig(components.get('transformer').config, 'transformer/config.json');
  if (config.guidanceScale !== null)
    throw new EngineError(
      'unsupported',
      'transformer/config.json: guidance_embeds true is not built for SanaPipeline; choose a checkpoint that has false',
      { param: 'guidance_embeds' },
    );
  const page = (table: WeightTable) => sana(config, table);
  const side = config.sampleSize;

  return {
    ...TRANSFORMER,
    latentChannels: config.channels,
    patch: config.patch,
    sampleSize: { height: side, width: side },
    drawnSize: (size) => binOf(size, config),
    guides,
    checkRequest: (request) => checkLength(request),
    async checkFiles() {
      requireWidth('caption_channels', config.textDims, 'text_encoder', await checkSanaTexts(components));
      components.check('transformer', page);
    },
    async prepare(request): Promise<Prepared> {
      const texts = await encodeSanaTexts(components, textsOf(request), request);
      return prepareTransformer(components, page, request, {
        tensors: texts,
        tokens: texts.at(-1)!.shape[1] as number,
        predictor: (given) => openPredictor({ ...given, config, texts }),
      });
    },
  };
}

/** Texts of the negative prompt, under guidance, and of the prompt, before which alone the instruction stands. */
function textsOf({ prompt, values, call }: RunRequest): SanaText[] {
  const { instruction = INSTRUCTION }: SanaArguments = call;
  const positive = { text: prompt, instruction };
  return guides(values.guidance) ? [{ text: values.negativePrompt, instruction: [] }, positive] : [positive];
}

/** The size that is drawn: that of a bin, which whole tokens must fill. */
function binOf(size: Pick<Pixels, 'width' | 'height'>, { sampleSize, patch }: SanaConfig) {
  const bin = nearestBin(size, PIXELS * sampleSize);
  if (bin === null || (bin.width % (PIXELS * patch) === 0 && bin.height % (PIXELS * patch) === 0)) return bin;
  throw new EngineError(
    'bad_request',
    `use_resolution_binning draws ${bin.width} × ${bin.height}, and sides of this model are multiples of ${PIXELS * patch}: set it to false`,
    { param: 'use_resolution_binning' },
  );
}

interface PredictorRequest extends TransformerRequest<Sana> {
  config: SanaConfig;
  /** States of the texts, [1, tokens, textDims] each. */
  texts: readonly Tensor[];
}

async function openPredictor(given: PredictorRequest): Promise<Predictor> {
  const { components, config, page, texts, request, latents, options } = given;
  const { device } = components;
  using scope = new Scope(device);
  const items = texts.length;
  const { text, counts } = await joinTexts(components, texts, page.condition, options, scope);
  const places = placesOf(given, scope);
  return await recordPredictor(device, scope, given, {
    items,
    record(tape, { time, scalars }) {
      const x = latents.on(tape);
      const predicted = page.forward({
        latents: items === 1 ? x : repeat(x, items, scalars, ONE),
        time,
        guidance: null,
        places: places && places.on(tape),
        text: text.on(tape),
        counts: counts.on(tape),
      });
      return items === 1 ? predicted : guidance(predicted, scalars, GUIDANCE);
    },
    values: ({ timestep }) => ({
      time: timestep * config.timeScale,
      scalars: [request.values.guidance, 1],
    }),
  });
}

/** Positions of the tokens, [1, tokens, hidden]; null: the model has none. */
function placesOf({ components, config, latents }: PredictorRequest, scope: Scope): Tensor | null {
  const { placeScale: scale, sampleSize, patch, hidden } = config;
  if (scale === null) return null;
  const [, height, width] = latents.shape as [number, number, number];
  const [rows, columns, base] = [height / patch, width / patch, Math.floor(sampleSize / patch)];
  const values = sincosPlaces({ rows, columns, hidden, base, scale });
  return scope.hold(
    components.device.tensor('step', 'positions of tokens', [1, rows * columns, hidden], values),
  );
}
