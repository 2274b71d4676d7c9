// Pipeline classes that are not built in: what each would do that no class here does, and which class draws with its components
// where that is an honest answer. A class is never run as another unless the user names that one.

import { EngineError } from '../error.ts';
import { PIPELINE_CLASSES, PIPELINES } from './pipeline-classes.ts';

interface Unbuilt {
  of: RegExp;
  /** The purpose of the class, in words that follow "which". */
  does: string;
  /** Its denoiser takes something that no class here gives it. */
  needsIt?: true;
}

/** The first that fits. */
const UNBUILT: readonly Unbuilt[] = [
  {
    of: /video|^(Wan|LTX|CogVideoX|Mochi|Latte|Allegro|AnimateDiff|I2VGenXL|Cosmos|SkyReels|StepVideo|Magi|Helios|MOVA|ConsisID|EasyAnimate|HotshotXL|Kandinsky5[TI]2V|MiniMaxH3)/i,
    does: 'makes videos',
    needsIt: true,
  },
  {
    of: /^(Audio|MusicLDM|StableAudio|DanceDiffusion|ACEStep|Spectrogram)/,
    does: 'makes sound',
    needsIt: true,
  },
  {
    of: /^(DDPM|DDIM|PNDM|ScoreSdeVe|KarrasVe|RePaint|LDM|ConsistencyModel)Pipeline$|^LDMSuperResolution/,
    does: 'draws without a text: its UNet has no text encoder',
    needsIt: true,
  },
  { of: /^DiT/, does: 'draws classes of images, not texts: its denoiser has no text encoder', needsIt: true },
  {
    of: /InstructPix2Pix/,
    does: 'edits an image that its UNet is given in channels of its own',
    needsIt: true,
  },
  { of: /Upscale/, does: 'enlarges an image that its UNet is given in channels of its own', needsIt: true },
  { of: /Depth2Img/, does: 'gives its UNet a depth map in a channel of its own', needsIt: true },
  { of: /ImageVariation|UnCLIP/i, does: 'draws from the embedding of an image', needsIt: true },
  { of: /GLIGEN/, does: 'places objects in boxes by layers of its own', needsIt: true },
  { of: /LDM3D/, does: 'draws an image and its depth', needsIt: true },
  { of: /PAG/, does: 'steers by perturbed attention (PAG)' },
  { of: /ControlNet/, does: 'steers by a control image (ControlNet)' },
  { of: /Adapter/, does: 'steers by a control image (T2I-Adapter)' },
  { of: /LEdits/, does: 'edits an image that it takes back to noise (LEDITS++)' },
  { of: /Semantic/, does: 'steers by further texts (semantic guidance)' },
  { of: /SAG/, does: 'steers by self-attention (SAG)' },
  { of: /Safe/, does: 'steers away from unsafe concepts' },
  { of: /AttendAndExcite/, does: 'steers by the attention to single tokens' },
  { of: /Panorama/, does: 'joins views into a panorama' },
  { of: /DiffEdit|CycleDiffusion|Pix2PixZero|Inversion/, does: 'edits an image that it takes back to noise' },
  { of: /KDiffusion/, does: 'samples with the schedules of another library' },
];

/** Throws for a pipeline class that is not built in; `index` is its model_index.json. */
export function refuseClass(
  path: string,
  className: string,
  index: Readonly<Record<string, unknown>>,
): never {
  const unbuilt = UNBUILT.find(({ of }) => of.test(className));
  const does = unbuilt === undefined ? 'is not built in' : unbuilt.does;
  const alternative = unbuilt?.needsIt === true ? null : classOfComponents(className, index);
  const remedy =
    alternative === null
      ? ''
      : `; \`pipelineClassName\` ${alternative} draws with its components, and without what the class adds`;
  throw new EngineError(
    'unsupported',
    `${path} is a ${className}, which ${does}${unbuilt === undefined ? '' : ', and is not built in'}: this version runs ${PIPELINE_CLASSES.join(', ')}${remedy}`,
    { param: 'model' },
  );
}

/** Throws for a UNet of a class that reads no text, and so needs no text encoder. */
export function refuseDenoiser(path: string, className: string): void {
  if (className !== 'UNet2DModel') return;
  throw new EngineError(
    'unsupported',
    `${path} has a UNet2DModel as unet, which draws without a text, or a class of images: this version runs UNets with a text encoder (UNet2DConditionModel)`,
    { param: 'model' },
  );
}

/** The class of a family all of whose components are there, for the images and masks that `className` takes; else null. */
function classOfComponents(className: string, index: Readonly<Record<string, unknown>>): string | null {
  const isOf = (name: string, classes: readonly string[] | null): boolean => {
    const pair: unknown = Object.hasOwn(index, name) ? index[name] : null;
    const [, component]: unknown[] = Array.isArray(pair) ? pair : [];
    return typeof component === 'string' && (classes === null || classes.includes(component));
  };
  // SDXL's components hold all those of Stable Diffusion.
  const [found] = [...PIPELINES]
    .toReversed()
    .filter(([, { components }]) =>
      [...components].every(([name, { classes, optional }]) => optional || isOf(name, classes)),
    );
  const [text] = found ? [...PIPELINES].find(([, { family }]) => family === found[1].family)! : [null];
  const kind = /Inpaint|Img2Img/.exec(className)?.[0];
  if (text === null || kind === undefined) return text;
  const other = text.replace(/Pipeline$/, `${kind}Pipeline`);
  return PIPELINES.has(other) ? other : text;
}
