// The model of Stable Diffusion 3 and 3.5: a transformer over the patches of an image and the tokens of a text. Guidance computes the prompt
// and the negative prompt as two items of one pass.

import { EngineError } from '../../../../files/error.ts';
import type { Tape } from '../../../../gpu/tape.ts';
import type { Tensor } from '../../../../gpu/tensor.ts';
import { concat } from '../../../../kernels/concat.ts';
import { takeRows } from '../../../../kernels/copy-rows.ts';
import { guidance } from '../../../../kernels/guidance.ts';
import { linearCombination } from '../../../../kernels/linear-combination.ts';
import { patchify, unpatchify } from '../../../../kernels/patchify.ts';
import { repeat } from '../../../../kernels/repeat.ts';
import { readSD3Config, type SD3Config } from '../../../../models/image/sd3-config.ts';
import { sd3, sd3PlaceIds, sd3Places, type SD3, type SD3Step } from '../../../../models/image/sd3.ts';
import type { WeightTable } from '../../../../models/weights.ts';
import { readAutoencoder } from '../../blocks/autoencoder.ts';
import { compute, freeTensors, type ComputeOptions } from '../../recording/compute.ts';
import type { ComponentAccess } from '../../components/components.ts';
import type { Predictor } from '../../recording/denoiser.ts';
import { createScalars } from '../../recording/scalars.ts';
import { Scope } from '../../recording/scope.ts';
import type { FamilyModel, Prepared, RunRequest } from '../../blocks/family.ts';
import { checkLength } from '../../blocks/prompt-length.ts';
import {
  checkLayers,
  layerGuidance,
  layerGuidanceNotes,
  type LayerGuidanceArguments,
} from './sd3-layer-guidance.ts';
import {
  checkSD3Encoders,
  encodeSD3,
  sd3ClipConfig,
  UNREAD_LAYERS,
  type SD3States,
  type SD3Text,
  type TextWidths,
} from './sd3-texts.ts';
import {
  recordPredictor,
  requireWidth,
  type StepInputs,
  type TransformerRequest,
} from '../../blocks/transformer-model.ts';

/** Latents along one side of a token. */
export const PATCH = 2;
/** Indices of a step's scalars. */
const GUIDANCE = 0;
const ONE = 1;

export interface SD3Arguments extends LayerGuidanceArguments {
  /** Texts for the second and the third encoder; left out or empty: that for the first. */
  prompt2?: string;
  prompt3?: string;
  negative2?: string;
  negative3?: string;
}

const guides = (scale: number): boolean => scale > 1;

export function openSD3(components: ComponentAccess): FamilyModel {
  const { device } = components;
  const config = readSD3Config(components.get('transformer').config, 'transformer/config.json');
  const page = (table: WeightTable) => sd3(config, table);
  const places = (table: WeightTable) => sd3Places(config, table);
  const { factor } = readAutoencoder(components.get('vae'));
  const layers = ['text_encoder', 'text_encoder_2'].map((name) => sd3ClipConfig(components, name).layers);

  return {
    latentChannels: config.channels,
    fillsMasks: fillsMasks(config) && 'coarse',
    sampleSize: { height: config.sampleSize, width: config.sampleSize },
    mostClipSkip: Math.min(...layers) - 1 - UNREAD_LAYERS,
    unreadClipLayers: UNREAD_LAYERS,
    guides,
    notesOn: (request) => layerGuidanceNotes(request, guides(request.values.guidance)),
    checkRequest(request) {
      checkLength(request);
      checkLayers(request, config.layers);
      checkSize(config, factor, request.values);
    },
    async checkFiles() {
      checkWidths(config, await checkSD3Encoders(components));
      components.check('transformer', page);
      components.check('transformer', places);
    },
    async prepare(request): Promise<Prepared> {
      const { maxSequenceLength, options } = request;
      const texts = await encodeSD3(components, textsOf(request), {
        ...(maxSequenceLength !== undefined && { maxSequenceLength }),
        columns: config.textDims,
        options,
      });
      return {
        tokens: texts.states.shape[1] as number,
        async load(references) {
          const sides = [request.values.height, request.values.width].map((side) => side / factor / PATCH);
          using scope = new Scope(device);
          const placed = scope.hold(await placeRows(components, config, sides as [number, number], options));
          const weights = scope.use(await components.load('transformer', 'denoiser', page, options));
          const given = { components, page: weights.page, texts, request, references, places: placed };
          const owner = scope.move();
          return {
            record: (latents, output, extra, way) =>
              openPredictor({ ...given, latents, output, extra, options: way }),
            [Symbol.dispose]: () => owner[Symbol.dispose](),
          };
        },
        [Symbol.dispose]: () => freeTensors(device, [texts.states, texts.pooled]),
      };
    },
  };
}

/** Whether the transformer takes latents, a mask and masked latents instead of latents alone. */
function fillsMasks({ inputs, channels }: SD3Config): boolean {
  const withMask = 2 * channels + 1;
  if (inputs === channels || inputs === withMask) return inputs === withMask;
  throw new EngineError(
    'unsupported',
    `transformer/config.json: in_channels ${inputs} is not built; choose a checkpoint that has ${channels}, or ${withMask} for inpainting`,
    { param: 'in_channels' },
  );
}

/** States of CLIP are padded with zeros to the transformer's width. */
function checkWidths({ textDims, pooledDims }: SD3Config, { clip, t5, pooled }: TextWidths): void {
  const clips = 'text_encoder and text_encoder_2';
  if (clip > textDims) requireWidth('joint_attention_dim', textDims, clips, clip);
  if (t5 !== null) requireWidth('joint_attention_dim', textDims, 'text_encoder_3', t5);
  requireWidth('pooled_projection_dim', pooledDims, clips, pooled);
}

/** Throws bad_request for an image that has more patches along a side than the table of positions. */
function checkSize(
  { places }: SD3Config,
  factor: number,
  values: Pick<RunRequest['values'], 'width' | 'height'>,
): void {
  const most = places * PATCH * factor;
  for (const key of ['width', 'height'] as const) {
    if (values[key] <= most) continue;
    const message = `${key} is ${values[key]}; the model has positions for at most ${most} pixels`;
    throw new EngineError('bad_request', message, { param: key });
  }
}

/** Texts of the negative prompt, under guidance, and of the prompt. Like in diffusers, layers of CLIP are skipped for the prompt alone. */
function textsOf({ prompt, values, call }: RunRequest): SD3Text[] {
  const { prompt2, prompt3, negative2, negative3 }: SD3Arguments = call;
  const positive = textOf(prompt, prompt2, prompt3, values.clipSkip);
  if (!guides(values.guidance)) return [positive];
  return [textOf(values.negativePrompt, negative2, negative3, 0), positive];
}

function textOf(
  first: string,
  second: string | undefined,
  third: string | undefined,
  clipSkip: number,
): SD3Text {
  return { clip: [first, second || first], t5: third || first, clipSkip };
}

/** Returns the rows of the table of positions for an image, [1, tokens, hidden]; the table itself leaves the device at once. */
async function placeRows(
  components: ComponentAccess,
  config: SD3Config,
  [rows, columns]: readonly [number, number],
  options: ComputeOptions,
): Promise<Tensor> {
  const { device } = components;
  const build = (table: WeightTable) => sd3Places(config, table);
  using table = await components.load('transformer', 'places', build, { ...options, once: true });
  using inputs = new Scope(device);
  const values = sd3PlaceIds(config, { rows, columns });
  const ids = inputs.hold(device.tensor('step', 'places of patches', [1, values.length], values));
  const [made] = await compute(device, options, (tape) => [table.page(tape, ids)]);
  return made!;
}

/** `extra`: mask and masked latents, [1, height, width, 1 + channels]. */
interface PredictorRequest extends TransformerRequest<SD3> {
  texts: SD3States;
  places: Tensor;
}

async function openPredictor(given: PredictorRequest): Promise<Predictor> {
  const { components, page, texts, request, options } = given;
  const { device } = components;
  const items = texts.states.shape[0] as number;
  using scope = new Scope(device);
  const [text] = await compute(device, options, (tape) => [page.condition(texts.states.on(tape))]);
  scope.hold(text!);
  const skipping = items === 1 ? null : layerGuidance(request);
  const scales = scope.use(createScalars(device, 'scales of layer guidance', 3));
  if (skipping) scales.write([1, skipping.scale, -skipping.scale]);
  return await recordPredictor(device, scope, given, {
    items,
    record(tape, inputs) {
      const y = predictAll(given, text!, tape, inputs);
      return items === 1 ? y : guidance(y, inputs.scalars, GUIDANCE);
    },
    ...(skipping && {
      recordOther(tape: Tape, inputs: StepInputs) {
        const y = predictAll(given, text!, tape, inputs);
        const guided = guidance(y, inputs.scalars, GUIDANCE);
        const [, height, width] = guided.shape as [number, number, number];
        const positive = takeRows(y, height * width, [1, height, width]);
        const skipped = predictWithout(given, text!, tape, inputs, skipping.layers);
        return linearCombination([guided, positive, skipped], scales.region, inputs.flag);
      },
    }),
    values: ({ timestep }, index) => ({
      time: timestep,
      scalars: [request.values.guidance, 1],
      isOther: skipping?.isIn(index) ?? false,
    }),
  });
}

const inputOn = (tape: Tape, { latents, extra }: PredictorRequest): Tensor =>
  extra ? concat(latents.on(tape), extra.on(tape)) : latents.on(tape);

/** Predictions for all texts, [items, height, width, channels]. `text`: the conditioned texts, [items, tokens, hidden]. */
function predictAll(
  given: PredictorRequest,
  text: Tensor,
  tape: Tape,
  { time, scalars }: StepInputs,
): Tensor {
  const items = text.shape[0] as number;
  const input = inputOn(tape, given);
  const x = items === 1 ? input : repeat(input, items, scalars, ONE);
  return predict(given, tape, x, { time, text: text.on(tape), pooled: given.texts.pooled.on(tape) });
}

/** The prediction for the prompt, which is the second text, in a pass without some blocks, [1, height, width, channels]. */
function predictWithout(
  given: PredictorRequest,
  text: Tensor,
  tape: Tape,
  { time }: StepInputs,
  without: ReadonlySet<number>,
): Tensor {
  const tokens = text.shape[1] as number;
  return predict(given, tape, inputOn(tape, given), {
    time: takeRows(time, 1, [1]),
    text: takeRows(text.on(tape), tokens, [1, tokens]),
    pooled: takeRows(given.texts.pooled.on(tape), 1, [1]),
    without,
  });
}

/** x [items, height, width, inputs] → [items, height, width, channels] */
function predict(
  { page, places }: PredictorRequest,
  tape: Tape,
  x: Tensor,
  step: Omit<SD3Step, 'patches' | 'places'>,
): Tensor {
  const [, height, width] = x.shape as [number, number, number];
  const patches = patchify(x, { size: PATCH, order: 'cpq' }); //  [items, tokens, 4 · inputs]
  const predicted = page.forward({ ...step, patches, places: places.on(tape) });
  return unpatchify(predicted, { size: PATCH, order: 'pqc', height, width });
}
