// The configuration of a request, which the gallery keeps, and the request that it becomes.

import type { Kind } from '../../options/setting.ts';

/** A value of a field. */
export type Value = string | number | boolean | (string | number)[];

/** Fields of a request under their own names, without images. */
export interface Configuration {
  model: string;
  prompt: string;
  [field: string]: Value;
}

/** The images that a request sends. */
export interface Sources {
  image?: Blob;
  mask?: Blob;
  /** Of the ControlNets, in their order. */
  controls?: Blob[];
}

/** Previews of each image that are asked for; the server sends at most three. */
const PREVIEWS = 3;

/** A value as a form shows it. */
export const textOf = (value: Value): string => (Array.isArray(value) ? value.join(', ') : String(value));

/** The value of a field that a form holds as text; undefined where it is left to the model. */
export function valueOf(kind: Kind, text: string | boolean): Value | undefined {
  if (typeof text === 'boolean') return text || undefined;
  if (text.trim() === '') return undefined;
  if (kind.type === 'number' || kind.type === 'integer') return Number(text);
  if (kind.type === 'list') {
    const entries = text.split(',').map((one) => one.trim());
    return kind.of.type === 'number' ? entries.map(Number) : entries;
  }
  return text;
}

/** The configuration that draws one of several images again. */
export function configurationOfOne(configuration: Configuration, seed: number): Configuration {
  const { n: _n, ...one } = configuration;
  return { ...one, model: configuration.model, prompt: configuration.prompt, seed };
}

/** A request with a form, or with an object that is sent as JSON. */
export interface PostRequest {
  path: string;
  body: FormData | object;
}

/** Where a request for images goes, and its body. */
export async function imageRequest(
  configuration: Configuration,
  { image, mask, controls = [] }: Sources,
): Promise<PostRequest> {
  const body = { ...configuration, stream: true, partial_images: PREVIEWS };
  if (image) {
    const form = formOf(body);
    form.append('image', image, 'image');
    if (mask) form.append('mask', mask, 'mask.png');
    for (const control of controls) form.append('control_image', control, 'control');
    return { path: 'v1/images/edits', body: form };
  }
  const control_image = await Promise.all(controls.map(dataUrlOf));
  const sent = { ...body, ...(controls.length > 0 && { control_image }) };
  return { path: 'v1/images/generations', body: sent };
}

/** The request that starts a video. */
export function videoRequest(configuration: Configuration, { image }: Sources): PostRequest {
  if (!image) return { path: 'v1/videos', body: configuration };
  const form = formOf(configuration);
  form.append('input_reference', image, 'image');
  return { path: 'v1/videos', body: form };
}

function formOf(body: Readonly<Record<string, unknown>>): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(body))
    form.append(name, typeof value === 'string' ? value : JSON.stringify(value));
  return form;
}

function dataUrlOf(content: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener('load', () => resolve(reader.result as string));
    reader.addEventListener('error', () => reject(reader.error!));
    reader.readAsDataURL(content);
  });
}
