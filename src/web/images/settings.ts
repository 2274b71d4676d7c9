// The fields of the form: rows of the table of image settings, with what the model says of its own values.

import { IMAGE_SAMPLING } from '../../options/image-request.ts';
import { fieldName, type Kind, type Setting } from '../../options/setting.ts';
import { drawsClips, type ListedModel } from '../api/models.ts';
import type { ServedModelInfo } from '../api/server-info.ts';
import { textOf, type Value } from './configuration.ts';

export interface FormField {
  /** Name in a request, for example `num_inference_steps`. */
  name: string;
  label: string;
  help: string;
  kind: Kind;
  /** The value that holds where the field is left empty; '' where it is not known. */
  otherwise: string;
  /** Inclusive; undefined: none. */
  min: number | undefined;
  max: number | undefined;
  /** Distance of valid numbers. */
  step: number | 'any';
}

type Name = keyof typeof IMAGE_SAMPLING;

/** Rows that are seen at once. */
const MAIN: Name[] = ['negativePrompt', 'width', 'height', 'steps', 'guidance', 'scheduler'];
const OF_CLIPS: Name[] = ['frames', 'fps'];
/** Rows behind a disclosure. */
const MORE: Name[] = [
  ...(['guidanceRescale', 'flowShift', 'maxSequenceLength', 'generatorDevice'] as const),
  ...(['tiling', 'enableTeacache'] as const),
];
/** Rows that requests for clips do not have. */
const OF_IMAGES: Name[] = ['clipSkip'];
const OF_UPSCALER: Name[] = ['enableUpscaling', 'upscalingScale'];
const OF_LORA: Name[] = ['lora', 'loraScale'];
const OF_CONTROL: Name[] = ['controlScale', 'controlStart', 'controlEnd'];

/** Most images of a request to the server; the table's own limit is that of the command line. */
const MOST_IMAGES = 10;

const LABELS: Partial<Record<Name, string>> = {
  fps: 'Frames a second',
  lora: 'LoRAs',
  loraScale: 'LoRA scales',
  samples: 'Images',
  tiling: 'Decode in strips',
  enableTeacache: 'Reuse steps (TeaCache)',
  enableUpscaling: 'Enlarge results',
};

/** What the form of a model shows. */
export interface ModelFields {
  main: FormField[];
  more: FormField[];
  lora: FormField[];
  control: FormField[];
  /** Share of the steps that a source image leaves; null: the model starts from no image, or its requests have no strength. */
  strength: FormField | null;
  takesImage: boolean;
  takesMask: boolean;
  /** ControlNets of the model. */
  controls: number;
  drawsClips: boolean;
}

/** `info`: what is known of a model that is open. */
export function fieldsOf(model: ListedModel, info: ServedModelInfo | undefined): ModelFields {
  const isOfClips = drawsClips(model);
  const { supports, upscaler, components = {} } = info ?? {};
  const controls = Object.keys(components).filter((name) => /^controlnet(_\d+)?$/.test(name)).length;
  const field = (name: Name): FormField => fieldFor(name, model);
  const isKnown = (name: Name): boolean => name !== 'negativePrompt' || supports?.negativePrompt !== false;
  const takesImage = supports !== undefined && (supports.imageToImage || supports.edits > 0);
  return {
    main: [...MAIN.filter(isKnown), ...(isOfClips ? OF_CLIPS : []), 'samples' as const].map(field),
    more: [...MORE, ...(isOfClips ? [] : OF_IMAGES), ...(upscaler ? OF_UPSCALER : [])].map(field),
    lora: info?.loras ? OF_LORA.map((name) => withLoras(field(name), info.loras!)) : [],
    control: controls > 0 ? OF_CONTROL.map(field) : [],
    strength: supports?.imageToImage && !isOfClips ? field('strength') : null,
    takesImage,
    takesMask: takesImage && !isOfClips && supports.inpainting,
    controls: isOfClips ? 0 : controls,
    drawsClips: isOfClips,
  };
}

function fieldFor(name: Name, model: ListedModel): FormField {
  const setting: Setting = IMAGE_SAMPLING[name];
  const requested = fieldName(name, setting, 'images');
  const { help, kind: own, default: fallback } = setting;
  const isSide = name === 'width' || name === 'height';
  const multiple = model.size_multiple ?? 1;
  const schedulers = model.schedulers ?? [];
  const kind: Kind =
    name === 'scheduler' && schedulers.length > 0 ? { type: 'choice', choices: schedulers } : own;
  const bounds = boundsOf(kind);
  const otherwise =
    model.image_defaults?.[requested] ?? (name === 'scheduler' ? schedulers[0] : undefined) ?? fallback ?? '';
  return {
    name: requested,
    label: LABELS[name] ?? labelOf(name),
    help,
    kind,
    otherwise: textOf(otherwise as Value),
    min: isSide ? Math.max(multiple, bounds.min ?? 0) : bounds.min,
    max: name === 'samples' ? MOST_IMAGES : bounds.max,
    step: isSide ? multiple : kind.type === 'integer' ? 1 : 'any',
  };
}

/** Left out, a request draws with the LoRAs that were given with the model. */
function withLoras(field: FormField, { given }: NonNullable<ServedModelInfo['loras']>): FormField {
  const values = given.map(({ name, scale }) => (field.name === 'lora_path' ? name : scale));
  return { ...field, otherwise: values.join(', ') };
}

function boundsOf(kind: Kind): { min?: number | undefined; max?: number | undefined } {
  if (kind.type === 'integer') return kind;
  return kind.type === 'number' ? { min: kind.min ?? kind.above, max: kind.max } : {};
}

/** `guidanceRescale` becomes "Guidance rescale". */
function labelOf(name: string): string {
  const words = name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return words.charAt(0).toUpperCase() + words.slice(1);
}
