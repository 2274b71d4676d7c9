// The model of FLUX.1: a transformer over the tokens of a text and the patches of an image. T5 gives the states of a prompt, padded to a fixed
// number of tokens that all take part, and CLIP its pooled state.

import { field, say, type Prose } from '../../../../files/message.ts';
import { ConfigError } from '../../../../models/config-values.ts';
import { flux, type Flux } from '../../../../models/image/flux.ts';
import { PATCH, readFluxConfig, type FluxConfig } from '../../../../models/image/flux-config.ts';
import { fluxRotations, fluxTextRotations } from '../../../../models/image/flux-rope.ts';
import { readAutoencoder } from '../../blocks/autoencoder.ts';
import { checkClip, readClip } from '../../blocks/clip-states.ts';
import type { FamilyModel, RunRequest } from '../../blocks/family.ts';
import { embeddedGuidance, streamStep } from '../../blocks/stream-step.ts';
import { checkT5, readT5 } from '../../blocks/t5-texts.ts';
import {
  MOST_TOKENS,
  openTransformer,
  requireWidth,
  type TextStates,
} from '../../blocks/transformer-model.ts';
import type { CallArguments } from '../../calls/call-arguments.ts';
import type { ComponentAccess } from '../../components/components.ts';
import { Scope } from '../../recording/scope.ts';
import { TEACACHE, type TeaCacheDefaults } from '../../step-cache/teacache.ts';

/** Latents along one side of a token. */
const CLIP = { encoder: 'text_encoder', tokenizer: 'tokenizer' };
const T5 = { encoder: 'text_encoder_2', tokenizer: 'tokenizer_2' };

export interface FluxArguments extends CallArguments {
  /** Guidance by a second pass with the negative prompt; left out or at most 1: one pass. */
  trueGuidance?: number;
  /** Texts for T5; left out: those for CLIP. */
  prompt2?: string;
  negative2?: string;
}

const trueGuidance = ({ trueGuidance: scale = 1 }: FluxArguments): number => scale;

/** Input that a transformer takes beside the latents; null: none. */
export type ExtraInput = 'mask' | 'control image' | null;

/** `wanted`: the input beside the latents that the pipeline gives. */
export function openFlux(
  components: ComponentAccess,
  wanted: ExtraInput = null,
  teacache: TeaCacheDefaults = TEACACHE.flux,
): FamilyModel {
  const config = readFluxConfig(components.get('transformer').config, 'transformer/config.json');
  const extra = extraInputFor(config, readAutoencoder(components.get('vae')).factor);
  if (wanted !== null && extra !== wanted) {
    const classes =
      wanted === 'mask' ? 'FluxInpaintPipeline, or FLUX.1 Fill' : 'FluxPipeline, or FLUX.1 Depth or Canny';
    const problem = `in_channels is ${config.inputs * PATCH ** 2}: the transformer takes no ${wanted}, and the pipeline gives it one: take ${classes}`;
    throw new ConfigError('bad_checkpoint', 'transformer/config.json', problem, 'in_channels');
  }
  return openTransformer<Flux>(components, {
    page: (table) => flux(config, table),
    latentChannels: config.channels,
    fillsMasks: extra === 'mask' && 'folded',
    ...(extra === 'control image' && { controls: 1, seesControl: true }),
    ignoresGuidance: !config.distilledGuidance,
    ranks: { tokens: { heads: config.heads } },
    guides: (_, call) => trueGuidance(call) > 1,
    teacache: () => teacache,
    notesOn: (request) => unguidedNotes(request),
    async checkTexts() {
      const { pooled } = await checkClip(components, CLIP);
      requireWidth('joint_attention_dim', config.textDims, 'text_encoder_2', await checkT5(components, T5));
      requireWidth('pooled_projection_dim', config.pooledDims, 'text_encoder', pooled);
    },
    encode: (request, guided) => encodeTexts(components, request, guided),
    async step(given, scope) {
      const { page, request, images } = given;
      const guidance = embeddedGuidance(given, scope, config.distilledGuidance, images);
      const recorded = await streamStep(given, scope, {
        patch: PATCH,
        dims: config.dims,
        rotateText: (tokens) => fluxTextRotations(config, tokens),
        // All images that are seen beside the first have one number.
        rotateImage: ({ image, ...grid }) => fluxRotations(config, { ...grid, image: Math.min(image, 1) }),
        scale: trueGuidance(request.call),
        pass: (tape, { time }) => {
          const scale = guidance && guidance.on(tape);
          return (inputs, { pooled }) =>
            page.forward({ ...inputs, time, guidance: scale, pooled: pooled!.on(tape) });
        },
      });
      return { ...recorded, items: images };
    },
  });
}

/** The input beside the latents. `factor`: pixels along one side of a latent. */
function extraInputFor({ inputs, channels }: FluxConfig, factor: number): ExtraInput {
  const extra = inputs - channels;
  if (extra === 0) return null;
  if (extra === channels) return 'control image';
  if (extra === channels + factor ** 2) return 'mask';
  const [given, plain] = [inputs, channels].map((count) => count * PATCH ** 2);
  throw new ConfigError(
    'unsupported',
    'transformer/config.json',
    `in_channels is ${given} and out_channels ${plain}: what such a transformer takes beside the latents is not known; choose FLUX.1 dev, schnell, Krea, Kontext, Fill, Depth or Canny`,
    'in_channels',
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

/** Encodes the prompt, and the negative prompt where it has a pass: like in diffusers only if the request gives one. */
async function encodeTexts(
  components: ComponentAccess,
  request: RunRequest,
  guided: boolean,
): Promise<TextStates[]> {
  const { prompt, values, call, options, maxSequenceLength: count = MOST_TOKENS } = request;
  const { prompt2, negative2 }: FluxArguments = call;
  const isBoth = guided && hasNegative(request);
  const forClip = isBoth ? [prompt, values.negativePrompt] : [prompt];
  const forT5 = [prompt2, negative2].slice(0, forClip.length).map((text, i) => text || forClip[i]!);
  using made = new Scope(components.device);
  const pooled = await readClip(
    components,
    CLIP,
    forClip,
    {
      part: 'pooled',
      depth: ({ layers }) => ({ depth: layers, normed: true }),
      keep: (out) => [out.pooled!],
      options,
    },
    made,
  );
  const states = await readT5(components, T5, forT5, { count, padding: 'all', options });
  made.release();
  return states.map((text, i) => ({ ...text, pooled: pooled[i]![0]! }));
}
