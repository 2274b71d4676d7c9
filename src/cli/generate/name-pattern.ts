// What names of files the options ask for: a pattern for images and one for clips, by the ending that is given.

import { isAbsolute } from 'node:path';
import {
  IMAGE_FORMATS,
  type ImageFormat,
  imageFormatOf,
  VIDEO_FORMATS,
  type VideoFormat,
  videoFormatOf,
} from '../../index.ts';
import { UsageError } from '../process/exit.ts';

export const PLACEHOLDERS = [
  'index',
  'seed',
  'sample',
  'prompt',
  'model',
  'date',
  'time',
  'width',
  'height',
  'steps',
] as const;

export interface NamePattern<Format> {
  /** The name, with {index} as the placeholder of the number. */
  pattern: string;
  format: Format;
  /** The first file is saved without the index if that name is free. */
  plainFirst: boolean;
}

/** A clip as a file, or as a folder of PNG files. */
export type ClipFormat = VideoFormat | 'frames';

/** null: the ending that was given is for the other. */
export interface OutputNames {
  image: NamePattern<ImageFormat> | null;
  clip: NamePattern<ClipFormat> | null;
  /** The option that names files; null: none does. */
  option: string | null;
}

interface Wanted {
  /** The name under which the user gave an option, for messages. */
  nameOf: (name: string) => string;
  fileName?: string | undefined;
  template?: string | undefined;
  /** Number of images or clips of the whole run. */
  outputs: number;
}

export function outputNames({ nameOf, fileName, template, outputs }: Wanted): OutputNames {
  if (fileName !== undefined && template !== undefined) {
    throw new UsageError(
      `${nameOf('output-file-name')} and ${nameOf('output-template')} both name the images: give one`,
    );
  }
  if (fileName !== undefined) return fromFileName(fileName, nameOf('output-file-name'), outputs);
  if (template === undefined) {
    return {
      image: { pattern: 'generated_image_{index}.png', format: 'png', plainFirst: false },
      clip: { pattern: 'generated_video_{index}.mp4', format: 'mp4', plainFirst: false },
      option: null,
    };
  }
  const option = nameOf('output-template');
  checkTemplate(template, option);
  const isNumbered = template.includes('{index}');
  return withEndings(template, option, (name) => ({
    pattern: isNumbered ? name : numbered(name),
    plainFirst: !isNumbered,
  }));
}

/** Maximum length in bytes: file systems allow 255, and the number may need ten. */
const LONGEST_NAME = 240;

function fromFileName(fileName: string, option: string, outputs: number): OutputNames {
  if (/[/\\]./.test(fileName) || /^\.{0,2}[/\\]*$/.test(fileName)) {
    throw new UsageError(
      `${option} is a name without folders, got "${fileName}": --output-path names the folder`,
    );
  }
  return withEndings(fileName, option, (name) => {
    const bytes = Buffer.byteLength(name);
    if (bytes > LONGEST_NAME)
      throw new UsageError(`${option} has ${bytes} bytes with its ending: ${LONGEST_NAME} at most`);
    // Braces in --output-file-name are literal.
    return { pattern: numbered(name.replaceAll('{', '{{')), plainFirst: outputs === 1 };
  });
}

function checkTemplate(template: string, option: string): void {
  if (isAbsolute(template) || template.split(/[/\\]/).includes('..')) {
    throw new UsageError(
      `${option} stays inside the output folder, got "${template}": --output-path names the folder`,
    );
  }
  const unknown = [...template.matchAll(/\{([^{}]*)\}/g)].find(
    ([, name]) => !PLACEHOLDERS.some((known) => known === name),
  );
  if (unknown !== undefined) {
    const known = PLACEHOLDERS.map((name) => `{${name}}`).join(' ');
    throw new UsageError(`${option} has no placeholder ${unknown[0]}; there are ${known}`);
  }
}

type Named = Omit<NamePattern<never>, 'format'>;

/** The patterns of a name by its ending; without one, images are PNG files and clips MP4. */
function withEndings(given: string, option: string, patternOf: (name: string) => Named): OutputNames {
  const name = given.replace(/[/\\]+$/, '');
  const isFolder = name !== given;
  const [image, clip] = isFolder ? [null, 'frames' as const] : [imageFormatOf(name), videoFormatOf(name)];
  const hasFormat = image !== null || clip !== null;
  const last = name.slice(Math.max(name.lastIndexOf('/'), name.lastIndexOf('\\')) + 1);
  if ((isFolder ? last : last.replace(/\.[a-z0-9]+$/i, '')).trim() === '') {
    throw new UsageError(
      `${option} "${given}" has no name before its ending: give one, as image${hasFormat && !isFolder ? name.slice(name.lastIndexOf('.')) : '.png'}`,
    );
  }
  const ending = hasFormat ? undefined : /\.([a-z][a-z0-9]{1,4})$/i.exec(name)?.[0];
  if (ending !== undefined) {
    throw new UsageError(
      `${option} ends with ${ending}, and images are written as .${IMAGE_FORMATS.join(', .')} or .jpg, clips as ${CLIP_ENDINGS}`,
    );
  }
  if (hasFormat) {
    const pattern = patternOf(name);
    return {
      image: image && { ...pattern, format: image },
      clip: clip && { ...pattern, format: clip },
      option,
    };
  }
  return {
    image: { ...patternOf(`${name}.png`), format: 'png' },
    clip: { ...patternOf(`${name}.mp4`), format: 'mp4' },
    option,
  };
}

const CLIP_ENDINGS = `.${VIDEO_FORMATS.join(', .')}, or as a folder of frames with / at the end`;

/** The name with a number before its ending. */
function numbered(name: string): string {
  const ending = /\.\w+$/.exec(name)?.[0] ?? '';
  return `${name.slice(0, name.length - ending.length)}_{index}${ending}`;
}

/** The pattern for what a model draws. Throws UsageError if the ending is not for it. */
export function patternFor(names: OutputNames, frames: number): NamePattern<ImageFormat | ClipFormat> {
  const { image, clip, option } = names;
  if (frames > 1) {
    if (clip !== null) return clip;
    throw new UsageError(
      `${option} is for an image, and a clip of ${frames} frames is drawn: end it with ${CLIP_ENDINGS}, or give --num-frames 1`,
    );
  }
  if (image !== null) return image;
  throw new UsageError(
    `${option} is for a clip, and an image is drawn: end it with .${IMAGE_FORMATS.join(', .')} or .jpg, or give --num-frames to a model of clips`,
  );
}
