// The model of FLUX.1: a transformer over the tokens of a text and the patches of an image.

import { EngineError } from '../../../../files/error.ts';
import { field, say, type Prose } from '../../../../files/message.ts';
import type { Tensor } from '../../../../gpu/tensor.ts';
import { concat } from '../../../../kernels/concat.ts';
import { joinTokens } from '../../../../kernels/copy-rows.ts';
import { patchify, unpatchify } from '../../../../kernels/patchify.ts';
import { flux, type Flux } from '../../../../models/image/flux.ts';
import { readFluxConfig, type FluxConfig } from '../../../../models/image/flux-config.ts';
import { fluxRotations, fluxTextRotations } from '../../../../models/image/flux-rope.ts';
import type { WeightTable } from '../../../../models/weights.ts';
import { readAutoencoder } from '../../blocks/autoencoder.ts';
import type { CallArguments } from '../../calls/call-arguments.ts';
import { compute } from '../../recording/compute.ts';
import type { ComponentAccess } from '../../components/components.ts';
import type { Predictor } from '../../recording/denoiser.ts';
import { Scope } from '../../recording/scope.ts';
import type { FamilyModel, Prepared, RunRequest } from '../../blocks/family.ts';
import { checkFluxEncoders, encodeFlux, type FluxStates, type FluxText } from './flux-texts.ts';
import { checkLength } from '../../blocks/prompt-length.ts';
import {
  combineGuided,
  guidedScalars,
  prepareTransformer,
  recordPredictor,
  requireWidth,
  TRANSFORMER,
  uploadRotations,
  type TransformerRequest,
} from '../../blocks/transformer-model.ts';

/** Latents along one side of a token. */
export const PATCH = 2;
const PATCHES = { size: PATCH, order: 'cpq' } as const;
/** Factor on the guidance scale where it is embedded like a time step. */
const GUIDANCE_SCALE = 1000;

export interface FluxArguments extends CallArguments {
  /** Guidance by a second pass with the negative prompt; left out or at most 1: one pass. */
  trueGuidance?: number;
  /** Texts for T5; left out: those for CLIP. */
  prompt2?: string;
  negative2?: string;
}

const trueGuidance = ({ trueGuidance: scale = 1 }: FluxArguments): number => scale;

/** Input that a transformer takes beside the latents; null: none. */
export type Beside = 'mask' | 'control image' | null;

/** `wanted`: the input beside the latents that the pipeline gives. */
export function openFlux(components: ComponentAccess, wanted: Beside = null): FamilyModel {
  const config = readFluxConfig(components.get('transformer').config, 'transformer/config.json');
  const page = (table: WeightTable) => flux(config, table);
  const beside = inputBeside(config, readAutoencoder(components.get('vae')).factor);
  const fillsMasks = beside === 'mask' && 'folded';
  if (wanted !== null && beside !== wanted) {
    const classes =
      wanted === 'mask' ? 'FluxInpaintPipeline, or FLUX.1 Fill' : 'FluxPipeline, or FLUX.1 Depth or Canny';
    const message = `transformer/config.json: in_channels is ${config.inputs * PATCH ** 2}: the transformer takes no ${wanted}, and the pipeline gives it one: take ${classes}`;
    throw new EngineError('bad_checkpoint', message, { param: 'in_channels' });
  }

  return {
    ...TRANSFORMER,
    latentChannels: config.channels,
    fillsMasks,
    ...(beside === 'control image' && { controls: 1, seesControl: true }),
    ignoresGuidance: !config.distilledGuidance,
    guides: (_, call) => trueGuidance(call) > 1,
    notesOn: (request) => unguidedNotes(request),
    checkRequest: (request) => checkLength(request),
    async checkFiles() {
      const { text, pooled } = await checkFluxEncoders(components);
      requireWidth('joint_attention_dim', config.textDims, 'text_encoder_2', text);
      requireWidth('pooled_projection_dim', config.pooledDims, 'text_encoder', pooled);
      components.check('transformer', page);
    },
    async prepare(request): Promise<Prepared> {
      const texts = await encodeFlux(components, textsOf(request), request);
      return prepareTransformer(components, page, request, {
        tensors: texts.flatMap(({ states, pooled }) => [states, pooled]),
        tokens: texts[0]!.states.shape[1] as number,
        predictor: (given) => openPredictor({ ...given, config, texts }),
      });
    },
  };
}

/** The input beside the latents. `factor`: pixels along one side of a latent. */
function inputBeside({ inputs, channels }: FluxConfig, factor: number): Beside {
  const extra = inputs - channels;
  if (extra === 0) return null;
  if (extra === channels) return 'control image';
  if (extra === channels + factor ** 2) return 'mask';
  const [given, plain] = [inputs, channels].map((count) => count * PATCH ** 2);
  throw new EngineError(
    'unsupported',
    `transformer/config.json: in_channels is ${given} and out_channels ${plain}: what such a transformer takes beside the latents is not known; choose FLUX.1 dev, schnell, Krea, Kontext, Fill, Depth or Canny`,
    { param: 'in_channels' },
  );
}

/** Whether a request gives a negative prompt, which may be empty. */
function hasNegative({ sources, call }: Pick<RunRequest, 'sources' | 'call'>): boolean {
  const { negative2 }: FluxArguments = call;
  return sources.negativePrompt !== 'contract' || negative2 !== undefined;
}

function unguidedNotes(request: Pick<RunRequest, 'sources' | 'call'>): Prose[] {
  const scale = trueGuidance(request.call);
  if (scale <= 1 || hasNegative(request)) return [];
  return [
    say`true_cfg_scale ${scale} changes nothing: no negative prompt is given, and like in diffusers there is no pass without the prompt: give ${field('negativePrompt')}, which may be empty`,
  ];
}

/** The prompt, and the negative prompt where it has a pass: like in diffusers only if the request gives one. */
function textsOf({ prompt, values, sources, call }: RunRequest): FluxText[] {
  const { prompt2, negative2 }: FluxArguments = call;
  const texts = [{ clip: prompt, t5: prompt2 || prompt }];
  if (trueGuidance(call) <= 1 || !hasNegative({ sources, call })) return texts;
  return [...texts, { clip: values.negativePrompt, t5: negative2 || values.negativePrompt }];
}

/** `extra`: latents of the image without the masked part and the folded mask, or of the control image. */
interface PredictorRequest extends TransformerRequest<Flux> {
  config: FluxConfig;
  /** The prompt and, under true guidance, the negative prompt. */
  texts: readonly FluxStates[];
}

async function openPredictor(given: PredictorRequest): Promise<Predictor> {
  const { components, config, page, texts, references, request, latents, extra, options } = given;
  const { device } = components;
  const [, height, width] = latents.shape as [number, number, number];
  using scope = new Scope(device);
  const turns = rotationsOf(given, scope);
  const words: Tensor[] = [];
  for (const { states } of texts) {
    const [text] = await compute(device, options, (tape) => [page.condition(states.on(tape))]);
    words.push(scope.hold(text!));
  }
  const distilled = Float32Array.of(GUIDANCE_SCALE * request.values.guidance);
  const guidance = config.distilledGuidance
    ? scope.hold(device.tensor('step', 'guidance', [1, 1], distilled))
    : null;
  const scale = trueGuidance(request.call);
  return await recordPredictor(device, scope, given, {
    record(tape, inputs) {
      const input = extra ? concat(latents.on(tape), extra.on(tape)) : latents.on(tape);
      const sequences = [input, ...references.map((one) => one.on(tape))].map((one) =>
        patchify(one, PATCHES),
      );
      const patches = sequences.reduce((joined, next) => joinTokens(joined, next)); // [1, tokens, 4 · inputs]
      const { text, image, both } = turns;
      const predictions = texts.map(({ pooled }, i) =>
        page.forward({
          patches,
          time: inputs.time,
          guidance: guidance && guidance.on(tape),
          text: words[i]!.on(tape),
          pooled: pooled.on(tape),
          rotations: { text: text.on(tape), image: image.on(tape), both: both.on(tape) },
          denoised: sequences[0]!.shape[1] as number,
        }),
      );
      return unpatchify(combineGuided(predictions, inputs), { ...PATCHES, height, width });
    },
    values: ({ timestep }) => ({ time: timestep, scalars: guidedScalars(scale) }),
  });
}

/** Rotations of the text, of the patches of all images, and of both one after the other; all texts have one length. */
function rotationsOf({ components, config, texts, latents, references }: PredictorRequest, scope: Scope) {
  const grids = [latents, ...references].map(({ shape }, i) => {
    const [, height, width] = shape as [number, number, number];
    // All images that are seen beside the first have one number.
    return fluxRotations(config, { image: Math.min(i, 1), rows: height / PATCH, columns: width / PATCH });
  });
  const text = fluxTextRotations(config, texts[0]!.states.shape[1] as number);
  const upload = (label: string, ...parts: Float32Array[]): Tensor =>
    uploadRotations(components.device, scope, { label, dims: config.dims }, ...parts);
  return {
    text: upload('rotations of a text', text),
    image: upload('rotations of images', ...grids),
    both: upload('rotations of both', text, ...grids),
  };
}
