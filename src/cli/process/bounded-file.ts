// Reads a file that an option names, in bounded memory: devices, which may have no end, and overlong files are refused.

import { bytesText } from '../../files/bytes-text.ts';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { UsageError } from './exit.ts';

/** Largest size in bytes of a configuration file or a list of prompts, and of an image, a video or a sound. */
export const MOST_TEXT_BYTES = 64 * 2 ** 20;
export const MOST_IMAGE_BYTES = 512 * 2 ** 20;
/** Three hours of samples in stereo, 16 bits each, at 48 kHz. */
export const MOST_SOUND_BYTES = 2 ** 31;

/**
 * The bytes of a file or a pipe; `name` is the subject of messages, and `remedy` the end of those about a file that is not there or cannot be
 * read. Throws UsageError, also for devices and for more than `most` bytes.
 */
export async function readBounded(path: string, name: string, most: number, remedy = ''): Promise<Buffer> {
  return readWithin(path, name, most).catch((error: NodeJS.ErrnoException) => {
    if (error instanceof UsageError) throw error;
    const reason = error.code === 'ENOENT' ? 'is not there' : `cannot be read (${error.code})`;
    throw new UsageError(`${name} ${reason}${remedy}`);
  });
}

async function readWithin(path: string, name: string, most: number): Promise<Buffer> {
  const info = await stat(path);
  if (info.isCharacterDevice() || info.isBlockDevice())
    throw new UsageError(`${name} is a device, which may have no end: give a file`);
  const tooLong = () => new UsageError(`${name} is longer than ${bytesText(most)}: give a smaller file`);
  if (info.size > most) throw tooLong();
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > most) throw tooLong();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
