// What the form holds, kept while other views are shown and when the page is reloaded.

import { computed, effect, signal } from '@preact/signals';
import { drawsClips, imageModels } from '../api/models.ts';
import { servedModel } from '../api/server-info.ts';
import { type Configuration, type Sources, textOf, valueOf } from './configuration.ts';
import { draw } from './drawings.ts';
import { fieldsOf, type FormField, type ModelFields } from './settings.ts';
import { type Entry, formStore } from './storage.ts';

export interface FormValues {
  /** '': the first image model. */
  model: string;
  prompt: string;
  /** '': at random. */
  seed: string;
  imageFormat: string;
  videoFormat: string;
  /** Texts and switches of the fields by their names in requests; '' is left to the model. */
  fields: Record<string, string | boolean>;
}

/** The formats that the server writes. Every one is shown by browsers. */
export const IMAGE_FORMATS = ['png', 'jpeg', 'webp'];
export const VIDEO_FORMATS = ['mp4', 'webm', 'webp', 'gif'];

const STORED = 'svc-image-form';
const EMPTY: FormValues = {
  model: '',
  prompt: '',
  seed: '',
  imageFormat: IMAGE_FORMATS[0]!,
  videoFormat: VIDEO_FORMATS[0]!,
  fields: {},
};

export const form = signal<FormValues>(stored());
/** The images that the request sends. */
export const sources = signal<Sources>({});

effect(() => localStorage.setItem(STORED, JSON.stringify(form.value)));

let isRead = false;

/** Brings back the images that the form had when the page was left; changes are kept from then on. */
export async function readSources(): Promise<void> {
  if (isRead) return;
  isRead = true;
  const [kept] = await formStore.all().catch(() => []);
  if (kept && Object.keys(sources.value).length === 0) {
    const { id: _, ...images } = kept;
    sources.value = images;
  }
  // A browser that keeps nothing draws all the same.
  effect(() => void formStore.put({ id: 'sources', ...sources.value }).catch(() => {}));
}

function stored(): FormValues {
  try {
    return { ...EMPTY, ...(JSON.parse(localStorage.getItem(STORED) ?? '{}') as Partial<FormValues>) };
  } catch {
    return EMPTY;
  }
}

export function change(values: Partial<FormValues>): void {
  form.value = { ...form.value, ...values };
}

export function changeField(name: string, value: string | boolean): void {
  change({ fields: { ...form.value.fields, [name]: value } });
}

/** The model that is chosen, else the first that draws images and not clips; undefined where the server has none. */
export const chosenModel = computed(() => {
  const models = imageModels.value;
  return (
    models.find(({ id }) => id === form.value.model) ??
    models.find((model) => !drawsClips(model)) ??
    models[0]
  );
});

/** The fields of the chosen model; null without one. */
export const modelFields = computed<ModelFields | null>(() => {
  const model = chosenModel.value;
  return model ? fieldsOf(model, servedModel(model.id)?.info) : null;
});

/** The images of the form that the chosen model takes. */
export const sentSources = computed<Sources>(() => {
  const { takesImage = false, takesMask = false, controls = 0 } = modelFields.value ?? {};
  const { image, mask, controls: given = [] } = sources.value;
  const sent = given.slice(0, controls);
  return {
    ...(takesImage && image && { image }),
    ...(takesMask && image && mask && { mask }),
    ...(sent.length > 0 && { controls: sent }),
  };
});

/** Sends what the form holds. */
export async function submit(): Promise<void> {
  const model = chosenModel.value;
  const fields = modelFields.value;
  if (!model || !fields) return;
  const { prompt, seed, imageFormat, videoFormat } = form.value;
  const images = sentSources.value;
  const sent = [
    ...fields.main,
    ...fields.more,
    ...fields.lora,
    ...(images.image && fields.strength ? [fields.strength] : []),
    ...(images.controls ? fields.control : []),
  ];
  const configuration: Configuration = {
    model: model.id,
    prompt,
    ...valuesOf(sent),
    ...(seed !== '' && { seed: Number(seed) }),
    output_format: fields.drawsClips ? videoFormat : imageFormat,
  };
  await draw(fields.drawsClips ? 'video' : 'image', configuration, images);
}

function valuesOf(fields: readonly FormField[]): Record<string, unknown> {
  const given = fields.map(({ name, kind }) => [name, valueOf(kind, form.value.fields[name] ?? '')] as const);
  return Object.fromEntries(given.filter(([, value]) => value !== undefined));
}

/** Puts the configuration of an entry into the form. */
export function fillFrom({ kind, configuration, sources: images }: Entry): void {
  const { model, prompt, seed, output_format: format, ...fields } = configuration;
  change({
    model,
    prompt,
    seed: seed === undefined ? '' : String(seed),
    ...(kind === 'video' ? { videoFormat: String(format) } : { imageFormat: String(format) }),
    fields: Object.fromEntries(
      Object.entries(fields).map(([name, value]) => [
        name,
        typeof value === 'boolean' ? value : textOf(value),
      ]),
    ),
  });
  sources.value = images;
}
