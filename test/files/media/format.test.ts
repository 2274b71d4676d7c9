// Formats by their first bytes: what is read, what is refused by name, and bytes that are made to cost time.

import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { EngineError } from '../../../src/files/error.ts';
import { latin1Bytes } from '../../../src/files/image/file-parts.ts';
import { readHeader } from '../../../src/files/image/image-header.ts';
import type { MediaKind } from '../../../src/files/media/decoded.ts';
import { formatOf, mediaFormat } from '../../../src/files/media/format.ts';

/** The message of the refusal; the format's name if there is none. */
function told(start: string, kind: MediaKind): string {
  try {
    return formatOf(latin1Bytes(start), kind, 'it');
  } catch (error) {
    expect(error).toBeInstanceOf(EngineError);
    return (error as EngineError).message;
  }
}

/** Runs a function that is stopped, even within a regular expression, when it takes a hundred times as long as it should. */
const withinSeconds = <T>(run: () => T): T => runInNewContext('run()', { run }, { timeout: 5000 }) as T;

describe('SVG files', () => {
  it.each([
    ['<svg xmlns="http://www.w3.org/2000/svg">'],
    [
      ' \n<?xml version="1.0"?>\n<!-- a -- comment > --> <!----><!-- b --->\n<!DOCTYPE svg PUBLIC "a" "b">\n<svg>',
    ],
  ])('are refused by name %#', (start) => {
    expect(told(start, 'image')).toContain('(SVG)');
    expect(readHeader(latin1Bytes(start))).toBe('svg');
  });

  it.each([
    ['many comments', '<!---->'.repeat(10_000)],
    ['many comments before another element', `${'<!-- a --> '.repeat(40)}<p>`],
    ['comments that are not ended', '<!--'.repeat(10_000)],
    ['ends of comments', `<!--${'-->'.repeat(10_000)}`],
    ['an ended comment and many that are not', `<!---->${'<!-- '.repeat(10_000)}`],
    ['spaces', ' '.repeat(10_000)],
    ['comments within a declaration', `<?xml ${'<!---->'.repeat(10_000)}`],
  ])('are told from other files in one pass: %s', (_, start) => {
    expect(withinSeconds(() => told(start, 'image'))).toMatch(/no known format|HTML or XML/);
    expect(withinSeconds(() => readHeader(latin1Bytes(start)))).toBeNull();
  });
});

describe('sound files', () => {
  const frame = (second: number, third: number) => String.fromCharCode(0xff, second, third, 0);

  it.each([
    ['MPEG 1', frame(0xfb, 0x90), 'MP3'],
    ['MPEG 2 with a checksum', frame(0xf2, 0x14), 'MP3'],
    ['MPEG 2.5', frame(0xe3, 0xe8), 'MP3'],
    ['ADTS', frame(0xf1, 0x50), 'AAC'],
    ['a text in UTF-16', '\xff\xfeh\0e\0y\0', null],
    ['layer II', frame(0xfd, 0x90), null],
    ['a bit rate that is none', frame(0xfb, 0xf0), null],
    ['a sample rate that is none', frame(0xfb, 0x9c), null],
  ])('%s', (_, start, name) => expect(mediaFormat(latin1Bytes(start))?.name ?? null).toBe(name));

  /** 200 bytes, or that of a file which ends within its tag. */
  const tag = (flags: number) => `ID3\x04\0${String.fromCharCode(flags)}\0\0\x01\x48${'.'.repeat(200)}`;

  it.each([
    [`${tag(0)}fLaC`, 'FLAC'],
    [`${tag(0)}\xff\xf1\x50`, 'AAC'],
    [`${tag(0x10)}3DI.......fLaC`, 'FLAC'],
    [`${tag(0)}${frame(0xfb, 0x90)}`, 'MP3'],
    [`${tag(0)}\x89PNG\r\n\x1a\n`, 'MP3'],
    [tag(0).slice(0, 100), 'MP3'],
    ['ID3', 'MP3'],
  ])('are known behind a tag %#', (start, name) => expect(mediaFormat(latin1Bytes(start))?.name).toBe(name));

  it('of Ogg are sounds, unless the first page is of Theora', () => {
    const page = (packet: string) => latin1Bytes(`OggS\0\x02${'\0'.repeat(20)}\x01\x2a${packet}`);
    expect(mediaFormat(page('OpusHead'))?.kinds).toEqual(['audio']);
    expect(mediaFormat(page('\x80theora'))?.kinds).toEqual(['video', 'audio']);
  });

  it.each([
    ['AIFF', 'FORM\0\0\0\0AIFFCOMM'],
    ['AIFF', 'FORM\0\0\0\0AIFCFVER'],
    ['AMR', '#!AMR\n'],
    ['CAF', 'caff\0\x01'],
  ])('in %s are refused with formats that are read', (name, start) =>
    expect(told(start, 'audio')).toBe(
      `it cannot be read as a sound (${name}); give WAV, MP3, FLAC, Ogg, Opus, AAC, M4A or WebM`,
    ),
  );

  it.each([
    ['ID3', 'it is an MP3 file, a sound and not an image'],
    ['RIFF....WAVE', 'it is a WAV file, a sound and not an image'],
    ['....ftypisom', 'it is an MP4 file, a video and not an image'],
    ['OggS', 'it is an Ogg file, a sound and not an image'],
  ])('have the right article: %s', (start, message) =>
    expect(told(start, 'image')).toBe(`${message}; give PNG, JPEG, WebP, GIF, TIFF, BMP or AVIF`),
  );
});
