// From a vocabulary entry to the bytes it stands for. Three spellings cover the language models: byte-level (each
// byte is a printable stand-in character, as GPT-2 chose them), SentencePiece pieces (▁ is a space, <0xE4> a byte),
// and Metaspace. Working in bytes is what lets a stream hold half a character back. Added tokens, special or not, are
// spelled like the others: Gemma's runs of spaces are added tokens made of ▁.

import { STAND_INS } from './encode/stand-ins.ts';

interface TokenPlace {
  /** The token opens its text. */
  first: boolean;
  /** The token was added after training. */
  added: boolean;
}

interface TokenDecoder {
  bytes(token: string, place: TokenPlace): Uint8Array;
  /** Spaces cut from the start of a whole text. */
  leadingSpaces: number;
}

interface DecoderStep {
  type: string;
  [member: string]: unknown;
}

const utf8 = new TextEncoder();
const strictUtf8 = new TextDecoder('utf-8', { fatal: true });

/** The decoder of a tokenizer.json, or null where it is none of these (WordPiece, BPE with suffixes, CTC). */
export function tokenDecoder(config: unknown): TokenDecoder | null {
  const steps = flatten(config);
  if (steps === null || steps.length === 0) return null;
  if (steps.every(({ type }) => type === 'ByteLevel')) {
    const bytes = (token: string, { added }: TokenPlace): Uint8Array =>
      added ? addedByteLevelBytes(token) : byteLevelBytes(token);
    return { bytes, leadingSpaces: 0 };
  }

  const rewrites: ((token: string, first: boolean) => string)[] = [];
  let leadingSpaces = 0;
  let byteFallback = false;
  let fused = false;
  for (const step of steps) {
    if (step.type === 'ByteFallback') byteFallback = true;
    else if (step.type === 'Fuse') fused = true;
    else if (step.type === 'Metaspace' && !fused) rewrites.push(metaspace(step));
    else if (step.type === 'Replace' && !fused && plainPattern(step) !== null)
      rewrites.push(replacement(step));
    else if (step.type === 'Strip' && fused && step['content'] === ' ' && step['stop'] === 0)
      leadingSpaces += Number(step['start']);
    else return null;
  }
  const bytes = (token: string, { first }: TokenPlace): Uint8Array => {
    const byte = byteFallback ? fallbackByte(token) : null;
    if (byte !== null) return new Uint8Array([byte]);
    return bytesOf(rewrites.reduce((text, rewrite) => rewrite(text, first), token));
  };
  return { bytes, leadingSpaces };
}

function flatten(config: unknown): DecoderStep[] | null {
  if (typeof config !== 'object' || config === null || !('type' in config)) return null;
  const step = config as DecoderStep;
  if (step.type !== 'Sequence') return [step];
  const parts = Array.isArray(step['decoders']) ? step['decoders'].map(flatten) : [null];
  return parts.includes(null) ? null : parts.flatMap((part) => part ?? []);
}

function metaspace(step: DecoderStep): (token: string, first: boolean) => string {
  const mark = typeof step['replacement'] === 'string' ? step['replacement'] : '▁';
  const keepsFirst = step['prepend_scheme'] === 'never';
  return (token, first) => token.replaceAll(mark, first && !keepsFirst ? '' : ' ');
}

function plainPattern(step: DecoderStep): string | null {
  const { pattern } = step as { pattern?: { String?: unknown } };
  return typeof pattern?.String === 'string' ? pattern.String : null;
}

function replacement(step: DecoderStep): (token: string) => string {
  const pattern = plainPattern(step) ?? '';
  const content = typeof step['content'] === 'string' ? step['content'] : '';
  return (token) => token.replaceAll(pattern, content);
}

function fallbackByte(token: string): number | null {
  return /^<0x[0-9A-Fa-f]{2}>$/.test(token) ? Number.parseInt(token.slice(3, 5), 16) : null;
}

/** UTF-8; what is ASCII, as most tokens are, without the encoder, which takes ten times as long. */
function bytesOf(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code >= 0x80) return utf8.encode(text);
    bytes[at] = code;
  }
  return bytes;
}

function byteLevelBytes(token: string): Uint8Array {
  const bytes = new Uint8Array(token.length);
  for (let at = 0; at < token.length; at++) {
    const byte = STAND_INS[token.charCodeAt(at)] ?? -1;
    // A single foreign character makes the entry plain text.
    if (byte < 0) return utf8.encode(token);
    bytes[at] = byte;
  }
  return bytes;
}

/**
 * DeepSeek Coder's added token ö is matched as that letter, but is also the stand-in of a byte. Python's library decodes it to U+FFFD;
 * here, as in llama.cpp, an added token whose bytes are not UTF-8 stands for its own text.
 */
function addedByteLevelBytes(token: string): Uint8Array {
  const bytes = byteLevelBytes(token);
  return isUtf8(bytes) ? bytes : utf8.encode(token);
}

function isUtf8(bytes: Uint8Array): boolean {
  try {
    strictUtf8.decode(bytes);
    return true;
  } catch {
    return false;
  }
}
