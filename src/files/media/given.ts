// Media that a program gives decoded: their shapes and bounds are checked before anything reads them.

import { badRequest, type EngineError } from '../error.ts';
import type { Pixels } from '../image/pixels.ts';
import { overWhite, withoutAlpha } from '../image/rgba.ts';
import type { Clip, MediaKind, RgbaPixels, Sound } from './decoded.ts';
import { checkVideo } from './frame-choice.ts';
import type { AlphaRule, MediaBounds } from './media.ts';
import { checkBound } from './media-error.ts';
import { LEAST_RATE, MOST_RATE } from './sound-reader.ts';

/** Throws bad_request for what is neither the bytes of a file nor a whole medium of the kind. */
export function checkGiven(kind: MediaKind, given: unknown, name: string, bounds: MediaBounds): void {
  if (given instanceof Uint8Array) return;
  if (typeof given !== 'object' || given === null)
    throw wrong(name, `is ${typeof given}`, 'the bytes of a file as a Uint8Array, or the decoded medium');
  if (kind === 'image') checkPixels(given, name, bounds);
  else if (kind === 'video') checkClip(given, name, bounds);
  else checkSound(given, name, bounds);
}

/** The colours of checked pixels; alpha, if there is any, is resolved. */
export function coloursOf({ width, height, data }: Pixels | RgbaPixels, alpha: AlphaRule): Pixels {
  const bytes = data instanceof Uint8Array ? data : new Uint8Array(data.buffer, data.byteOffset, data.length);
  const image = { width, height, data: bytes };
  if (bytes.length === 3 * width * height) return image;
  return alpha === 'white' ? overWhite(image) : withoutAlpha(image);
}

function checkPixels(given: object, name: string, bounds: MediaBounds): void {
  const { width, height, data } = given as Partial<RgbaPixels>;
  if (!isCount(width) || !isCount(height))
    throw wrong(
      name,
      `has a width of ${String(width)} and a height of ${String(height)}`,
      'both in pixels, or the bytes of a file as a Uint8Array',
    );
  checkBound(name, bounds, 'maxImagePixels', width * height, `is an image of ${width} × ${height} pixels`);
  const isBytes = data instanceof Uint8Array || data instanceof Uint8ClampedArray;
  const channels = isBytes ? data.length / (width * height) : null;
  if (channels !== 3 && channels !== 4)
    throw wrong(
      name,
      `has ${isBytes ? `${data.length} bytes` : 'no bytes'} of data for ${width} × ${height} pixels`,
      'three for each pixel, or four with alpha',
    );
}

function checkClip(given: object, name: string, bounds: MediaBounds): void {
  const { source, frames, indices } = given as Partial<Clip>;
  if (!Array.isArray(frames) || frames.length === 0) throw wrong(name, 'has no frames', 'at least one');
  if (!Array.isArray(indices) || indices.length !== frames.length || !indices.every(isIndex))
    throw wrong(name, `has no index for each of its ${frames.length} frames`, 'those of the source');
  const { width, height, frames: count, fps, duration } = (source ?? {}) as Partial<Clip['source']>;
  const times = [fps, duration].every((value) => Number.isFinite(value) && value! > 0);
  if (![width, height, count].every(isCount) || !times)
    throw wrong(
      name,
      'has a source without width, height, frames, fps and duration',
      'all of them as numbers',
    );
  checkVideo(source!, name, bounds);
  checkFrames(frames as Pixels[], name, bounds);
  const beyondLast = (indices as number[]).find((index) => index >= count!);
  if (beyondLast !== undefined)
    throw wrong(
      name,
      `has a frame of index ${beyondLast}, and its source ${count} frames`,
      'indices below that',
    );
}

function checkFrames(frames: readonly Pixels[], name: string, bounds: MediaBounds): void {
  const { length: count } = frames;
  checkBound(name, bounds, 'maxVideoFrames', count, `has ${count} frames`);
  const [first] = frames;
  frames.forEach((frame, i) => {
    const own = `${name}.frames.${i}`;
    if (typeof frame !== 'object' || frame === null) throw wrong(own, `is ${typeof frame}`, 'pixels');
    checkPixels(frame, own, bounds);
    if (frame.width !== first!.width || frame.height !== first!.height)
      throw wrong(own, `has another size than the first frame`, 'frames of one size');
    if (frame.data.length !== 3 * frame.width * frame.height)
      throw wrong(own, 'has alpha', 'three bytes for each pixel');
  });
  const { width, height } = first!;
  const size = `has ${count} frames of ${width} × ${height} pixels`;
  checkBound(name, bounds, 'maxVideoPixels', count * width * height, size);
}

function checkSound(given: object, name: string, bounds: MediaBounds): void {
  const { samples, rate } = given as Partial<Sound>;
  if (!(samples instanceof Float32Array) || samples.length === 0)
    throw wrong(name, 'has no samples', 'a Float32Array of them');
  if (!samples.every(Number.isFinite)) throw wrong(name, 'has samples that are not finite', 'numbers');
  if (!isCount(rate)) throw wrong(name, `has a rate of ${String(rate)}`, RATES);
  const seconds = samples.length / rate;
  checkBound(name, bounds, 'maxMediaSeconds', seconds, `lasts ${Number(seconds.toFixed(1))} seconds`);
  if (rate < LEAST_RATE || rate > MOST_RATE) throw wrong(name, `has a rate of ${rate}`, RATES);
}

const RATES = `a whole number of samples per second, ${LEAST_RATE} to ${MOST_RATE}`;

const isIndex = (value: unknown): boolean => Number.isInteger(value) && (value as number) >= 0;

const isCount = (value: unknown): value is number => isIndex(value) && (value as number) > 0;

function wrong(name: string, problem: string, needed: string): EngineError {
  return badRequest(`${name} ${problem}: give ${needed}`, name);
}
