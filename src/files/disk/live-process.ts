// Checks whether a process that wrote its id to a file still runs. The id may have been reused by another process, so callers must
// be correct in that case too.

import { codeOf } from '../error.ts';
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (cause) {
    // The process runs and belongs to another user.
    return codeOf(cause) === 'EPERM';
  }
}
