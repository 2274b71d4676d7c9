// The words for media in messages.

import type { MediaKind } from './decoded.ts';

/** Names of the kinds: alone, with an article, and in the plural. */
export const MEDIA_NOUNS: Readonly<Record<MediaKind, { noun: string; one: string; many: string }>> = {
  image: { noun: 'image', one: 'an image', many: 'images' },
  video: { noun: 'video', one: 'a video', many: 'videos' },
  audio: { noun: 'sound', one: 'a sound', many: 'sounds' },
};

/** Returns the words for what a model that reads these kinds of media takes, such as `text and images`. */
export function takenText(kinds: readonly MediaKind[]): string {
  return ['text', ...kinds.map((kind) => MEDIA_NOUNS[kind].many)].join(' and ');
}

/** `a WAV file`, `an MP3 file`: a file of a format with its article. */
export function fileText(format: string): string {
  return `${/^([AEIO]|MP|HTML|SVG)/.test(format) ? 'an' : 'a'} ${format} file`;
}
