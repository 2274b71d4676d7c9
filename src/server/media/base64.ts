// The bytes of data: URIs.

import type { ByteBudget } from './byte-budget.ts';
import type { MediaSource } from './media-source.ts';

/** The data: URI of a member that holds base64 by itself. */
export const dataUrl = (base64: string): string => `data:;base64,${base64}`;

/** Characters of a data: URI before its comma. */
const MOST_OF_HEAD = 1000;

/** Bytes of a data: URI. Its media type is not used, since the bytes tell their format. Throws RequestError. */
export function dataBytes(url: string, source: MediaSource, budget: ByteBudget): Uint8Array {
  const comma = url.slice(0, MOST_OF_HEAD).indexOf(',');
  if (comma < 0) throw source.error('is a data: URI without a comma; send data:<type>;base64,<bytes>');
  if (!/;base64\s*$/i.test(url.slice(0, comma)))
    throw source.error('is a data: URI without base64; send data:<type>;base64,<bytes>');
  const text = url.slice(comma + 1);
  return base64Bytes(text.includes('%') ? unescaped(text, source) : text, source, budget);
}

function unescaped(text: string, source: MediaSource): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw source.error('has a wrong percent escape; send base64 without escapes');
  }
}

const BASE64 = /^[A-Za-z0-9+/_-]*={0,2}$/;

/** Standard and URL-safe base64, with or without padding and line breaks. Throws RequestError. */
function base64Bytes(text: string, source: MediaSource, budget: ByteBudget): Uint8Array {
  const digits = BASE64.test(text) ? text : text.replaceAll(/\s+/g, '');
  if (!BASE64.test(digits)) throw source.error('is not base64; send the bytes of the file in base64');
  const length = digits.replace(/=+$/, '').length;
  if (length % 4 === 1) throw source.error('is base64 that is cut off; send the whole file');
  const bytes = new Uint8Array(Math.floor((length * 3) / 4));
  budget.take(bytes.length, source);
  // In a buffer of its own, because a message between threads copies the whole buffer, and Node's small Buffers share one.
  Buffer.from(bytes.buffer).write(digits, 'base64');
  return bytes;
}
