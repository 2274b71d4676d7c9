// The key of a medium: a hash of what was given, so that equal media are known wherever they came from.

import type { Pixels } from '../../../files/image/pixels.ts';
import type { MediaKind, TileLimits } from '../../../models/media.ts';
import type { Clip, RgbaPixels, Sound } from '../../../files/media/decoded.ts';

type Given = Uint8Array | Pixels | RgbaPixels | Clip | Sound;

export async function mediumKey(kind: MediaKind, given: Given, limits: TileLimits): Promise<string> {
  const { head, bytes } = piecesOf(given);
  const own = await Promise.all(bytes.map(sha256));
  const form = JSON.stringify([kind, head, limits.minTiles ?? null, limits.maxTiles ?? null, own]);
  return sha256(new TextEncoder().encode(form));
}

/** The bytes of a medium, and its other values. */
function piecesOf(given: Given): { head: unknown; bytes: readonly Uint8Array[] } {
  if (given instanceof Uint8Array) return { head: null, bytes: [given] };
  if ('frames' in given) {
    const sizes = given.frames.map(({ width, height }) => [width, height]);
    return { head: [given.source, given.indices, sizes], bytes: given.frames.map(({ data }) => data) };
  }
  if ('samples' in given) {
    const { buffer, byteOffset, byteLength } = given.samples;
    return { head: given.rate, bytes: [new Uint8Array(buffer, byteOffset, byteLength)] };
  }
  const { buffer, byteOffset, byteLength } = given.data;
  return { head: [given.width, given.height], bytes: [new Uint8Array(buffer, byteOffset, byteLength)] };
}

async function sha256(bytes: Uint8Array): Promise<string> {
  // Shared memory is not hashed in place.
  const own = bytes.buffer instanceof ArrayBuffer ? (bytes as Uint8Array<ArrayBuffer>) : bytes.slice();
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', own));
  return [...hash].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
