// File names of images: a pattern, the values that fill it, and the first free number.

import { readdir } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { IMAGE_FORMATS, type ImageFormat, imageFormatOf } from '../../index.ts';
import { UsageError } from '../process/exit.ts';
import { makeFolder, saveNew } from './image-file.ts';

const DEFAULT_PATTERN = 'generated_image_{index}.png';
const PLACEHOLDERS = [
  'index',
  'seed',
  'sample',
  'prompt',
  'model',
  'date',
  'time',
  'width',
  'height',
  'steps',
] as const;

type Placeholder = (typeof PLACEHOLDERS)[number];

/** Values that fill a pattern, in addition to the index. */
export type NameValues = Readonly<Record<Exclude<Placeholder, 'index'>, string | number>>;

export interface NamePattern {
  /** The name, with {index} as the placeholder of the number. */
  pattern: string;
  format: ImageFormat;
  /** The first image is saved without the index if that name is free. */
  plainFirst: boolean;
}

interface Wanted {
  /** The name under which the user gave an option, for messages. */
  nameOf: (name: string) => string;
  fileName?: string | undefined;
  template?: string | undefined;
  /** Number of images of the whole run. */
  images: number;
}

export function namePattern({ nameOf, fileName, template, images }: Wanted): NamePattern {
  if (fileName !== undefined && template !== undefined) {
    throw new UsageError(
      `${nameOf('output-file-name')} and ${nameOf('output-template')} both name the images: give one`,
    );
  }
  if (fileName !== undefined) return fromFileName(fileName, nameOf('output-file-name'), images);
  if (template === undefined) return { pattern: DEFAULT_PATTERN, format: 'png', plainFirst: false };
  const option = nameOf('output-template');
  checkTemplate(template, option);
  const { name, format } = withEnding(template, option);
  const isNumbered = name.includes('{index}');
  return { pattern: isNumbered ? name : numbered(name), format, plainFirst: !isNumbered };
}

/** Maximum length in bytes: file systems allow 255, and the number may need ten. */
const LONGEST_NAME = 240;

function fromFileName(fileName: string, option: string, images: number): NamePattern {
  if (/[/\\]/.test(fileName) || fileName === '.' || fileName === '..') {
    throw new UsageError(
      `${option} is a name without folders, got "${fileName}": --output-path names the folder`,
    );
  }
  const { name, format } = withEnding(fileName, option);
  const bytes = Buffer.byteLength(name);
  if (bytes > LONGEST_NAME)
    throw new UsageError(`${option} has ${bytes} bytes with its ending: ${LONGEST_NAME} at most`);
  // Braces in --output-file-name are literal.
  const pattern = numbered(name.replaceAll('{', '{{'));
  return { pattern, format, plainFirst: images === 1 };
}

function checkTemplate(template: string, option: string): void {
  if (isAbsolute(template) || template.split(/[/\\]/).includes('..')) {
    throw new UsageError(
      `${option} stays inside the output folder, got "${template}": --output-path names the folder`,
    );
  }
  const unknown = [...template.matchAll(/\{([^{}]*)\}/g)].find(
    ([, name]) => !PLACEHOLDERS.some((known) => known === name),
  );
  if (unknown !== undefined) {
    const known = PLACEHOLDERS.map((name) => `{${name}}`).join(' ');
    throw new UsageError(`${option} has no placeholder ${unknown[0]}; there are ${known}`);
  }
}

function withEnding(name: string, option: string): { name: string; format: ImageFormat } {
  const format = imageFormatOf(name);
  const stem = name
    .slice(Math.max(name.lastIndexOf('/'), name.lastIndexOf('\\')) + 1)
    .replace(/\.[a-z]+$/i, '');
  if (stem.trim() === '') {
    throw new UsageError(
      `${option} "${name}" has no name before its ending: give one, as image${format === null ? '.png' : name.slice(name.lastIndexOf('.'))}`,
    );
  }
  if (format !== null) return { name, format };
  const ending = /\.([a-z]{2,5})$/i.exec(name)?.[0];
  if (ending === undefined) return { name: `${name}.png`, format: 'png' };
  throw new UsageError(
    `${option} ends with ${ending}, and images are written as .${IMAGE_FORMATS.join(', .')} or .jpg`,
  );
}

function numbered(name: string): string {
  const dot = name.lastIndexOf('.');
  return `${name.slice(0, dot)}_{index}${name.slice(dot)}`;
}

/** The names of clips, which are written as WebP whatever the ending for images is. */
export function clipNames({ pattern, ...names }: NamePattern): NamePattern {
  return { ...names, pattern: pattern.replace(/\.\w+$/, '.webp'), format: 'webp' };
}

/** Saves under the first free name after the highest number in the folder; returns the path. */
export async function saveNumbered(
  folder: string,
  { pattern, plainFirst }: NamePattern,
  values: NameValues,
  bytes: Uint8Array,
): Promise<string> {
  if (plainFirst) {
    const plain = join(folder, fill(pattern.replace('_{index}', ''), values));
    await makeFolder(dirname(plain));
    if (await saveNew(plain, bytes)) return plain;
  }
  const place = (index: number) => join(folder, fill(pattern, values, index));
  await makeFolder(dirname(place(0)));
  // Another process may take the name first; then the next number is tried.
  for (let index = await nextIndex(place, plainFirst ? 1 : 0); ; index += 1) {
    if (await saveNew(place(index), bytes)) return place(index);
  }
}

/** Returns the number after the highest one in use. */
async function nextIndex(place: (index: number) => string, first: number): Promise<number> {
  // The names for indices 0 and 1 differ only at the position of the number.
  const [zero, one] = [basename(place(0)), basename(place(1))];
  if (zero === one) return first;
  let at = 0;
  while (zero[at] === one[at]) at += 1;
  const [before, after] = [zero.slice(0, at), zero.slice(at + 1)];
  const used = (await readdir(dirname(place(0)))).flatMap((name) => {
    const number = name.slice(before.length, name.length - after.length);
    const matches = name.startsWith(before) && name.endsWith(after) && /^\d{1,9}$/.test(number);
    return matches ? [Number(number)] : [];
  });
  return Math.max(first, ...used.map((index) => index + 1));
}

function fill(pattern: string, values: NameValues, index = 0): string {
  return pattern
    .replaceAll('{{', '\0')
    .replace(/\{(\w+)\}/g, (_, name: Placeholder) => cleaned(String(name === 'index' ? index : values[name])))
    .replaceAll('\0', '{');
}

const LONGEST = 100;
const LONGEST_BYTES = 150;

/** Reduces a text to characters that file names may have on every system: letters, digits, dots, hyphens and underscores. */
function cleaned(text: string): string {
  const safe = text
    .normalize('NFKC')
    .replace(/[^\p{L}\p{M}\p{N}.-]+/gu, '_')
    .replace(/_{2,}/g, '_')
    .replace(/^[._-]+/, '');
  let short = Array.from(safe).slice(0, LONGEST);
  while (Buffer.byteLength(short.join('')) > LONGEST_BYTES) short = short.slice(0, -1);
  return short.join('').replace(/[._-]+$/, '') || 'image';
}
