// Checks whether a process that left its id in a file still runs. An id may have gone to another process since: what rests
// on the answer must also hold then.

export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (cause) {
    // It runs, and belongs to somebody else.
    return cause instanceof Error && 'code' in cause && cause.code === 'EPERM';
  }
}
