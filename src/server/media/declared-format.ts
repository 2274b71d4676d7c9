// The format that an `input_audio` part declares beside its bytes. As in OpenAI's API, bytes of another format are an error.

import { mediaFormat } from '../../index.ts';
import { fileText } from '../../files/media/media-nouns.ts';
import type { MediaSource } from './media-source.ts';

/** Formats of files (files/media/format.ts) that each declared name stands for. */
const FORMATS: ReadonlyMap<string, readonly string[]> = new Map([
  ['wav', ['WAV']],
  ['mp3', ['MP3']],
  ['flac', ['FLAC']],
  ['ogg', ['Ogg']],
  ['opus', ['Ogg', 'WebM']],
  ['aac', ['AAC', 'MPEG-4 audio', 'MP4']],
  ['m4a', ['MPEG-4 audio', 'MP4']],
  ['mp4', ['MPEG-4 audio', 'MP4']],
  ['webm', ['WebM']],
]);

/** Subtypes of MIME types that are other names of these. */
const ALIASES: ReadonlyMap<string, string> = new Map([
  ['mpeg', 'mp3'],
  ['wave', 'wav'],
  ['vnd.wave', 'wav'],
]);

/** `audio/ogg; codecs=opus` declares `ogg`. */
function nameOf(format: string): string {
  const [type = ''] = format.split(';');
  const name = type
    .trim()
    .toLowerCase()
    .replace(/^audio\/(x-)?/, '');
  return ALIASES.get(name) ?? name;
}

/** Throws RequestError for a name that is not known, and for bytes of another format; what is not sound at all is refused elsewhere. */
export function checkDeclaredFormat(source: MediaSource, bytes: Uint8Array): void {
  const { format } = source;
  if (format === null) return;
  const known = FORMATS.get(nameOf(format));
  if (!known)
    throw source.error(
      `is declared as ${JSON.stringify(format)}, which is not a format that is read; send ${[...FORMATS.keys()].join(', ')}, or no format`,
    );
  const found = mediaFormat(bytes);
  if (!found?.kinds.includes('audio') || known.includes(found.name)) return;
  throw source.error(
    `is ${fileText(found.name)}, and its format is declared as ${JSON.stringify(format)}; send the format of the bytes, or none`,
  );
}
