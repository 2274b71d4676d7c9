// Memory of the host that is free for this process: what the system can give, and within a container what its limit leaves.

import { readFileSync } from 'node:fs';
import { freemem, totalmem } from 'node:os';
import { join } from 'node:path';

/** Share of the memory that counts as free on macOS, whose count of free pages leaves out those that it can reclaim. */
const MACOS_SHARE = 1 / 2;
const ROOTS = ['/sys/fs/cgroup', '/sys/fs/cgroup/memory'];

/** Returns bytes. */
export function freeHostMemory(): number {
  const free = process.platform === 'darwin' ? Math.max(freemem(), MACOS_SHARE * totalmem()) : freemem();
  const limit = process.constrainedMemory?.() ?? 0;
  // Without a limit, 0 or a number beyond any memory is reported.
  if (limit <= 0 || limit >= totalmem()) return free;
  return Math.max(0, Math.min(free, limit - (usedInGroup() ?? process.memoryUsage.rss())));
}

/**
 * Returns the bytes that this process's control group cannot give back; null: they are not known. process.availableMemory counts pages
 * of files as used, which the system reclaims.
 */
function usedInGroup(): number | null {
  for (const root of ROOTS) {
    const used = readGroup(root);
    if (used !== null) return used;
  }
  return null;
}

function readGroup(root: string): number | null {
  try {
    const paths = readFileSync('/proc/self/cgroup', 'utf8').split('\n');
    const own = paths.find((line) => /^0::|:memory:/.test(line))?.replace(/^\d+:[^:]*:/, '') ?? '/';
    // In a namespace of its own, a group is the root.
    for (const folder of [join(root, own), root]) {
      const used = readUsage(folder);
      if (used !== null) return used;
    }
    return null;
  } catch {
    return null;
  }
}

/** Returns the bytes of a group without pages of files; null: the folder is not that of a group. */
export function readUsage(folder: string): number | null {
  const read = (name: string): string | null => {
    try {
      return readFileSync(join(folder, name), 'utf8');
    } catch {
      return null;
    }
  };
  const current = read('memory.current') ?? read('memory.usage_in_bytes');
  const stat = read('memory.stat');
  if (current === null || stat === null) return null;
  const values = new Map(
    stat.split('\n').map((line): [string, number] => {
      const [name = '', value] = line.split(' ');
      return [name, Number(value)];
    }),
  );
  // Files in memory (tmpfs) are counted among those of the page cache, and cannot be reclaimed.
  const cached = values.get('file') ?? values.get('total_cache') ?? 0;
  const inMemory = values.get('shmem') ?? values.get('total_shmem') ?? 0;
  return Number(current) - Math.max(0, cached - inMemory);
}
