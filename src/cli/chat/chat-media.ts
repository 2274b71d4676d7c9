// Images, videos and sounds in svc chat: files of --image, --video and --audio, and paths that are pasted into a line.

import { bytesText } from '../../files/bytes-text.ts';
import { open, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  type ContentPart,
  mediaFormat,
  type MediaKind,
  READ_FORMATS,
  type TextModelInfo,
} from '../../index.ts';
import { type EngineError, unsupported } from '../../files/error.ts';
import { MEDIA_NOUNS, takenText } from '../../files/media/media-nouns.ts';
import { MOST_IMAGE_BYTES, readBounded } from '../process/bounded-file.ts';
import { UsageError } from '../process/exit.ts';
import type { OptionTable, Values } from '../options/option.ts';

const file = (kind: string) =>
  ({
    kind: 'texts',
    group: 'Conversation',
    value: 'file',
    help: `${kind} for the first question, for models that take them; repeat it for several. A path in a line of a terminal, or with --linewise, does the same later.`,
    otherwise: 'none',
  }) as const;

export const MEDIA_OPTIONS = {
  image: file('Image'),
  video: file('Video'),
  audio: file('Sound'),
} as const satisfies OptionTable;

export interface Attached {
  kind: MediaKind;
  bytes: Uint8Array;
  /** Of the file. */
  name: string;
  /** Name, format and size, to confirm what was read. */
  said: string;
}

/** Reads the files of options. Throws UsageError. */
export async function readAttached(options: Values<typeof MEDIA_OPTIONS>): Promise<Attached[]> {
  const attached: Attached[] = [];
  for (const kind of ['image', 'video', 'audio'] as const) {
    for (const path of options[kind] ?? []) {
      const name = `--${kind} ${path}`;
      const read = await readFile(path, name, [kind]);
      if (!read)
        throw new UsageError(
          `${name} is not ${MEDIA_NOUNS[kind].one} that is read: give ${READ_FORMATS[kind]}`,
        );
      attached.push(read);
    }
  }
  return attached;
}

/** Throws unsupported for a medium that the model does not take. */
export function checkTakes({ name, media }: TextModelInfo, attached: readonly Attached[]): void {
  const wrong = attached.find(({ kind }) => !media.includes(kind));
  if (!wrong) return;
  throw unsupported(
    `--${wrong.kind} is for models that take it, and ${name} reads ${takenText(media)} only: leave it out, or name another model`,
  );
}

async function readFile(path: string, name: string, kinds: readonly MediaKind[]): Promise<Attached | null> {
  const bytes = new Uint8Array(
    await readBounded(path, name, MOST_IMAGE_BYTES, ': give a file that is there'),
  );
  const format = mediaFormat(bytes);
  const kind = kinds.find((one) => format?.kinds.includes(one));
  if (!format || !kind) return null;
  return {
    kind,
    bytes,
    name: basename(path),
    said: `${basename(path)} (${format.name} ${MEDIA_NOUNS[kind].noun}, ${bytesText(bytes.length)})`,
  };
}

/** Words of a line that may be paths: in quotes that no letter precedes or follows, with escaped spaces as terminals paste them, or plain. */
const WORD = /(?<=^|\s)(?:"([^"]+)"|'([^']+)')(?=$|[\s?!.,;:)])|((?:\\.|[^\s"'\\])+)/g;
/** Punctuation that may follow a path in a sentence. */
const PUNCTUATION = /[?!.,;:)]+$/;

/**
 * Takes the media out of a line: words that are paths of files of a kind that the model takes. Everything else stays as it was typed.
 * `notes`: media that stay words of the line, and why.
 */
export async function takeMedia(
  line: string,
  { name, media }: TextModelInfo,
): Promise<{ text: string; attached: Attached[]; notes: string[] }> {
  const attached: Attached[] = [];
  const notes: string[] = [];
  let text = '';
  let end = 0;
  for (const match of line.matchAll(WORD)) {
    const found = await fileOf(match);
    if (!found) continue;
    const { path, kinds, length } = found;
    const kind = kinds.find((one) => media.includes(one));
    if (kind === undefined) {
      notes.push(
        `${basename(path)} is sent as its name only: ${name} does not take ${MEDIA_NOUNS[kinds[0]!].many}.`,
      );
      continue;
    }
    try {
      attached.push((await readFile(path, path, [kind]))!);
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      notes.push(`${error.message}.`);
      continue;
    }
    text += line.slice(end, match.index);
    end = match.index + length;
  }
  return { text: attached.length === 0 ? line : (text + line.slice(end)).trim(), attached, notes };
}

/** The file that a word names, and how many characters of it do: a plain word may end with punctuation. */
async function fileOf([word, ...quoted]: RegExpMatchArray): Promise<MediaFile | null> {
  const inQuotes = quoted[0] ?? quoted[1];
  const spellings = inQuotes === undefined ? [...new Set([word, word.replace(PUNCTUATION, '')])] : [inQuotes];
  for (const spelling of spellings) {
    const path = pathOf(inQuotes ?? unescaped(spelling));
    const kinds = path === null ? [] : await kindsOf(path);
    const { length } = inQuotes === undefined ? spelling : word;
    if (path !== null && kinds.length > 0) return { path, kinds, length };
  }
  return null;
}

interface MediaFile {
  path: string;
  kinds: readonly MediaKind[];
  length: number;
}

/** On Windows a backslash separates folders. */
const unescaped = (word: string): string =>
  process.platform === 'win32' ? word : word.replaceAll(/\\(.)/g, '$1');

/** The path that a word stands for; null for a word without a folder and an ending, which is not a path. */
function pathOf(word: string): string | null {
  if (word.startsWith('file://')) {
    try {
      return fileURLToPath(word);
    } catch {
      return null;
    }
  }
  if (word.startsWith('~/')) return join(homedir(), word.slice(2));
  return /[\\/]|\.\w{2,5}$/.test(word) ? word : null;
}

/** The kinds that a file may be by its first bytes; none for other files and for what is not there. */
async function kindsOf(path: string): Promise<readonly MediaKind[]> {
  const info = await stat(path).catch(() => null);
  if (!info?.isFile()) return [];
  const opened = await open(path).catch(() => null);
  if (!opened) return [];
  try {
    const { buffer, bytesRead } = await opened.read(new Uint8Array(1000), 0, 1000, 0);
    return mediaFormat(buffer.subarray(0, bytesRead))?.kinds ?? [];
  } finally {
    await opened.close();
  }
}

/** The content of a question with its media, which precede the text. */
export function contentWith(text: string, attached: readonly Attached[]): string | ContentPart[] {
  if (attached.length === 0) return text;
  const parts = attached.map(({ kind, bytes }) => ({ type: kind, [kind]: bytes }) as unknown as ContentPart);
  return text === '' ? parts : [...parts, { type: 'text', text }];
}

/** The path of a medium in a request; media precede the text of their message. */
const MEDIUM_PATH = /^messages\.\d+\.content\.(\d+)(\.|$)/;

/** The place among `media` of the one that an error is about, if it is one of them. */
export function refusedMedium({ param }: EngineError, media: readonly Attached[]): number | null {
  const at = MEDIUM_PATH.exec(param ?? '')?.[1];
  return at !== undefined && media[Number(at)] ? Number(at) : null;
}

/** The error with the name of the file in place of its path in the request. */
export function underFileName(error: EngineError, media: readonly Attached[]): EngineError {
  return error.withPaths((path) => {
    const at = MEDIUM_PATH.exec(path)?.[1];
    return (at !== undefined && media[Number(at)]?.name) || null;
  });
}
