// The configuration that draws a video again, as its file holds it: in a comment of an MP4, WebM or GIF file, in the EXIF data of an
// animated WebP.

import { latin1Bytes, latin1Text } from '../image/file-parts.ts';
import { configInText, configOfImage } from '../image/image-metadata.ts';
import { commentIn, isGif } from './gif-comment.ts';
import { boxAt, isMp4 } from './mp4-boxes.ts';

/** The configuration that generates the video, or the image, in `file` again; null if it holds none. */
export function configOfVideo(file: Uint8Array): Record<string, unknown> | null {
  const comment = isMp4(file)
    ? commentInMp4(file)
    : isGif(file)
      ? commentIn(file)
      : isWebm(file)
        ? commentInWebm(file)
        : null;
  return comment === null ? configOfImage(file) : configInText(comment);
}

/** Before its text the box states a type and a language, four bytes each. */
function commentInMp4(file: Uint8Array): string | null {
  const data = boxAt(file, 'moov/udta/meta/ilst/\xa9cmt/data');
  return data && new TextDecoder().decode(data.subarray(8));
}

const isWebm = (file: Uint8Array): boolean => latin1Text(file, 0, 4) === '\x1a\x45\xdf\xa3';

/** A tag of Matroska: its name, the id of its text, the length of that text. */
const TAG = latin1Bytes('COMMENT\x44\x87');

function commentInWebm(file: Uint8Array): string | null {
  const start = endOf(TAG, file);
  if (start === null) return null;
  // The number of leading zeros is that of the bytes behind the first.
  const more = Math.clz32(file[start] ?? 0) - 24;
  let length = file[start]! & (0x7f >> more);
  for (let i = 1; i <= more; i++) length = length * 256 + file[start + i]!;
  return new TextDecoder().decode(file.subarray(start + 1 + more, start + 1 + more + length));
}

/** Where the first occurrence of `wanted` ends; null: there is none. */
function endOf(wanted: Uint8Array, file: Uint8Array): number | null {
  for (let at = file.indexOf(wanted[0]!); at >= 0; at = file.indexOf(wanted[0]!, at + 1))
    if (wanted.every((byte, i) => file[at + i] === byte)) return at + wanted.length;
  return null;
}
