// Resolves the paths in a configuration. A path in a text file is searched beside that file first, then in the working directory.
// An image that holds its configuration may have been moved, and image names repeat: its paths are searched in the working
// directory, then beside the image and in the folders above it, but never resolve to the image itself. A source image is recognized
// by its digest, so that no other file of that name is used instead.

import { createHash } from 'node:crypto';
import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, relative, resolve } from 'node:path';
import { imageFormatOf, videoFormatOf } from '../../index.ts';
import { UsageError } from '../process/exit.ts';

/** Whether a configuration file is an image or a video that was drawn. */
export const isDrawn = (path: string): boolean =>
  imageFormatOf(path) !== null || videoFormatOf(path) !== null;

/** Prefix of a path whose folders are left out. */
export const HIDDEN_FOLDERS = '…/';

/**
 * Converts a value for storage in an image: absolute paths become relative to the working directory, so that this machine's folders
 * are not disclosed.
 */
export function withoutPlace(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutPlace);
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, withoutPlace(one)]));
  }
  if (typeof value !== 'string' || !isAbsolute(value)) return value;
  const fromHere = relative('.', value);
  return fromHere === '' || /^\.\.|:/.test(fromHere) ? `${HIDDEN_FOLDERS}${basename(value)}` : fromHere;
}

/** Digest by which a source image is recognized. */
export function digestOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex').slice(0, DIGEST_DIGITS);
}

/** A path in a configuration file. */
export interface Named {
  /** Path of the configuration file. */
  file: string;
  key: string;
  /** The option that gives the path. */
  option: string;
  /** Digests of the files one after the other; left out: any content is taken. */
  digest?: string | undefined;
}

/** Digits of a digest. */
const DIGEST_DIGITS = 16;

/** Resolves a path of a configuration, or each path of a list or a map, relative to the working directory. */
export function placed(named: Named, value: unknown): unknown {
  if (Array.isArray(value)) {
    const digestAt = (i: number) => named.digest?.slice(i * DIGEST_DIGITS, (i + 1) * DIGEST_DIGITS);
    return value.map((path, i) => placed({ ...named, digest: digestAt(i) || undefined }, path));
  }
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, path]) => [key, placed(named, path)]));
  }
  if (typeof value !== 'string' || value === '') return value;
  const { file, key, option, digest } = named;
  const isHidden = value.startsWith(HIDDEN_FOLDERS);
  if (isHidden && digest === undefined) {
    throw new UsageError(
      `${key} in ${file} is ${value}, and images do not store its folders: give --${option} with its whole path as well`,
    );
  }
  const places = placesOf(file, isHidden ? value.slice(HIDDEN_FOLDERS.length) : value);
  if (digest === undefined) return places[0] ?? value;
  const known = places.find((place) => statSync(place).isFile() && digestOf(readFileSync(place)) === digest);
  if (known !== undefined) return known;
  const [other] = places;
  throw new UsageError(
    other === undefined
      ? `${value}, which ${key} in ${file} names, is not found here or beside it: give --${option} with its whole path as well`
      : `${other} is not what ${key} in ${file} names, for its content is another: give --${option} with the path of the one meant as well`,
  );
}

/** Returns existing files or folders to which a path may refer, in order of precedence. */
function placesOf(file: string, value: string): string[] {
  if (isAbsolute(value)) return existsSync(value) ? [value] : [];
  const beside = join(dirname(file), value);
  const above = foldersAbove(resolve(file)).map((folder) => join(folder, value));
  const places = isDrawn(file) ? [value, beside, ...above] : [beside, value];
  return places.filter((place) => existsSync(place) && realpathSync(place) !== realpathSync(file));
}

function foldersAbove(path: string): string[] {
  const folder = dirname(path);
  return folder === path ? [] : [folder, ...foldersAbove(folder)];
}
