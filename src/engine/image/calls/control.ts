// ControlNets of a request: how strongly each takes part, in which calls of the denoiser, and the checks of what is given for them.

import { type Prose, field, option, say } from '../../../files/message.ts';
import { badRequest } from '../../../files/error.ts';
import type { CompleteImageRequest } from './image-model.ts';

export type ControlFields = Pick<CompleteImageRequest, 'controlScale' | 'controlStart' | 'controlEnd'>;

/** The inputs of a model for control images. */
export interface ControlInputs {
  /** Number of ControlNets, or 1 for an input of the denoiser's own; 0: none. */
  controls: number;
  /** Whether the control image enters as latents, which have no scale. */
  seesControl: boolean;
}

/** How one ControlNet takes part; start and end are shares of the calls of the denoiser. */
export interface ControlRule {
  scale: number;
  start: number;
  end: number;
}

/** Limit on scales, so that sums stay finite. */
const MOST_SCALE = 1e4;

/** Returns the rule of each of `count` ControlNets: a list of one number is for all of them. */
export function controlRules(
  { controlScale = [1], controlStart = [0], controlEnd = [1] }: ControlFields,
  count: number,
): ControlRule[] {
  const of = (values: readonly number[], i: number): number => values[values.length === 1 ? 0 : i]!;
  return Array.from({ length: count }, (_, i) => ({
    scale: of(controlScale, i),
    start: of(controlStart, i),
    end: of(controlEnd, i),
  }));
}

/** Indices of the ControlNets that take part in a call of the denoiser, as diffusers decides it. */
export function activeIn(rules: readonly ControlRule[], call: number, calls: number): number[] {
  return [...rules.keys()].filter((i) => {
    const { scale, start, end } = rules[i]!;
    return scale !== 0 && call / calls >= start && (call + 1) / calls <= end;
  });
}

/** Throws bad_request for images and numbers that do not match the ControlNets of a model, or its own input for a control image. */
export function checkControl(
  request: CompleteImageRequest,
  { controls: count, seesControl }: ControlInputs,
): void {
  const { controlImages = [] } = request;
  // Its image has no scale, start or end: the family takes no such fields.
  if (seesControl) {
    if (controlImages.length !== 1)
      refuse(
        'controlImages',
        say`the model draws by one control image, and ${controlImages.length === 0 ? 'none is' : `${controlImages.length} are`} given: give ${field('controlImages')}`,
      );
    return;
  }
  if (count === 0 && controlImages.length > 0)
    refuse(
      'controlImages',
      say`${field('controlImages')} is for ControlNets, and the model has none: give them with ${option('controlnetPath')}, or open a pipeline that has them`,
    );
  if (controlImages.length !== count)
    refuse(
      'controlImages',
      say`the model has ${count === 1 ? 'a ControlNet' : `${count} ControlNets`}, and ${controlImages.length} images are given: give ${field('controlImages')}, one for each`,
    );
  checkNumbers(request, count);
  for (const [i, { start, end }] of controlRules(request, count).entries())
    if (start >= end)
      refuse(
        'controlStart',
        say`ControlNet ${i + 1} starts at ${start} and ends at ${end}: the start comes before the end`,
      );
}

/** Throws bad_request for an image prompt without an IP-Adapter, and for an IP-Adapter without an image. */
export function checkImagePrompt(
  { ipAdapterImage, ipAdapterScale }: CompleteImageRequest,
  isTaken: boolean,
): void {
  if (isTaken && !ipAdapterImage)
    refuse(
      'ipAdapterImage',
      say`the model has an IP-Adapter, and no image is given for it: give ${field('ipAdapterImage')}`,
    );
  if (!isTaken && ipAdapterImage)
    refuse(
      'ipAdapterImage',
      say`${field('ipAdapterImage')} is for an IP-Adapter, and the model has none: give one with ${option('ipAdapterPath')}`,
    );
  if (ipAdapterScale === undefined) return;
  if (!isTaken)
    refuse(
      'ipAdapterScale',
      say`${field('ipAdapterScale')} is for an IP-Adapter, and the model has none: leave it out`,
    );
  if (!(Math.abs(ipAdapterScale) <= MOST_SCALE))
    refuse(
      'ipAdapterScale',
      say`${field('ipAdapterScale')} is ${ipAdapterScale}; it is a number from -${MOST_SCALE} to ${MOST_SCALE}`,
    );
}

function checkNumbers(request: CompleteImageRequest, count: number): void {
  const isShare = (value: number): boolean => value >= 0 && value <= 1;
  const fields = [
    [
      'controlScale',
      `a number from -${MOST_SCALE} to ${MOST_SCALE}`,
      (v: number) => Math.abs(v) <= MOST_SCALE,
    ],
    ['controlStart', 'a number from 0 to 1', isShare],
    ['controlEnd', 'a number from 0 to 1', isShare],
  ] as const;
  for (const [name, wanted, fits] of fields) {
    const values = request[name];
    if (values === undefined) continue;
    if (count === 0)
      refuse(name, say`${field(name)} is for ControlNets, and the model has none: leave it out`);
    if (values.length !== 1 && values.length !== count)
      refuse(
        name,
        say`${field(name)} has ${values.length} entries for ${count} ControlNets: give one for each, or one for all`,
      );
    const wrong = values.find((value) => !fits(value));
    if (wrong !== undefined) refuse(name, say`${field(name)} is ${wrong}; it is ${wanted}`);
  }
}

function refuse(param: string, message: Prose): never {
  throw badRequest(message, param);
}
