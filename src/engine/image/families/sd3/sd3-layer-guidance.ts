// Skip-layer guidance of Stable Diffusion 3.5: in some steps the prediction is guided away from that of a pass without some blocks of the
// transformer, which only sees the prompt. source: diffusers' StableDiffusion3Pipeline

import { countText } from '../../../../files/count-text.ts';
import { badRequest } from '../../../../files/error.ts';
import { field, say, type Prose } from '../../../../files/message.ts';
import {
  isReal,
  isWhole,
  list,
  number,
  type CallArguments,
  type CallArgumentTable,
} from '../../calls/call-arguments.ts';
import type { RunRequest } from '../../blocks/family.ts';

/** Call arguments of the class for text-to-image. */
export interface LayerGuidanceArguments extends CallArguments {
  /** Numbers of the blocks that the additional pass leaves out; left out or empty: there is no such pass. */
  skipLayers?: number[];
  /** Weight of the difference from the pass without those blocks. */
  skipScale?: number;
  /** Shares of the steps between which the pass is made, both exclusive. */
  skipStart?: number;
  skipStop?: number;
}

const into = (call: keyof LayerGuidanceArguments) => ({ call });
const isShare = (value: number): boolean => value >= 0 && value <= 1;
const LAYERS = list('numbers of blocks, from 0 on', (item) => isWhole(item) && item >= 0, into('skipLayers'));

export const LAYER_GUIDANCE: CallArgumentTable = {
  skip_guidance_layers: {
    ...LAYERS,
    fits: (value) => (Array.isArray(value) && value.length === 0) || LAYERS.fits(value),
  },
  skip_layer_guidance_scale: number('a number', isReal, into('skipScale')),
  skip_layer_guidance_start: number('a number from 0 to 1', isShare, into('skipStart')),
  skip_layer_guidance_stop: number('a number from 0 to 1', isShare, into('skipStop')),
};

export interface LayerGuidance {
  layers: ReadonlySet<number>;
  scale: number;
  /** Whether a step has the additional pass. */
  isIn(step: number): boolean;
}

type Request = Pick<RunRequest, 'values' | 'call'>;

/** The additional pass of a guided request; null: no step has it. */
export function layerGuidance({ values: { steps }, call }: Request): LayerGuidance | null {
  const { skipLayers = [], skipScale = 2.8, skipStart = 0.01, skipStop = 0.2 }: LayerGuidanceArguments = call;
  const isIn = (step: number): boolean => step > steps * skipStart && step < steps * skipStop;
  const isUsed = skipLayers.length > 0 && Array.from({ length: steps }, (_, i) => i).some(isIn);
  return isUsed ? { layers: new Set(skipLayers), scale: skipScale, isIn } : null;
}

/** Throws bad_request for blocks that a transformer with `count` of them does not have. */
export function checkLayers({ call }: Pick<Request, 'call'>, count: number): void {
  const { skipLayers = [] }: LayerGuidanceArguments = call;
  const missing = skipLayers.find((layer) => layer >= count);
  if (missing === undefined) return;
  const message = `the call argument skip_guidance_layers has ${missing}, and the blocks of this transformer are 0 to ${count - 1}: name others`;
  throw badRequest(message, 'kwargs');
}

/** Notes on arguments that change nothing. `isGuided`: whether there is a pass without the prompt. */
export function layerGuidanceNotes(request: Request, isGuided: boolean): Prose[] {
  const { values, call } = request;
  const { skipLayers = [], skipScale, skipStart, skipStop }: LayerGuidanceArguments = call;
  const given = Object.entries({
    skip_layer_guidance_scale: skipScale,
    skip_layer_guidance_start: skipStart,
    skip_layer_guidance_stop: skipStop,
  }).flatMap(([name, value]) => (value === undefined ? [] : [name]));
  if (skipLayers.length === 0)
    return given.map((name) => `${name} changes nothing: skip_guidance_layers names no blocks`);
  if (!isGuided)
    return [
      say`skip_guidance_layers changes nothing: at ${field('guidance')} ${values.guidance} this model makes no pass without the prompt, and like in diffusers none without these blocks`,
    ];
  if (layerGuidance(request) !== null) return [];
  return [
    `skip_guidance_layers changes nothing: of ${countText(values.steps, 'step')} none lies between skip_layer_guidance_start and skip_layer_guidance_stop`,
  ];
}
