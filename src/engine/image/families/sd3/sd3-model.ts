// The model of Stable Diffusion 3 and 3.5: a transformer over the patches of an image and the tokens of a text. Guidance computes the prompt
// and the negative prompt as two items of one pass.

import { badRequest } from '../../../../files/error.ts';
import type { Tape } from '../../../../gpu/tape.ts';
import type { Tensor } from '../../../../gpu/tensor.ts';
import { concat } from '../../../../kernels/concat.ts';
import { takeRows } from '../../../../kernels/copy-rows.ts';
import { linearCombination } from '../../../../kernels/linear-combination.ts';
import { patchify, unpatchify } from '../../../../kernels/patchify.ts';
import { readSD3Config, type SD3Config } from '../../../../models/image/sd3-config.ts';
import { sd3, sd3PlaceIds, sd3Places, type SD3, type SD3Step } from '../../../../models/image/sd3.ts';
import type { WeightTable } from '../../../../models/weights.ts';
import { readAutoencoder } from '../../blocks/autoencoder.ts';
import { clipConfig } from '../../blocks/clip-states.ts';
import { coarseMasks } from '../../blocks/coarse-masks.ts';
import type { FamilyModel, RunRequest } from '../../blocks/family.ts';
import {
  conditionOnce,
  guidedItems,
  openTransformer,
  repeated,
  requireWidth,
  type RecordedStep,
  type StepInputs,
  type TransformerRequest,
} from '../../blocks/transformer-model.ts';
import type { ComponentAccess } from '../../components/components.ts';
import { compute, type ComputeOptions } from '../../recording/compute.ts';
import { createScalars, Scope } from '../../recording/scope.ts';
import { checkLayers, layerGuidance, layerGuidanceNotes } from './sd3-layer-guidance.ts';
import { checkSD3Encoders, CLIPS, encodeSD3, UNREAD_LAYERS, type TextWidths } from './sd3-texts.ts';

/** Latents along one side of a token. */
const PATCH = 2;

const guides = (scale: number): boolean => scale > 1;

export function openSD3(components: ComponentAccess): FamilyModel {
  const config = readSD3Config(components.get('transformer').config, 'transformer/config.json');
  const { factor } = readAutoencoder(components.get('vae'));
  const layers = CLIPS.map(({ encoder }) => clipConfig(components, encoder).layers);
  return openTransformer<SD3>(components, {
    page: (table) => sd3(config, table),
    latentChannels: config.channels,
    fillsMasks: coarseMasks('transformer/config.json', config.inputs, config.channels),
    sampleSize: { height: config.sampleSize, width: config.sampleSize },
    mostClipSkip: Math.min(...layers) - 1 - UNREAD_LAYERS,
    unreadClipLayers: UNREAD_LAYERS,
    guides,
    notesOn: (request) => layerGuidanceNotes(request, guides(request.values.guidance)),
    ranks: {
      tokens: { heads: config.heads },
      passesTogether: (request) =>
        layerGuidance(request) && 'guidance without some layers takes a third pass',
    },
    checkRequest(request) {
      checkLayers(request, config.layers);
      checkSize(config, factor, request.values);
    },
    async checkTexts() {
      checkWidths(config, await checkSD3Encoders(components));
      components.check('transformer', (table) => sd3Places(config, table));
    },
    encode: async (request, guided) => [await encodeSD3(components, request, guided, config.textDims)],
    before({ values, options }) {
      const [rows, columns] = [values.height / factor / PATCH, values.width / factor / PATCH];
      return placeRows(components, config, { rows, columns }, options);
    },
    step: recordStep,
  });
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
    throw badRequest(message, key);
  }
}

/** Returns the rows of the table of positions for an image, [1, tokens, hidden]; the table itself leaves the device at once. */
async function placeRows(
  components: ComponentAccess,
  config: SD3Config,
  grid: { rows: number; columns: number },
  options: ComputeOptions,
): Promise<Tensor> {
  const { device } = components;
  const build = (table: WeightTable) => sd3Places(config, table);
  using table = await components.load('transformer', 'places', build, { ...options, once: true });
  using inputs = new Scope(device);
  const values = sd3PlaceIds(config, grid);
  const ids = inputs.hold(device.tensor('step', 'places of patches', [1, values.length], values));
  const [made] = await compute(device, options, (tape) => [table.page(tape, ids)]);
  return made!;
}

type Given = TransformerRequest<SD3>;

async function recordStep(given: Given, scope: Scope): Promise<RecordedStep> {
  const { device, page, texts, images, request } = given;
  const { states } = texts[0]!;
  const items = states.shape[0] as number;
  const passes = items / images;
  const text = await conditionOnce(given, scope, (tape) => page.condition(states.on(tape)));
  const skipping = passes === 1 ? null : layerGuidance(request);
  const scales = scope.use(createScalars(device, 'scales of layer guidance', 3));
  if (skipping) scales.write([1, skipping.scale, -skipping.scale]);
  return {
    items,
    record: (tape, inputs) => guidedItems(predictAll(given, text, tape, inputs), passes, inputs),
    ...(skipping && {
      recordOther(tape: Tape, inputs: StepInputs) {
        const y = predictAll(given, text, tape, inputs);
        const guided = guidedItems(y, passes, inputs);
        const [, height, width] = guided.shape as [number, number, number];
        const positive = takeRows(y, images * height * width, [images, height, width]);
        const skipped = predictWithout(given, text, tape, inputs, skipping.layers);
        return linearCombination([guided, positive, skipped], scales.region, inputs.flag);
      },
    }),
    values: ({ timestep }, index) => ({
      time: timestep,
      scalars: [request.values.guidance, 1],
      isOther: skipping?.isIn(index) ?? false,
    }),
  };
}

/** The latents and behind them, for inpainting, the mask and the masked latents. */
const inputOn = (tape: Tape, { latents, extra }: Given): Tensor =>
  extra ? concat(latents.on(tape), extra.on(tape)) : latents.on(tape);

/** Predictions for all texts, [items, height, width, channels]. `text`: the conditioned texts, [items, tokens, hidden]. */
function predictAll(given: Given, text: Tensor, tape: Tape, inputs: StepInputs): Tensor {
  const x = repeated(inputOn(tape, given), (text.shape[0] as number) / given.images, inputs);
  const pooled = given.texts[0]!.pooled!.on(tape);
  return predict(given, tape, x, { time: inputs.time, text: text.on(tape), pooled });
}

/** Predictions for the prompts, whose texts are the second ones, in a pass without some blocks, [images, height, width, channels]. */
function predictWithout(
  given: Given,
  text: Tensor,
  tape: Tape,
  { time }: StepInputs,
  without: ReadonlySet<number>,
): Tensor {
  const { images } = given;
  const tokens = text.shape[1] as number;
  return predict(given, tape, inputOn(tape, given), {
    time: takeRows(time, images, [images, 1]),
    text: takeRows(text.on(tape), images * tokens, [images, tokens]),
    pooled: takeRows(given.texts[0]!.pooled!.on(tape), images, [images, 1]),
    without,
  });
}

/** x [items, height, width, inputs] → [items, height, width, channels] */
function predict(
  { page, before: places, height, width }: Given,
  tape: Tape,
  x: Tensor,
  step: Omit<SD3Step, 'patches' | 'places'>,
): Tensor {
  const patches = patchify(x, { size: PATCH, order: 'cpq' }); //  [items, tokens, 4 · inputs]
  const predicted = page.forward({ ...step, patches, places: places!.on(tape) });
  return unpatchify(predicted, { size: PATCH, order: 'pqc', height, width });
}
