// Formats by their first bytes: what is read, what is refused by name, and bytes that are made to cost time.

import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { EngineError } from '../../../src/files/error.ts';
import { latin1Bytes } from '../../../src/files/image/file-parts.ts';
import { readHeader } from '../../../src/files/image/image-header.ts';
import type { MediaKind } from '../../../src/files/media/decoded.ts';
import { formatOf } from '../../../src/files/media/format.ts';

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

describe('SVG', () => {
  it.each([
    ['<svg xmlns="http://www.w3.org/2000/svg">'],
    [
      ' \n<?xml version="1.0"?>\n<!-- a -- comment > --> <!----><!-- b --->\n<!DOCTYPE svg PUBLIC "a" "b">\n<svg>',
    ],
  ])('is refused by name %#', (start) => {
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
  ])('costs one pass over what is none: %s', (_, start) => {
    expect(withinSeconds(() => told(start, 'image'))).toMatch(/no known format|HTML or XML/);
    expect(withinSeconds(() => readHeader(latin1Bytes(start)))).toBeNull();
  });
});
