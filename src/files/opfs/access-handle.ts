// Whole reads and writes over a handle of the private file system, whose calls may do less than they were asked for.

import { internalError } from '../error.ts';
import { isQuotaError, type AccessHandle } from './storage.ts';

/**
 * Chromium's base::File::FILE_ERROR_NO_SPACE. In private windows Chromium returns such errors as unsigned numbers of bytes, 2³² − 8, instead
 * of throwing.
 */
const NO_SPACE = -8;

export function readAll(handle: AccessHandle, offset: number, target: Uint8Array<ArrayBuffer>): void {
  for (let done = 0; done < target.length;) {
    const read = handle.read(target.subarray(done), { at: offset + done });
    if (read > target.length - done)
      throw internalError(`a stored file cannot be read (the browser's error ${read | 0})`);
    if (read === 0) throw internalError('a stored file was cut short while it was read');
    done += read;
  }
}

/** While the browser's quota is exceeded, `makeRoom` is called before each further attempt; the bytes before stay if it throws. */
export async function writeAll(
  handle: AccessHandle,
  offset: number,
  bytes: Uint8Array,
  makeRoom: () => Promise<void>,
): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    let written = 0;
    try {
      written = handle.write(bytes.subarray(done), { at: offset + done });
    } catch (error) {
      if (!isQuotaError(error)) throw error;
    }
    if (written > bytes.length - done) {
      if ((written | 0) !== NO_SPACE)
        throw internalError(`a file cannot be stored (the browser's error ${written | 0})`);
      written = 0;
    }
    if (written === 0) await makeRoom();
    done += written;
  }
}
