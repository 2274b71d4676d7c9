// Metadata of a generated image as the text that other programs show (A1111's form), with a configuration that generates the image
// again. image-embed.ts places it in a file.

import { embeddedText } from './image-embed.ts';
import { isRecord } from '../source.ts';

const CONFIG_FIELD = 'svc config';

export interface ImageParameters {
  prompt: string;
  negativePrompt: string;
  /** Fields in the order of display: Steps, Sampler, CFG scale, Seed, Size, Model … */
  fields: Readonly<Record<string, string | number>>;
  /** Configuration for `svc generate --config`. */
  config: Readonly<Record<string, unknown>>;
}

export function parametersText({ prompt, negativePrompt, fields, config }: ImageParameters): string {
  const shown: [string, string | number][] = [
    ...Object.entries(fields),
    [CONFIG_FIELD, JSON.stringify(config)],
  ];
  const line = shown.map(([name, value]) => `${name}: ${quoted(String(value))}`).join(', ');
  return [prompt, ...(negativePrompt === '' ? [] : [`Negative prompt: ${negativePrompt}`]), line].join('\n');
}

/** Writes a value that contains a separator of fields as a JSON string. */
function quoted(value: string): string {
  return /[,:\n"]/.test(value) ? JSON.stringify(value) : value;
}

/** The configuration that generates the image in `file` again; null if it holds none. */
export function configOfImage(file: Uint8Array): Record<string, unknown> | null {
  const text = embeddedText(file);
  return text === null ? null : configInText(text);
}

/** Returns the configuration in such a text; null if there is none. */
export function configInText(text: string): Record<string, unknown> | null {
  // The last occurrence, because a prompt may contain the same words.
  const written = [...text.matchAll(new RegExp(`${CONFIG_FIELD}: ("(?:\\\\.|[^"\\\\])*")`, 'g'))].at(-1)?.[1];
  if (written === undefined) return null;
  try {
    const config: unknown = JSON.parse(String(JSON.parse(written)));
    return isRecord(config) ? config : null;
  } catch {
    return null;
  }
}
