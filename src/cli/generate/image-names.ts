// Saves images and clips under names of a pattern: values fill it, and the first free number.

import { readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { makeFolder } from './image-file.ts';
import type { NamePattern, PLACEHOLDERS } from './name-pattern.ts';

type Placeholder = (typeof PLACEHOLDERS)[number];

/** Values that fill a pattern, in addition to the index. */
export type NameValues = Readonly<Record<Exclude<Placeholder, 'index'>, string | number>>;

/**
 * Saves under the first free name after the highest number in the folder; returns the path. `save` returns false if a name is taken.
 */
export async function saveNumbered(
  folder: string,
  { pattern, plainFirst }: Omit<NamePattern<unknown>, 'format'>,
  values: NameValues,
  save: (path: string) => Promise<boolean>,
): Promise<string> {
  if (plainFirst) {
    const plain = join(folder, fill(pattern.replace('_{index}', ''), values));
    await makeFolder(dirname(plain));
    if (await save(plain)) return plain;
  }
  const place = (index: number) => join(folder, fill(pattern, values, index));
  await makeFolder(dirname(place(0)));
  // Another process may take the name first; then the next number is tried.
  for (let index = await nextIndex(place, plainFirst ? 1 : 0); ; index += 1) {
    if (await save(place(index))) return place(index);
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
